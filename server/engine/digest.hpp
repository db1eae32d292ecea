#pragma once
// The changes that the digest of the state covers (Totals::digest). The digest is a running hash
// over every change, in each journal row, so that a replay that differs is detected. There is one
// line for each kind of change, with the two numbers that are hashed in addition to the time. The
// letters are part of the format of a journal. No state; any thread.

#include <cstdint>

namespace exchange {

// Accounts and symbols by number; amounts in units; a position by its key (Ledger::key).
enum class Digested : std::uint64_t {
  account_created = 'A',     // balance: high word, low word
  key_changed = 'k',         // account, whether it has a key
  key_hash = 'K',            // the first two words of the hash
  rules_set = 'U',           // account, role << 8 | access
  limits_set = 'u',          // orders, orders a second; position, whether orders are canceled
  name_set = 'N',            // account, bytes. Letter of symbol_touched too; kept for the format
  name_word = 'n',           // which, the word
  cash_adjusted = 'H',       // account, low word of the change
  cash_high_word = 'h',      // 0, high word of the change
  shares_taken = 'Q',        // position, shares
  events_recorded = 'V',     // account, 0
  symbol_touched = 'N',      // symbol, 0: created, or named by a creation
  shares_placed = 'P',       // position, shares
  instrument_rule = 'i',     // symbol, value: one for each rule
  instruments_set = 'I',     // first symbol, the number after the last
  volatility_auction = 'v',  // symbol, 0
  buy_opened = 'B',          // position, shares
  sell_opened = 'S',         // position, shares
  order_opened = 'O',        // order, limit
  reference_word = 'R',      // the word, bytes of the reference
  executed = 'E',            // shares, price ^ order of the maker
  order_replaced = 'M',      // order, shares
  limit_replaced = 'L',      // number of the replacement, limit
  order_canceled = 'C',      // order, shares
  round_begun = 'G',         // round, first word of its name
};

}  // namespace exchange
