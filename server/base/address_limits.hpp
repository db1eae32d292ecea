#pragma once
// The addresses of clients, and the limits of one address. AddressQuota limits how many of
// something clients have at once, AddressRate how often they do something. Owner: the part that
// sets the limits. Any thread.

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <unordered_map>
#include <utility>

#include "base/guarded.hpp"

namespace exchange {

// The unit of client quotas for the XML port and HTTP: an IPv4 address; an IPv6 network of 64 bits,
// which a provider assigns to one customer; or, on a UNIX-domain socket, a user of this machine.
struct PeerAddress {
  std::uint64_t network = 0;  // IPv6: the upper half
  // IPv4: the address; bit 32 marks it as known. A user: the id, with bit 33.
  std::uint64_t host = 0;
  auto operator<=>(const PeerAddress&) const = default;
};

// IPv4 addresses mapped into IPv6 count as IPv4.
inline PeerAddress peer_address(const boost::asio::ip::address& address) {
  namespace ip = boost::asio::ip;
  constexpr std::uint64_t is_v4 = std::uint64_t(1) << 32;
  if (address.is_v4()) return {0, is_v4 | address.to_v4().to_uint()};
  const ip::address_v6 v6 = address.to_v6();
  if (v6.is_v4_mapped()) return {0, is_v4 | ip::make_address_v4(ip::v4_mapped, v6).to_uint()};
  PeerAddress peer;
  const auto bytes = v6.to_bytes();
  for (std::size_t i = 0; i < 8; ++i) peer.network = peer.network << 8 | bytes[i];
  return peer;
}

inline PeerAddress peer_of_user(std::uint32_t user) { return {0, std::uint64_t(1) << 33 | user}; }
inline bool is_user(const PeerAddress& peer) { return (peer.host >> 33 & 1) != 0; }

// Returns the address of a connected socket's peer. Returns PeerAddress{}, which is not the address
// of any peer, if the peer has disconnected.
inline PeerAddress peer_address(int socket) {
  namespace ip = boost::asio::ip;
  sockaddr_storage peer{};
  socklen_t bytes = sizeof peer;
  if (::getpeername(socket, reinterpret_cast<sockaddr*>(&peer), &bytes) != 0) return {};
  if (peer.ss_family == AF_UNIX) {
    ucred user{};
    bytes = sizeof user;
    if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &user, &bytes) != 0) return {};
    return peer_of_user(user.uid);
  }
  if (peer.ss_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &peer, sizeof v4);
    return peer_address(ip::address_v4(ntohl(v4.sin_addr.s_addr)));
  }
  sockaddr_in6 v6{};
  std::memcpy(&v6, &peer, sizeof v6);
  ip::address_v6::bytes_type address{};
  std::memcpy(address.data(), &v6.sin6_addr, address.size());
  return peer_address(ip::address_v6(address));
}

}  // namespace exchange

template <>
struct std::hash<exchange::PeerAddress> {
  std::size_t operator()(const exchange::PeerAddress& peer) const noexcept {
    return std::hash<std::uint64_t>()(peer.network * 0x9e3779b97f4a7c15u ^ peer.host);
  }
};

namespace exchange {

// Limits open connections, requests under way, or request batches whose keys wait to be hashed, in
// all and from one address.
//   if (AddressQuota::Share share = quota.take(address)) serve(std::move(share));
// A share counts until its destructor gives it back. The quota must outlive its shares.
class AddressQuota {
 public:
  static constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();
  enum class Refusal : std::uint8_t { none, total, address };

  class Share {
   public:
    Share() = default;
    Share(AddressQuota* quota, const PeerAddress& address, Refusal refusal)
        : quota_(quota), address_(address), refusal_(refusal) {}
    Share(Share&& other) noexcept { *this = std::move(other); }
    Share& operator=(Share&& other) noexcept {
      std::swap(quota_, other.quota_);
      std::swap(address_, other.address_);
      std::swap(refusal_, other.refusal_);
      return *this;
    }
    ~Share() {
      if (quota_ != nullptr) quota_->give_back(address_);
    }

