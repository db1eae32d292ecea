#pragma once
// The orders that end with their connection (docs/protocol.md, E20), as far as it knows: those that
// were executed since are among them until it ends. Owner: Session.

#include <algorithm>
#include <span>
#include <vector>

#include "engine/commands.hpp"

namespace exchange {

class TiedOrders {
 public:
  bool empty() const { return count_ == 0; }
  std::size_t count() const { return count_; }

  // Takes in what was opened, if the request ties its orders, and forgets what was canceled.
  void note(std::span<const Command> commands, std::span<const Outcome> outcomes, bool ties) {
    for (std::size_t i = 0; i < commands.size(); ++i) {
      if (const auto* order = std::get_if<PlaceOrder>(&commands[i])) {
        if (ties && order->lifetime == Lifetime::until_canceled) add(*order, outcomes[i]);
      } else if (const auto* canceled = std::get_if<Canceled>(&outcomes[i])) {
        remove(canceled->status.order);
      } else if (const auto* all = std::get_if<CanceledAll>(&outcomes[i])) {
        for (const Status& status : all->orders) remove(status.order);
      }
    }
  }

  // Moves some of them into `cancels`.
  void take(std::vector<Command>& cancels, std::size_t max) {
    for (; !accounts_.empty() && cancels.size() < max; accounts_.pop_back()) {
      auto& [account, orders] = accounts_.back();
      for (; !orders.empty(); orders.pop_back(), --count_) {
        if (cancels.size() == max) return;
        cancels.push_back(CancelOrder{account, orders.back()});
      }
    }
  }

 private:
  struct OfAccount {
    AccountId account;
    std::vector<OrderId> orders;  // ascending
  };

  void add(const PlaceOrder& order, const Outcome& outcome) {
    OrderId id = 0;
    if (const auto* opened = std::get_if<Opened>(&outcome)) id = opened->order;
    if (const auto* before = std::get_if<OpenedBefore>(&outcome)) id = before->order;
    if (id == 0) return;
    auto of = std::find_if(accounts_.begin(), accounts_.end(),
                           [&](const OfAccount& one) { return one.account == order.account; });
    if (of == accounts_.end()) of = accounts_.insert(of, {order.account, {}});
    const auto at = std::lower_bound(of->orders.begin(), of->orders.end(), id);
    if (at != of->orders.end() && *at == id) return;
    of->orders.insert(at, id);
    ++count_;
  }
  void remove(OrderId id) {
    for (OfAccount& of : accounts_) {
      const auto at = std::lower_bound(of.orders.begin(), of.orders.end(), id);
      if (at == of.orders.end() || *at != id) continue;
      of.orders.erase(at);
      --count_;
      return;
    }
  }

  std::vector<OfAccount> accounts_;
  std::size_t count_ = 0;
};

}  // namespace exchange
