#include "audit/stored_rows.hpp"

namespace exchange::audit {

std::string difference(const Totals& stored, const Totals& expected) {
  std::string all = difference_of<MembersOf<Totals>>(stored, expected);
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
  read_stored<MembersOf<Totals>>(*row, found.totals);
  found.totals.digest = std::uint64_t(row->integer(4));  // may be negative as an integer
  if (const char* const problem = from_stored(row->integer(5), found.batch))
    throw BadValue(std::string("batch ") + problem);
  if (row->next()) throw BadValue("there is more than one row");
  return found;
}

}  // namespace exchange::audit
