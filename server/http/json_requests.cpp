#include "http/json_requests.hpp"

#include <algorithm>

namespace exchange {
namespace {

using enum ErrorCode;

// Of an attribute.
constexpr std::string_view member_of(std::string_view attribute) {
  if (attribute == "sym") return "symbol";
  if (attribute == "amount") return "shares";
  return attribute;
}

// The value as the text that the attribute has in XML.
std::optional<std::string> text_of(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_integer() || value.is_boolean()) return value.dump();
  return {};
}

// The members of an object, at the places of their attributes in the table.
template <class AnyCommand>
struct Members {
  std::array<std::optional<std::string>, std::size(attributes_of<AnyCommand>)> texts;

  bool has(std::string_view attribute) const { return text(attribute).has_value(); }
  const std::optional<std::string>& text(std::string_view attribute) const {
    std::size_t at = 0;
    while (attributes_of<AnyCommand>[at].name != attribute) ++at;
    return texts[at];
  }
  // `beside`: members that are no attribute, or not read here.
  Problem read(const Json& object, std::initializer_list<std::string_view> beside = {}) {
    if (!object.is_object()) return {unexpected_content, "expected an object"};
    for (const auto& [name, value] : object.items()) {
      if (std::find(beside.begin(), beside.end(), name) != beside.end()) continue;
      bool known = false;
      Problem problem;
      for_each_attribute<AnyCommand>([&](auto place) {
        if (member_of(attributes_of<AnyCommand>[place].name) != name) return;
        known = true;
        texts[place] = text_of(value);
        if (!texts[place]) problem = {malformed_number, name + " must be a string, as \"9.5\""};
      });
      if (!known) return {unexpected_content, "unexpected member '" + name.substr(0, 64) + "'"};
      if (problem) return problem;
    }
    return {};
  }
  Problem missing() const {
    for (std::size_t i = 0; i < texts.size(); ++i)
      if (attributes_of<AnyCommand>[i].presence == Presence::required && !texts[i])
        return {
            missing_attribute,
            "missing member '" + std::string(member_of(attributes_of<AnyCommand>[i].name)) + "'"};
    return {};
  }
  Problem into(AnyCommand& command) const {
    Problem problem;
    for_each_attribute<AnyCommand>([&](auto place) {
      constexpr auto& attribute = attributes_of<AnyCommand>[place];
      if (problem || attribute.read == nullptr || !texts[place]) return;
      problem = attribute.read(*texts[place], command, member_of(attribute.name));
    });
    return problem;
  }
  // The sign of the amount is the side.
  Problem take_side(const Json& object) {
    const auto side = object.find("side");
    if (side == object.end()) return {missing_attribute, "missing member 'side'"};
    if (*side != "buy" && *side != "sell") return {unknown_value, "side must be buy or sell"};
    std::size_t at = 0;
    while (attributes_of<AnyCommand>[at].name != "amount") ++at;
    if (!texts[at]) return {missing_attribute, "missing member 'shares'"};
    if (texts[at]->starts_with('-')) return {number_out_of_range, "shares is negative"};
    if (*side == "sell") texts[at]->insert(0, "-");
    return {};
  }
};

// Of an object whose members are all among these.
Problem unexpected_member(const Json& object, std::initializer_list<std::string_view> known) {
  if (!object.is_object()) return {unexpected_content, "expected an object"};
  for (const auto& [name, value] : object.items())
    if (std::find(known.begin(), known.end(), name) == known.end())
      return {unexpected_content, "unexpected member '" + name.substr(0, 64) + "'"};
  return {};
}

}  // namespace

Problem read_order_name(std::string_view text, OrderName& name) {
  constexpr std::string_view prefix = "ref:";
  if (text.starts_with(prefix))
    return read_value(text.substr(prefix.size()), name.reference, "ref");
  return read_value(text, name.id, "id");
}

Problem read_order(const Json& object, const AccountId& account, const ProtocolLimits& limits,
                   PlaceOrder& order) {
  Members<PlaceOrder> members;
  if (Problem problem = members.read(object, {"side", "account"})) return problem;
  if (Problem problem = members.take_side(object)) return problem;
  if (Problem problem = members.missing()) return problem;
  const auto& type = members.text("type");
  if (Problem problem = read_type(type ? std::optional<std::string_view>(*type) : std::nullopt,
                                  members.has("limit"), order))
    return problem;
  order.account = account;
  order.symbol_must_exist = limits.refuse_unknown_symbols;
  return members.into(order);
}

