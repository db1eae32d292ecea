#pragma once
// for_each_prefetched() visits items whose data lies apart, and overlaps their cache misses.

#include <cstddef>
#include <span>

namespace exchange {

// `prefetch` gets each item some places before `visit` does. It must be always inline
// (flat_map.hpp).
template <class Item, class Prefetch, class Visit>
void for_each_prefetched(std::span<const Item> items, Prefetch prefetch, Visit visit) {
  constexpr std::size_t ahead = 8;
  for (std::size_t at = 0; at < items.size(); ++at) {
    if (at + ahead < items.size()) prefetch(items[at + ahead]);
    visit(items[at]);
  }
}

}  // namespace exchange
