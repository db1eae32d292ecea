#include "json/json_requests.hpp"

#include <algorithm>

#include "auth/credentials.hpp"
#include "base/text.hpp"

namespace exchange {
namespace {

using enum ErrorCode;
using Kind = JsonInput::Kind;
namespace http = boost::beast::http;

// The form of a member. Numbers are strings, or whole numbers that every language represents
// exactly.
enum class Form : std::uint8_t { text, decimal, count, truth };

constexpr Form form_of(ValueType type) {
  return type == ValueType::truth ? Form::truth
         : is_count(type)         ? Form::count
         : is_decimal(type)       ? Form::decimal
                                  : Form::text;
}

// Returns the text of the attribute in XML; null if the value has another form.
const std::string* text_of(const JsonInput& value, Form form) {
  if (form == Form::truth) return value.is(Kind::truth) ? &value.text() : nullptr;
  if (value.is_text()) return &value.text();
  if (form == Form::text || !value.is(Kind::integer)) return nullptr;
  const auto number = parse_number<std::int64_t>(value.text());
  constexpr auto most = std::int64_t(json_integer_max);
  return number && *number >= -most && *number <= most ? &value.text() : nullptr;
}
// Returns the error for a value of another kind.
std::string wrong_kind(const std::string& name, const JsonInput& value, Form form) {
  if (value.is(Kind::null)) return name + " is null; leave out what has no value";
  switch (form) {
    case Form::text: return name + " must be a string";
    case Form::decimal: return name + " must be a string, as \"9.5\"";
    case Form::count: return name + " must be a whole number, as 9 or \"9\"";
    case Form::truth: return name + " must be true or false";
  }
  return {};
}
// Reads a member of this kind into a value. `code` is the error code for a value of another kind.
template <class Value>
Problem read_member(const JsonInput& given, Value& value, const std::string& name, Form form,
                    ErrorCode code) {
  const std::string* const text = text_of(given, form);
  if (text == nullptr) return {code, wrong_kind(name, given, form)};
  return read_value(*text, value, name);
}
Problem read_account_id(const JsonInput& given, AccountId& account) {
  return read_member(given, account, "account", Form::text, malformed_id);
}
Problem read_symbol_name(const JsonInput& given, SymbolName& symbol) {
  return read_member(given, symbol, "symbol", Form::text, malformed_symbol);
}

using Names = std::initializer_list<std::string_view>;
bool has(Names names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}
Problem unexpected(const std::string& name) {
  return {unexpected_content, "unexpected member '" + name.substr(0, 64) + "'"};
}
Problem missing_member(std::string_view name) {
  return {missing_attribute, "missing member '" + std::string(name) + "'"};
}
// Returns a problem if this is not an object, or if it has a member that is not in `known`.
Problem unexpected_member(const JsonInput& object, Names known) {
  if (!object.is_object()) return {unexpected_content, "expected an object"};
  for (const auto& [name, value] : object.members())
    if (!has(known, name)) return unexpected(name);
  return {};
}

// The members of an object, at the places of their attributes in the table.
template <class AnyCommand>
struct Members {
  std::array<const std::string*, std::size(attributes_of<AnyCommand>)> texts{};
  std::string sold;  // the amount of a sale

