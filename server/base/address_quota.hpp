#pragma once
// AddressQuota limits how many of something clients have at once, in all and from one address: open
// connections, requests under way, request batches whose keys wait to be hashed.
//   if (AddressQuota::Share share = quota.take(address)) serve(std::move(share));
// A share counts until its destructor gives it back. Owner: the part that sets the limits. The
// quota must outlive its shares. Any thread.
// quota outlives its shares. Any thread.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <unordered_map>
#include <utility>

#include "base/guarded.hpp"
#include "base/peer_address.hpp"

namespace exchange {

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

  std::size_t total() {
    return used_.with([](const Used& used) { return used.total; });
  }
  // Returns the number of addresses that have a share.
  std::size_t addresses() {
    return used_.with([](const Used& used) { return used.by_address.size(); });
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

}  // namespace exchange
