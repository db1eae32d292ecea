// Judges streams of account events.

#include <map>
#include <nlohmann/json.hpp>

#include "history/check.hpp"
#include "model/naive_exchange.hpp"

namespace exchange::history {
namespace {

using Json = nlohmann::json;

// The model. It also notes the events of some accounts, as their streams should contain them.
class NotedExchange final : public NaiveExchange {
 public:
  // By account. Before an account is recorded, nothing is noted for it.
  std::map<std::string, std::vector<Json>> noted;

  // Notes events of this account too: only watched accounts have a stream.
  void watch(const std::string& account) { watched_.emplace(account, false); }

  void replay(const Command& command, Timestamp time, BatchNumber batch) {
    command_ = &command;
    time_ = time;
    batch_ = batch;
    const Outcome outcome = apply(command, time);
    if (std::holds_alternative<Rejected>(outcome)) {
      if (std::holds_alternative<PlaceOrder>(command) ||
          std::holds_alternative<ReplaceOrder>(command))
        number_refused();
      return;
    }
    if (const auto* record = std::get_if<RecordEvents>(&command)) {
      const auto found = watched_.find(std::string(record->account.view()));
      if (found == watched_.end() || found->second) return;
      found->second = true;
      note(record->account, nullptr, Json{{"event", "began"}});
    } else if (const auto* place = std::get_if<PlaceShares>(&command)) {
      note_shares(*place, false);
    } else if (const auto* shares = std::get_if<AdjustShares>(&command)) {
      note_shares(*shares, shares->takes);
    } else if (const auto* cash = std::get_if<AdjustCash>(&command)) {
      note(cash->account, nullptr, Json{{"event", cash->takes ? "cash_taken" : "cash_received"}});
    }
  }

 private:
  void note(const AccountId& account, const SymbolName* symbol, Json event) {
    const std::string id(account.view());
    const auto found = watched_.find(id);
    if (found == watched_.end() || !found->second) return;
    std::vector<Json>& events = noted[id];
    event["number"] = events.size() + 1;
    event["balance"] = to_string(balance(account));
    if (symbol != nullptr) {
      event["symbol"] = symbol->view();
      event["position"] = to_string(position(account, *symbol));
    }
    event["batch"] = batch_;
    event["time_us"] = time_.microseconds;
    events.push_back(std::move(event));
  }
  // An amount of zero shares that is received is not an event.
  template <class Given>
  void note_shares(const Given& given, bool taken) {
    if (!taken && given.shares == Shares()) return;
    note(given.account, &given.symbol,
         Json{{"event", taken ? "shares_taken" : "shares_received"},
              {"shares", to_string(given.shares)}});
  }
  void note(const Order& order, Json event, bool with_limit) {
    event["order"] = number_of(order);
    if (order.placed.reference) event["ref"] = order.placed.reference->view();
    event["side"] = order.placed.side == Side::buy ? "buy" : "sell";
    event["open"] = to_string(open_now(order));
    if (with_limit) {
      const Price limit = limit_now(order);
      event["limit"] = limit == Price() ? Json() : Json(to_string(limit));
    }
    note(order.placed.account, &order.placed.symbol, std::move(event));
  }

  void note_opened(Order& order) override {
    note(order, {{"event", "opened"}, {"shares", to_string(order.placed.shares)}}, true);
  }
  void note_replaced(Order& order) override {
    note(order, {{"event", "replaced"}, {"shares", to_string(order.terms.back().shares)}}, true);
  }
  void note_canceled(Order& order) override {
    const auto* cancel = std::get_if<CancelOrder>(command_);
    const auto* place = std::get_if<PlaceOrder>(command_);
    std::string reason = "client";
    if (std::holds_alternative<SetAccount>(*command_)) reason = "operator";
    if (std::holds_alternative<SetInstrument>(*command_)) reason = "immediate";
    if (cancel != nullptr && cancel->at_disconnect) reason = "disconnect";
    if (place != nullptr) {
      const bool taker = number_of(order) == orders();
      const bool immediate = place->lifetime == Lifetime::immediate_or_cancel || place->is_market();
      reason = taker && immediate ? "immediate" : "stp";
    }
    note(order,
         {{"event", "canceled"}, {"shares", to_string(order.canceled_shares)}, {"reason", reason}},
         true);
  }
  void note_execution(Order& buy, Order& sell) override {
    const bool buys = taker(executions()) == Side::buy;
    for (Order* const order : {buys ? &sell : &buy, buys ? &buy : &sell}) {
      const Execution& last = order->executions.back().value;
      note(*order,
           {{"event", "executed"},
            {"shares", to_string(last.shares)},
            {"price", to_string(last.price)},
            {"execution", executions()},
            {"role", (order == &buy) == buys ? "taker" : "maker"}},
           false);
    }
  }

  std::map<std::string, bool> watched_;  // whether its events are recorded
  const Command* command_ = nullptr;
  Timestamp time_;
  BatchNumber batch_ = 0;
};

}  // namespace

EventVerdict check_events(const std::vector<StreamEvent>& events,
                          const std::vector<Batch>& journal) {
  EventVerdict verdict;
  NotedExchange model;
  for (const StreamEvent& event : events) model.watch(event.account);
  for (const Batch& batch : journal)
    for (const Command& command : batch.record.commands)
      model.replay(command, batch.record.time, batch.number);

  const auto find = [&](const StreamEvent& event, const std::string& sentence) {
    verdict.findings.push_back({event.line, "event " + std::to_string(event.number) +
                                                " of account " + event.account + " " + sentence});
  };
  std::map<std::string, std::uint64_t> last;
  for (const StreamEvent& event : events) {
    const auto [before, first] = last.try_emplace(event.account, event.number - 1);
    if (event.number <= before->second)
      find(event, "comes a second time, after " + std::to_string(before->second));
    else if (event.number > before->second + 1)
      find(event, "follows " + std::to_string(before->second) + ": events are missing");
    before->second = event.number;
    const std::vector<Json>& right = model.noted[event.account];
    if (event.number == 0 || event.number > right.size()) {
      find(event, "is not in the journal, which leads to " + std::to_string(right.size()));
      continue;
    }
    ++verdict.events;
    if (const Json& wanted = right[event.number - 1]; Json::parse(event.json) != wanted)
      find(event, "is " + event.json + "; right is " + wanted.dump());
  }
  verdict.accounts = last.size();
  return verdict;
}

}  // namespace exchange::history
