#pragma once
// libpqxx 6 (Debian 12) and 7 (Debian 13, Ubuntu 24.04) behind one face.

// 7.10 deprecates exec_prepared() in favour of calls that 6 does not have.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#include <pqxx/pqxx>

namespace exchange {

// 6 reconnects by itself, silently losing advisory locks and settings; 7 never does.
void never_reconnect(pqxx::connection& connection);

}  // namespace exchange
