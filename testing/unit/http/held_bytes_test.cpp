#include "http/buffered_bytes.hpp"

#include "catch.hpp"

using namespace exchange;

TEST_CASE("all together hold a bounded number of bytes, one address half of it, and give it back") {
  constexpr std::size_t unit = BufferedBytes::small_max + 1;
  BufferedBytes::All all(8 * unit);
  const PeerAddress greedy{0, 1}, other{0, 2};
  {
    BufferedBytes first(all, greedy), second(all, greedy), third(all, greedy), others(all, other);
    CHECK(first.take(2 * unit));
    CHECK(second.take(2 * unit));
    CHECK_FALSE(third.take(unit));
    CHECK(third.take(BufferedBytes::small_max));  // too little to count
    CHECK(others.take(4 * unit));
    CHECK_FALSE(BufferedBytes(all, PeerAddress{0, 3}).take(unit));
    CHECK(second.take(unit));  // in place of the two
    CHECK(BufferedBytes(all, PeerAddress{0, 3}).take(unit));
    CHECK(all.bytes == 7 * unit);
  }
  CHECK(all.bytes == 0);
  CHECK(all.of_peer.empty());
  CHECK(BufferedBytes(all, greedy).take(1'000 * unit));  // one alone always fits
}
