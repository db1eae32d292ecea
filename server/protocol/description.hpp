#pragma once
// This file describes the protocol of requests and replies once (docs/protocol.md,
// docs/http-api.md). Each command has its element in XML, its message in JSON and a table of its
// attributes; each outcome has its element and its table. The readers and writers of both formats
// use these tables (request.cpp, request_writer.cpp, reply.cpp, json/json_requests.cpp). The
// schemas of OpenAPI and AsyncAPI and the tables of the Python client are generated from them
// (describe.cpp). For the protocol, an attribute is therefore one line here; CONTRIBUTING.md lists
// the rest. Pure.

#include "protocol/values.hpp"

namespace exchange {

template <class AnyCommand>
struct Value {
  ValueType type;
  // Stores `text`, a value with its references resolved, in `command`, or returns the problem.
  // Null: the reader of the element reads the attribute itself.
  Problem (*read)(std::string_view text, AnyCommand& command, std::string_view name) = nullptr;
  // Appends the value; returns false if the command has no such value. Null: the attribute is not
  // a part of the command.
  bool (*write)(const AnyCommand& command, std::string& text) = nullptr;
  AllowedWords words = {};
};

// Says which replies in XML repeat an attribute, as the client wrote it.
enum class Repeated : std::uint8_t {
  never,
  in_errors,  // in errors only: other replies have the number of the order instead
  before_id,  // in all replies, before the number of the order if the reply has one
  after_id
};
enum class Presence : bool { optional, required };

// One row of a table: attribute("tif", …).after_id().defaults_to("gtc").means("…").
template <class AnyCommand>
struct Attribute {
  std::string_view name;  // in XML
  Value<AnyCommand> value;
  std::string_view member = name;  // in JSON; empty: the readers of JSON have it in another form
  Repeated repeated = Repeated::never;
  Presence presence = Presence::optional;
  std::string_view default_value = {};  // writers leave it out
  std::string_view meaning = {};        // in a few words, for schemas and help

  consteval Attribute required() const { return with(&Attribute::presence, Presence::required); }
  consteval Attribute json(std::string_view name_) const { return with(&Attribute::member, name_); }
  consteval Attribute in_errors() const { return with(&Attribute::repeated, Repeated::in_errors); }
  consteval Attribute before_id() const { return with(&Attribute::repeated, Repeated::before_id); }
  consteval Attribute after_id() const { return with(&Attribute::repeated, Repeated::after_id); }
  consteval Attribute defaults_to(std::string_view text) const {
    return with(&Attribute::default_value, text);
  }
  consteval Attribute means(std::string_view text) const { return with(&Attribute::meaning, text); }

