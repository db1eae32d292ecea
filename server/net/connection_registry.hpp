#pragma once
// ConnectionRegistry knows the open connections of one transport: it counts them, by peer too,
// holds them and what they make us keep under limits, and ends those that break one. It ends a
// connection with shutdown(2) under its lock, whatever thread is inside the socket; whoever serves
// it sees the end of the stream and removes it. A connection that does nothing unusual takes the
// lock twice in its life: in add() and in remove().

#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <functional>
#include <limits>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/guarded.hpp"
#include "base/peer_address.hpp"
#include "metrics/metrics.hpp"
#include "options.hpp"
#include "protocol/session.hpp"

namespace exchange {

using boost::asio::ip::tcp;

// When a connection was last answered. Written by who serves it and read by the registry, without a
// lock.
class Activity {
 private:
  friend class ConnectionRegistry;
  static constexpr std::uint64_t executing = std::numeric_limits<std::uint64_t>::max();
  std::atomic<std::uint64_t> at_ms_{executing};
};

// Any thread.
class ConnectionRegistry {
 public:
  // `secure`: clients speak TLS, and are not told in plain words that there are too many.
  ConnectionRegistry(const Options& options, Metrics& metrics, bool secure = false);
  ~ConnectionRegistry();

  // Prepares a socket just accepted and counts it; where there are too many, ends the one that
  // deserves its place least. False where there is no room, or we are stopping: the client has been
  // told and the socket is to be closed. `activity` must live until remove().
  bool add(tcp::socket& socket, Activity& activity);
  // Before the socket is closed.
  void remove(tcp::socket& socket);
  bool stopping();
  // Accepting failed for want of descriptors or memory: from now on what is open counts as all that
  // can be, so that add() makes room or refuses, and the descriptors kept for this are free to go
  // on with; where none is left, somebody is ended. Descriptors that come back are noticed by and
  // by.
  void handle_fd_exhaustion();

  // The session has a request batch: from here to end_requests(), whatever time passes is not the
  // client's fault. `watched`: there was an expect_...() that keep() has not ended. A request batch
  // of many commands is refused where there is no memory for it. True where it holds memory.
  bool begin_requests(tcp::socket& socket, Activity& activity, Session& session, bool watched);
  // The request batch is executed, and its outcomes are a reply: before that is sent, so that who
  // has it may ask for as much again.
  void end_requests(tcp::socket& socket, Activity& activity, bool holds_memory);
  void answered(Activity& activity) const {
    activity.at_ms_.store(now_ms_.load(std::memory_order_relaxed), std::memory_order_relaxed);
  }

  // Where we end a connection first: says that we send no more, and ends it within linger_ms. Until
  // then the caller reads and discards: closing with unread bytes would reset the connection and
  // take our last reply with it.
  void linger(tcp::socket& socket);
  // The same, while the stream above still says goodbye: only the deadline.
  void expect_end(tcp::socket& socket);
  // The client must now send the rest of a request, or take a reply: ends the connection unless
  // keep() comes within stall_ms. Calling it again does not give more time. Meanwhile we hold so
  // many bytes for it; where all hold too many, the worst are ended.
  void expect_request(tcp::socket& socket, std::size_t buffered_bytes) {
    expect(socket, buffered_bytes, false);
  }
  void expect_taking(tcp::socket& socket, std::size_t buffered_bytes) {
    expect(socket, buffered_bytes, true);
  }
  void keep(tcp::socket& socket);

  // From now on add() refuses, and every connection sees the end of its stream.
  void begin_stop();
  // Waits until there are none: politely for drain_ms, then cutting what still sends or reads.
  void wait_until_empty();

  // Time as idle connections are measured: moves every sweep_ms.
  std::uint64_t now_ms() const { return now_ms_.load(std::memory_order_relaxed); }
  // Bytes held for those that are not being ended.
  std::size_t buffered_bytes();

 private:
  using Clock = std::chrono::steady_clock;
  using Time = Clock::time_point;
  struct Peer;
  struct Entry {
    int descriptor = -1;
    std::uint64_t serial = 0;
    Peer* peer = nullptr;
    std::size_t at = 0;  // in peer->entries
    Activity* activity = nullptr;
    Time deadline = Time::max();
    Time held_since{};
    std::size_t buffered_bytes = 0, request_bytes = 0;
    bool taking = false;  // we are writing to it
    bool ending = false;
  };
  struct Peer {
    PeerAddress address;
    std::vector<Entry*> entries;
    std::size_t ending = 0;
    std::size_t request_bytes = 0;
    std::size_t live() const { return entries.size() - ending; }
  };
  // An entry to come back to, which may be gone by then, and its descriptor somebody else's.
  struct Handle {
    int descriptor;
    std::uint64_t serial;
  };
  // Who may go for a newcomer, idle longest last. Found by looking at all, so kept for the
  // newcomers after this one.
  struct Candidate {
    Handle handle;
    std::uint64_t answered_ms;
  };
  struct Connections {
    std::unordered_map<int, Entry> entries;  // by descriptor
    std::unordered_map<PeerAddress, Peer> peers;
    std::uint64_t serials = 0;
    std::size_t ending = 0;
    std::size_t buffered_bytes = 0, request_bytes = 0;
    std::vector<Candidate> candidates;
    const Peer* candidates_of = nullptr;  // null: of anybody
    std::uint64_t none_until_ms = 0;      // before, there are no candidates for newcomers
    std::size_t none_for = 0;             // whose peer has so many or more
    // what descriptors allow, as far as we know
    std::size_t possible_max = std::numeric_limits<std::size_t>::max();
    std::vector<int> spare;  // descriptors
    bool stopping = false;
    bool sweeping = true;
  };
  enum class Refusal { none, stopping, full, peer };

  Refusal enter(Connections& connections, tcp::socket& socket, Activity& activity);
  void refuse(tcp::socket& socket, Refusal refusal);
  bool admit_requests(tcp::socket& socket, std::size_t bytes);
  void expect(tcp::socket& socket, std::size_t buffered_bytes, bool taking);
  bool evict(Connections& connections, std::size_t others);
  void find_candidates(Connections& connections, std::size_t others);
  Entry* take_candidate(Connections& connections, std::size_t others);
  static Entry* find(Connections& connections, const Handle& handle);
  void end(Connections& connections, Entry& entry, Metrics::Counter& reason);
  void shed_load(Connections& connections);
  void release(Connections& connections, Entry& entry);
  static bool take_spare(Connections& connections);
  std::uint64_t idle_ms(const Entry& entry) const;
  void shut_down_all(int how);
  void sweep();
  std::vector<Handle> find_due();
  void end_some(std::vector<Handle>& due);
  bool is_due(const Entry& entry, Time now) const;

  const TransportLimits& limits_;
  const bool secure_, length_before_reply_;
  const std::size_t per_peer_max_, buffered_bytes_max_, request_bytes_max_;
  Metrics& metrics_;
  const Time start_ = Clock::now();
  std::atomic<std::uint64_t> now_ms_{0};
  Guarded<Connections> connections_;
  std::thread sweeper_;
};

}  // namespace exchange
