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
#include "client/loadgen/recorder.hpp"
#include "judge/replay/audit.hpp"
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
  replace_without_effect,
  place_kept,  // of a replace that loses it
  place_lost,  // although only the amount fell
  rests_anew,  // though it could be executed
  amount_is_open,
  reservation_kept,
  replaced_after_cancel,
  cancel_of_all_incomplete,
  cancel_of_all_refused,
  symbol_ignored,
  youngest_first,
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
    std::uint64_t place;  // the lowest comes first
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
  Outcome apply(const PlaceShares& command) {
    shares(command.account, command.symbol) += command.shares;
    return Created{};
  }

  Outcome apply(const PlaceOrder& command) {
    Order order{command, terms_, {.order = orders_.size() + 1, .open = command.shares}, ++places_};
    if (const std::optional<Reason> reason = reserve(order)) return Rejected{*reason};
    orders_.push_back(order);
    if (const std::optional<Reason> reason = refusal(orders_.back())) {
      give_back(orders_.back());
      orders_.pop_back();
      return Rejected{*reason};
    }
    arrive(orders_.back());
    return Opened{order.status.order};
  }

  Outcome apply(const ReplaceOrder& command) {
    Order* const order = find(command.account, command.order);
    if (!order) return Rejected{Reason::unknown_order};
    if (order->status.canceled > Shares() && lies(Lie::replaced_after_cancel)) {
      order->status.canceled = Shares();
      order->status.open = order->placed.shares;
      for (const Execution& execution : order->status.executions)
        order->status.open -= execution.shares;
    }
    if (order->status.open == Shares() || order->status.canceled > Shares())
      return Rejected{Reason::nothing_open};
    if (order->placed.side != command.side) return Rejected{Reason::other_side};
    const Shares executed = order->placed.shares - order->status.open;
    if (command.shares <= executed) return Rejected{Reason::executed_more};
    const bool keeps_place =
        command.limit == order->placed.limit && command.shares <= order->placed.shares;
    if (!keeps_place && lies(Lie::replace_without_effect)) return Replaced{command.order};

    const Order before = *order;
    give_back(*order);
    order->placed.limit = command.limit;
    order->placed.shares = command.shares;
    order->status.open = command.shares - executed;
    if (executed > Shares() && lies(Lie::amount_is_open)) order->status.open = command.shares;
    if (const std::optional<Reason> reason = reserve(*order)) {
      *order = before;
      reserve(*order);
      return Rejected{*reason};
    }
    if (command.side == Side::buy && lies(Lie::reservation_kept))
      cash(command.account) -= Cash::from_units(1);
    order->terms = loadgen::Terms::none;
    if (keeps_place) {
      if (lie_ == Lie::place_lost) order->place = ++places_;
      return Replaced{command.order};
    }
    if (lie_ != Lie::place_kept) order->place = ++places_;
    if (!lies(Lie::rests_anew)) arrive(*order);
    return Replaced{command.order};
  }

  Outcome apply(const CancelAll& command) {
    const bool any_symbol = !command.symbol || lies(Lie::symbol_ignored);
    std::vector<Order*> open;
    for (Order& order : orders_)
      if (order.status.open > Shares() && order.status.canceled == Shares() &&
          order.placed.account.view() == command.account.view() &&
          (any_symbol || order.placed.symbol.view() == command.symbol->view()))
        open.push_back(&order);
    if (open.empty() || lies(Lie::cancel_of_all_refused)) return Rejected{Reason::no_open_orders};
    std::sort(open.begin(), open.end(),
              [](const Order* a, const Order* b) { return a->place < b->place; });
    if (open.size() > 1 && lies(Lie::cancel_of_all_incomplete)) open.erase(open.begin());
    if (lies(Lie::youngest_first)) std::reverse(open.begin(), open.end());
    CanceledAll canceled;
    for (Order* const order : open) {
      cancel(*order);
      canceled.orders.push_back(reported(*order));
    }
    return canceled;
  }

  // Nothing where the account has enough.
  std::optional<Reason> reserve(const Order& order) {
    const PlaceOrder& placed = order.placed;
    if (placed.side == Side::buy) {
      if (cash(placed.account) < cost(order.status.open, placed.limit))
        return Reason::insufficient_funds;
      cash(placed.account) -= cost(order.status.open, placed.limit);
    } else {
      if (shares(placed.account, placed.symbol) < order.status.open)
        return Reason::insufficient_shares;
      shares(placed.account, placed.symbol) -= order.status.open;
    }
    return std::nullopt;
  }

  void arrive(Order& taker) {
    while (taker.status.open > Shares()) {
      Order* const maker = next_maker(taker);
      if (!maker) break;
      const bool own = maker->placed.account.view() == taker.placed.account.view();
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
    std::sort(makers.begin(), makers.end(), [&](const Order* a, const Order* b) {
      if (a->placed.limit == b->placed.limit) return a->place < b->place;
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
  std::uint64_t commands_ = 0, chances_ = 0, places_ = 0;
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

// An order of a client that it may name, as replaced last.
struct OwnOrder {
  std::uint64_t id;
  Action action;
};

// What clients do beside orders, queries and cancels.
struct Habits {
  std::vector<Terms> terms = {};  // half of the orders have one of them, if there are any
  bool replaces = false;          // and cancels of all
};

// Clients that each send, are served and get their answer at random moments, so that requests
// overlap, recorded as in a run. Every client has one account. Every step of a client is a
// nanosecond.
class RandomRun {
 public:
  RandomRun(AuditInput& input, const Ask& ask, std::mt19937_64& random, unsigned symbols,
            const Habits& habits)
      : input_(input),
        ask_(ask),
        random_(random),
        symbols_(symbols),
        habits_(habits),
        clients_(input.accounts.size()) {}

  void run(unsigned requests) {
    for (unsigned sent = 0, answered = 0; answered < requests; ++now_ns_) {
      const auto account = std::uint32_t(random_() % clients_.size());
      Client& client = clients_[account];
      switch (client.state) {
        case Client::State::idle:
          if (sent == requests) break;
          ++sent;
          draw(client);
          write(client, account);
          client.sent_ns = now_ns_;
          client.state = Client::State::sent;
          break;
        case Client::State::sent:
          client.reply = ask_(client.request);
          client.state = Client::State::served;
          break;
        case Client::State::served:
          record(client, account);
          ++answered;
          client.state = Client::State::idle;
          break;
      }
    }
    input_.history = std::move(recorder_.history());
  }

 private:
  struct Client {
    enum class State { idle, sent, served } state = State::idle;
    std::vector<Action> actions;
    std::string request, reply;
    std::int64_t sent_ns = 0;
    std::vector<OwnOrder> opened;
  };

  std::int32_t draw_limit() { return std::int32_t(99'80 + 5 * (random_() % 9)); }
  std::int32_t draw_shares() { return std::int32_t(1 + random_() % 30); }

  Action draw_order() {
    const std::int32_t shares = draw_shares();
    Action order{.symbol = std::uint16_t(1 + random_() % symbols_),
                 .amount = random_() % 2 ? shares : -shares,
                 .limit_cents = draw_limit()};
    if (!habits_.terms.empty() && random_() % 2)
      order.terms = habits_.terms[random_() % habits_.terms.size()];
    if (order.terms == Terms::market) order.limit_cents = 0;
    return order;
  }

  // One that is opened.
  Action plain_order() {
    Action order = draw_order();
    order.terms = Terms::none;
    order.limit_cents = draw_limit();
    return order;
  }

  // Keeps the place, or loses it with more shares or another limit, which may match at once.
  Action draw_replace(const OwnOrder& order) {
    Action replace = order.action;
    replace.kind = Action::Kind::replace;
    replace.id = order.id;
    const std::int32_t sign = replace.amount > 0 ? 1 : -1;
    switch (random_() % 3) {
      case 0:
        replace.amount -= sign * std::int32_t(random_() % std::uint32_t(sign * replace.amount));
        break;
      case 1: replace.amount += sign * draw_shares(); break;
      default: replace.limit_cents = draw_limit();
    }
    return replace;
  }

  void draw(Client& client) {
    client.actions.clear();
    const unsigned percent = unsigned(random_() % 100);
    if (client.opened.empty() || percent < (habits_.replaces ? 45 : 60)) {
      client.actions.push_back(draw_order());
      return;
    }
    const OwnOrder& order = client.opened[random_() % client.opened.size()];
    if (habits_.replaces && percent < 65) {
      // one of the latest, which may be open yet
      const std::size_t back = 1 + random_() % std::min<std::size_t>(5, client.opened.size());
      const OwnOrder& recent = client.opened[client.opened.size() - back];
      client.actions = {plain_order()};
      if (!never_rests(recent.action.terms))
        client.actions.insert(client.actions.begin() + std::ptrdiff_t(random_() % 2),
                              draw_replace(recent));
    } else if (percent < 85) {
      client.actions.push_back({.kind = Action::Kind::query, .id = order.id});
    } else if (habits_.replaces && percent < 89) {
      client.actions.push_back({.kind = Action::Kind::cancel_all,
                                .symbol = std::uint16_t(random_() % 2 ? 0 : order.action.symbol)});
      const auto way = random_() % 3;
      if (way > 0)
        client.actions.insert(client.actions.begin() + std::ptrdiff_t(way - 1), plain_order());
    } else {
      client.actions.push_back({.kind = Action::Kind::cancel, .id = order.id});
    }
  }

  void write(Client& client, std::uint32_t account) const {
    client.request = "<transactions id=\"" + input_.accounts[account].id + "\">";
    for (const Action& action : client.actions) client.request += text_of(action);
    client.request += "</transactions>";
  }

  static std::string text_of(const Action& action) {
    const auto attribute = [](const char* name, const std::string& value) {
      return " " + std::string(name) + "=\"" + value + "\"";
    };
    const std::string id = attribute("id", std::to_string(action.id)),
                      symbol = attribute("sym", symbol_name(action.symbol)),
                      amount = attribute("amount", std::to_string(action.amount)),
                      limit = attribute(
                          "limit", to_string(Price::from_units(action.limit_cents * 1'000'000ll)));
    switch (action.kind) {
      case Action::Kind::query: return "<query" + id + "/>";
      case Action::Kind::cancel: return "<cancel" + id + "/>";
      case Action::Kind::cancel_all:
        return action.symbol == 0 ? "<cancel" + attribute("all", "true") + "/>"
                                  : "<cancel" + symbol + "/>";
      case Action::Kind::replace: return "<replace" + id + amount + limit + "/>";
      default:
        return "<order" + symbol + amount + (action.terms == Terms::market ? "" : limit) +
               attribute_text(action.terms) + "/>";
    }
  }

  void record(Client& client, std::uint32_t account) {
    recorder_.begin_reply();
    std::size_t count = 0, at = 0;
    client::ReplyElements counted(client.reply), elements(client.reply);
    for (client::ReplyElement element; counted.next(element);) ++count;
    for (client::ReplyElement element; elements.next(element);) {
      REQUIRE(at < client.actions.size());
      const Action& action = client.actions[at];
      CheckedElement checked{.element = element, .action = at, .rejected = element.name == "error"};
      if (action.kind == Action::Kind::order && !checked.rejected) {
        checked.opened = std::stoull(std::string(element.attribute("id")));
        client.opened.push_back({checked.opened, action});
      }
      if (action.kind == Action::Kind::replace && !checked.rejected)
        for (OwnOrder& order : client.opened)
          if (order.id == action.id) {
            order.action.amount = action.amount;
            order.action.limit_cents = action.limit_cents;
          }
      REQUIRE(recorder_.record({account, account, client.sent_ns, now_ns_}, action, checked,
                               deviations_) == "");
      // as many of a cancel of all as leave one for each of the others
      if (action.kind != Action::Kind::cancel_all || --count < client.actions.size()) ++at;
    }
    REQUIRE(elements.complete());
    REQUIRE(at == client.actions.size());
  }

  AuditInput& input_;
  const Ask& ask_;
  std::mt19937_64& random_;
  const unsigned symbols_;
  const Habits& habits_;
  std::vector<Client> clients_;
  Recorder recorder_;
  Deviations deviations_;
  std::int64_t now_ns_ = 0;
};

inline std::string text_of(const AuditResult& result) {
  std::string text;
  for (const std::string& finding : result.findings) text += finding + "\n";
  return text + result.not_checked;
}

}  // namespace loadgen
}  // namespace exchange
