#include "judge/audit/source.hpp"

#include "store/store_url.hpp"

namespace exchange::audit {

std::unique_ptr<Source> open_source(const std::string& url) {
  if (const std::optional<StoreKind> kind = store_kind(url)) switch (*kind) {
      case StoreKind::sqlite: return open_sqlite_source(sqlite_path(url));
      case StoreKind::postgres: return open_postgres_source(url);
      case StoreKind::memory: break;  // nothing of it is left to read
    }
  throw std::invalid_argument("store '" + url + "' is neither sqlite:PATH nor postgresql://...");
}

}  // namespace exchange::audit
