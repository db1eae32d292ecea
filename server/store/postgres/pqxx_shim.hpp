#pragma once
// One interface to libpqxx 6 (Debian 12) and 7 (Debian 13, Ubuntu 24.04). The PostgreSQL store and
// the audit include it in place of <pqxx/pqxx>.

// 7.10 deprecates exec_prepared() in favour of calls that 6 lacks.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#include <memory>
#include <pqxx/pqxx>
#include <string>
#include <vector>

namespace exchange {

// A transaction whose statements all see the same snapshot.
using SnapshotWork = pqxx::transaction<pqxx::isolation_level::repeatable_read>;

// Keeps libpqxx 6 from reconnecting by itself, which would silently lose advisory locks and
// settings; libpqxx 7 never does. Call it on each new connection.
void never_reconnect(pqxx::connection& connection);

// Starts COPY of rows into these columns of a table; `<<` adds a row, complete() ends it.
std::unique_ptr<pqxx::stream_to> copy_into(pqxx::transaction_base& work, const std::string& table,
                                           const std::vector<std::string>& columns);

// The warnings that a connection reports. Its owner destroys it before the connection.
class PostgresNotices final : public pqxx::errorhandler {
 public:
  explicit PostgresNotices(pqxx::connection& connection) : errorhandler(connection) {}
  bool operator()(const char message[]) noexcept override;
  void clear() { first_.clear(); }
  // Returns the first warning since clear(); empty if there was none.
  const std::string& first() const { return first_; }

 private:
  std::string first_;
};

}  // namespace exchange
