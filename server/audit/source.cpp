#include "audit/source.hpp"

#include "engine/rows.hpp"
#include "journal/journal_reader.hpp"
#include "journal/store_errors.hpp"
#include "store/store_url.hpp"

namespace exchange::audit {

void require_this_format(const std::string& what, std::int64_t format) try {
  require_readable_format(what, format);
  if (format < store_format)
    throw CannotRead(what +
                     " was written by an earlier version: use its exchange-audit, or start"
                     " this version's server on it first");
} catch (const StoreOtherVersion& error) {
  throw CannotRead(error.what());
}

std::unique_ptr<Source> open_source(const std::string& url) {
  if (const std::optional<StoreKind> kind = store_kind(url)) switch (*kind) {
      case StoreKind::sqlite:
        return open_sqlite_source(url, sqlite_path(url),
                                  std::make_unique<JournalFileReader>(sqlite_path(url)));
      case StoreKind::postgres: return open_postgres_source(url);
      case StoreKind::memory: break;  // its content is lost with its process
    }
  throw std::invalid_argument("store '" + url + "' is not one of " + kept_store_urls);
}

}  // namespace exchange::audit
