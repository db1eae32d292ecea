#pragma once
// Accounts applies the commands that create and change accounts, symbols and the holdings of
// accounts (creations of docs/protocol.md, and D1 to D9 of the operator). It begins rounds (G1),
// and keeps the operator's rules of an account.
// Owner: made for one command. Thread: that of the Exchange.

#include <optional>

#include "engine/exchange_state.hpp"
#include "engine/limit_checks.hpp"
#include "engine/settlement.hpp"

namespace exchange {

class Accounts {
 public:
  explicit Accounts(ExchangeState& state) : state_(state) {}

  // Returns Created. Refusals: account_exists; cash_total_overflow, so that a balance can never
  // overflow.
  Outcome apply(const CreateAccount& command, Timestamp now);
  // Returns Created, also if the symbol exists.
  Outcome apply(const CreateSymbol& command, Timestamp now);
  // Returns Created; 0 shares have the effect of CreateSymbol. Refusals: unknown_account;
  // shares_total_overflow (2^63 units of one symbol in all).
  Outcome apply(const PlaceShares& command, Timestamp now);
  // Returns Created, also if the events are recorded already. Refusal: unknown_account.
  Outcome apply(const RecordEvents& command, Timestamp now);
  // Both return Created. Refusal: unknown_account.
  Outcome apply(const SetKey& command, Timestamp now);
  Outcome apply(const SetAccount& command, Timestamp now);
  // Returns Created. Refusals: unknown_account; insufficient_funds, which counts free cash;
  // cash_total_overflow.
  Outcome apply(const AdjustCash& command, Timestamp now);
  // Returns Created. Refusals: unknown_account, unknown_symbol; insufficient_shares, which counts
  // free shares; shares_total_overflow; too_many_positions.
  Outcome apply(const AdjustShares& command, Timestamp now);
  // Returns Created.
  Outcome apply(const BeginRound& command, Timestamp now);

  // Returns a refusal if the rules of the account refuse an order of `shares`, or a replace that
  // makes another order of `replaced`. Counts the order or replace.
  std::optional<Rejected> check(AccountNumber account, SymbolNumber symbol, Side side,
                                Shares shares, Timestamp now, std::uint32_t replaced = no_index) {
    if (!state_.ledger.account(account).has_rules()) [[likely]]
      return {};
    return check_rules(account, symbol, side, shares, now, replaced);
  }

 private:
  void set_key(AccountNumber account, const KeyHash& key, Timestamp now);
  std::optional<Rejected> check_rules(AccountNumber account, SymbolNumber symbol, Side side,
                                      Shares shares, Timestamp now, std::uint32_t replaced);
  LimitChecks limit_checks() const { return LimitChecks(state_); }
  Settlement settlement() const { return Settlement(state_); }

  ExchangeState& state_;
};

}  // namespace exchange
