#pragma once
// For tests of the audit: a random run of several clients against a server in this process,
// recorded as the load generator does; an honest server, and one with a fault.

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
#include "client/loadgen/recorder.hpp"
#include "protocol/reply.hpp"
#include "support/faulty_exchange.hpp"
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

// Returns the attribute with a blank before it.
inline std::string attribute_text(loadgen::Terms terms) {
  const auto [name, value] = attribute_of(terms);
  return name.empty() ? "" : " " + std::string(name) + "=\"" + std::string(value) + "\"";
}

// A server that is wrong in one way.
class FaultyServer {
 public:
  explicit FaultyServer(Fault fault, bool self_match = true) : exchange_(fault, 3, self_match) {}
  explicit FaultyServer(DayFault fault) : exchange_(fault, 3) {}

  std::string ask(std::string_view document) {
    std::string text(document), reply;
    XmlDocument xml;
    std::vector<RequestElement> elements;
    std::vector<Command> commands;
    const Request request =
        read_request(text.data(), text.size(), limits_, xml, elements, commands);
    std::vector<Outcome> outcomes;
    for (const Command& command : commands) {
      const std::int64_t second = 1'700'000'000 + ++commands_ / 20;
      outcomes.push_back(exchange_.apply(command, {second * 1'000'000}));
    }
    append_results(reply, request, elements, outcomes, false);
    return reply;
  }
  void end_of_run() { exchange_.end_of_run(); }

 private:
  FaultyExchange exchange_;
  const ProtocolLimits limits_;
  std::int64_t commands_ = 0;
};

namespace loadgen {

inline std::string symbol_name(unsigned symbol) { return "SYM" + std::to_string(symbol); }

// Returns the first element of a reply.
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

// The actions of clients beside orders, queries and cancels.
struct Habits {
  std::vector<Terms> terms = {};  // half of the orders have one of them, if there are any
  bool replaces = false;          // and cancels of all
  bool trading_days = false;      // an operator halts, begins auctions and opens
};

// Clients that send, are served and get their answers at random moments, so that requests overlap.
// All is recorded as in a run. Every client has one account. Every step of a client takes one
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
        clients_(input.accounts.size()),
        trading_(symbols, Trading::open) {}

  void run(unsigned requests) {
    for (unsigned sent = 0, answered = 0; answered < requests; ++now_ns_) {
      if (habits_.trading_days) operate();
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
    for (unsigned symbol = 1; symbol <= symbols_; ++symbol) change(symbol, Trading::open);
    input_.history = std::move(recorder_.history());
    input_.history.add(std::move(of_operator_));
  }

 private:
  // Sends changes of trading now and then; each is served and answered at random moments.
  void operate() {
    switch (operator_state_) {
      case Client::State::idle: {
        if (random_() % 60 != 0) return;
        change_.symbol = std::uint16_t(1 + random_() % symbols_);
        const Trading now = trading_[change_.symbol - 1];
        const bool usual = random_() % 4 != 0;
        change_.trading = now == Trading::auction
                              ? (usual ? Trading::open : Trading::halted)
                              : (usual == (now == Trading::open) ? Trading::auction
                                 : now == Trading::open          ? Trading::halted
                                                                 : Trading::open);
        change_.sent_ns = now_ns_;
        operator_state_ = Client::State::sent;
        return;
      }
      case Client::State::sent:
        if (random_() % 5 == 0) serve_change(), operator_state_ = Client::State::served;
        return;
      case Client::State::served:
        if (random_() % 5 == 0) record_change(), operator_state_ = Client::State::idle;
        return;
    }
  }
  void change(unsigned symbol, Trading trading) {
    if (operator_state_ == Client::State::sent) serve_change();
    if (operator_state_ != Client::State::idle) record_change();
    operator_state_ = Client::State::idle;
    if (trading_[symbol - 1] == trading) return;
    change_.symbol = std::uint16_t(symbol);
    change_.trading = trading;
    change_.sent_ns = now_ns_++;
    serve_change();
    record_change();
  }
  void serve_change() {
    const std::string marker = "<transactions id=\"" + input_.accounts[0].id + "\"><order" +
                               " sym=\"" + symbol_name(symbols_ + 1) +
                               "\" amount=\"1\" limit=\"0.01\" tif=\"ioc\"/></transactions>";
    first_ = ask_(marker);
    changed_ = ask_("<create><instrument sym=\"" + symbol_name(change_.symbol) + "\" trading=\"" +
                    std::string(to_string(change_.trading)) + "\"/></create>");
    second_ = ask_(marker);
    trading_[change_.symbol - 1] = change_.trading;
  }
  void record_change() {
    change_.answered_ns = now_ns_++;
    const auto marker = [&](const std::string& reply) {
      const std::uint64_t id = std::stoull(std::string(only_element(reply).attribute("id")));
      of_operator_.orders.push_back({.id = id,
                                     .account = 0,
                                     .symbol = std::uint16_t(symbols_ + 1),
                                     .terms = Terms::ioc,
                                     .amount = 1,
                                     .limit_cents = 1,
                                     .sent_ns = change_.sent_ns,
                                     .answered_ns = change_.answered_ns});
      return id;
    };
    change_.place = {marker(first_), Place::Side::after, 0};
    change_.next_id = marker(second_);
    const client::ReplyElement element = only_element(changed_);
    REQUIRE(element.name == "created");
    change_.price_cents =
        std::int32_t(lenient_units(element.attribute("price")).value_or(0) / 1'000'000);
    change_.shares = lenient_units(element.attribute("volume")).value_or(0) / 100'000'000;
    of_operator_.trading.push_back(change_);
  }

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

  // Sends an order that is opened.
  Action plain_order() {
    Action order = draw_order();
    order.terms = Terms::none;
    order.limit_cents = draw_limit();
    return order;
  }

  // Keeps the place, or loses it with more shares or another limit, which may match immediately.
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
      // one of the newest, which may still be open
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
      // lists as many of a cancel of all as leave one for each of the others
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
  // The state of the operator:
  std::vector<Trading> trading_;  // as served, of symbol n at n - 1
  Client::State operator_state_ = Client::State::idle;
  TradingRecord change_;
  std::string first_, changed_, second_;  // replies
  History of_operator_;
};

inline std::string text_of(const AuditResult& result) {
  std::string text;
  for (const std::string& finding : result.findings) text += finding + "\n";
  return text + result.not_checked;
}

}  // namespace loadgen
}  // namespace exchange
