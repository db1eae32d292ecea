#include "judge/audit/stored_rows.hpp"

#include <concepts>

namespace exchange::audit {
namespace {

// For sentences.
std::string text(Side side) { return side == Side::buy ? "buy" : "sell"; }
template <class Value>
std::string text(const Value& value) {
  if constexpr (is_stored_as_text<Value>)
    return to_stored(value);
  else if constexpr (std::unsigned_integral<Value>)
    return std::to_string(value);
  else
    return std::to_string(to_stored(value));
}

template <class Members, class Row>
std::string differing(const Row& stored, const Row& expected) {
  std::string all;
  boost::mp11::mp_for_each<Members>([&](auto member) {
    const std::string is = text(stored.*member.pointer), should = text(expected.*member.pointer);
    if (is == should) return;
    all += (all.empty() ? "" : ", ") + column_name<MemberType<Row, decltype(member)>>(member.name) +
           " is " + is + ", should be " + should;
  });
  return all;
}

}  // namespace

template <class Row>
std::unique_ptr<RowStream> Table<Row>::select(Source& source, const std::string& rest,
                                              const std::string& more) {
  return source.tables("SELECT " + select_list<Row>() + (more.empty() ? "" : ", " + more) +
                       " FROM " + name() + " " + rest);
}

template <class Row>
Row Table<Row>::read(const RowStream& from) {
  Row row{};
  try {
    read_members<StoredMembers<Row>>(from, row);
  } catch (const BadColumn& error) {
    throw BadValue(error.what());
  }
  return row;
}

template <class Row>
std::string Table<Row>::row_name(const Row& row) {
  if constexpr (std::same_as<Row, PositionRow>)
    return "positions account " + std::to_string(row.account) + " symbol " +
           std::to_string(row.symbol);
  else
    return audit::row_name(name(), TableTraits<Row>::key_of(row));
}

template <class Row>
std::string Table<Row>::difference(const Row& stored, const Row& expected) {
  return differing<StoredMembers<Row>>(stored, expected);
}

template struct Table<AccountRow>;
template struct Table<AccountKeyRow>;
template struct Table<SymbolRow>;
template struct Table<PositionRow>;
template struct Table<OrderRow>;
template struct Table<ReplacementRow>;
template struct Table<ReferenceRow>;
template struct Table<ExecutionRow>;

std::string difference(const Totals& stored, const Totals& expected) {
  std::string all = differing<MembersOf<Totals>>(stored, expected);
  if (stored.digest != expected.digest)
    all += (all.empty() ? "" : ", ") + std::string("digest is ") + text(stored.digest) +
           ", should be " + text(expected.digest);
  return all;
}

std::string row_name(const char* table, std::uint64_t key) {
  return std::string(table) + " " + std::to_string(key);
}

Projection read_projection(Source& source) {
  const auto row = source.tables(
      "SELECT orders, executions, CAST(cash_created_e16 AS TEXT), last_time_us, digest, batch "
      "FROM projection");
  if (!row->next()) throw BadValue("the row is missing");
  Projection found;
  try {
    read_members<MembersOf<Totals>>(*row, found.totals);
  } catch (const BadColumn& error) {
    throw BadValue(error.what());
  }
  found.totals.digest = std::uint64_t(row->integer(4));  // of any sign
  if (const char* const problem = from_stored(row->integer(5), found.batch))
    throw BadValue(std::string("batch ") + problem);
  if (row->next()) throw BadValue("there is more than one row");
  return found;
}

}  // namespace exchange::audit
