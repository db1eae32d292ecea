#pragma once
// The kinds of stores, by their URLs: what opens, audits or reads a store has a case for each. Any
// thread.

#include <optional>
#include <string>
#include <string_view>

#include "base/described.hpp"

namespace exchange {

BOOST_DEFINE_FIXED_ENUM_CLASS(StoreKind, std::uint8_t, sqlite, postgres, memory)

// Of "sqlite:PATH", "postgresql://...", "postgres://..." or "memory:"; nothing for another text.
inline std::optional<StoreKind> store_kind(std::string_view url) {
  if (url.starts_with("sqlite:") && url.size() > 7) return StoreKind::sqlite;
  if (url.starts_with("postgresql://") || url.starts_with("postgres://"))
    return StoreKind::postgres;
  if (url == "memory:") return StoreKind::memory;
  return {};
}
// The PATH of "sqlite:PATH".
inline std::string sqlite_path(const std::string& url) { return url.substr(7); }

}  // namespace exchange
