#pragma once
// The kinds of stores, by their URLs. Code that opens, audits or reads a store has a case for each
// kind. Any thread.

#include <optional>
#include <string>
#include <string_view>

#include "base/described.hpp"

namespace exchange {

BOOST_DEFINE_FIXED_ENUM_CLASS(StoreKind, std::uint8_t, sqlite, postgres, memory)

// For help and errors: the URLs of stores that other programs can read, and of all stores.
inline const std::string kept_store_urls = "sqlite:PATH or postgresql://USER@HOST/DATABASE";
inline const std::string store_urls =
    kept_store_urls + ", or memory: (volatile); of several hosts, HOST1,HOST2, the newest primary";

// Returns nothing for a text that is not the URL of a store. PostgreSQL's is a URI of libpq.
inline std::optional<StoreKind> store_kind(std::string_view url) {
  if (url.starts_with("sqlite:") && url.size() > 7) return StoreKind::sqlite;
  if (url.starts_with("postgresql://") || url.starts_with("postgres://"))
    return StoreKind::postgres;
  if (url == "memory:") return StoreKind::memory;
  return {};
}
// Returns the PATH of "sqlite:PATH".
inline std::string sqlite_path(const std::string& url) { return url.substr(7); }

}  // namespace exchange
