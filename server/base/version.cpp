#include "base/version.hpp"

#include <commit.hpp>

namespace exchange {

const char* version() { return EXCHANGE_VERSION " (commit " EXCHANGE_COMMIT ")"; }
const char* commit() { return EXCHANGE_COMMIT; }

}  // namespace exchange
