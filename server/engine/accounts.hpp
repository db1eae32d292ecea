#pragma once
// Accounts applies what creates and changes accounts, symbols, and what accounts hold (creations of
// docs/protocol.md, and D1 to D9 of the operator), begins rounds (G1), and keeps the operator's
// rules of an account.
// Owner: made for one command. Thread: that of the Exchange.

#include <optional>

#include "engine/exchange_state.hpp"
#include "engine/limit_checks.hpp"
#include "engine/settlement.hpp"

namespace exchange {

class Accounts {
 public:
  explicit Accounts(ExchangeState& state) : state_(state) {}

  // Created. Refused: account_exists; cash_total_overflow, so that no balance can ever overflow.
  Outcome apply(const CreateAccount& command, Timestamp now);
  // Created, also if the symbol exists.
  Outcome apply(const CreateSymbol& command, Timestamp now);
  // Created; 0 shares as CreateSymbol. Refused: unknown_account; shares_total_overflow (2^63 units
  // of one symbol in all).
  Outcome apply(const PlaceShares& command, Timestamp now);
  // Created, also if they are recorded already. Refused: unknown_account.
  Outcome apply(const RecordEvents& command, Timestamp now);
  // Created. Refused: unknown_account.
  Outcome apply(const SetKey& command, Timestamp now);
  Outcome apply(const SetAccount& command, Timestamp now);
  // Created. Refused: unknown_account; insufficient_funds, of what is free; cash_total_overflow.
  Outcome apply(const AdjustCash& command, Timestamp now);
  // Created. Refused: unknown_account, unknown_symbol; insufficient_shares, of what is free;
  // shares_total_overflow; too_many_positions.
  Outcome apply(const AdjustShares& command, Timestamp now);
  // Created.
  Outcome apply(const BeginRound& command, Timestamp now);

  // Whether the rules of the account refuse an order of `shares`, or a replace that makes another
  // one of `replaced`. Counts it.
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
