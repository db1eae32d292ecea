#pragma once
// Reads rows of the tables from a Source without trusting them. It has each type of
// engine/rows.hpp, as store/table_traits.hpp describes its table. All checks of the audit use it.
// No state.

#include <concepts>
#include <functional>
#include <utility>

#include "audit/source.hpp"
#include "store/table_traits.hpp"

namespace exchange::audit {

// `rest` has WHERE and ORDER BY; `more` has expressions whose values follow the columns of the row.
template <class Row>
std::unique_ptr<RowStream> select_rows(Source& source, const std::string& rest = {},
                                       const std::string& more = {}) {
  return source.tables("SELECT " + select_list<Row>() + (more.empty() ? "" : ", " + more) +
                       " FROM " + TableTraits<Row>::name + " " + rest);
}

// Throws BadValue, with the column, for a value that no server can have written.
template <class Members, class Row>
void read_stored(const RowStream& from, Row& row) try {
  read_members<Members>(from, row);
} catch (const BadColumn& error) {
  throw BadValue(error.what());
}
// Leaves out members that are not in a column: the place of an order, the taker of an execution.
template <class Row>
Row read_stored(const RowStream& from) {
  Row row{};
  read_stored<StoredMembers<Row>>(from, row);
  return row;
}

template <class Row>
std::uint64_t key(const Row& row) {
  return TableTraits<Row>::key_of(row);
}

// Returns a name such as "orders 17".
inline std::string row_name(const char* table, std::uint64_t key) {
  return std::string(table) + " " + std::to_string(key);
}
template <class Row>
std::string row_name(const Row& row) {
  if constexpr (std::same_as<Row, PositionRow>)
    return "positions account " + std::to_string(row.account) + " symbol " +
           std::to_string(row.symbol);
  else if constexpr (std::same_as<Row, EventRow>)
    return "account_events account " + std::to_string(row.account) + " number " +
           std::to_string(row.number);
  else
    return row_name(TableTraits<Row>::name, key(row));
}

// Returns the text of a value for sentences.
template <class Value>
std::string text(const Value& value) {
  if constexpr (std::same_as<Value, Side>)
    return std::string(to_string(value));
  else if constexpr (is_stored_as_text<Value>)
    return to_stored(value);
  else if constexpr (std::unsigned_integral<Value>)
    return std::to_string(value);
  else
    return std::to_string(to_stored(value));
}

// Describes the differing columns, "open_e8 is 5, should be 7"; empty if there are none.
template <class Members, class Row>
std::string difference_of(const Row& stored, const Row& expected) {
  std::string all;
  boost::mp11::mp_for_each<Members>([&](auto member) {
    const std::string is = text(stored.*member.pointer), should = text(expected.*member.pointer);
    if (is == should) return;
    all += (all.empty() ? "" : ", ") + column_name<MemberType<Row, decltype(member)>>(member.name) +
           " is " + is + ", should be " + should;
  });
  return all;
}
template <class Row>
std::string difference(const Row& stored, const Row& expected) {
  return difference_of<StoredMembers<Row>>(stored, expected);
}
inline std::string difference(const Totals& stored, const Totals& expected) {
  std::string all = difference_of<MembersOf<Totals>>(stored, expected);
  if (stored.digest != expected.digest)
    all += (all.empty() ? "" : ", ") + std::string("digest is ") + text(stored.digest) +
           ", should be " + text(expected.digest);
  return all;
}

// Returns "WHERE id IN (1,2) " with the keys of a map from `first` to `last`.
template <class Entry>
std::string where_in(const char* column, Entry first, Entry last) {
  std::string ids;
  for (; first != last; ++first) ids += (ids.empty() ? "" : ",") + std::to_string(first->first);
  return std::string("WHERE ") + column + " IN (" + ids + ") ";
}

// Iterates over the rows of a query. Leaves out each row with a value that a server cannot have
// written, and passes it to `unreadable`.
template <class Row>
class RowCursor {
 public:
  using Unreadable = std::function<void(const RowStream&, const BadValue&)>;
  explicit RowCursor(std::unique_ptr<RowStream> rows, Unreadable unreadable = {})
      : rows_(std::move(rows)), unreadable_(std::move(unreadable)) {
    advance();
  }
  const Row* row() const { return there_ ? &row_ : nullptr; }  // nullptr: at the end
  // Returns the value of the first expression of `more` in the select.
  std::int64_t more() const { return rows_->integer(int(columns<Row>)); }
  void advance() {
    while ((there_ = rows_->next())) try {
        row_ = read_stored<Row>(*rows_);
        return;
      } catch (const BadValue& error) {
        if (unreadable_) unreadable_(*rows_, error);
      }
  }

 private:
  std::unique_ptr<RowStream> rows_;
  const Unreadable unreadable_;
  Row row_{};
  bool there_ = false;
};

struct Projection {
  BatchNumber batch = 0;
  Totals totals;
};
// Reads the row of table projection. Throws BadValue, also if there is not exactly one.
inline Projection read_projection(Source& source) {
  const auto row = source.tables(
      "SELECT orders, executions, CAST(cash_created_e16 AS TEXT), last_time_us, digest, batch "
      "FROM projection");
  if (!row->next()) throw BadValue("the row is missing");
  Projection found;
  read_stored<MembersOf<Totals>>(*row, found.totals);
  found.totals.digest = std::uint64_t(row->integer(4));  // may be negative as an integer
  if (const char* const problem = from_stored(row->integer(5), found.batch))
    throw BadValue(std::string("batch ") + problem);
  if (row->next()) throw BadValue("there is more than one row");
  return found;
}

}  // namespace exchange::audit
