#pragma once
// TableCompare compares every row of the tables with a replay of the journal from batch 1. It
// compares closed orders, executions and replacements while the replay runs, then drops them; it
// compares accounts, symbols, positions, references and open orders at the end of the replay.
// Memory: as much as a server with the same open orders needs, and all references. Owner:
// JournalCheck. Thread: one.

#include <map>
#include <tuple>
#include <unordered_map>

#include "audit/stored_rows.hpp"

namespace exchange::audit {

class TableCompare {
 public:
  TableCompare(Source& source, Findings& findings);
  // Takes the rows that the replay has changed since the last call, with their values now.
  void apply(const Rows& rows);
  // Call it once the replay has reached the projected batch. Compares all remaining rows.
  void finish(const Totals& stored, const Totals& replayed);

 private:
  // Both the table and the replay have these rows in the order of their keys.
  template <class Row>
  void compare_next(RowCursor<Row>& stored, const Row& expected);
  template <class Row>
  void report_rest(RowCursor<Row>& stored);
  void compare_orders();
  template <class Row>
  static constexpr bool compared_meanwhile =
      std::same_as<Row, OrderRow> || std::same_as<Row, ExecutionRow> ||
      std::same_as<Row, ReplacementRow>;
  template <class Row>
  using ByKey = std::unordered_map<std::uint64_t, Row>;
  // Compares every row of a table with the rows of the replay. Consumes `expected`.
  template <class Row>
  void compare_table(ByKey<Row>& expected);
  // Calls use(rows by key, member of Rows) for each table that is compared at the end of the
  // replay.
  template <class Use>
  void for_each_kept(Use use) {
    for_each_member<Rows>([&](auto member) {
      using Row = RowIn<decltype(member)>;
      if constexpr (!compared_meanwhile<Row>) use(std::get<ByKey<Row>>(kept_), member);
    });
  }
  template <class Row>
  void expect_equal(const std::string& name, const Row& stored, const Row& expected);
  void missing(const std::string& name) {
    findings_.violation("replay", name, "is missing: the journal has it");
  }
  void surplus(const std::string& name) {
    findings_.violation("replay", name, "should not be there: the journal does not have it");
  }

  Source& source_;
  Findings& findings_;
  std::uint64_t compared_ = 0;
  template <class Member>
  using Kept = ByKey<RowIn<Member>>;
  boost::mp11::mp_rename<boost::mp11::mp_transform<Kept, MembersOf<Rows>>, std::tuple> kept_;
  std::map<OrderId, OrderRow> open_, due_;  // due: to be compared now
  RowCursor<ExecutionRow> executions_;
  RowCursor<ReplacementRow> replacements_;
};

}  // namespace exchange::audit