  // `beside`: members that are not attributes.
  Problem read(const JsonInput& object, Names beside) {
    if (!object.is_object()) return {unexpected_content, "expected an object"};
    for (const auto& [name, value] : object.members()) {
      if (has(beside, name)) continue;
      bool known = false;
      Problem problem;
      for_each_attribute<AnyCommand>([&](auto at) {
        constexpr auto& attribute = attributes_of<AnyCommand>[at];
        if (attribute.member.empty() || attribute.member != name) return;
        known = true;
        constexpr Form form = form_of(attribute.value.type);
        texts[at] = text_of(value, form);
        if (texts[at] != nullptr) return;
        const bool is_number = form == Form::decimal || form == Form::count;
        problem = {is_number                                ? malformed_number
                   : form == Form::truth && value.is_text() ? unknown_value
                                                            : unexpected_content,
                   wrong_kind(name, value, form)};
      });
      if (!known) return unexpected(name);
      if (problem) return problem;
    }
    return {};
  }
  Problem missing() const {
    Problem problem;
    for_each_attribute<AnyCommand>([&](auto at) {
      constexpr auto& attribute = attributes_of<AnyCommand>[at];
      if (!problem && attribute.presence == Presence::required && !texts[at])
        problem = missing_member(attribute.member);
    });
    return problem;
  }
  Problem into(AnyCommand& command) const {
    Problem problem;
    for_each_attribute<AnyCommand>([&](auto at) {
      constexpr auto& attribute = attributes_of<AnyCommand>[at];
      if (problem || attribute.value.read == nullptr || !texts[at]) return;
      problem = attribute.value.read(*texts[at], command, attribute.member);
    });
    return problem;
  }
  // The sign of the amount is the side.
  Problem take_side(const JsonInput& object) {
    const JsonInput* const side = object.find("side");
    if (side == nullptr) return missing_member("side");
    if (!side->is_text() || (side->text() != "buy" && side->text() != "sell"))
      return {unknown_value, "side must be buy or sell"};
    const std::string*& amount = texts[place<AnyCommand>("amount")];
    if (amount == nullptr) return missing_member("shares");
    if (amount->starts_with('-')) return {number_out_of_range, "shares is negative"};
    if (side->text() == "buy") return {};
    sold = "-" + *amount;
    amount = &sold;
    return {};
  }
};

Problem read_whose(const JsonInput& object, const std::optional<AccountId>& usual,
                   JsonRequest& request) {
  request.account = usual;
  if (const JsonInput* const named = object.find("account"); named != nullptr)
    return read_account_id(*named, request.account.emplace());
  return usual ? Problem{} : missing_member("account");
}

// Reads an order; the caller has set its account.
Problem read_order(const JsonInput& object, Names beside, PlaceOrder& order) {
  Members<PlaceOrder> members;
  if (Problem problem = members.read(object, beside)) return problem;
  if (Problem problem = members.take_side(object)) return problem;
  if (Problem problem = members.missing()) return problem;
  const std::string* const type = members.texts[place<PlaceOrder>("type")];
  const Problem problem = read_type(type ? std::optional<std::string_view>(*type) : std::nullopt,
                                    members.texts[place<PlaceOrder>("limit")] != nullptr);
  if (problem) return problem.code == missing_attribute ? missing_member("limit") : problem;
  return members.into(order);
}

// Reads one order, or {"orders": [...]}, of which each order succeeds or fails by itself.
Problem read_place(const JsonInput& object, const ProtocolLimits& limits, JsonRequest& request,
                   std::vector<Command>& commands) {
  const JsonInput* const list = object.find("orders");
  if (list == nullptr) {
    PlaceOrder order;
    order.account = *request.account;
    if (Problem problem = read_order(object, {"side", "account", "cancel_on_disconnect"}, order))
      return problem;
    commands.emplace_back(std::move(order));
    return {};
  }
  if (Problem problem = unexpected_member(object, {"orders", "account", "cancel_on_disconnect"}))
    return problem;
  const std::size_t count = list->members().size();
  if (!list->is(Kind::list) || count == 0 || count > limits.elements_max)
    return {unexpected_content,
            "orders must be a list of 1 to " + std::to_string(limits.elements_max) + " orders"};
  std::vector<Problem>& problems = request.problems_of_list.emplace();
  for (const auto& [unnamed, one] : list->members()) {
    PlaceOrder order;
    order.account = *request.account;
    problems.push_back(read_order(one, {"side"}, order));
    if (!problems.back()) commands.emplace_back(std::move(order));
  }
  return {};
}

// Reads a ReplaceOrder, CancelOrder or QueryOrder.
template <class AnyCommand>
Problem read_of_order(const JsonInput& object, const JsonRequest& request, AnyCommand command,
                      std::vector<Command>& commands) {
  Members<AnyCommand> members;
  constexpr bool has_side = requires { command.side; };
  const Problem problem = has_side ? members.read(object, {"side", "account", "order"})
                                   : members.read(object, {"account", "order"});
  if (problem) return problem;
  const JsonInput* const order = object.find("order");
  if (order == nullptr) return missing_member("order");
  OrderName name;
  const std::string* const text = text_of(*order, Form::count);
  if (Problem wrong = read_order_name(text == nullptr ? std::string_view() : *text, name))
    return wrong;
  if constexpr (has_side) {
    if (Problem wrong = members.take_side(object)) return wrong;
    if (Problem wrong = members.missing()) return wrong;
  }
  command.account = *request.account;
  command.order = name.id;
  command.reference = std::move(name.reference);
  if (Problem wrong = members.into(command)) return wrong;
  commands.emplace_back(std::move(command));
  return {};
}

Problem read_cancel_all(const JsonInput& object, const JsonRequest& request,
                        std::vector<Command>& commands) {
  if (Problem problem = unexpected_member(object, {"account", "symbol"})) return problem;
  CancelAll cancel{*request.account, {}};
  if (const JsonInput* const symbol = object.find("symbol"); symbol != nullptr)
    if (Problem problem =
            read_member(*symbol, cancel.symbol, "symbol", Form::text, malformed_symbol))
      return problem;
  commands.emplace_back(std::move(cancel));
  return {};
}

// Reads the new key of an account.
Problem read_key(const JsonInput& key, JsonRequest& request) {
  if (!key.is_text()) return {malformed_key, wrong_kind("key", key, Form::text)};
  request.key = key.text();
  if (!is_key(request.key)) return {malformed_key, "key must have 8 to 128 bytes"};
  return {};
}

Problem read_account(const JsonInput& object, const ProtocolLimits& limits, JsonRequest& request,
                     std::vector<Command>& commands) {
  if (Problem problem = unexpected_member(object, {"account", "balance", "key"})) return problem;
  CreateAccount create;
  const JsonInput *const account = object.find("account"), *const balance = object.find("balance");
  if (account == nullptr) return missing_member("account");
  if (balance == nullptr) return missing_member("balance");
  if (Problem problem = read_account_id(*account, create.account)) return problem;
  if (Problem problem =
          read_member(*balance, create.balance, "balance", Form::decimal, malformed_number))
    return problem;
  if (const JsonInput* const given = object.find("key"); given != nullptr) {
    if (Problem problem = read_key(*given, request)) return problem;
  } else if (limits.keys) {
    return {missing_attribute, "missing member 'key': this exchange wants one for each account"};
  }
  request.done = http::status::created;
  request.named["account"] = create.account.view();
  commands.emplace_back(std::move(create));
  return {};
}

// Reads a new key for the account that sends the request, or, from the operator, for any account.
Problem read_set_key(const JsonInput& object, const std::optional<AccountId>& usual,
                     const ProtocolLimits& limits, JsonRequest& request,
                     std::vector<Command>& commands) {
  if (Problem problem = unexpected_member(object, {"account", "key", "revoke"})) return problem;
  if (Problem problem = read_whose(object, usual, request)) return problem;
  if (!limits.keys) return {no_keys, "accounts of this exchange have no keys"};
  const JsonInput *const key = object.find("key"), *const revoke = object.find("revoke");
  if (revoke != nullptr && !revoke->is(Kind::truth))
    return {unknown_value, "revoke must be true or false"};
  const bool revokes = revoke != nullptr && revoke->text() == "true";
  if (revokes && key != nullptr)
    return {conflicting_attributes, "both 'key' and 'revoke' are given"};
  if (!revokes) {
    if (key == nullptr) return missing_member("key");
    if (Problem problem = read_key(*key, request)) return problem;
  }
  request.named["account"] = request.account->view();
  commands.emplace_back(SetKey{*request.account});
  if (!(request.account == usual)) request.account.reset();
  return {};
}

// Appends the same number of commands as the reader of <symbol>.
Problem read_symbol(const JsonInput& object, const ProtocolLimits& limits, JsonRequest& request,
                    std::vector<Command>& commands) {
  if (Problem problem = unexpected_member(object, {"symbol", "holdings"})) return problem;
  const JsonInput* const name = object.find("symbol");
  if (name == nullptr) return missing_member("symbol");
  SymbolName symbol;
  if (Problem problem = read_symbol_name(*name, symbol)) return problem;
  request.done = http::status::created;
  request.named["symbol"] = symbol.view();
  const JsonInput* const holdings = object.find("holdings");
  const bool has_holdings = holdings != nullptr;
  if (has_holdings && !holdings->is_object())
    return {unexpected_content, "holdings must be an object"};
  if (has_holdings && holdings->members().size() > limits.elements_max)
    return {too_many_elements,
            "holdings of more than " + std::to_string(limits.elements_max) + " accounts"};
  if (!has_holdings || holdings->members().empty()) {
    commands.emplace_back(CreateSymbol{symbol});
    return {};
  }
  for (const auto& [account, shares] : holdings->members()) {
    PlaceShares given{symbol, {}, {}};
    if (Problem problem = read_value(account, given.account, "account")) return problem;
    if (Problem problem =
            read_member(shares, given.shares, "shares", Form::decimal, malformed_number))
      return problem;
    if (holdings->members().size() > 1) request.holders.push_back(account);
    commands.emplace_back(std::move(given));
  }
  return {};
}

// Reads a command with a member for each attribute; commands of accounts also take `account`.
template <class AnyCommand>
Problem read_simple(const JsonInput& object, JsonRequest& request, std::vector<Command>& commands) {
  constexpr bool is_of_account = request_element<AnyCommand>.root == Root::transactions;
  Members<AnyCommand> members;
  AnyCommand command;
  const Problem problem =
      is_of_account ? members.read(object, {"account"}) : members.read(object, {});
  if (problem) return problem;
  if (Problem wrong = members.missing()) return wrong;
  if (Problem wrong = members.into(command)) return wrong;
  if constexpr (is_of_account) command.account = *request.account;
  for_each_attribute<AnyCommand>([&](auto at) {
    constexpr auto& attribute = attributes_of<AnyCommand>[at];
    if (attribute.repeated == Repeated::before_id && members.texts[at])
      request.named[std::string(attribute.member)] = *members.texts[at];
  });
  commands.emplace_back(std::move(command));
  return {};
}

Problem read_ties(const JsonInput& object, const char* tie_problem, JsonRequest& request) {
  const JsonInput* const ties = object.find("cancel_on_disconnect");
  if (ties == nullptr) return {};
  if (!ties->is(Kind::truth)) return {unknown_value, "cancel_on_disconnect must be true or false"};
  request.ties_orders = ties->text() == "true";
  if (request.ties_orders && tie_problem != nullptr) return {no_cancel_on_disconnect, tie_problem};
  return {};
}

struct RequestReader {
  const JsonInput& object;
  const std::optional<AccountId>& usual;
  const ProtocolLimits& limits;
  const char* tie_problem;
  JsonRequest& request;
  std::vector<Command>& commands;

