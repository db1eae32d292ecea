#pragma once
// The orders that end with their connection (docs/protocol.md, E20), as far as it knows: those that
// were executed since are among them until it ends. Owner: Session.

#include <algorithm>
#include <map>
#include <span>
#include <string>
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
        if (ties && order->lifetime == Lifetime::until_canceled) add(order->account, outcomes[i]);
      } else if (const auto* canceled = std::get_if<Canceled>(&outcomes[i])) {
        remove(std::get<CancelOrder>(commands[i]).account, canceled->status.order);
      } else if (const auto* all = std::get_if<CanceledAll>(&outcomes[i])) {
        for (const Status& status : all->orders)
          remove(std::get<CancelAll>(commands[i]).account, status.order);
      }
    }
  }

  // Moves some of them into `cancels`.
  void take(std::vector<Command>& cancels, std::size_t max) {
    while (!by_account_.empty() && cancels.size() < max) {
      const auto of = by_account_.begin();
      cancels.push_back(CancelOrder{AccountId(of->first), of->second.back()});
      of->second.pop_back();
      --count_;
      if (of->second.empty()) by_account_.erase(of);
    }
  }

 private:
  void add(const AccountId& account, const Outcome& outcome) {
    OrderId id = 0;
    if (const auto* opened = std::get_if<Opened>(&outcome)) id = opened->order;
    if (const auto* before = std::get_if<OpenedBefore>(&outcome)) id = before->order;
    if (id == 0) return;
    std::vector<OrderId>& orders = by_account_[std::string(account.view())];
    const auto at = std::lower_bound(orders.begin(), orders.end(), id);
    if (at != orders.end() && *at == id) return;
    orders.insert(at, id);
    ++count_;
  }
  void remove(const AccountId& account, OrderId id) {
    const auto of = by_account_.find(account.view());
    if (of == by_account_.end()) return;
    const auto at = std::lower_bound(of->second.begin(), of->second.end(), id);
    if (at == of->second.end() || *at != id) return;
    of->second.erase(at);
    --count_;
    if (of->second.empty()) by_account_.erase(of);
  }

  std::map<std::string, std::vector<OrderId>, std::less<>> by_account_;  // ascending; none empty
  std::size_t count_ = 0;
};

}  // namespace exchange
