#pragma once
// Values that SQLite and PostgreSQL stores keep as text: ids, order references, cash (whose 128
// bits fit no integer column) and key hashes. Used by both stores, and by the audit. Each
// stored_... function throws StoreCorrupt for a text that no server can have written. No state; any
// thread.
//
//   account id, symbol, order reference   as in the protocol
//   cash                 decimal number of units of 1e-16
//   key hash             scrypt:LOG2_N:R:P:SALT:DIGEST   costs in decimal, 1 to 3 digits, 0 to 255;
//                                                        SALT 32 and DIGEST 56 digits of
//                                                        lower-case hex

#include <charconv>

#include "store/store.hpp"

namespace exchange {

// SQL of both databases. A client may replace an order any number of times: each look-up reads one
// row of an index, since executions_before never falls with the number, and places_of_order lacks
// the replacements that keep the place. The tape of db/*_views.sql finds takers in the same way.

// The place of the order `o` (OrderRow::place).
inline const std::string place_of_order =
    "coalesce((SELECT number FROM order_replacements WHERE order_id = o.id AND NOT keeps_place"
    " ORDER BY executions_before DESC, number DESC LIMIT 1), o.id)";

// Whether the buy of the execution `e` arrived, or was replaced, after the sell.
inline const std::string taker_is_buy = [] {
  const auto place = [](const std::string& order) {
    return "coalesce((SELECT number FROM order_replacements WHERE order_id = " + order +
           " AND NOT keeps_place AND executions_before < e.id"
           " ORDER BY executions_before DESC, number DESC LIMIT 1), " +
           order + ")";
  };
  return "CAST(" + place("e.buy_order") + " > " + place("e.sell_order") + " AS INTEGER)";
}();

// The columns of an ExecutionRow, of the execution `e`.
inline const std::string execution_columns =
    "e.id, e.symbol, e.buy_order, e.sell_order, e.shares_e8, e.price_e8, e.time_us, " +
    taker_is_buy;

// Of each account the newest references (References::kept_max), with what their orders were at
// first. The recursion finds the accounts that have any.
inline constexpr const char* select_newest_references =
    "WITH RECURSIVE a(account) AS (SELECT min(account) FROM order_references UNION ALL"
    " SELECT (SELECT min(account) FROM order_references WHERE account > a.account) FROM a"
    " WHERE a.account IS NOT NULL)"
    " SELECT r.account, r.ref, r.order_id, o.symbol, CAST(o.is_buy AS INTEGER),"
    " coalesce((SELECT shares_e8 FROM order_replacements WHERE order_id = o.id ORDER BY executions_before, number LIMIT 1), o.shares_e8),"
    " coalesce((SELECT limit_e8 FROM order_replacements WHERE order_id = o.id ORDER BY executions_before, number LIMIT 1), o.limit_e8)"
    " FROM a CROSS JOIN order_references r CROSS JOIN orders o"
    " WHERE r.account = a.account AND o.id = r.order_id AND r.order_id > coalesce("
    "(SELECT order_id FROM order_references WHERE account = a.account"
    " ORDER BY order_id DESC LIMIT 1 OFFSET 1024), 0) ORDER BY r.order_id";

inline AccountId stored_account_id(std::string_view text) {
  const auto id = parse_account_id(text);
  if (!id) throw StoreCorrupt("accounts: '" + std::string(text) + "' is not an account id");
  return *id;
}

inline SymbolName stored_symbol_name(std::string_view text) {
  const auto name = parse_symbol_name(text);
  if (!name) throw StoreCorrupt("symbols: '" + std::string(text) + "' is not a symbol");
  return *name;
}

inline OrderReference stored_reference(std::string_view text) {
  const auto reference = parse_order_reference(text);
  if (!reference)
    throw StoreCorrupt("order_references: '" + std::string(text) + "' is not an order reference");
  return *reference;
}

inline Cash stored_cash(std::string_view text) {
  const auto units = parse_units(text);
  if (!units) throw StoreCorrupt("'" + std::string(text) + "' is not an amount of cash");
  return Cash::from_units(units.value);
}

inline std::string key_text(const KeyHash& key) {
  std::string text = "scrypt:" + std::to_string(key.log2_n) + ":" + std::to_string(key.r) + ":" +
                     std::to_string(key.p);
  const auto add_hex = [&](const auto& bytes) {
    text += ':';
    for (const std::uint8_t byte : bytes)
      (text += "0123456789abcdef"[byte >> 4]) += "0123456789abcdef"[byte & 15];
  };
  add_hex(key.salt);
  add_hex(key.digest);
  return text;
}

inline KeyHash stored_key(std::string_view text) {
  constexpr const char* problem_text = "account_keys: the text is not a key hash of this server";
  KeyHash key;
  std::string_view rest = text;
  const auto number = [&](std::size_t digits_max, int base) {
    unsigned value = 256;
    const auto [end, problem] =
        std::from_chars(rest.data(), rest.data() + std::min(digits_max, rest.size()), value, base);
    if (problem != std::errc() || value > 255) throw StoreCorrupt(problem_text);
    rest.remove_prefix(std::size_t(end - rest.data()));
    return std::uint8_t(value);
  };
  const auto skip = [&](std::string_view expected) {
    if (!rest.starts_with(expected)) throw StoreCorrupt(problem_text);
    rest.remove_prefix(expected.size());
  };
  skip("scrypt:");
  key.log2_n = number(3, 10);
  skip(":");
  key.r = number(3, 10);
  skip(":");
  key.p = number(3, 10);
  skip(":");
  for (std::uint8_t& byte : key.salt) byte = number(2, 16);
  skip(":");
  for (std::uint8_t& byte : key.digest) byte = number(2, 16);
  if (!rest.empty() || key_text(key) != text) throw StoreCorrupt(problem_text);
  return key;
}

}  // namespace exchange
