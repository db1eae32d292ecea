#include "engine/accounts.hpp"

#include <cstring>

#include "engine/rules.hpp"

namespace exchange {

Outcome Accounts::apply(const CreateAccount& command, Timestamp now) {
  ENSURE(command.balance >= Cash());
  if (state_.ledger.find(command.account) != no_index) return Rejected{Reason::account_exists};
  if (state_.ledger.accounts() >= state_.limits.accounts_max)
    return Rejected{Reason::too_many_accounts, state_.limits.accounts_max};
  if (command.balance > cash_total_max - state_.totals.cash_created)
    return Rejected{Reason::cash_total_overflow};
  const AccountNumber number = state_.ledger.add_account(command.account, command.balance);
  state_.totals.cash_created += command.balance;
  state_.ledger.mark(number, state_.changes);
  state_.update_digest(now, Digested::account_created, std::uint64_t(command.balance.units() >> 64),
                       std::uint64_t(command.balance.units()));
  if (command.key.has_key()) set_key(number, command.key, now);
  return Created{};
}

Outcome Accounts::apply(const RecordEvents& command, Timestamp now) {
  const AccountNumber number = state_.ledger.find(command.account);
  if (number == no_index) return Rejected{Reason::unknown_account};
  if (state_.ledger.account(number).events() == 0)
    state_.add_event(number, 0, now, {.kind = EventKind::began});
  // mark it even if nothing changed, as below
  state_.ledger.mark(number, state_.changes);
  state_.update_digest(now, Digested::events_recorded, number, 0);
  return Created{};
}

Outcome Accounts::apply(const CreateSymbol& command, Timestamp now) {
  SymbolNumber number = state_.ledger.find(command.symbol);
  if (const auto refusal = limit_checks().new_symbol(number)) return *refusal;
  if (number == no_index) number = state_.add_symbol(command.symbol);
  // mark it even if nothing changed: what is journaled must get into the tables' batch
  state_.ledger.mark_symbol(number, state_.changes);
  state_.update_digest(now, Digested::symbol_touched, number, 0);
  return Created{};
}

Outcome Accounts::apply(const PlaceShares& command, Timestamp now) {
  ENSURE(command.shares >= Shares());
  const AccountNumber account = state_.ledger.find(command.account);
  if (account == no_index) return Rejected{Reason::unknown_account};
  if (command.shares == Shares()) return apply(CreateSymbol{command.symbol}, now);
  SymbolNumber symbol = state_.ledger.find(command.symbol);
  if (symbol != no_index &&
      command.shares > shares_total_max - state_.ledger.symbol(symbol).shares_total)
    return Rejected{Reason::shares_total_overflow};
  if (const auto refusal = limit_checks().new_symbol(symbol)) return *refusal;
  if (const auto refusal = limit_checks().new_position(account, symbol)) return *refusal;
  if (symbol == no_index) symbol = state_.add_symbol(command.symbol);
  state_.ledger.add_shares(account, symbol, command.shares, state_.changes);
  state_.ledger.add_to_total(symbol, command.shares, state_.changes);
  state_.record(account, symbol, now,
                {.kind = EventKind::shares_received, .shares = command.shares});
  state_.update_digest(now, Digested::shares_placed, Ledger::key(account, symbol),
                       std::uint64_t(command.shares.units()));
  return Created{};
}

Outcome Accounts::apply(const SetKey& command, Timestamp now) {
  const AccountNumber number = state_.ledger.find(command.account);
  if (number == no_index) return Rejected{Reason::unknown_account};
  state_.update_digest(now, Digested::key_changed, number, command.key.has_key());
  set_key(number, command.key, now);
  return Created{};
}

void Accounts::set_key(AccountNumber account, const KeyHash& key, Timestamp now) {
  state_.changes.account_keys.push_back({account, key});
  // a replay without the key, or with another key, must give another digest
  std::uint64_t words[2];
  std::memcpy(words, key.digest.data(), sizeof words);
  state_.update_digest(now, Digested::key_hash, words[0], words[1]);
}

Outcome Accounts::apply(const SetAccount& command, Timestamp now) {
  const AccountNumber number = state_.ledger.find(command.account);
  if (number == no_index) return Rejected{Reason::unknown_account};
  const AccountRules rules = with_given(state_.ledger.rules_of(number), command);
  state_.ledger.set_rules(number, rules);
  if (command.name) state_.ledger.set_name(number, *command.name);
  state_.changes.account_rules.push_back({number, rules.role, rules.access, rules.orders_max,
                                          rules.orders_per_second_max, rules.position_max,
                                          state_.ledger.display_name(number)});
  state_.update_digest(now, Digested::rules_set, number,
                       std::uint64_t(rules.role) << 8 | std::uint64_t(rules.access));
  state_.update_digest(now, Digested::limits_set, rules.orders_max, rules.orders_per_second_max);
  state_.update_digest(now, Digested::limits_set, std::uint64_t(rules.position_max.units()),
                       command.cancel_orders);
  if (command.name) {
    state_.update_digest(now, Digested::name_set, number, command.name->view().size());
    for (std::size_t at = 0; at < command.name->words(); ++at)
      state_.update_digest(now, Digested::name_word, at, command.name->word(at));
  }
  if (!command.cancel_orders) return Created{};
  const OpenOrders& open = state_.books.use_open_orders();
  for (std::uint32_t oldest; (oldest = open.oldest_of_account(number)) != no_index;)
    settlement().cancel_resting(oldest, now, EventKind::canceled_operator);
  return Created{};
}

std::optional<Rejected> Accounts::check_rules(AccountNumber account, SymbolNumber symbol, Side side,
                                              Shares shares, Timestamp now,
                                              std::uint32_t replaced) {
  Ledger::RulesOfAccount& counted = state_.ledger.account_rules(account);
  const AccountRules& rules = counted.rules;
  if (rules.access == Access::frozen) return Rejected{Reason::account_frozen};
  if (rules.orders_per_second_max > 0) {
    if (counted.second != now.seconds()) counted.orders = 0;
    counted.second = now.seconds();
    if (counted.orders >= rules.orders_per_second_max)
      return Rejected{Reason::too_many_orders_a_second, rules.orders_per_second_max};
    ++counted.orders;
  }
  if (side == Side::sell || rules.position_max == Shares()) return {};
  // free shares, those that open sells reserve, and those of open buys
  UInt128 units = UInt128(shares.units());
  if (symbol != no_index) {
    const std::uint64_t key = Ledger::key(account, symbol);
    if (const Ledger::Position* position = state_.ledger.find_position(key))
      units += UInt128(position->shares().units());
    const OpenOrders& open = state_.books.use_open_orders();
    for (std::uint32_t at = open.oldest_of_key(key); at != no_index; at = open.next_of_key(at))
      if (at != replaced) units += UInt128(state_.books.order(at).open.units());
  }
  if (units > UInt128(rules.position_max.units()))
    return Rejected{Reason::position_too_large, std::uint64_t(rules.position_max.units())};
  return {};
}

Outcome Accounts::apply(const AdjustCash& command, Timestamp now) {
  ENSURE(command.cash >= Cash());
  const AccountNumber number = state_.ledger.find(command.account);
  if (number == no_index) return Rejected{Reason::unknown_account};
  if (command.takes && state_.ledger.account(number).balance < command.cash)
    return Rejected{Reason::insufficient_funds};
  if (!command.takes && command.cash > cash_total_max - state_.totals.cash_created)
    return Rejected{Reason::cash_total_overflow};
  const Cash change = command.takes ? Cash() - command.cash : command.cash;
  state_.totals.cash_created += change;
  state_.ledger.add_cash(number, change, state_.changes);
  state_.update_digest(now, Digested::cash_adjusted, number, std::uint64_t(change.units()));
  state_.update_digest(now, Digested::cash_high_word, 0, std::uint64_t(change.units() >> 64));
  state_.record(number, 0, now,
                {.kind = command.takes ? EventKind::cash_taken : EventKind::cash_received});
  return Created{};
}

Outcome Accounts::apply(const AdjustShares& command, Timestamp now) {
  ENSURE(command.shares >= Shares());
  const AccountNumber account = state_.ledger.find(command.account);
  if (account == no_index) return Rejected{Reason::unknown_account};
  const SymbolNumber symbol = state_.ledger.find(command.symbol);
  if (symbol == no_index) return Rejected{Reason::unknown_symbol};
  if (!command.takes)
    return apply(PlaceShares{command.symbol, command.account, command.shares}, now);
  const std::uint64_t key = Ledger::key(account, symbol);
  Ledger::Position* const position = state_.ledger.find_position(key);
  if ((position == nullptr ? Shares() : position->shares()) < command.shares)
    return Rejected{Reason::insufficient_shares};
  if (position != nullptr)
    state_.ledger.set_shares(*position, key, position->shares() - command.shares, state_.changes);
  state_.ledger.add_to_total(symbol, Shares() - command.shares, state_.changes);
  state_.record(account, symbol, now, {.kind = EventKind::shares_taken, .shares = command.shares});
  state_.update_digest(now, Digested::shares_taken, key, std::uint64_t(command.shares.units()));
  return Created{};
}

Outcome Accounts::apply(const BeginRound& command, Timestamp now) {
  const RoundRow round{++state_.rounds, command.name, state_.totals.executions, now};
  state_.changes.rounds.push_back(round);
  state_.update_digest(now, Digested::round_begun, round.number, command.name.word(0));
  return Created{};
}

}  // namespace exchange
