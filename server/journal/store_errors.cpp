#include "journal/store_errors.hpp"

#include "engine/rows.hpp"

namespace exchange {

void require_readable_format(const std::string& what, std::int64_t format) {
  constexpr std::int64_t first = 100;
  if (format < first)
    throw StoreOtherVersion(what +
                            " was written by a version before 1.0: start the server that wrote it,"
                            " or use a new store");
  if (format > store_format)
    throw StoreOtherVersion(what + " was written by version " + std::to_string(format / 100) + "." +
                            std::to_string(format % 100) + " or newer: start that version");
}

}  // namespace exchange
