#include "store/store.hpp"

#include <algorithm>

namespace exchange {

bool is_day_name(std::string_view name) {
  constexpr std::size_t bytes_max = 32;
  const auto is_plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return !name.empty() && name.size() <= bytes_max && is_plain(name.front()) &&
         is_plain(name.back()) &&
         std::ranges::all_of(name, [&](char c) { return is_plain(c) || c == '-'; });
}

}  // namespace exchange
