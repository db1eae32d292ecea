#include "store/postgres/pqxx_shim.hpp"

#if defined(PQXX_VERSION_MAJOR) && PQXX_VERSION_MAJOR >= 7

void exchange::never_reconnect(pqxx::connection&) {}

std::unique_ptr<pqxx::stream_to> exchange::copy_into(pqxx::transaction_base& work,
                                                     const std::string& table,
                                                     const std::vector<std::string>& columns) {
  return std::unique_ptr<pqxx::stream_to>(
      new pqxx::stream_to(pqxx::stream_to::table(work, {table}, columns)));
}

#else

#include <dlfcn.h>

struct pg_conn;  // a type of libpq

void exchange::never_reconnect(pqxx::connection& connection) {
  connection.inhibit_reactivation(true);
}

std::unique_ptr<pqxx::stream_to> exchange::copy_into(pqxx::transaction_base& work,
                                                     const std::string& table,
                                                     const std::vector<std::string>& columns) {
  return std::make_unique<pqxx::stream_to>(work, table, columns);
}

// libpqxx 6 asks libpq for the connection's encoding after it has received a result and before it
// owns that result. A connection that was just lost has no encoding: libpqxx then throws, and leaks
// the result with the error message. In that case this wrapper returns UTF-8, so that libpqxx
// throws the error of the result instead.
extern "C" int PQclientEncoding(const pg_conn* connection) {
  static const auto of_libpq =
      reinterpret_cast<int (*)(const pg_conn*)>(dlsym(RTLD_NEXT, "PQclientEncoding"));
  constexpr int utf8 = 6;
  const int encoding = of_libpq(connection);
  return encoding == -1 ? utf8 : encoding;
}

#endif

bool exchange::PostgresNotices::operator()(const char message[]) noexcept {
  if (!first_.empty()) return false;
  first_ = message;
  while (!first_.empty() && first_.back() == '\n') first_.pop_back();
  if (first_.empty()) first_ = "a notice";
  return false;
}
