#pragma once
// For tests of the audit: a random run of several clients against a server in this process,
// recorded as the load generator does; an honest server, and one that lies in one way of your
// choice.

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "catch.hpp"
#include "client/connection/results.hpp"
#include "client/loadgen/audit/audit.hpp"
#include "client/loadgen/audit/order_digest.hpp"
#include "protocol/reply.hpp"
#include "support/local.hpp"

namespace exchange {
using namespace testing;

// The whole server, without sockets.
class HonestServer {
 public:
  std::string ask(std::string_view document) {
    client_.send(framed(document));
    return client_.replies();
  }

 private:
  LocalService service_;
  ProtocolLimits limits_;
  LocalClient client_{service_, limits_};
};

// With a blank before it.
inline std::string attribute_text(loadgen::Terms terms) {
  const auto [name, value] = attribute_of(terms);
  return name.empty() ? "" : " " + std::string(name) + "=\"" + std::string(value) + "\"";
}

enum class Lie {
  none,
  lost_execution,
  takers_price,
  price_priority,
  time_priority,
  passed_over,
  refund_dropped,
  credit_dropped,
  cancel_without_effect,
  trades_after_cancel,
  canceled_unasked,
  vanished_order,
  stale_query,
  query_of_the_future,
  ioc_rests,
  fok_in_part,
  post_takes,
  market_stops,  // at some price
  self_trade,    // of an order that prevents them
  out_of_reach,  // it cancels a resting order that it would not match
  taking_rests,  // where it is to be canceled
};

// What the only order of a document asks for.
inline loadgen::Terms terms_in(std::string_view document) {
  using loadgen::Terms;
  for (const Terms terms : {Terms::ioc, Terms::fok, Terms::post, Terms::market,
                            Terms::cancel_resting, Terms::cancel_taking})
    if (document.find(attribute_text(terms)) != std::string_view::npos) return terms;
  return Terms::none;
}

// The market rules by scanning all orders, but for one lie now and then.
class LyingServer {
 public:
  explicit LyingServer(Lie lie, bool self_match = true) : lie_(lie), self_match_(self_match) {}

  std::string ask(std::string_view document) {
    std::string text(document);
    terms_ = terms_in(text);
    with_limit(text);
    XmlDocument xml;
    std::vector<RequestElement> elements;
    std::vector<Command> commands;
    const Request request =
        read_request(text.data(), text.size(), limits_, xml, elements, commands);
    std::vector<Outcome> outcomes;
    for (const Command& command : commands) {
      ++commands_;
      outcomes.push_back(std::visit([&](const auto& c) { return apply(c); }, command));
    }
    std::string reply;
    append_results(reply, request, elements, outcomes, false);
    return reply;
  }
  // The run is over: queries are of the end.
  void end_of_run() { in_run_ = false; }

 private:
  struct Order {
    PlaceOrder placed;
    loadgen::Terms terms;
    Status status;
    std::uint64_t last_command = 0;
  };

