#include "judge/audit/source.hpp"

namespace exchange::audit {

std::unique_ptr<Source> open_source(const std::string& url) {
  const auto starts = [&](std::string_view prefix) {
    return std::string_view(url).starts_with(prefix);
  };
  if (starts("sqlite:") && url.size() > 7) return open_sqlite_source(url.substr(7));
  if (starts("postgresql://") || starts("postgres://")) return open_postgres_source(url);
  throw std::invalid_argument("store '" + url + "' is neither sqlite:PATH nor postgresql://...");
}

}  // namespace exchange::audit
