#pragma once
// The orders that end with their connection (docs/protocol.md, E20), as far as the connection
// knows: an order that was executed since stays here until a reply shows that it is not open.
// Owner: ClientSession. Thread: one at a time.

#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "engine/commands.hpp"

namespace exchange {

class TiedOrders {
 public:
  bool empty() const { return orders_.empty(); }
  std::size_t count() const { return orders_.size(); }

  // Adds the orders that were opened, if the request ties its orders, and removes closed ones.
  void note(std::span<const Command> commands, std::span<const Outcome> outcomes, bool ties) {
    for (std::size_t i = 0; i < commands.size(); ++i) {
      const Outcome& outcome = outcomes[i];
      if (const auto* order = std::get_if<PlaceOrder>(&commands[i])) {
        if (ties) add(*order, outcome);
      } else if (const auto* canceled = std::get_if<Canceled>(&outcome)) {
        orders_.erase(canceled->status.order);
      } else if (const auto* all = std::get_if<CanceledAll>(&outcome)) {
        for (const Status& status : all->orders) orders_.erase(status.order);
      } else if (const auto* status = std::get_if<Status>(&outcome)) {
        if (status->open == Shares()) orders_.erase(status->order);
      } else if (const auto* rejected = std::get_if<Rejected>(&outcome);
                 rejected != nullptr && rejected->reason == Reason::nothing_open) {
        if (const auto* cancel = std::get_if<CancelOrder>(&commands[i]))
          orders_.erase(cancel->order);
        if (const auto* replace = std::get_if<ReplaceOrder>(&commands[i]))
          orders_.erase(replace->order);
      }
    }
  }

  // Moves orders into `cancels`, the newest first, until it has `max` commands.
  void take(std::vector<Command>& cancels, std::size_t max) {
    while (!orders_.empty() && cancels.size() < max) {
      const auto newest = std::prev(orders_.end());
      cancels.push_back(CancelOrder{
          .account = AccountId(*newest->second), .order = newest->first, .at_disconnect = true});
      orders_.erase(newest);
    }
  }

 private:
  void add(const PlaceOrder& order, const Outcome& outcome) {
    OrderId id = 0;
    const auto* opened = std::get_if<Opened>(&outcome);
    // Market orders rest only in an auction; the list would fill with closed orders.
    const bool may_rest = order.lifetime == Lifetime::until_canceled && !order.is_market();
    if (opened != nullptr && may_rest) id = opened->order;
    // When the client first sent the order, it may have had another lifetime.
    if (const auto* before = std::get_if<OpenedBefore>(&outcome)) id = before->order;
    if (id != 0) orders_[id] = &*accounts_.emplace(order.account.view()).first;
  }

  std::set<std::string> accounts_;
  std::map<OrderId, const std::string*> orders_;  // each with its account
};

}  // namespace exchange
