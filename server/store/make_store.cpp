#include "store/memory/memory_store.hpp"
#include "store/postgres/postgres_store.hpp"
#include "store/sqlite/sqlite_store.hpp"
#include "store/store_url.hpp"

namespace exchange {

bool is_day_name(std::string_view name) {
  constexpr std::size_t bytes_max = 32;
  const auto is_plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return !name.empty() && name.size() <= bytes_max && is_plain(name.front()) &&
         is_plain(name.back()) &&
         std::ranges::all_of(name, [&](char c) { return is_plain(c) || c == '-'; });
}

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

}  // namespace exchange
