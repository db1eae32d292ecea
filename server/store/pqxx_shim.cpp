#include "store/pqxx_shim.hpp"

#if defined(PQXX_VERSION_MAJOR) && PQXX_VERSION_MAJOR >= 7

void exchange::never_reconnect(pqxx::connection&) {}

#else

#include <dlfcn.h>

struct pg_conn;  // libpq's

void exchange::never_reconnect(pqxx::connection& connection) {
  connection.inhibit_reactivation(true);
}

// libpqxx 6 asks for the encoding between getting a result and taking care of it. A connection that
// was just lost has none, so that it throws and the result, which says what happened, is never
// freed. It gets UTF-8 from here instead, and throws with that result.
extern "C" int PQclientEncoding(const pg_conn* connection) {
  static const auto of_libpq =
      reinterpret_cast<int (*)(const pg_conn*)>(dlsym(RTLD_NEXT, "PQclientEncoding"));
  constexpr int utf8 = 6;
  const int encoding = of_libpq(connection);
  return encoding == -1 ? utf8 : encoding;
}

#endif