    // Returns false if the quota refused the share.
    explicit operator bool() const { return quota_ != nullptr; }
    Refusal refusal() const { return refusal_; }
    const PeerAddress& address() const { return address_; }

   private:
    AddressQuota* quota_ = nullptr;  // null: nothing to give back
    PeerAddress address_;
    Refusal refusal_ = Refusal::none;
  };

  AddressQuota(std::size_t total_max, std::size_t per_address_max)
      : total_max_(total_max), per_address_max_(per_address_max) {}

  // Returns one more share for `address`, or an empty share that names the limit reached.
  Share take(const PeerAddress& address) {
    const Refusal refusal = used_.with([&](Used& used) {
      std::size_t& of_address = used.by_address[address];
      if (of_address < per_address_max_ && used.total < total_max_) {
        ++of_address;
        ++used.total;
        return Refusal::none;
      }
      const bool has_most = of_address >= per_address_max_;
      if (of_address == 0) used.by_address.erase(address);
      return has_most ? Refusal::address : Refusal::total;
    });
    return {refusal == Refusal::none ? this : nullptr, address, refusal};
  }

  std::size_t per_address_max() const { return per_address_max_; }

 private:
  struct Used {
    std::unordered_map<PeerAddress, std::size_t> by_address;
    std::size_t total = 0;
  };
  void give_back(const PeerAddress& address) {
    used_.with([&](Used& used) {
      const auto found = used.by_address.find(address);
      if (--found->second == 0) used.by_address.erase(found);
      --used.total;
    });
  }

  const std::size_t total_max_, per_address_max_;
  Guarded<Used> used_;
};

// Returns the limit of one address. If it is not configured (0), it is three quarters of the total,
// so that one address cannot take everything.
inline std::size_t per_address_max(std::size_t configured, std::size_t total_max) {
  return configured != 0 ? configured : total_max - total_max / 4;
}

// Allows an address to do something `burst_max` times at once, and on average `per_second`. Each
// use moves the due time of the address later by the interval between two uses; an address whose
// due time is too far ahead is refused.
class AddressRate {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // `per_second` 0 means no limit. `burst_max` is 1 or more.
  AddressRate(std::size_t per_second, std::size_t burst_max)
      : limited_(per_second > 0),
        between_(limited_ ? std::chrono::nanoseconds(1'000'000'000 / std::int64_t(per_second))
                          : std::chrono::nanoseconds(0)),
        ahead_max_(between_ * std::int64_t(burst_max - 1)) {}

  // Counts `times` more uses of an address that has taken one. They delay its next uses, but by two
  // bursts at most, so that the address can continue soon.
  void charge(const PeerAddress& address, std::size_t times, Time now) {
    if (!limited_) return;
    due_.with([&](Due& due) {
      const auto found = due.of.find(address);
      if (found == due.of.end()) return;
      const Time latest = std::max(found->second, now + 2 * ahead_max_);
      found->second = std::min(found->second + between_ * std::int64_t(times), latest);
    });
  }
  // Counts one use. Returns false, and counts nothing, if the address must wait.
  bool take(const PeerAddress& address, Time now) {
    if (!limited_) return true;
    return due_.with([&](Due& due) {
      if (due.of.size() >= due.forget_at) forget(due, now);
      Time& at = due.of.try_emplace(address, now).first->second;
      if (at < now) at = now;
      if (at - now > ahead_max_) return false;
      at += between_;
      return true;
    });
  }

 private:
  struct Due {
    std::unordered_map<PeerAddress, Time> of;
    std::size_t forget_at = 1'024;  // addresses; beyond it, those that may use a burst are dropped
  };
  static void forget(Due& due, Time now) {
    std::erase_if(due.of, [&](const auto& one) { return one.second <= now; });
    due.forget_at = 2 * due.of.size() + 1'024;
  }

  const bool limited_;
  const std::chrono::nanoseconds between_, ahead_max_;
  Guarded<Due> due_;
};

}  // namespace exchange
