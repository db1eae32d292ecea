#include "http/held_bytes.hpp"

#include "catch.hpp"

using namespace exchange;

TEST_CASE("all together hold a bounded number of bytes, one address half of it, and give it back") {
  constexpr std::size_t unit = HeldBytes::small_max + 1;
  HeldBytes::All all(8 * unit);
  const PeerAddress greedy{0, 1}, other{0, 2};
  {
    HeldBytes first(all, greedy), second(all, greedy), third(all, greedy), others(all, other);
    CHECK(first.take(2 * unit));
    CHECK(second.take(2 * unit));
    CHECK_FALSE(third.take(unit));
    CHECK(third.take(HeldBytes::small_max));  // too little to count
    CHECK(others.take(4 * unit));
    CHECK_FALSE(HeldBytes(all, PeerAddress{0, 3}).take(unit));
    CHECK(second.take(unit));  // in place of the two
    CHECK(HeldBytes(all, PeerAddress{0, 3}).take(unit));
    CHECK(all.bytes == 7 * unit);
  }
  CHECK(all.bytes == 0);
  CHECK(all.of_peer.empty());
  CHECK(HeldBytes(all, greedy).take(1'000 * unit));  // one alone always fits
}