  template <class AnyCommand>
  Problem operator()(boost::mp11::mp_identity<AnyCommand>) const {
    if constexpr (request_element<AnyCommand>.message.empty()) {
      ENSURE(!"no message of JSON asks for it");
    } else if constexpr (request_element<AnyCommand>.root == Root::create) {
      request.named = Json::object();
      return read_creation<AnyCommand>();
    } else {
      if (Problem problem = read_whose(object, usual, request)) return problem;
      if (Problem problem = read_ties(object, tie_problem, request)) return problem;
      return read_of_account<AnyCommand>();
    }
  }

 private:
  template <class AnyCommand>
  Problem read_creation() const {
    if constexpr (std::is_same_v<AnyCommand, CreateAccount>)
      return read_account(object, limits, request, commands);
    else if constexpr (std::is_same_v<AnyCommand, CreateSymbol>)
      return read_symbol(object, limits, request, commands);
    else if constexpr (std::is_same_v<AnyCommand, SetKey>)
      return read_set_key(object, usual, limits, request, commands);
    else
      return read_simple<AnyCommand>(object, request, commands);
  }
  template <class AnyCommand>
  Problem read_of_account() const {
    if constexpr (std::is_same_v<AnyCommand, PlaceOrder>)
      return read_place(object, limits, request, commands);
    else if constexpr (std::is_same_v<AnyCommand, CancelAll>)
      return read_cancel_all(object, request, commands);
    else if constexpr (requires(AnyCommand command) { command.order; })
      return read_of_order(object, request, AnyCommand{}, commands);
    else
      return read_simple<AnyCommand>(object, request, commands);
  }
};

Json status_json(const Status& status) {
  constexpr std::size_t listed_max = 1'000;  // each has about 70 bytes
  Json json{{"order", status.order},
            {"open", to_string(status.open)},
            {"canceled", to_string(status.canceled)}};
  const std::size_t listed = std::min(listed_max, status.executions.size());
  Json executions = Json::array();
  for (const Execution& execution : std::span(status.executions).first(listed))
    executions.push_back({{"shares", to_string(execution.shares)},
                          {"price", to_string(execution.price)},
                          {"time_us", execution.time.microseconds}});
  json["executions"] = std::move(executions);
  if (listed < status.executions.size())
    json["next"] = status.skipped + listed + 1;
  else if (status.next != 0)
    json["next"] = status.next;
  return json;
}

struct OutcomeJson {
  Json operator()(const Rejected& rejected) const {
    return error_object(sentence_of(rejected), to_code(rejected.reason));
  }
  Json operator()(const Status& status) const { return status_json(status); }
  Json operator()(const Canceled& canceled) const { return status_json(canceled.status); }
  Json operator()(const CanceledAll& canceled) const {
    Json orders = Json::array();
    for (const Status& status : canceled.orders) orders.push_back(status_json(status));
    return {{"orders", std::move(orders)}};
  }
  Json operator()(const NotInMemory&) const { ENSURE(!"the order reader has replaced it"); }
  // Writes an outcome that consists of attributes only.
  template <class AnyOutcome>
  Json operator()(const AnyOutcome& outcome) const {
    Json json = Json::object();
    for_each_outcome_attribute<AnyOutcome>([&](auto place) {
      constexpr auto& attribute = outcome_attributes<AnyOutcome>[place];
      std::string text;
      if (!attribute.write(outcome, text)) return;
      Json& member = json[std::string(attribute.member)];
      if constexpr (attribute.type == ValueType::order)
        member = std::stoull(text);
      else if constexpr (attribute.type == ValueType::truth)
        member = text == word_of(true);
      else
        member = std::move(text);
    });
    return json;
  }
};

Json outcome_json(const Outcome& outcome) { return std::visit(OutcomeJson{}, outcome); }

http::status status_of(const Outcome& outcome) {
  if (std::holds_alternative<Opened>(outcome) || std::holds_alternative<Created>(outcome))
    return http::status::created;
  const auto* const rejected = std::get_if<Rejected>(&outcome);
  if (rejected == nullptr) return http::status::ok;
  switch (rejected->reason) {
    case Reason::unknown_account:
    case Reason::unknown_order:
    case Reason::unknown_symbol: return http::status::not_found;
    case Reason::operator_key: return http::status::forbidden;
    case Reason::key_unchecked: return http::status::service_unavailable;
    default: return http::status::conflict;
  }
}

}  // namespace

Problem read_order_name(std::string_view text, OrderName& name) {
  constexpr std::string_view prefix = "ref:";
  if (text.starts_with(prefix))
    return read_value(text.substr(prefix.size()), name.reference, "ref");
  if (read_value(text, name.id, "order"))
    return {malformed_id, "order must be a whole number from 1, or ref:REF"};
  return {};
}

JsonRequest read_json_request(CommandKind kind, const JsonInput& members,
                              const std::optional<AccountId>& usual, const ProtocolLimits& limits,
                              const char* tie_problem, std::vector<Command>& commands) {
  JsonRequest request;
  const std::size_t before = commands.size();
  request.problem =
      members.is_object()
          ? with_kind(kind, RequestReader{members, usual, limits, tie_problem, request, commands})
          : Problem{unexpected_content, "expected an object"};
  if (request.problem) commands.erase(commands.begin() + std::ptrdiff_t(before), commands.end());
  request.commands = commands.size() - before;
  return request;
}

JsonReply JsonRequest::response(std::span<const Outcome> outcomes) const {
  if (problem) return problem_response(problem);
  if (problems_of_list) {
    Json results = Json::array();
    std::size_t executed = 0;
    for (const Problem& one : *problems_of_list)
      results.push_back(one ? error_object(one.sentence, to_code(one.code))
                            : outcome_json(outcomes[executed++]));
    return {http::status::ok, {{"orders", std::move(results)}}};
  }
  const auto is_refused = [](const Outcome& outcome) {
    return std::holds_alternative<Rejected>(outcome);
  };
  const auto refused = std::count_if(outcomes.begin(), outcomes.end(), is_refused);
  // If only some of several holdings were given, the response is not an error but has a result for
  // each.
  const bool is_part = refused > 0 && std::size_t(refused) < outcomes.size();
  if ((refused > 0 && !is_part) || !named.is_object()) return outcome_response(outcomes[0]);
  Json json = named;
  if (is_part) {
    Json results = Json::array();
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      results.push_back({{"account", holders[i]}});
      results.back().update(outcome_json(outcomes[i]));
    }
    json["holdings"] = std::move(results);
    return {http::status::ok, std::move(json)};
  }
  json.update(outcome_json(outcomes[0]));
  return {done, std::move(json)};
}

JsonReply problem_response(const Problem& problem) {
  return {http::status::bad_request, error_object(problem.sentence, to_code(problem.code))};
}

JsonReply outcome_response(const Outcome& outcome) {
  return {status_of(outcome), outcome_json(outcome)};
}

}  // namespace exchange
