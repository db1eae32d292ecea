// Rates and quotas for each address.

#include "base/address_limits.hpp"

#include "catch.hpp"

using namespace exchange;

namespace {

constexpr PeerAddress one{0, 1}, two{0, 2}, three{0, 3};
constexpr AddressRate::Time start{std::chrono::hours(1)};

int taken(AddressRate& rate, const PeerAddress& address, AddressRate::Time now, int wanted) {
  int count = 0;
  for (int i = 0; i < wanted; ++i) count += rate.take(address, now) ? 1 : 0;
  return count;
}

}  // namespace

TEST_CASE("an address has its burst, then its rate, whatever others take") {
  AddressRate rate(10, 3);
  CHECK(taken(rate, one, start, 5) == 3);
  CHECK(taken(rate, two, start, 5) == 3);
  CHECK(taken(rate, one, start + std::chrono::milliseconds(99), 5) == 0);
  CHECK(taken(rate, one, start + std::chrono::milliseconds(250), 5) == 2);
  CHECK(taken(rate, one, start + std::chrono::seconds(60), 5) == 3);  // no more than a burst
}

TEST_CASE("a use that cost more is charged to the next ones") {
  AddressRate rate(10, 10);
  CHECK(taken(rate, one, start, 1) == 1);
  rate.charge(one, 7, start);
  rate.charge(two, 100, start);  // it has not used anything
  CHECK(taken(rate, one, start, 10) == 2);
  CHECK(taken(rate, two, start, 20) == 10);
  rate.charge(one, 7, start);
  CHECK(taken(rate, one, start + std::chrono::milliseconds(799), 5) == 0);
  CHECK(taken(rate, one, start + std::chrono::milliseconds(800), 5) == 1);
}

TEST_CASE("however much its uses cost, an address waits for two bursts at most") {
  AddressRate rate(10, 10);
  CHECK(taken(rate, one, start, 1) == 1);
  for (int i = 0; i < 100; ++i) rate.charge(one, 100, start);
  CHECK(taken(rate, one, start + std::chrono::milliseconds(899), 5) == 0);
  CHECK(taken(rate, one, start + std::chrono::milliseconds(900), 5) == 1);
}

TEST_CASE("without a rate an address is not limited") {
  AddressRate rate(0, 1);
  CHECK(taken(rate, one, start, 10'000) == 10'000);
}

TEST_CASE("addresses are forgotten only once they may have a whole burst again") {
  AddressRate rate(1, 2);
  CHECK(taken(rate, one, start, 3) == 2);
  for (std::uint64_t i = 0; i < 10'000; ++i)
    CHECK(rate.take({i + 1, 0}, start + std::chrono::microseconds(i)));
  CHECK(taken(rate, one, start + std::chrono::milliseconds(500), 3) == 0);
  CHECK(taken(rate, one, start + std::chrono::milliseconds(1'500), 3) == 1);
}

TEST_CASE("an address has a bounded number of shares, and all have") {
  AddressQuota quota(3, 2);
  AddressQuota::Share first = quota.take(one), second = quota.take(one);
  CHECK(first);
  CHECK(second);
  const AddressQuota::Share third = quota.take(one);
  CHECK_FALSE(third);
  CHECK(third.refusal() == AddressQuota::Refusal::address);
  const AddressQuota::Share other = quota.take(two);
  CHECK(other);
  CHECK(quota.take(three).refusal() == AddressQuota::Refusal::total);
}

TEST_CASE("a share is given back at its end, once, however often it is moved") {
  AddressQuota quota(2, 2);
  {
    AddressQuota::Share share = quota.take(one);
    AddressQuota::Share moved = std::move(share);
    CHECK(moved);
    CHECK_FALSE(share);
    moved = quota.take(two);
    CHECK(moved.address() == two);
  }
  const AddressQuota::Share first = quota.take(one), second = quota.take(one);
  CHECK(first);
  CHECK(second);
  CHECK_FALSE(quota.take(two));
}

TEST_CASE("three quarters are the limit of one address where none is configured") {
  CHECK(per_address_max(0, 8) == 6);
  CHECK(per_address_max(0, 1) == 1);
  CHECK(per_address_max(5, 8) == 5);
}

TEST_CASE("limits count by IPv4 address, and by IPv6 network of 64 bits") {
  const auto address = [](const char* text) {
    return peer_address(boost::asio::ip::make_address(text));
  };
  CHECK(address("127.0.0.1") == address("::ffff:127.0.0.1"));
  CHECK_FALSE(address("127.0.0.1") == address("127.0.0.2"));
  CHECK(address("2001:db8:1:2::1") == address("2001:db8:1:2:ffff::9"));
  CHECK_FALSE(address("2001:db8:1:2::1") == address("2001:db8:1:3::1"));
  CHECK_FALSE(address("::1") == address("127.0.0.1"));
}
