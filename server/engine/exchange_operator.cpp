// What the operator changes of accounts (docs/protocol.md, D1 to D9), and rounds (G1).

#include <cstring>

#include "engine/exchange.hpp"
#include "engine/given_rules.hpp"

namespace exchange {

Outcome Exchange::apply(const SetKey& command, Timestamp now) {
  const AccountNumber number = ledger_.find(command.account);
  if (number == no_index) return Rejected{Reason::unknown_account};
  update_digest(now, Digested::key_changed, number, command.key.has_key());
  set_key(number, command.key, now);
  return Created{};
}

void Exchange::set_key(AccountNumber account, const KeyHash& key, Timestamp now) {
  changes_.account_keys.push_back({account, key});
  // a replay without the key, or with another, must not pass for the same
  std::uint64_t words[2];
  std::memcpy(words, key.digest.data(), sizeof words);
  update_digest(now, Digested::key_hash, words[0], words[1]);
}

Outcome Exchange::apply(const SetAccount& command, Timestamp now) {
  const AccountNumber number = ledger_.find(command.account);
  if (number == no_index) return Rejected{Reason::unknown_account};
  const AccountRules rules = with_given(ledger_.rules_of(number), command);
  ledger_.set_rules(number, rules);
  if (command.name) ledger_.set_name(number, *command.name);
  changes_.account_rules.push_back({number, rules.role, rules.access, rules.orders_max,
                                    rules.orders_per_second_max, rules.position_max,
                                    ledger_.name_of(number)});
  update_digest(now, Digested::rules_set, number,
                std::uint64_t(rules.role) << 8 | std::uint64_t(rules.access));
  update_digest(now, Digested::limits_set, rules.orders_max, rules.orders_per_second_max);
  update_digest(now, Digested::limits_set, std::uint64_t(rules.position_max.units()),
                command.cancel_orders);
  if (command.name) {
    update_digest(now, Digested::name_set, number, command.name->view().size());
    for (std::size_t at = 0; at < command.name->words(); ++at)
      update_digest(now, Digested::name_word, at, command.name->word(at));
  }
  if (!command.cancel_orders) return Created{};
  const OpenOrders& open = books_.use_open_orders();
  for (std::uint32_t oldest; (oldest = open.oldest_of_account(number)) != no_index;)
    cancel_resting(oldest, now, EventKind::canceled_operator);
  return Created{};
}

std::optional<Rejected> Exchange::check_account_rules(AccountNumber account, SymbolNumber symbol,
                                                      Side side, Shares shares, Timestamp now,
                                                      std::uint32_t replaced) {
  Ledger::RulesOfAccount& of = ledger_.account_rules(account);
  const AccountRules& rules = of.rules;
  if (rules.access == Access::frozen) return Rejected{Reason::account_frozen};
  if (rules.orders_per_second_max > 0) {
    if (of.second != now.seconds()) of.orders = 0;
    of.second = now.seconds();
    if (of.orders >= rules.orders_per_second_max)
      return Rejected{Reason::too_many_orders_a_second, rules.orders_per_second_max};
    ++of.orders;
  }
  if (side == Side::sell || rules.position_max == Shares()) return {};
  // free shares, those that open sells reserve, and those of open buys
  UInt128 units = UInt128(shares.units());
  if (symbol != no_index) {
    const std::uint64_t key = Ledger::key(account, symbol);
    if (const Ledger::Position* position = ledger_.find_position(key))
      units += UInt128(position->shares().units());
    const OpenOrders& open = books_.use_open_orders();
    for (std::uint32_t at = open.oldest_of_key(key); at != no_index; at = open.next_of_key(at))
      if (at != replaced) units += UInt128(books_.order(at).open.units());
  }
  if (units > UInt128(rules.position_max.units()))
    return Rejected{Reason::position_too_large, std::uint64_t(rules.position_max.units())};
  return {};
}

Outcome Exchange::apply(const AdjustCash& command, Timestamp now) {
  ENSURE(command.cash >= Cash());
  const AccountNumber number = ledger_.find(command.account);
  if (number == no_index) return Rejected{Reason::unknown_account};
  if (command.takes && ledger_.account(number).balance < command.cash)
    return Rejected{Reason::insufficient_funds};
  if (!command.takes && command.cash > cash_total_max - totals_.cash_created)
    return Rejected{Reason::cash_total_overflow};
  const Cash change = command.takes ? Cash() - command.cash : command.cash;
  totals_.cash_created += change;
  ledger_.add_cash(number, change, changes_);
  update_digest(now, Digested::cash_adjusted, number, std::uint64_t(change.units()));
  update_digest(now, Digested::cash_high_word, 0, std::uint64_t(change.units() >> 64));
  record(number, 0, now,
         {.kind = command.takes ? EventKind::cash_taken : EventKind::cash_received});
  return Created{};
}

Outcome Exchange::apply(const AdjustShares& command, Timestamp now) {
  ENSURE(command.shares >= Shares());
  const AccountNumber account = ledger_.find(command.account);
  if (account == no_index) return Rejected{Reason::unknown_account};
  const SymbolNumber symbol = ledger_.find(command.symbol);
  if (symbol == no_index) return Rejected{Reason::unknown_symbol};
  if (!command.takes)
    return apply(PlaceShares{command.symbol, command.account, command.shares}, now);
  const std::uint64_t key = Ledger::key(account, symbol);
  Ledger::Position* const position = ledger_.find_position(key);
  if ((position == nullptr ? Shares() : position->shares()) < command.shares)
    return Rejected{Reason::insufficient_shares};
  if (position != nullptr)
    ledger_.set_shares(*position, key, position->shares() - command.shares, changes_);
  ledger_.add_to_total(symbol, Shares() - command.shares, changes_);
  record(account, symbol, now, {.kind = EventKind::shares_taken, .shares = command.shares});
  update_digest(now, Digested::shares_taken, key, std::uint64_t(command.shares.units()));
  return Created{};
}

Outcome Exchange::apply(const BeginRound& command, Timestamp now) {
  const RoundRow round{++rounds_, command.name, totals_.executions, now};
  changes_.rounds.push_back(round);
  update_digest(now, Digested::round_begun, round.number, command.name.word(0));
  return Created{};
}

}  // namespace exchange
