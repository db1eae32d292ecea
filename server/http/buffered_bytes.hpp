#pragma once
// Memory that HTTP holds for what clients have not sent or taken yet. A share is given back at the
// end of its scope. Thread: the HTTP thread.

#include <algorithm>
#include <cstddef>
#include <unordered_map>

#include "base/peer_address.hpp"

namespace exchange {

class BufferedBytes {
 public:
  struct All {
    explicit All(std::size_t max_) : max(max_) {}
    const std::size_t max;
    std::size_t bytes = 0;
    std::unordered_map<PeerAddress, std::size_t> of_peer;
  };
  static constexpr std::size_t small_max = 65'536;  // is not counted: connections are

  BufferedBytes(All& all, const PeerAddress& peer) : all_(all), peer_(peer) {}
  ~BufferedBytes() { release(); }
  BufferedBytes(const BufferedBytes&) = delete;

  // In place of what was taken before; one alone always fits. False, and nothing is held, where all
  // would hold more than `max`, or this peer more than half of it.
  bool take(std::size_t bytes) {
    release();
    if (bytes <= small_max) return true;
    bytes = std::min(bytes, all_.max);
    const auto found = all_.of_peer.find(peer_);
    const std::size_t of_peer = found == all_.of_peer.end() ? 0 : found->second;
    if (all_.bytes > 0 &&
        (all_.bytes + bytes > all_.max || (of_peer > 0 && of_peer + bytes > all_.max / 2)))
      return false;
    all_.of_peer[peer_] += bytes;
    all_.bytes += bytes;
    bytes_ = bytes;
    return true;
  }

 private:
  void release() {
    if (bytes_ == 0) return;
    all_.bytes -= bytes_;
    const auto found = all_.of_peer.find(peer_);
    if ((found->second -= bytes_) == 0) all_.of_peer.erase(found);
    bytes_ = 0;
  }

  All& all_;
  const PeerAddress peer_;
  std::size_t bytes_ = 0;
};

}  // namespace exchange