 private:
  template <class Part>
  consteval Attribute with(Part Attribute::*part, Part value_) const {
    Attribute changed = *this;
    changed.*part = value_;
    return changed;
  }
};
template <class AnyCommand>
consteval Attribute<AnyCommand> attribute(std::string_view name, const Value<AnyCommand>& value) {
  return {name, value};
}

template <class Pointer>
struct FieldOf;
template <class Struct, class Field>
struct FieldOf<Field Struct::*> {
  using Owner = Struct;
  using Type = Field;
};
template <auto pointer>
Problem into(std::string_view text, typename FieldOf<decltype(pointer)>::Owner& command,
             std::string_view name) {
  return read_value(text, command.*pointer, name);
}
template <auto pointer>
bool from(const typename FieldOf<decltype(pointer)>::Owner& command, std::string& text) {
  return write_value(command.*pointer, text);
}
// The value of an attribute that is a field of the command.
template <auto pointer, auto read = into<pointer>>
inline constexpr Value<typename FieldOf<decltype(pointer)>::Owner> field{
    value_type<typename FieldOf<decltype(pointer)>::Type>(), read, from<pointer>,
    list_words<typename FieldOf<decltype(pointer)>::Type>()};

// These attributes are more than a field. read_type() runs before the readers of the other
// attributes: the type, if it is given, decides whether the order has a limit.
Problem read_type(std::optional<std::string_view> text, bool has_limit);
bool write_type(const PlaceOrder& order, std::string& text);
// Order is PlaceOrder or ReplaceOrder. An amount below zero is a sell.
template <class Order>
Problem read_amount(std::string_view text, Order& order, std::string_view name);
template <class Order>
bool write_amount(const Order& order, std::string& text) {
  if (order.side == Side::sell) text += '-';
  return write_value(order.shares, text);
}
template <class Order>  // runs after read_amount(): the side decides how the limit is rounded
Problem read_limit(std::string_view text, Order& order, std::string_view name);
template <class Order>
bool write_limit(const Order& order, std::string& text) {
  return order.limit != Price() && write_value(order.limit, text);
}
template <class Order>
inline constexpr Value<Order> signed_shares{ValueType::positive, read_amount<Order>,
                                            write_amount<Order>};
template <class Order>
inline constexpr Value<Order> limit_price{ValueType::positive, read_limit<Order>,
                                          write_limit<Order>};
// read_lifetime() and read_post() run after read_limit(): a market order has no limit.
Problem read_lifetime(std::string_view text, PlaceOrder& order, std::string_view name);
Problem read_post(std::string_view text, PlaceOrder& order, std::string_view name);
Problem read_all(std::string_view text, CancelAll& cancel, std::string_view name);
bool write_all(const CancelAll& cancel, std::string& text);
// A change below zero takes the amount, which is a field of AdjustCash or AdjustShares.
template <auto amount>
Problem read_change(std::string_view text, typename FieldOf<decltype(amount)>::Owner& adjust,
                    std::string_view name) {
  adjust.takes = text.starts_with('-');
  if (adjust.takes) text.remove_prefix(1);
  return read_value(text, adjust.*amount, name);
}
template <auto amount>
bool write_change(const typename FieldOf<decltype(amount)>::Owner& adjust, std::string& text) {
  if (adjust.takes) text += '-';
  return write_value(adjust.*amount, text);
}
template <auto amount, ValueType type>
inline constexpr Value<typename FieldOf<decltype(amount)>::Owner> change{type, read_change<amount>,
                                                                         write_change<amount>};
// Appends the number of the order, unless the command names it by its reference.
template <class OfOrder>
bool write_order(const OfOrder& command, std::string& text) {
  return !command.reference && write_value(command.order, text);
}
template <class OfOrder>
inline constexpr Value<OfOrder> order_number{ValueType::order, into<&OfOrder::order>,
                                             write_order<OfOrder>};

// --- commands ---

// The attribute table of the element that is read into this command. Readers report problems, and
// replies repeat attributes, in the order of the table.
template <class AnyCommand>
inline constexpr std::nullptr_t attributes_of{};
template <>
inline constexpr Attribute<CreateAccount> attributes_of<CreateAccount>[] = {
    attribute("id", field<&CreateAccount::account>).json("account").required().before_id(),
    attribute("balance", field<&CreateAccount::balance>).required(),
    attribute("key", Value<CreateAccount>{ValueType::key})};
template <>
inline constexpr Attribute<CreateSymbol> attributes_of<CreateSymbol>[] = {
    attribute("sym", field<&CreateSymbol::symbol>).json("symbol").required().before_id()};
template <>
inline constexpr Attribute<PlaceShares> attributes_of<PlaceShares>[] = {
    // an attribute of the enclosing <symbol>
    attribute("sym", Value<PlaceShares>{ValueType::symbol}).json("").before_id(),
    attribute("id", field<&PlaceShares::account>).json("").required().before_id()};
template <>
inline constexpr Attribute<PlaceOrder> attributes_of<PlaceOrder>[] = {
    attribute("sym", field<&PlaceOrder::symbol>).json("symbol").required().before_id(),
    attribute("amount", signed_shares<PlaceOrder>).json("shares").required().before_id(),
    // required, unless the type is market
    attribute("limit", limit_price<PlaceOrder>).before_id(),
    attribute("ref", field<&PlaceOrder::reference>)
        .after_id()
        .means("what the client calls it: sent again, it is executed once"),
    attribute("tif", field<&PlaceOrder::lifetime, read_lifetime>)
        .after_id()
        .defaults_to("gtc")
        .means("what is not executed at once: gtc rests, ioc is canceled; fok: all, or refused"),
    attribute("post", field<&PlaceOrder::post_only, read_post>)
        .after_id()
        .defaults_to("false")
        .means("refused if it would execute at once; not with the tif ioc or fok"),
    attribute("type", Value<PlaceOrder>{ValueType::word, nullptr, write_type, word_list<OrderType>})
        .after_id()
        .defaults_to("limit"),
    attribute("stp", field<&PlaceOrder::self_trade>)
        .after_id()
        .defaults_to("none")
        .means("what is canceled where it would execute against an order of its account")};
template <>
inline constexpr Attribute<QueryOrder> attributes_of<QueryOrder>[] = {
    attribute("id", order_number<QueryOrder>).json("").in_errors(),
    attribute("ref", field<&QueryOrder::reference>).json("").after_id(),
    attribute("from", field<&QueryOrder::from>)
        .defaults_to("1")
        .means("the number of the first execution to list")};
template <>
inline constexpr Attribute<CancelOrder> attributes_of<CancelOrder>[] = {
    attribute("id", order_number<CancelOrder>).json("").in_errors(),
    attribute("ref", field<&CancelOrder::reference>).json("").after_id()};
template <>
inline constexpr Attribute<CancelAll> attributes_of<CancelAll>[] = {
    attribute("all", Value<CancelAll>{ValueType::truth, read_all, write_all}).json(""),
    attribute("sym", field<&CancelAll::symbol>).json("symbol").in_errors()};
template <>
inline constexpr Attribute<ReplaceOrder> attributes_of<ReplaceOrder>[] = {
    attribute("id", order_number<ReplaceOrder>).json("").in_errors(),
    attribute("ref", field<&ReplaceOrder::reference>).json("").after_id(),
    attribute("amount", signed_shares<ReplaceOrder>).json("shares").required().after_id(),
    attribute("limit", limit_price<ReplaceOrder>).required().after_id()};

template <>  // a command of the server itself: it has no element
inline constexpr std::array<Attribute<RecordEvents>, 0> attributes_of<RecordEvents>{};

template <>
inline constexpr Attribute<SetInstrument> attributes_of<SetInstrument>[] = {
    attribute("sym", field<&SetInstrument::symbol>).json("symbol").before_id(),
    attribute("tick", field<&SetInstrument::tick>).means("limits are multiples of it"),
    attribute("price-min", field<&SetInstrument::price_min>)
        .json("price_min")
        .means("the lowest limit"),
    attribute("price-max", field<&SetInstrument::price_max>)
        .json("price_max")
        .means("the highest limit"),
    attribute("band", field<&SetInstrument::band>)
        .means("a limit may be so far above the last price, of a sell below"),
    attribute("at-band", field<&SetInstrument::at_band>)
        .json("at_band")
        .means("what a limit beyond the band does: refuse: the order is refused; auction: it "
               "starts an auction"),
    attribute("lot", field<&SetInstrument::lot>).means("the shares of orders are multiples of it"),
    attribute("order-max", field<&SetInstrument::order_max>)
        .json("order_max")
        .means("shares of one order"),
    attribute("trading", field<&SetInstrument::trading>)};

template <>
inline constexpr Attribute<SetKey> attributes_of<SetKey>[] = {
    // required, except in <transactions>
    attribute("id", field<&SetKey::account>).json("account").before_id(),
    attribute("key", Value<SetKey>{ValueType::key}),
    attribute("revoke", Value<SetKey>{ValueType::truth}).defaults_to("false")};
template <>
inline constexpr Attribute<SetAccount> attributes_of<SetAccount>[] = {
    attribute("id", field<&SetAccount::account>).json("account").required().before_id(),
    attribute("role", field<&SetAccount::role>),
    attribute("access", field<&SetAccount::access>),
    attribute("cancel-orders", field<&SetAccount::cancel_orders>)
        .json("cancel_orders")
        .defaults_to("false")
        .means("cancels all orders that are open"),
    attribute("orders-max", field<&SetAccount::orders_max>)
        .json("orders_max")
        .means("orders that are open"),
    attribute("orders-per-second-max", field<&SetAccount::orders_per_second_max>)
        .json("orders_per_second_max")
        .means("orders and replaces in one second"),
    attribute("position-max", field<&SetAccount::position_max>)
        .json("position_max")
        .means("shares of one symbol, with what open buys may add"),
    attribute("name", field<&SetAccount::name>)
        .means("what leaderboards show of an account in place of its id")};
template <>
inline constexpr Attribute<AdjustCash> attributes_of<AdjustCash>[] = {
    attribute("id", field<&AdjustCash::account>).json("account").required().before_id(),
    attribute("amount", change<&AdjustCash::cash, ValueType::cash_change>).json("cash").required(),
    attribute("reason", field<&AdjustCash::reason>)};
template <>
inline constexpr Attribute<AdjustShares> attributes_of<AdjustShares>[] = {
    attribute("sym", field<&AdjustShares::symbol>).json("symbol").required().before_id(),
    attribute("id", field<&AdjustShares::account>).json("account").required().before_id(),
    attribute("amount", change<&AdjustShares::shares, ValueType::shares_change>)
        .json("shares")
        .required(),
    attribute("reason", field<&AdjustShares::reason>)};

template <>
inline constexpr Attribute<BeginRound> attributes_of<BeginRound>[] = {
    attribute("name", field<&BeginRound::name>).required().before_id()};

// The request that an element stands in.
enum class Root : std::uint8_t {
  none,  // in another element, or nowhere
  create,
  transactions
};
struct Element {
  std::string_view name;  // in XML
  Root root = Root::none;
  std::string_view message = {};  // in JSON: {"id": 1, "MESSAGE": {…}}; empty: no message
};
// RecordEvents, which clients cannot send, has an empty element.
template <class AnyCommand>
inline constexpr Element request_element{};
template <>
inline constexpr Element request_element<CreateAccount>{"account", Root::create, "create_account"};
template <>
inline constexpr Element request_element<CreateSymbol>{"symbol", Root::create, "create_symbol"};
template <>
inline constexpr Element request_element<PlaceShares>{"account"};  // in <symbol>
template <>
inline constexpr Element request_element<PlaceOrder>{"order", Root::transactions, "place"};
template <>
inline constexpr Element request_element<CancelOrder>{"cancel", Root::transactions, "cancel"};
template <>
inline constexpr Element request_element<QueryOrder>{"query", Root::transactions, "query"};
template <>
inline constexpr Element request_element<CancelAll>{"cancel", Root::transactions, "cancel_all"};
template <>
inline constexpr Element request_element<ReplaceOrder>{"replace", Root::transactions, "replace"};
template <>
inline constexpr Element request_element<SetInstrument>{"instrument", Root::create,
                                                        "set_instrument"};
template <>  // in <transactions> too
inline constexpr Element request_element<SetKey>{"set-key", Root::create, "set_key"};
template <>
inline constexpr Element request_element<SetAccount>{"set-account", Root::create, "set_account"};
template <>
inline constexpr Element request_element<AdjustCash>{"adjust-cash", Root::create, "adjust_cash"};
template <>
inline constexpr Element request_element<AdjustShares>{"adjust-shares", Root::create,
                                                       "adjust_shares"};
template <>
inline constexpr Element request_element<BeginRound>{"begin-round", Root::create, "begin_round"};

// Calls use(type) with an mp_identity of the command of this kind.
template <class Use>
decltype(auto) with_kind(CommandKind kind, Use use) {
  return boost::mp11::mp_with_index<command_kinds>(kind, [&](auto index) -> decltype(auto) {
    return use(boost::mp11::mp_identity<boost::mp11::mp_at<Command, decltype(index)>>());
  });
}
// Calls use(type) for each kind.
template <class Use>
void for_each_kind(Use use) {
  boost::mp11::mp_for_each<boost::mp11::mp_transform<boost::mp11::mp_identity, Command>>(use);
}
inline const Element& describe_element(CommandKind kind) {
  return with_kind(kind, [](auto type) -> const Element& {
    return request_element<typename decltype(type)::type>;
  });
}

// Returns the index of an attribute in the table; a name that is not in the table does not compile.
template <class AnyCommand>
consteval std::size_t place(std::string_view name) {
  for (std::size_t i = 0; i < std::size(attributes_of<AnyCommand>); ++i)
    if (attributes_of<AnyCommand>[i].name == name) return i;
  throw "no such attribute";
}

// Calls use(place) for each index in the table, as a constant.
template <class AnyCommand, class Use>
void for_each_attribute(Use use) {
  boost::mp11::mp_for_each<boost::mp11::mp_iota_c<std::size(attributes_of<AnyCommand>)>>(use);
}

inline constexpr std::size_t attributes_max = []<class... Commands>(std::variant<Commands...>*) {
  return std::max({std::size(attributes_of<Commands>)...});
}(static_cast<Command*>(nullptr));

// --- outcomes ---

// Describes an attribute of an outcome that consists of attributes only. A reply in XML writes the
// number of the order among the attributes that it repeats from the request, and the other
// attributes of the outcome after them. A status and a refusal have more parts (reply.cpp).
template <class AnyOutcome>
struct OutcomeAttribute {
  std::string_view name;    // in XML; empty: XML does not have it
  std::string_view member;  // in JSON
  ValueType type;
  // Appends the value; returns false if the outcome has no such value.
  bool (*write)(const AnyOutcome& outcome, std::string& text);
  // Returns false if `text` is not a valid value. text.data() is null if the reply lacks it.
  bool (*read)(std::string_view text, AnyOutcome& outcome) = nullptr;
};
bool read_outcome_value(std::string_view text, OrderId& value);
bool read_outcome_value(std::string_view text, Price& value);
bool read_outcome_value(std::string_view text, Shares& value);
template <class Number>
bool read_outcome_value(std::string_view text, OptionalNumber<Number>& value) {
  return text.data() == nullptr || read_outcome_value(text, value.emplace());
}
template <auto pointer>
constexpr auto outcome_attribute(std::string_view name, std::string_view member) {
  using Owner = typename FieldOf<decltype(pointer)>::Owner;
  return OutcomeAttribute<Owner>{
      name, member, value_type<typename FieldOf<decltype(pointer)>::Type>(),
      [](const Owner& outcome, std::string& text) { return write_value(outcome.*pointer, text); },
      [](std::string_view text, Owner& outcome) {
        return read_outcome_value(text, outcome.*pointer);
      }};
}

template <class AnyOutcome>
inline constexpr std::string_view reply_element{};
template <>
inline constexpr std::string_view reply_element<Created> = "created";
template <>
inline constexpr std::string_view reply_element<Uncrossed> = "created";
template <>
inline constexpr std::string_view reply_element<Opened> = "opened";
template <>
inline constexpr std::string_view reply_element<OpenedBefore> = "opened";
template <>
inline constexpr std::string_view reply_element<Replaced> = "replaced";
template <>
inline constexpr std::string_view reply_element<Status> = "status";
template <>
inline constexpr std::string_view reply_element<Canceled> = "canceled";
template <>
inline constexpr std::string_view reply_element<CanceledAll> = "canceled";  // one per order
template <>
inline constexpr std::string_view reply_element<Rejected> = "error";

template <class AnyOutcome>
inline constexpr std::nullptr_t outcome_attributes{};
template <>
inline constexpr std::array<OutcomeAttribute<Created>, 0> outcome_attributes<Created>{};
template <>
inline constexpr OutcomeAttribute<Uncrossed> outcome_attributes<Uncrossed>[] = {
    outcome_attribute<&Uncrossed::price>("price", "price"),
    outcome_attribute<&Uncrossed::shares>("volume", "volume")};
template <>
inline constexpr OutcomeAttribute<Opened> outcome_attributes<Opened>[] = {
    outcome_attribute<&Opened::order>("id", "order")};
template <>
inline constexpr OutcomeAttribute<OpenedBefore> outcome_attributes<OpenedBefore>[] = {
    outcome_attribute<&OpenedBefore::order>("id", "order"),
    {"", "repeated", ValueType::truth,
     [](const OpenedBefore&, std::string& text) { return write_value(true, text); }}};
template <>
inline constexpr OutcomeAttribute<Replaced> outcome_attributes<Replaced>[] = {
    outcome_attribute<&Replaced::order>("id", "order")};

template <class AnyOutcome, class Use>
void for_each_outcome_attribute(Use use) {
  boost::mp11::mp_for_each<boost::mp11::mp_iota_c<std::size(outcome_attributes<AnyOutcome>)>>(use);
}

}  // namespace exchange
