#include "store/memory/memory_store.hpp"
#include "store/postgres/postgres_store.hpp"
#include "store/sqlite/sqlite_store.hpp"

namespace exchange {

std::unique_ptr<Store> make_store(const std::string& url, const StoreLimits& limits) {
  const auto starts = [&](std::string_view prefix) {
    return std::string_view(url).starts_with(prefix);
  };
  if (starts("postgresql://") || starts("postgres://"))
    return std::make_unique<PostgresStore>(url, limits);
  if (limits.replicas_required > 0)
    throw std::invalid_argument("--require-replicas needs a PostgreSQL store; " + url +
                                " is not replicated");
  if (starts("sqlite:") && url.size() > 7) return std::make_unique<SqliteStore>(url.substr(7));
  if (url == "memory:") return std::make_unique<MemoryStore>();
  throw std::invalid_argument("--store '" + url +
                              "' is not one of sqlite:PATH, postgresql://..., memory:");
}

}  // namespace exchange
