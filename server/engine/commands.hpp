#pragma once
// The commands of the engine, one struct for each kind of request element, and their outcomes. Each
// struct is described (base/described.hpp); the journal's form follows from that
// (journal/journal_record.hpp). `word` is the name for programs, in metrics and logs, and never
// changes.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/decimal.hpp"
#include "engine/ids.hpp"
#include "engine/key_hash.hpp"
#include "engine/rules.hpp"

namespace exchange {

// An optional text. Few commands have one, so it is stored separately and commands stay small.
template <class Text>
class OptionalText {
 public:
  OptionalText() = default;
  OptionalText(const Text& text) : text_(std::make_unique<Text>(text)) {}
  OptionalText(OptionalText&&) = default;
  OptionalText& operator=(OptionalText&&) = default;
  OptionalText(const OptionalText& other)
      : text_(other ? std::make_unique<Text>(*other) : nullptr) {}
  OptionalText& operator=(const OptionalText& other) { return *this = OptionalText(other); }
  explicit operator bool() const { return text_ != nullptr; }
  const Text& operator*() const { return *text_; }
  const Text* operator->() const { return text_.get(); }
  bool operator==(const OptionalText& other) const {
    return text_ && other ? *text_ == *other : !text_ && !other;
  }

 private:
  std::unique_ptr<const Text> text_;
};
using OptionalReference = OptionalText<OrderReference>;
using OptionalName = OptionalText<AccountName>;

// An optional Price or Shares of at least 0, in the memory of the number.
template <class Number>
class OptionalNumber {
 public:
  OptionalNumber() = default;
  OptionalNumber(Number number) : number_(number) {}
  explicit operator bool() const { return number_ >= Number(); }
  const Number& operator*() const { return number_; }
  Number& emplace() { return number_ = Number(); }
  bool operator==(const OptionalNumber&) const = default;