  // Gives a market order the limit of all, so that it can be read by a parser that asks for one.
  void with_limit(std::string& text) const {
    if (terms_ != loadgen::Terms::market) return;
    const std::string type = attribute_text(terms_);
    const bool sell = text.find("amount=\"-") != std::string::npos;
    text.replace(text.find(type), type.size(), sell ? " limit=\"0.01\"" : " limit=\"1000\"");
  }
  // Whether to lie, when it is possible.
  bool lies(Lie lie) { return lie == lie_ && in_run_ && ++chances_ % 3 == 0; }
  Timestamp now() const { return {(1'700'000'000 + std::int64_t(commands_ / 20)) * 1'000'000}; }
  Cash& cash(const AccountId& account) { return cash_[std::string(account.view())]; }
  Shares& shares(const AccountId& account, const SymbolName& symbol) {
    return shares_[std::string(account.view()) + " " + std::string(symbol.view())];
  }

  Outcome apply(const CreateAccount& command) {
    cash(command.account) = command.balance;
    return Created{};
  }
  Outcome apply(const CreateSymbol&) { return Created{}; }
  Outcome apply(const CancelAll&) { return Rejected{Reason::no_open_orders}; }  // never asked
  Outcome apply(const PlaceShares& command) {
    shares(command.account, command.symbol) += command.shares;
    return Created{};
  }

  Outcome apply(const PlaceOrder& command) {
    if (command.side == Side::buy) {
      if (cash(command.account) < cost(command.shares, command.limit))
        return Rejected{Reason::insufficient_funds};
      cash(command.account) -= cost(command.shares, command.limit);
    } else {
      if (shares(command.account, command.symbol) < command.shares)
        return Rejected{Reason::insufficient_shares};
      shares(command.account, command.symbol) -= command.shares;
    }
    orders_.push_back({command, terms_, {.order = orders_.size() + 1, .open = command.shares}});
    Order& taker = orders_.back();
    if (const std::optional<Reason> reason = refusal(taker)) {
      give_back(taker);
      orders_.pop_back();
      return Rejected{*reason};
    }
    while (taker.status.open > Shares()) {
      Order* const maker = next_maker(taker);
      if (!maker) break;
      const bool own = maker->placed.account.view() == command.account.view();
      if (!own || !prevents_self_trades(taker.terms) || lies(Lie::self_trade)) {
        execute(taker, *maker);
      } else if (taker.terms == loadgen::Terms::cancel_resting) {
        cancel(*maker);
      } else {
        if (!lies(Lie::taking_rests)) cancel(taker);
        break;
      }
    }
    if (taker.status.open > Shares() && never_rests(taker.terms) && !lies(Lie::ioc_rests))
      cancel(taker);
    if (taker.terms == loadgen::Terms::cancel_resting && lie_ == Lie::out_of_reach)
      cancel_out_of_reach(taker);
    return Opened{taker.status.order};
  }

  void cancel_out_of_reach(const Order& taker) {
    for (Order& order : orders_)
      if (&order != &taker && order.status.open > Shares() &&
          order.placed.account.view() == taker.placed.account.view() && lies(Lie::out_of_reach))
        return cancel(order);
  }

  std::optional<Reason> refusal(const Order& taker) {
    Shares fillable;
    for (const Order* const maker : makers_of(taker)) fillable += maker->status.open;
    if (taker.terms == loadgen::Terms::fok && fillable < taker.status.open &&
        !(fillable > Shares() && lies(Lie::fok_in_part)))
      return Reason::cannot_fill;
    if (taker.terms == loadgen::Terms::post && fillable > Shares() && !lies(Lie::post_takes))
      return Reason::would_execute;
    return std::nullopt;
  }

  // Those that it matches, the best price first, then the first that came.
  std::vector<Order*> makers_of(const Order& taker) {
    std::vector<Order*> makers;
    for (Order& order : orders_)
      if (order.status.open > Shares() && order.placed.side != taker.placed.side &&
          order.placed.symbol.view() == taker.placed.symbol.view() &&
          (self_match_ || order.placed.account.view() != taker.placed.account.view()) &&
          (taker.placed.side == Side::buy ? order.placed.limit <= taker.placed.limit
                                          : order.placed.limit >= taker.placed.limit))
        makers.push_back(&order);
    std::stable_sort(makers.begin(), makers.end(), [&](const Order* a, const Order* b) {
      return taker.placed.side == Side::buy ? a->placed.limit < b->placed.limit
                                            : b->placed.limit < a->placed.limit;
    });
    return makers;
  }

  Order* next_maker(const Order& taker) {
    const std::vector<Order*> makers = makers_of(taker);
    if (makers.empty() || lies(Lie::passed_over)) return nullptr;
    if (taker.terms == loadgen::Terms::market && lies(Lie::market_stops)) return nullptr;
    Order* const best = makers.front();
    for (Order* const other : makers) {
      if (other == best) continue;
      const bool same_price = other->placed.limit == best->placed.limit;
      if (lie_ == (same_price ? Lie::time_priority : Lie::price_priority) && lies(lie_))
        return other;
    }
    return best;
  }

  void execute(Order& taker, Order& maker) {
    Order& buy = taker.placed.side == Side::buy ? taker : maker;
    Order& sell = taker.placed.side == Side::buy ? maker : taker;
    const Shares moved = std::min(taker.status.open, maker.status.open);
    Price price = maker.placed.limit;
    if (taker.placed.limit != price && lies(Lie::takers_price)) price = taker.placed.limit;
    for (Order* const order : {&taker, &maker}) {
      order->status.open -= moved;
      order->status.executions.push_back({moved, price, now()});
    }
    maker.last_command = commands_;
    cash(sell.placed.account) += cost(moved, price);
    shares(buy.placed.account, buy.placed.symbol) += moved;
    cash(buy.placed.account) += cost(moved, buy.placed.limit) - cost(moved, price);
    if (buy.placed.limit > price && lies(Lie::refund_dropped))
      cash(buy.placed.account) -= Cash::from_units(1);
    if (lies(Lie::credit_dropped))
      shares(buy.placed.account, buy.placed.symbol) -= Shares::from_units(1);
  }

  Outcome apply(const CancelOrder& command) {
    Order* const order = find(command.account, command.order);
    if (!order) return Rejected{Reason::unknown_order};
    if (order->status.open == Shares() || order->status.canceled > Shares())
      return Rejected{Reason::nothing_open};
    const Order before = *order;
    cancel(*order);
    const Canceled canceled{reported(*order)};
    if (lies(Lie::cancel_without_effect)) {
      *order = before;
    } else if (lies(Lie::trades_after_cancel)) {
      order->status.open = before.status.open;
    }
    return canceled;
  }

  void cancel(Order& order) {
    give_back(order);
    order.status.canceled = std::exchange(order.status.open, Shares());
    order.status.canceled_at = now();
  }

  void give_back(const Order& order) {
    if (order.placed.side == Side::buy)
      cash(order.placed.account) += cost(order.status.open, order.placed.limit);
    else
      shares(order.placed.account, order.placed.symbol) += order.status.open;
  }

  Outcome apply(const QueryOrder& command) {
    Order* const order = find(command.account, command.order);
    if (!order || (lie_ == Lie::vanished_order && !in_run_ && command.order % 50 == 7))
      return Rejected{Reason::unknown_order};
    Status status = reported(*order);
    if (order->last_command > 0 && status.canceled == Shares() && lies(Lie::stale_query)) {
      status.open += status.executions.back().shares;
      status.executions.pop_back();
    }
    if (status.open > Shares() && lies(Lie::query_of_the_future)) {
      status.executions.push_back({status.open, order->placed.limit, now()});
      status.open = Shares();
    }
    if (lie_ == Lie::canceled_unasked && !in_run_ && status.open > Shares() &&
        command.order % 5 == 0) {
      status.canceled = std::exchange(status.open, Shares());
      status.canceled_at = now();
    }
    return status;
  }

  // Also an order that is canceled and still in the book is reported canceled.
  Status reported(const Order& order) const {
    Status status = order.status;
    if (status.canceled > Shares()) status.open = Shares();
    if (lie_ == Lie::lost_execution && status.executions.size() > 1 && status.order % 5 == 2)
      status.executions.pop_back();
    return status;
  }

  Order* find(const AccountId& account, OrderId order) {
    if (order == 0 || order > orders_.size() ||
        orders_[order - 1].placed.account.view() != account.view())
      return nullptr;
    return &orders_[order - 1];
  }

  const Lie lie_;
  const bool self_match_;  // else orders of one account do not match each other
  const ProtocolLimits limits_;
  bool in_run_ = true;
  loadgen::Terms terms_ = loadgen::Terms::none;  // of the order in the document
  std::uint64_t commands_ = 0, chances_ = 0;
  std::map<std::string, Cash> cash_;
  std::map<std::string, Shares> shares_;
  std::vector<Order> orders_;
};

namespace loadgen {

inline std::string symbol_name(unsigned symbol) { return "SYM" + std::to_string(symbol); }

// The first element of a reply.
inline client::ReplyElement only_element(const std::string& reply) {
  client::ReplyElements elements(reply);
  client::ReplyElement element;
  REQUIRE(elements.next(element));
  return element;
}

inline void create(const AuditInput& input, const Ask& ask) {
  for (const AuditAccount& account : input.accounts) {
    REQUIRE(only_element(ask("<create><account id=\"" + account.id + "\" balance=\"" +
                             std::to_string(account.cash) + "\"/></create>"))
                .name == "created");
    for (const auto& placed : account.shares)
      REQUIRE(only_element(ask("<create><symbol sym=\"" + symbol_name(placed.symbol) +
                               "\"><account id=\"" + account.id + "\">" +
                               std::to_string(placed.shares) + "</account></symbol></create>"))
                  .name == "created");
  }
}

// Accounts of every kind: rich, poor, without shares, with nothing.
inline AuditInput random_accounts(std::mt19937_64& random, unsigned accounts, unsigned symbols) {
  AuditInput input{.symbol_name = symbol_name, .probe_symbol = "PROBE"};
  constexpr std::int64_t cash[] = {1'000'000'000'000, 1'000'000, 5'000, 900, 0};
  for (unsigned i = 0; i < accounts; ++i) {
    AuditAccount& account = input.accounts.emplace_back(
        AuditAccount{std::to_string(70 + i), i < 2 ? cash[0] : cash[random() % 5], {}});
    for (unsigned symbol = 1; symbol <= symbols; ++symbol)
      if (i < 2 || random() % 4 != 0)
        account.shares.push_back({std::uint16_t(symbol), std::int64_t(random() % 3 ? 1'000 : 10)});
  }
  return input;
}

// Clients that each send, are served and get their answer at random moments, so that requests
// overlap. Every client has one account; it orders, queries and cancels. Every step of a client is
// a nanosecond. Half of the orders have one of `terms`, if there are any.
inline void random_run(AuditInput& input, const Ask& ask, std::mt19937_64& random, unsigned symbols,
                       unsigned requests, const std::vector<Terms>& terms = {}) {
  struct Client {
    enum class State { idle, sent, served } state = State::idle;
    std::string request, reply;
    OrderRecord order;
    Observation observation;
    std::vector<std::uint64_t> opened;
  };
  std::vector<Client> clients(input.accounts.size());
  std::int64_t now_ns = 0;
  const auto draw = [&](Client& client, std::uint32_t account) {
    client.request = "<transactions id=\"" + input.accounts[account].id + "\">";
    client.order = {.account = account};
    const unsigned percent = unsigned(random() % 100);
    if (percent < 60 || client.opened.empty()) {
      const auto shares = std::int32_t(1 + random() % 30);
      client.order = {.account = account,
                      .symbol = std::uint16_t(1 + random() % symbols),
                      .amount = random() % 2 ? shares : -shares,
                      .limit_cents = std::int32_t(99'80 + 5 * (random() % 9)),
                      .sent_ns = now_ns};
      if (!terms.empty() && random() % 2) client.order.terms = terms[random() % terms.size()];
      const bool market = client.order.terms == Terms::market;
      if (market) client.order.limit_cents = 0;
      client.request += "<order sym=\"" + symbol_name(client.order.symbol) + "\" amount=\"" +
                        std::to_string(client.order.amount) + "\"";
      if (!market)
        client.request += " limit=\"" +
                          to_string(Price::from_units(client.order.limit_cents * 1'000'000ll)) +
                          "\"";
      client.request += attribute_text(client.order.terms) + "/>";
    } else {
      const bool query = percent < 85;
      client.observation = {.kind = query ? Observation::Kind::status : Observation::Kind::canceled,
                            .id = client.opened[random() % client.opened.size()],
                            .sent_ns = now_ns};
      client.request += (query ? "<query id=\"" : "<cancel id=\"") +
                        std::to_string(client.observation.id) + "\"/>";
    }
    client.request += "</transactions>";
  };
  const auto record = [&](Client& client) {
    const client::ReplyElement element = only_element(client.reply);
    if (client.order.amount != 0) {
      if (element.name == "error") return;
      REQUIRE(element.name == "opened");
      client.order.id = std::stoull(std::string(element.attribute("id")));
      client.order.answered_ns = now_ns;
      client.opened.push_back(client.order.id);
      input.history.orders.push_back(client.order);
      return;
    }
    client.observation.answered_ns = now_ns;
    if (element.name == "error") {
      REQUIRE(client.observation.kind == Observation::Kind::canceled);
      client.observation.kind = Observation::Kind::cancel_refused;
    } else {
      Status state;
      Deviations deviations;
      REQUIRE(read_state(element, state, deviations) == "");
      client.observation.digest = digest_of(state).value();
    }
    input.history.observations.push_back(client.observation);
  };
  for (unsigned sent = 0, answered = 0; answered < requests; ++now_ns) {
    const auto account = std::uint32_t(random() % clients.size());
    Client& client = clients[account];
    switch (client.state) {
      case Client::State::idle:
        if (sent == requests) break;
        ++sent;
        draw(client, account);
        client.state = Client::State::sent;
        break;
      case Client::State::sent:
        client.reply = ask(client.request);
        client.state = Client::State::served;
        break;
      case Client::State::served:
        record(client);
        ++answered;
        client.state = Client::State::idle;
        break;
    }
  }
}

inline std::string text_of(const AuditResult& result) {
  std::string text;
  for (const std::string& finding : result.findings) text += finding + "\n";
  return text + result.not_checked;
}

}  // namespace loadgen
}  // namespace exchange
