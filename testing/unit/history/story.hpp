#pragma once
// Histories with their journals as an honest exchange leaves them; tests then falsify them. The
// exchange is the engine behind the server's own XML, so that none of the tested code takes part.

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "catch.hpp"
#include "engine/exchange.hpp"
#include "history/check.hpp"
#include "options.hpp"
#include "protocol/reply.hpp"
#include "protocol/request.hpp"

namespace exchange::history {

inline std::string transactions(int account, const std::string& elements) {
  return "<transactions id='" + std::to_string(account) + "'>" + elements + "</transactions>";
}
inline std::string order_element(const std::string& amount, const std::string& limit) {
  return "<order sym='SPY' amount='" + amount + "' limit='" + limit + "'/>";
}

class Story {
 public:
  static constexpr std::int64_t seconds = 1'700'000'000;

  Story() : Story(std::make_shared<Exchange>()) {}
  // Uses another exchange, such as one with a fault.
  template <class AnyExchange>
  explicit Story(std::shared_ptr<AnyExchange> any)
      : apply_([any](const Command& command, Timestamp now) { return any->apply(command, now); }),
        count_([any](JournalRecord& record) {
          if constexpr (requires { any->totals(); }) {
            record.orders = any->totals().orders;
            record.executions = any->totals().executions;
          } else {
            record.orders = any->orders();
            record.executions = any->executions();
          }
        }) {}

  // Adds a request of this client, committed now, in its own batch unless `same_batch`; sent at
  // `call` and answered at `answered`. Without times it comes after all earlier requests. Returns
  // its number.
  std::size_t ask(std::int64_t client, const std::string& document, std::int64_t call = 0,
                  std::int64_t answered = 0, bool same_batch = false) {
    if (call == 0) {
      call = now_ + 10;
      answered = now_ + 20;
    }
    now_ = std::max(now_, answered);
    RecordedRequest& request = requests.emplace_back();
    request.line = "h:" + std::to_string(requests.size());
    request.client = client;
    request.run = 1;
    request.connection = std::uint64_t(client + 1);
    request.call = call;
    request.answered = answered;
    history::read_request(document, request);
    REQUIRE(read_reply(execute(document, same_batch), request.replies));
    return requests.size() - 1;
  }
  // Adds a request of the account, as a client of its own; returns the number of the request.
  std::size_t order(int account, const std::string& amount, const std::string& limit) {
    return ask(account, transactions(account, order_element(amount, limit)));
  }
  std::size_t query(int account, int id) {
    return ask(account, transactions(account, "<query id='" + std::to_string(id) + "'/>"));
  }
  std::size_t cancel(int account, int id) {
    return ask(account, transactions(account, "<cancel id='" + std::to_string(id) + "'/>"));
  }
  void set_up() {
    ask(-1,
        "<create><account id='1' balance='1000'/><account id='2' balance='1000.5'/><symbol "
        "sym='SPY'>"
        "<account id='1'>50</account><account id='2'>50</account></symbol></create>");
  }

  std::string& reply(std::size_t request, std::size_t element = 0) {
    return requests[request].replies[element];
  }
  // Removes the reply, as if it never came.
  void lose_reply(std::size_t request) {
    requests[request].answered.reset();
    requests[request].replies.clear();
  }

  // Returns the findings, one sentence a line; empty: the history is possible.
  std::string findings() const {
    std::string text;
    for (const Finding& finding : check(requests, journal).findings)
      text += finding.line + ": " + finding.sentence + "\n";
    return text;
  }

  // Returns the findings if a reply had `to` in place of `from`.
  std::string findings_with(std::size_t request, const std::string& from, const std::string& to,
                            std::size_t element = 0) const {
    Story lie = *this;
    std::string& text = lie.reply(request, element);
    INFO(text << " " << from);
    const std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    text.replace(at, from.size(), to);
    return lie.findings();
  }

  std::vector<RecordedRequest> requests;
  std::vector<Batch> journal;

 private:
  std::string execute(std::string document, bool same_batch) {
    const ProtocolLimits limits;
    XmlDocument parsed;
    std::vector<exchange::RequestElement> elements;
    std::vector<Command> commands;
    std::vector<Outcome> outcomes;
    const std::size_t size = document.size();
    const exchange::Request request =
        exchange::read_request(document.data(), size, limits, parsed, elements, commands);
    // time does not decrease: also commands that changed nothing had a time
    if (journal.empty() || journal.back().record.time < time_) same_batch = false;
    if (!same_batch) time_.microseconds += 1'500'000;
    const Timestamp now = same_batch ? journal.back().record.time : time_;
    for (const Command& command : commands) {
      outcomes.push_back(apply_(command, now));
      // Nothing was released, so it is the number of a replace: the tables do not have such an
      // order.
      if (std::holds_alternative<NotInMemory>(outcomes.back()))
        outcomes.back() = Rejected{Reason::unknown_order};
      if (!changed_state(outcomes.back())) continue;
      if (!same_batch) journal.push_back({journal.size() + 1, {.time = now}});
      same_batch = true;
      journal.back().record.commands.push_back(command);
      count_(journal.back().record);
    }
    std::string reply;
    append_results(reply, request, elements, outcomes, false);
    return reply;
  }

  // Copies share the exchange: what a test edits are requests and journal.
  std::function<Outcome(const Command&, Timestamp)> apply_;
  std::function<void(JournalRecord&)> count_;
  Timestamp time_{seconds * 1'000'000};
  std::int64_t now_ = 0;
};

}  // namespace exchange::history