 private:
  Number number_ = Number::from_units(-1);
};

struct CreateAccount {
  static constexpr const char* word = "create_account";
  CreateAccount() = default;
  CreateAccount(const AccountId& account_, Cash balance_, const KeyHash& key_ = {})
      : account(account_), key(key_), balance(balance_) {}
  AccountId account;
  KeyHash key;   // optional; its place here fills a gap
  Cash balance;  // not negative
  bool operator==(const CreateAccount&) const = default;
};
BOOST_DESCRIBE_STRUCT(CreateAccount, (), (account, key, balance))
struct CreateSymbol {
  static constexpr const char* word = "create_symbol";
  SymbolName symbol;
  bool operator==(const CreateSymbol&) const = default;
};
BOOST_DESCRIBE_STRUCT(CreateSymbol, (), (symbol))
// Gives new shares of a symbol to an account; creates the symbol if it is new.
struct PlaceShares {
  static constexpr const char* word = "place_shares";
  SymbolName symbol;
  AccountId account;
  Shares shares;  // not negative
  bool operator==(const PlaceShares&) const = default;
};
BOOST_DESCRIBE_STRUCT(PlaceShares, (), (symbol, account, shares))
// How long an order lives that is not executed at once (docs/protocol.md, E1 to E3).
// immediate_or_cancel: the part that is not executed at once is canceled. fill_or_kill: the order
// is executed in full at once, or refused.
BOOST_DEFINE_FIXED_ENUM_CLASS(Lifetime, std::uint8_t, until_canceled, immediate_or_cancel,
                              fill_or_kill)
// The fate of an order that would be executed against a resting one of its account (E13 to E15).
BOOST_DEFINE_FIXED_ENUM_CLASS(SelfTrade, std::uint8_t, allowed, cancel_resting, cancel_taking)
struct PlaceOrder {
  static constexpr const char* word = "order";
  PlaceOrder() = default;
  PlaceOrder(const AccountId& account_, const SymbolName& symbol_, Side side_, Shares shares_ = {},
             Price limit_ = {}, OptionalReference reference_ = {}, Lifetime lifetime_ = {},
             bool post_only_ = false, SelfTrade self_trade_ = {})
      : account(account_),
        symbol(symbol_),
        side(side_),
        lifetime(lifetime_),
        post_only(post_only_),
        self_trade(self_trade_),
        shares(shares_),
        limit(limit_),
        reference(std::move(reference_)) {}
  AccountId account;
  SymbolName symbol;
  Side side = Side::buy;
  Lifetime lifetime = Lifetime::until_canceled;  // the place of these four fills a gap
  bool post_only = false;                        // refused if it would be executed on arrival (E5)
  SelfTrade self_trade = SelfTrade::allowed;
  // Journals of 1.0 have it if their server refused unknown symbols; it has no effect now.
  bool symbol_must_exist = false;
  Shares shares;  // positive
  Price limit;    // positive; 0: a market order (E9), which never rests while trading is open
  OptionalReference reference;
  bool is_market() const { return limit == Price(); }
  // Returns true if it may rest, or be collected in an auction, without an execution on arrival.
  bool may_wait() const { return lifetime == Lifetime::until_canceled && !post_only; }
  // Returns the shares that must be executed on arrival; otherwise the order is refused.
  Shares at_once() const { return lifetime == Lifetime::fill_or_kill ? shares : Shares(); }
  // Returns true if its values are valid together.
  bool is_whole() const {
    return shares > Shares() && limit >= Price() && (!is_market() || at_once() == Shares());
  }
  bool operator==(const PlaceOrder&) const = default;
};
BOOST_DESCRIBE_STRUCT(PlaceOrder, (),
                      (account, symbol, side, lifetime, post_only, self_trade, symbol_must_exist,
                       shares, limit, reference))
struct CancelOrder {
  static constexpr const char* word = "cancel";
  AccountId account;
  OrderId order = 0;  // unless there is a reference
  OptionalReference reference = {};
  // The connection ended (E20). No client gets the outcome, so closed orders are not looked up in
  // the tables.
  bool at_disconnect = false;
  bool operator==(const CancelOrder&) const = default;
};
BOOST_DESCRIBE_STRUCT(CancelOrder, (), (account, order, reference, at_disconnect))
struct QueryOrder {
  static constexpr const char* word = "query";
  static constexpr bool changes_nothing = true;
  static constexpr bool reply_may_be_long = true;
  AccountId account;
  OrderId order = 0;  // unless there is a reference
  OptionalReference reference = {};
  std::uint64_t from = 1;  // the first execution to list
  bool operator==(const QueryOrder&) const = default;
};
BOOST_DESCRIBE_STRUCT(QueryOrder, (), (account, order, reference, from))
// Cancels all open orders of the account, or those of one symbol (E17).
struct CancelAll {
  static constexpr const char* word = "cancel_all";
  static constexpr bool reply_may_be_long = true;
  AccountId account;
  std::optional<SymbolName> symbol;
  bool operator==(const CancelAll&) const = default;
};
BOOST_DESCRIBE_STRUCT(CancelAll, (), (account, symbol))
// Gives an open order another amount and limit in one step (E26 to E32).
struct ReplaceOrder {
  static constexpr const char* word = "replace";
  AccountId account;
  Side side = Side::buy;  // the order's side; otherwise it is refused
  OrderId order = 0;      // unless there is a reference
  Shares shares;          // positive: the whole amount, with what was executed before
  Price limit;            // positive
  OptionalReference reference = {};
  bool operator==(const ReplaceOrder&) const = default;
};
BOOST_DESCRIBE_STRUCT(ReplaceOrder, (), (account, side, order, shares, limit, reference))
// After it, each event of the account is a row (EventRow). The server itself sends it when a client
// first subscribes to the account (docs/account-stream.md).
struct RecordEvents {
  static constexpr const char* word = "record_events";
  AccountId account;
  bool operator==(const RecordEvents&) const = default;
};
BOOST_DESCRIBE_STRUCT(RecordEvents, (), (account))
// Changes the rules for orders of a symbol, or of all symbols (I1 to I9), and halts trading, opens
// it or begins an auction (A1 to A8). Unset fields keep their values; 0 removes the rule. The
// operator sends it.
struct SetInstrument {
  static constexpr const char* word = "instrument";
  std::optional<SymbolName> symbol = {};  // unset: all existing symbols
  OptionalNumber<Price> tick = {}, price_min = {}, price_max = {}, band = {};
  OptionalNumber<Shares> lot = {}, order_max = {};
  std::optional<AtBand> at_band = {};
  std::optional<Trading> trading = {};
  bool operator==(const SetInstrument&) const = default;
};
BOOST_DESCRIBE_STRUCT(SetInstrument, (),
                      (symbol, tick, price_min, price_max, band, lot, order_max, at_band, trading))
// Gives an account another key, or removes its key: then no login to it is possible. The account
// itself or the operator sends it.
struct SetKey {
  static constexpr const char* word = "set_key";
  AccountId account;
  KeyHash key = {};
  bool operator==(const SetKey&) const = default;
};
BOOST_DESCRIBE_STRUCT(SetKey, (), (account, key))
// Changes what an account may do (D3 to D6), and what people call it (D9). Unset fields keep their
// values; 0 removes the rule, an empty name removes the name. The operator sends it.
struct SetAccount {
  static constexpr const char* word = "set_account";
  AccountId account;
  std::optional<Role> role = {};
  std::optional<Access> access = {};
  bool cancel_orders = false;  // cancels all open orders
  std::optional<std::uint64_t> orders_max = {}, orders_per_second_max = {};
  OptionalNumber<Shares> position_max = {};
  OptionalName name = {};
  bool operator==(const SetAccount&) const = default;
};
BOOST_DESCRIBE_STRUCT(SetAccount, (),
                      (account, role, access, cancel_orders, orders_max, orders_per_second_max,
                       position_max, name))
// Gives cash to an account, or takes it. The operator sends it.
struct AdjustCash {
  static constexpr const char* word = "adjust_cash";
  AccountId account;
  bool takes = false;
  Cash cash;                      // not negative
  OptionalReference reason = {};  // for people
  bool operator==(const AdjustCash&) const = default;
};
BOOST_DESCRIBE_STRUCT(AdjustCash, (), (account, takes, cash, reason))
// Gives shares of an existing symbol to an account, or takes them. The operator sends it.
struct AdjustShares {
  static constexpr const char* word = "adjust_shares";
  AccountId account;
  SymbolName symbol;
  bool takes = false;
  Shares shares;                  // not negative
  OptionalReference reason = {};  // for people
  bool operator==(const AdjustShares&) const = default;
};
BOOST_DESCRIBE_STRUCT(AdjustShares, (), (account, symbol, takes, shares, reason))
// Later executions belong to another round of the leaderboard (G1). The operator sends it.
struct BeginRound {
  static constexpr const char* word = "begin_round";
  OrderReference name;  // for people
  bool operator==(const BeginRound&) const = default;
};
BOOST_DESCRIBE_STRUCT(BeginRound, (), (name))
using Command = std::variant<CreateAccount, CreateSymbol, PlaceShares, PlaceOrder, CancelOrder,
                             QueryOrder, CancelAll, ReplaceOrder, RecordEvents, SetInstrument,
                             SetKey, SetAccount, AdjustCash, AdjustShares, BeginRound>;
// The permissions of the door that a command came through. They are not part of the command: a
// refused command changes nothing, and an accepted one gives the same result in every replay.
struct DoorPolicy {
  bool symbols_must_exist = false;  // for orders: --refuse-unknown-symbols
  bool open_queries = false;        // for any account's order: --open-queries
};

// The kind of a command is its index in Command.
using CommandKind = std::uint8_t;
inline constexpr std::size_t command_kinds = std::variant_size_v<Command>;
template <class AnyCommand>
inline constexpr CommandKind command_kind = boost::mp11::mp_find<Command, AnyCommand>::value;
// Orders are the most frequent commands; no other command may make them larger. If a new attribute
// of orders makes them larger, measure it (studies/benchmarks/compare_commits).
static_assert(sizeof(Command) == 144);

BOOST_DEFINE_FIXED_ENUM_CLASS(
    Reason, std::uint8_t, account_exists, unknown_account, unknown_order, nothing_open,
    insufficient_funds, insufficient_shares, cash_total_overflow, shares_total_overflow,
    reference_used,  // by another order
    cannot_fill,     // a fill-or-kill order
    would_execute,   // a post-only order
    no_open_orders,  // to cancel all of
    other_side,      // of the order to replace
    executed_more,   // of the order to replace: as much as its new amount, or more
    unknown_symbol,  // of an order that does not create one
    // StateLimits, with the limit in Rejected::number
    too_many_accounts, too_many_symbols, too_many_positions, too_many_orders,
    too_many_orders_of_account, too_many_references, too_many_old_orders, too_many_executions,
    too_many_executions_of_account,
    reply_too_long,  // by the core: a query or CancelAll in a request whose reply is too long
                     // already
    key_unchecked,   // by the authenticator, before the core: it stops, or too many checks wait for
                     // one address
    operator_key,    // by the authenticator too: a creation without the operator's key
    // SetInstrument, of an order or a replace, with the price or shares in Rejected::number
    trading_halted, off_tick, off_lot, order_too_large, price_too_low, price_too_high,
    inverted_prices,  // of a SetInstrument
    not_in_auction,   // of an order whose terms need executions at once
    no_price_max,     // of a market buy, for which an auction reserves at the highest price
    in_auction,       // of a SetInstrument that would change that price
    // SetAccount, of an order or a replace; the limits in Rejected::number
    account_frozen, too_many_orders_a_second, position_too_large)
std::string_view describe(Reason reason);  // a sentence for people, without Rejected::number
// Returns a word for programs, in errors and metrics, that never changes (docs/protocol.md, R14).
inline std::string_view to_code(Reason reason) { return to_string(reason); }

struct Execution {
  Shares shares;
  Price price;
  Timestamp time;
  bool operator==(const Execution&) const = default;
};
BOOST_DESCRIBE_STRUCT(Execution, (), (shares, price, time))

struct Created {
  bool operator==(const Created&) const = default;
};
BOOST_DESCRIBE_STRUCT(Created, (), ())
struct Opened {
  OrderId order;
  bool operator==(const Opened&) const = default;
};
BOOST_DESCRIBE_STRUCT(Opened, (), (order))
// The same order with the same reference was opened before; nothing was executed.
struct OpenedBefore {
  OrderId order;
  bool operator==(const OpenedBefore&) const = default;
};
BOOST_DESCRIBE_STRUCT(OpenedBefore, (), (order))
// The limit of executions that a status lists: a reply has some 60 bytes for each (R13).
inline constexpr std::size_t listed_executions_max = 100'000;

// The state of an order. At most one of open and canceled is above zero.
struct Status {
  OrderId order = 0;
  Shares open;
  Shares canceled;
  Timestamp canceled_at;
  std::vector<Execution> executions;  // oldest first
  std::uint64_t next = 0;             // the first one behind these, counted from 1; 0: none is left
  std::uint64_t skipped = 0;          // executions before these: those below the query's `from`
  bool operator==(const Status&) const = default;
};
BOOST_DESCRIBE_STRUCT(Status, (), (order, open, canceled, canceled_at, executions, next, skipped))
struct Canceled {
  Status status;
  bool operator==(const Canceled&) const = default;
};
BOOST_DESCRIBE_STRUCT(Canceled, (), (status))
struct CanceledAll {
  std::vector<Status> orders;  // at least one, the oldest first
  bool operator==(const CanceledAll&) const = default;
};
BOOST_DESCRIBE_STRUCT(CanceledAll, (), (orders))
struct Replaced {
  OrderId order;
  bool operator==(const Replaced&) const = default;
};
BOOST_DESCRIBE_STRUCT(Replaced, (), (order))
struct Rejected {
  Reason reason;
  // if not 0, the end of the sentence: the order that used the reference, the limit, or units of
  // the price or shares
  std::uint64_t number = 0;
  bool operator==(const Rejected&) const = default;
};
BOOST_DESCRIBE_STRUCT(Rejected, (), (reason, number))
std::string sentence_of(const Rejected& rejected);
// The auction of a SetInstrument (A4) executed these shares at this price.
struct Uncrossed {
  Price price;
  Shares shares;
  bool operator==(const Uncrossed&) const = default;
};
BOOST_DESCRIBE_STRUCT(Uncrossed, (), (price, shares))
// The engine does not have the order: it never existed, or it closed and its row is in the tables.
// The order reader replaces this outcome before the submission completes.
struct NotInMemory {
  AccountNumber account;
  OrderId order;
  bool operator==(const NotInMemory&) const = default;
};
BOOST_DESCRIBE_STRUCT(NotInMemory, (), (account, order))
using Outcome = std::variant<Rejected, Created, Opened, Status, Canceled, NotInMemory, OpenedBefore,
                             CanceledAll, Replaced, Uncrossed>;

// Returns true if the command with this outcome changed state and so belongs in the journal.
inline bool changed_state(const Outcome& outcome) {
  return std::holds_alternative<Created>(outcome) || std::holds_alternative<Opened>(outcome) ||
         std::holds_alternative<Canceled>(outcome) ||
         std::holds_alternative<CanceledAll>(outcome) ||
         std::holds_alternative<Replaced>(outcome) || std::holds_alternative<Uncrossed>(outcome);
}

// Returns true if the core refuses the command when the reply to its request is too long already
// (R13). A cancel of one order is executed anyway, and lists no executions.
inline bool may_be_too_long(CommandKind kind) {
  return boost::mp11::mp_with_index<command_kinds>(kind, [](auto index) {
    return requires { boost::mp11::mp_at<Command, decltype(index)>::reply_may_be_long; };
  });
}
inline bool may_be_too_long(const Command& command) {
  return may_be_too_long(CommandKind(command.index()));
}

}  // namespace exchange
