#include "store/kept_days.hpp"
#include "store/memory/memory_store.hpp"
#include "store/postgres/postgres_store.hpp"
#include "store/sqlite/sqlite_store.hpp"
#include "store/store_url.hpp"

namespace exchange {

std::unique_ptr<Store> make_store(const std::string& url, const StoreLimits& limits) {
  const std::optional<StoreKind> kind = store_kind(url);
  if (!kind) throw std::invalid_argument("--store '" + url + "' is not one of " + store_urls);
  if (limits.replicas_required > 0 && kind != StoreKind::postgres)
    throw std::invalid_argument("--require-replicas needs a PostgreSQL store; " + url +
                                " is not replicated");
  switch (*kind) {
    case StoreKind::sqlite: return std::make_unique<SqliteStore>(sqlite_path(url));
    case StoreKind::postgres: return std::make_unique<PostgresStore>(url, limits);
    case StoreKind::memory: return std::make_unique<MemoryStore>();
  }
  throw std::logic_error("no such store");
}

std::unique_ptr<KeptDays> make_kept_days(const std::string& url, const StoreLimits& limits) {
  switch (store_kind(url).value_or(StoreKind::memory)) {
    case StoreKind::sqlite: return make_sqlite_days(sqlite_path(url));
    case StoreKind::postgres: return make_postgres_days(url, limits);
    case StoreKind::memory: break;  // it keeps nothing
  }
  return nullptr;
}

}  // namespace exchange
