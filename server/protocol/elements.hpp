#pragma once
// The elements of a request (docs/protocol.md): one table for each, of the attributes that it may
// have. Reading an element (request.cpp) and repeating its attributes in replies (reply.cpp) follow
// from it: an attribute that is only stored costs a line here, and a read_value() if its type is
// new.

#include <array>

#include "engine/commands.hpp"
#include "protocol/error_code.hpp"
#include "protocol/words.hpp"

namespace exchange {

// An error: its code, and its sentence, which is empty if there is none.
struct Problem {
  ErrorCode code{};
  std::string sentence;
  explicit operator bool() const { return !sentence.empty(); }
};

// Whether replies repeat an attribute, as the client wrote it.
enum class Repeated : std::uint8_t {
  never,
  in_errors,  // alone: other replies have the number of the order instead
  before_id,  // in all; before the number of the order, where there is one
  behind_id
};
enum class Presence : bool { optional, required };

template <class Command>
struct Attribute {
  std::string_view name;
  Repeated repeated;
  // Sets what `text`, a value with its references resolved, says of `command`, or returns what is
  // wrong. Null: it is no part of the command, and request.cpp reads it.
  Problem (*read)(std::string_view text, Command& command, std::string_view name);
  Presence presence = Presence::optional;
};

// Into a field of a command, by its type.
Problem read_value(std::string_view text, AccountId& value, std::string_view name);
Problem read_value(std::string_view text, SymbolName& value, std::string_view name);
Problem read_value(std::string_view text, OrderReference& value, std::string_view name);
Problem read_value(std::string_view text, AccountName& value, std::string_view name);
Problem read_value(std::string_view text, std::uint64_t& value, std::string_view name);  // from 1
Problem read_value(std::string_view text, Cash& value, std::string_view name);           // from 0
Problem read_value(std::string_view text, Shares& value, std::string_view name);         // from 0
Problem read_value(std::string_view text, Price& value, std::string_view name);          // from 0
template <class Value>
requires(!words<Value>.empty()) Problem
    read_value(std::string_view text, Value& value, std::string_view name) {
  for (const auto& known : words<Value>)
    if (text == known.word) {
      value = known.value;
      return {};
    }
  return {ErrorCode::unknown_value, std::string(name) + " must be " + all_words<Value>()};
}
Problem read_value(std::string_view text, std::optional<std::uint64_t>& value,
                   std::string_view name);  // from 0
template <class Value>
Problem read_value(std::string_view text, std::optional<Value>& value, std::string_view name) {
  return read_value(text, value.emplace(), name);
}
template <class Text>
Problem read_value(std::string_view text, OptionalText<Text>& value, std::string_view name) {
  Text given;
  Problem problem = read_value(text, given, name);
  if (!problem) value = given;
  return problem;
}
template <class Number>
Problem read_value(std::string_view text, OptionalNumber<Number>& value, std::string_view name) {
  return read_value(text, value.emplace(), name);
}
template <auto field, class Command>
Problem into(std::string_view text, Command& command, std::string_view name) {
  return read_value(text, command.*field, name);
}

// What is more than a field. Before the other attributes: the type, if it is given, decides whether
// there is a limit.
Problem read_type(std::optional<std::string_view> text, bool has_limit, PlaceOrder& order);
// Order: PlaceOrder or ReplaceOrder.
template <class Order>
Problem read_amount(std::string_view text, Order& order, std::string_view name);
template <class Order>  // after the amount, whose side it is rounded for
Problem read_limit(std::string_view text, Order& order, std::string_view name);
// After the limit: a market order has none.
Problem read_lifetime(std::string_view text, PlaceOrder& order, std::string_view name);
Problem read_post(std::string_view text, PlaceOrder& order, std::string_view name);
Problem read_all(std::string_view text, CancelAll& cancel, std::string_view name);
// Below zero: so much is taken.
Problem read_change(std::string_view text, AdjustCash& adjust, std::string_view name);
Problem read_change(std::string_view text, AdjustShares& adjust, std::string_view name);

// The table of the element that is read into this command. Problems are found in this order, and
// attributes repeated.
template <class AnyCommand>
inline constexpr std::nullptr_t attributes_of{};
template <>
inline constexpr Attribute<CreateAccount> attributes_of<CreateAccount>[] = {
    {"id", Repeated::before_id, into<&CreateAccount::account>, Presence::required},
    {"balance", Repeated::never, into<&CreateAccount::balance>, Presence::required},
    {"key", Repeated::never, nullptr}};
template <>
inline constexpr Attribute<CreateSymbol> attributes_of<CreateSymbol>[] = {
    {"sym", Repeated::before_id, into<&CreateSymbol::symbol>, Presence::required}};
template <>
inline constexpr Attribute<PlaceShares> attributes_of<PlaceShares>[] = {
    {"sym", Repeated::before_id, nullptr},  // of the <symbol> around it
    {"id", Repeated::before_id, into<&PlaceShares::account>, Presence::required}};
template <>
inline constexpr Attribute<PlaceOrder> attributes_of<PlaceOrder>[] = {
    {"sym", Repeated::before_id, into<&PlaceOrder::symbol>, Presence::required},
    {"amount", Repeated::before_id, read_amount, Presence::required},
    {"limit", Repeated::before_id, read_limit},  // required, unless the type is market
    {"ref", Repeated::behind_id, into<&PlaceOrder::reference>},
    {"tif", Repeated::behind_id, read_lifetime},
    {"post", Repeated::behind_id, read_post},
    {"type", Repeated::behind_id, nullptr},
    {"stp", Repeated::behind_id, into<&PlaceOrder::self_trade>}};
template <>
inline constexpr Attribute<QueryOrder> attributes_of<QueryOrder>[] = {
    {"id", Repeated::in_errors, into<&QueryOrder::order>},
    {"ref", Repeated::behind_id, into<&QueryOrder::reference>},
    {"from", Repeated::never, into<&QueryOrder::from>}};
template <>
inline constexpr Attribute<CancelOrder> attributes_of<CancelOrder>[] = {
    {"id", Repeated::in_errors, into<&CancelOrder::order>},
    {"ref", Repeated::behind_id, into<&CancelOrder::reference>}};
template <>
inline constexpr Attribute<CancelAll> attributes_of<CancelAll>[] = {
    {"all", Repeated::never, read_all}, {"sym", Repeated::in_errors, into<&CancelAll::symbol>}};
template <>
inline constexpr Attribute<ReplaceOrder> attributes_of<ReplaceOrder>[] = {
    {"id", Repeated::in_errors, into<&ReplaceOrder::order>},
    {"ref", Repeated::behind_id, into<&ReplaceOrder::reference>},
    {"amount", Repeated::behind_id, read_amount, Presence::required},
    {"limit", Repeated::behind_id, read_limit, Presence::required}};

template <>  // the server's own: no element
inline constexpr std::array<Attribute<RecordEvents>, 0> attributes_of<RecordEvents>{};

template <>
inline constexpr Attribute<SetInstrument> attributes_of<SetInstrument>[] = {
    {"sym", Repeated::before_id, into<&SetInstrument::symbol>},
    {"tick", Repeated::never, into<&SetInstrument::tick>},
    {"price-min", Repeated::never, into<&SetInstrument::price_min>},
    {"price-max", Repeated::never, into<&SetInstrument::price_max>},
    {"band", Repeated::never, into<&SetInstrument::band>},
    {"at-band", Repeated::never, into<&SetInstrument::at_band>},
    {"lot", Repeated::never, into<&SetInstrument::lot>},
    {"order-max", Repeated::never, into<&SetInstrument::order_max>},
    {"trading", Repeated::never, into<&SetInstrument::trading>}};

template <>
inline constexpr Attribute<SetKey> attributes_of<SetKey>[] = {
    {"id", Repeated::before_id, into<&SetKey::account>},  // required, but in <transactions>
    {"key", Repeated::never, nullptr},
    {"revoke", Repeated::never, nullptr}};
template <>
inline constexpr Attribute<SetAccount> attributes_of<SetAccount>[] = {
    {"id", Repeated::before_id, into<&SetAccount::account>, Presence::required},
    {"role", Repeated::never, into<&SetAccount::role>},
    {"access", Repeated::never, into<&SetAccount::access>},
    {"cancel-orders", Repeated::never, into<&SetAccount::cancel_orders>},
    {"orders-max", Repeated::never, into<&SetAccount::orders_max>},
    {"orders-per-second-max", Repeated::never, into<&SetAccount::orders_per_second_max>},
    {"position-max", Repeated::never, into<&SetAccount::position_max>},
    {"name", Repeated::never, into<&SetAccount::name>}};
template <>
inline constexpr Attribute<AdjustCash> attributes_of<AdjustCash>[] = {
    {"id", Repeated::before_id, into<&AdjustCash::account>, Presence::required},
    {"amount", Repeated::never, read_change, Presence::required},
    {"reason", Repeated::never, into<&AdjustCash::reason>}};
template <>
inline constexpr Attribute<AdjustShares> attributes_of<AdjustShares>[] = {
    {"sym", Repeated::before_id, into<&AdjustShares::symbol>, Presence::required},
    {"id", Repeated::before_id, into<&AdjustShares::account>, Presence::required},
    {"amount", Repeated::never, read_change, Presence::required},
    {"reason", Repeated::never, into<&AdjustShares::reason>}};

template <>
inline constexpr Attribute<BeginRound> attributes_of<BeginRound>[] = {
    {"name", Repeated::before_id, into<&BeginRound::name>, Presence::required}};

// Its place in the table; a name that is not there does not compile.
template <class AnyCommand>
consteval std::size_t place(std::string_view name) {
  for (std::size_t i = 0; i < std::size(attributes_of<AnyCommand>); ++i)
    if (attributes_of<AnyCommand>[i].name == name) return i;
  throw "no such attribute";
}

// Calls use(place) for each place in the table, a constant.
template <class AnyCommand, class Use>
void for_each_attribute(Use use) {
  boost::mp11::mp_for_each<boost::mp11::mp_iota_c<std::size(attributes_of<AnyCommand>)>>(use);
}

inline constexpr std::size_t attributes_max = []<class... Commands>(std::variant<Commands...>*) {
  return std::max({std::size(attributes_of<Commands>)...});
}(static_cast<Command*>(nullptr));

}  // namespace exchange
