#pragma once
// The elements of docs/protocol.md for commands and outcomes, written apart from the server's own
// code, for clients and judges of tests.

#include <algorithm>
#include <string>
#include <vector>

#include "engine/commands.hpp"

namespace exchange {

inline std::string quoted(const char* name, std::string_view value) {
  return " " + std::string(name) + "=\"" + std::string(value) + "\"";
}

// A command as an element of a request; `echo` gets the attributes that replies to it repeat.
struct RequestElementWriter {
  std::string& echo;
  std::string operator()(const CreateAccount& c) const {
    echo = quoted("id", c.account.view());
    return "<account" + echo + quoted("balance", to_string(c.balance)) + "/>";
  }
  std::string operator()(const CreateSymbol& c) const {
    echo = quoted("sym", c.symbol.view());
    return "<symbol" + echo + "/>";
  }
  std::string operator()(const PlaceShares& c) const {
    const std::string symbol = quoted("sym", c.symbol.view()), id = quoted("id", c.account.view());
    echo = symbol + id;
    return "<symbol" + symbol + "><account" + id + ">" + to_string(c.shares) +
           "</account></symbol>";
  }
  std::string operator()(const PlaceOrder& c) const {
    echo = quoted("sym", c.symbol.view()) +
           quoted("amount", (c.side == Side::sell ? "-" : "") + to_string(c.shares)) +
           (c.is_market() ? "" : quoted("limit", to_string(c.limit))) + reference(c.reference) +
           terms(c);
    return "<order" + echo + "/>";
  }
  static std::string terms(const PlaceOrder& c) {
    std::string text;
    if (c.lifetime == Lifetime::immediate_or_cancel) text = quoted("tif", "ioc");
    if (c.lifetime == Lifetime::fill_or_kill) text = quoted("tif", "fok");
    if (c.post_only) text += quoted("post", "true");
    if (c.is_market()) text += quoted("type", "market");
    if (c.self_trade == SelfTrade::cancel_resting) text += quoted("stp", "cancel-resting");
    if (c.self_trade == SelfTrade::cancel_taking) text += quoted("stp", "cancel-taking");
    return text;
  }
  std::string operator()(const QueryOrder& c) const {
    echo = named(c.order, c.reference);
    return "<query" + echo + (c.from == 1 ? "" : quoted("from", std::to_string(c.from))) + "/>";
  }
  std::string operator()(const CancelOrder& c) const {
    echo = named(c.order, c.reference);
    return "<cancel" + echo + "/>";
  }
  std::string operator()(const CancelAll& c) const {
    echo = c.symbol ? quoted("sym", c.symbol->view()) : "";
    return "<cancel" + (c.symbol ? echo : quoted("all", "true")) + "/>";
  }
  std::string operator()(const ReplaceOrder& c) const {
    echo = named(c.order, c.reference) +
           quoted("amount", (c.side == Side::sell ? "-" : "") + to_string(c.shares)) +
           quoted("limit", to_string(c.limit));
    return "<replace" + echo + "/>";
  }
  std::string operator()(const SetInstrument& c) const {
    echo = c.symbol ? quoted("sym", c.symbol->view()) : "";
    const auto number = [](const char* name, const auto& value) {
      return value ? quoted(name, to_string(*value)) : std::string();
    };
    const auto word = [](const char* name, const auto& value) {
      return value ? quoted(name, name_of(*value)) : std::string();
    };
    return "<instrument" + echo + number("tick", c.tick) + number("price-min", c.price_min) +
           number("price-max", c.price_max) + number("band", c.band) + word("at-band", c.at_band) +
           number("lot", c.lot) + number("order-max", c.order_max) + word("trading", c.trading) +
           "/>";
  }
  std::string operator()(const SetKey& c) const {  // without the key, which no one has
    echo = quoted("id", c.account.view());
    return "<set-key" + echo + "/>";
  }
  std::string operator()(const SetAccount& c) const {
    echo = quoted("id", c.account.view());
    const auto number = [](const char* name, const auto& value) {
      return value ? quoted(name, std::to_string(*value)) : std::string();
    };
    return "<set-account" + echo +
           (c.role ? quoted("role", *c.role == Role::trader ? "trader" : "operator") : "") +
           (c.access ? quoted("access", name_of(*c.access)) : "") +
           (c.cancel_orders ? quoted("cancel-orders", "true") : "") +
           number("orders-max", c.orders_max) +
           number("orders-per-second-max", c.orders_per_second_max) +
           (c.position_max ? quoted("position-max", to_string(*c.position_max)) : "") +
           (c.name ? quoted("name", c.name->view()) : "") + "/>";
  }
  std::string operator()(const AdjustCash& c) const {
    echo = quoted("id", c.account.view());
    return "<adjust-cash" + echo + quoted("amount", (c.takes ? "-" : "") + to_string(c.cash)) +
           (c.reason ? quoted("reason", c.reason->view()) : "") + "/>";
  }
  std::string operator()(const AdjustShares& c) const {
    echo = quoted("sym", c.symbol.view()) + quoted("id", c.account.view());
    return "<adjust-shares" + echo + quoted("amount", (c.takes ? "-" : "") + to_string(c.shares)) +
           (c.reason ? quoted("reason", c.reason->view()) : "") + "/>";
  }
  std::string operator()(const BeginRound& c) const {
    echo = quoted("name", c.name.view());
    return "<begin-round" + echo + "/>";
  }
  std::string operator()(const RecordEvents&) const { ENSURE(!"a command of the server alone"); }
  static std::string named(OrderId order, const OptionalReference& ref) {
    return ref ? reference(ref) : quoted("id", std::to_string(order));
  }
  static std::string reference(const OptionalReference& reference) {
    return reference ? quoted("ref", (*reference).view()) : "";
  }
};

inline bool creates(const Command& command) {
  constexpr std::size_t of_operator = boost::mp11::mp_find<Command, SetInstrument>::value;
  return command.index() < 3 || command.index() >= of_operator;
}

// A request of commands that all create, or all trade for this account.
inline std::string request_document(const std::vector<Command>& commands, const AccountId& account,
                                    std::vector<std::string>& echoes) {
  const bool create = creates(commands.front());
  std::string xml = create ? "<create>" : "<transactions" + quoted("id", account.view()) + ">";
  for (const Command& command : commands)
    xml += std::visit(RequestElementWriter{echoes.emplace_back()}, command);
  return xml + (create ? "</create>" : "</transactions>");
}

// The attributes of a reply that names an order: its id comes before the reference and the terms.
inline std::string with_id(const std::string& echo, OrderId order) {
  const std::size_t at = std::min({echo.find(" ref="), echo.find(" tif="), echo.find(" post="),
                                   echo.find(" type="), echo.find(" stp="), echo.size()});
  return echo.substr(0, at) + (order != 0 ? quoted("id", std::to_string(order)) : "") +
         echo.substr(at);
}

// The attributes of a reply to a replace: the number of the order first, whatever named it.
inline std::string with_id_first(const std::string& echo, OrderId order) {
  const std::string_view id = " id=\"";
  const std::size_t rest = echo.starts_with(id) ? echo.find('"', id.size()) + 1 : 0;
  return quoted("id", std::to_string(order)) + echo.substr(rest);
}

inline std::string status_element(const std::string& name, const std::string& echo,
                                  const Status& status) {
  std::string text = "<" + name + (echo.starts_with(" ref=") ? with_id(echo, status.order) : echo) +
                     (status.next == 0 ? "" : quoted("next", std::to_string(status.next))) + ">";
  const auto shares = [](Shares number) { return quoted("shares", to_string(number)); };
  const auto time = [](Timestamp t) { return quoted("time", std::to_string(t.seconds())) + "/>"; };
  if (status.open > Shares()) text += "<open" + shares(status.open) + "/>";
  if (status.canceled > Shares())
    text += "<canceled" + shares(status.canceled) + time(status.canceled_at);
  for (const Execution& execution : status.executions)
    text += "<executed" + shares(execution.shares) + quoted("price", to_string(execution.price)) +
            time(execution.time);
  return text + "</" + name + ">";
}

// `echo`: the attributes that replies to the command repeat. An order without a number is opened
// without an id.
inline std::string reply_element(const Outcome& outcome, const std::string& echo) {
  if (const auto* rejected = std::get_if<Rejected>(&outcome))
    return "<error" + echo + ">" + sentence_of(*rejected) + "</error>";
  if (const auto* opened = std::get_if<Opened>(&outcome))
    return "<opened" + with_id(echo, opened->order) + "/>";
  if (const auto* opened = std::get_if<OpenedBefore>(&outcome))
    return "<opened" + with_id(echo, opened->order) + "/>";
  if (const auto* replaced = std::get_if<Replaced>(&outcome))
    return "<replaced" + with_id_first(echo, replaced->order) + "/>";
  if (const auto* status = std::get_if<Status>(&outcome))
    return status_element("status", echo, *status);
  if (const auto* canceled = std::get_if<Canceled>(&outcome))
    return status_element("canceled", echo, canceled->status);
  if (const auto* all = std::get_if<CanceledAll>(&outcome)) {
    std::string elements;
    for (const Status& one : all->orders)
      elements += status_element("canceled", quoted("id", std::to_string(one.order)), one);
    return elements;
  }
  if (const auto* uncrossed = std::get_if<Uncrossed>(&outcome))
    return "<created" + echo + quoted("price", to_string(uncrossed->price)) +
           quoted("volume", to_string(uncrossed->shares)) + "/>";
  return "<created" + echo + "/>";
}

}  // namespace exchange