Problem read_replacement(const Json& object, const AccountId& account, const OrderName& name,
                         ReplaceOrder& replace) {
  Members<ReplaceOrder> members;
  if (Problem problem = members.read(object, {"side", "account"})) return problem;
  if (members.has("id") || members.has("ref"))
    return {conflicting_attributes, "the path names the order"};
  if (Problem problem = members.take_side(object)) return problem;
  if (Problem problem = members.missing()) return problem;
  replace.account = account;
  replace.order = name.id;
  replace.reference = name.reference;
  return members.into(replace);
}

Problem read_account(const Json& object, CreateAccount& create, std::string& key) {
  if (Problem problem = unexpected_member(object, {"account", "balance", "key"})) return problem;
  const auto id = object.find("account"), balance = object.find("balance");
  if (id == object.end()) return {missing_attribute, "missing member 'account'"};
  if (balance == object.end()) return {missing_attribute, "missing member 'balance'"};
  if (Problem problem = read_value(text_of(*id).value_or(""), create.account, "account"))
    return problem;
  if (Problem problem = read_value(text_of(*balance).value_or(""), create.balance, "balance"))
    return problem;
  if (const auto given = object.find("key"); given != object.end()) {
    key = given->is_string() ? given->get<std::string>() : "";
    if (!is_key(key)) return {malformed_key, "key must have 8 to 128 bytes"};
  }
  return {};
}

Problem read_symbol(const Json& object, std::vector<Command>& commands) {
  if (Problem problem = unexpected_member(object, {"symbol", "holdings"})) return problem;
  const auto name = object.find("symbol");
  if (name == object.end()) return {missing_attribute, "missing member 'symbol'"};
  SymbolName symbol;
  if (Problem problem = read_value(text_of(*name).value_or(""), symbol, "symbol")) return problem;
  const auto holdings = object.find("holdings");
  if (holdings == object.end() || holdings->empty()) {
    commands.emplace_back(CreateSymbol{symbol});
    return {};
  }
  if (!holdings->is_object()) return {unexpected_content, "holdings must be an object"};
  for (const auto& [account, shares] : holdings->items()) {
    PlaceShares place{symbol, {}, {}};
    if (Problem problem = read_value(account, place.account, "account")) return problem;
    if (Problem problem = read_value(text_of(shares).value_or(""), place.shares, "shares"))
      return problem;
    commands.emplace_back(std::move(place));
  }
  return {};
}

std::string json_text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json error_object(std::string_view sentence, std::string_view code) {
  return {{"error", sentence}, {"code", code}};
}

namespace {

Json status_json(const Status& status) {
  Json json{{"order", status.order},
            {"open", to_string(status.open)},
            {"canceled", to_string(status.canceled)}};
  Json executions = Json::array();
  for (const Execution& execution : status.executions)
    executions.push_back({{"shares", to_string(execution.shares)},
                          {"price", to_string(execution.price)},
                          {"time_us", execution.time.microseconds}});
  json["executions"] = std::move(executions);
  return json;
}

struct OutcomeJson {
  Json operator()(const Rejected& rejected) const {
    std::string sentence(describe(rejected.reason));
    if (rejected.number != 0) sentence += " " + std::to_string(rejected.number);
    return error_object(sentence, code_of(rejected.reason));
  }
  Json operator()(const Created&) const { return Json::object(); }
  Json operator()(const Opened& opened) const { return {{"order", opened.order}}; }
  Json operator()(const OpenedBefore& opened) const {
    return {{"order", opened.order}, {"repeated", true}};
  }
  Json operator()(const Status& status) const { return status_json(status); }
  Json operator()(const Canceled& canceled) const { return status_json(canceled.status); }
  Json operator()(const CanceledAll& canceled) const {
    Json orders = Json::array();
    for (const Status& status : canceled.orders) orders.push_back(status_json(status));
    return {{"orders", std::move(orders)}};
  }
  Json operator()(const Replaced& replaced) const { return {{"order", replaced.order}}; }
  Json operator()(const NotInMemory&) const { ENSURE(!"the order reader has replaced it"); }
};

}  // namespace

Json outcome_json(const Outcome& outcome) { return std::visit(OutcomeJson{}, outcome); }

}  // namespace exchange
