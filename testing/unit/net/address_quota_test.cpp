// Limits for each address.

#include "base/address_quota.hpp"

#include "catch.hpp"

using namespace exchange;

namespace {

constexpr PeerAddress one{0, 1}, two{0, 2}, three{0, 3};

}  // namespace

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
  CHECK(quota.total() == 3);
  CHECK(quota.addresses() == 2);
}

TEST_CASE("a share is given back at its end, once, however often it is moved") {
  AddressQuota quota(2, 1);
  {
    AddressQuota::Share share = quota.take(one);
    AddressQuota::Share moved = std::move(share);
    CHECK(moved);
    CHECK_FALSE(share);
    CHECK(quota.total() == 1);
    moved = quota.take(two);
    CHECK(moved.address() == two);
  }
  CHECK(quota.total() == 0);
  CHECK(quota.addresses() == 0);
  CHECK(quota.take(one));
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
