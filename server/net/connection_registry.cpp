#include "net/connection_registry.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

#include "base/address_quota.hpp"
#include "net/memory_budget.hpp"
#include "protocol/reply.hpp"
#include "protocol/request.hpp"

namespace exchange {
namespace {

constexpr std::size_t candidates_max = 64;
constexpr std::size_t spare_descriptors = 8;
// Each end takes time of those who serve: where thousands are due at once, others should not wait
// for them all.
constexpr std::size_t ended_at_once = 16;
constexpr std::chrono::milliseconds between_ends{4};

// Half is for request batches, half for what is held meanwhile, so that neither displaces the
// other.
std::size_t half_of_limit(const Options& options) {
  const std::size_t wanted = options.transport.buffered_bytes_max != 0
                                 ? options.transport.buffered_bytes_max
                                 : default_buffered_bytes_max();
  return std::max(wanted / 2, 2 * options.protocol.frame_bytes_max);  // one request always fits
}

}  // namespace

ConnectionRegistry::ConnectionRegistry(const Options& options, Metrics& metrics, bool secure)
    : limits_(options.transport),
      secure_(secure),
      length_before_reply_(options.protocol.length_before_reply),
      per_peer_max_(per_address_max(limits_.connections_per_address, limits_.connections_max)),
      buffered_bytes_max_(half_of_limit(options)),
      request_bytes_max_(buffered_bytes_max_),
      metrics_(metrics) {
  connections_.with([](Connections& connections) { take_spare(connections); });
  sweeper_ = std::thread([this] {
    pthread_setname_np(pthread_self(), "sweeper");
    sweep();
  });
}

ConnectionRegistry::~ConnectionRegistry() {
  connections_.with([](Connections& connections) { connections.sweeping = false; });
  connections_.notify();
  sweeper_.join();
  connections_.with([](Connections& connections) {
    for (const int descriptor : connections.spare) ::close(descriptor);
  });
}

// --- who comes and goes
// -----------------------------------------------------------------------------

bool ConnectionRegistry::add(tcp::socket& socket, Activity& activity) {
  const Refusal refusal = connections_.with(
      [&](Connections& connections) { return enter(connections, socket, activity); });
  if (refusal != Refusal::none) {
    refuse(socket, refusal);
    return false;
  }
  Metrics::add(metrics_.connections_accepted);
  Metrics::add(metrics_.connections);
  return true;
}

ConnectionRegistry::Refusal ConnectionRegistry::enter(Connections& connections, tcp::socket& socket,
                                                      Activity& activity) {
  if (connections.stopping) return Refusal::stopping;
  const PeerAddress address = peer_address(socket);
  Peer& peer = connections.peers[address];
  const auto room = [&] {
    const std::size_t open = connections.entries.size();
    if (peer.entries.size() >= per_peer_max_) return Refusal::peer;
    if (open >= limits_.connections_max + limits_.ending_max) return Refusal::full;
    const std::size_t places = std::min(limits_.connections_max, connections.possible_max);
    if (open - connections.ending < places || evict(connections, peer.live() + 1))
      return Refusal::none;
    return Refusal::full;
  };
  if (const Refusal refusal = room(); refusal != Refusal::none) {
    if (peer.entries.empty()) connections.peers.erase(address);
    return refusal;
  }
  peer.address = address;
  peer.entries.reserve(peer.entries.size() + 1);  // what may fail comes first
  Entry& entry = connections.entries[socket.native_handle()];
  entry = {.descriptor = socket.native_handle(),
           .serial = ++connections.serials,
           .peer = &peer,
           .at = peer.entries.size(),
           .activity = &activity};
  peer.entries.push_back(&entry);
  answered(activity);
  return Refusal::none;
}

void ConnectionRegistry::refuse(tcp::socket& socket, Refusal refusal) {
  Metrics::add(refusal == Refusal::peer ? metrics_.connections_refused_peer
                                        : metrics_.connections_refused);
  if (secure_) return;
  std::string sorry;
  const char* const why = refusal == Refusal::peer ? "too many connections from your address"
                                                   : "the server takes no more connections now";
  append_results(sorry, Request{.error = why}, {}, {}, length_before_reply_);
  const int descriptor = socket.native_handle();
  ::send(descriptor, sorry.data(), sorry.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  ::shutdown(descriptor, SHUT_WR);
  // closing with unread bytes would reset the connection and may take the reply with it
  char unread[4096];
  for (int i = 0; i < 16 && ::recv(descriptor, unread, sizeof unread, MSG_DONTWAIT) > 0; ++i) {
  }
}

void ConnectionRegistry::remove(tcp::socket& socket) {
  const bool last = connections_.with([&](Connections& connections) {
    const auto found = connections.entries.find(socket.native_handle());
    Entry& entry = found->second;
    release(connections, entry);
    Peer& peer = *entry.peer;
    if (entry.ending) {
      --connections.ending;
      --peer.ending;
    }
    peer.entries[entry.at] = peer.entries.back();
    peer.entries[entry.at]->at = entry.at;
    peer.entries.pop_back();
    if (peer.entries.empty()) {
      if (connections.candidates_of == &peer) {
        connections.candidates.clear();
        connections.candidates_of = nullptr;
      }
      connections.peers.erase(PeerAddress(peer.address));
    }
    connections.entries.erase(found);
    return connections.entries.empty();
  });
  metrics_.connections.fetch_sub(1, std::memory_order_relaxed);
  if (last) connections_.notify();
}

bool ConnectionRegistry::stopping() {
  return connections_.with([](Connections& connections) { return connections.stopping; });
}

// --- room for newcomers
// -----------------------------------------------------------------------------

std::uint64_t ConnectionRegistry::idle_ms(const Entry& entry) const {
  const std::uint64_t answered_ms = entry.activity->at_ms_.load(std::memory_order_relaxed),
                      now = now_ms();
  return answered_ms == Activity::executing || answered_ms > now ? 0 : now - answered_ms;
}

// `others`: what the newcomer's address would have with him.
bool ConnectionRegistry::evict(Connections& connections, std::size_t others) {
  Entry* victim = take_candidate(connections, others);
  // In vain a moment ago, for a newcomer with no more than this one: a storm need not look at all
  // each time.
  const bool in_vain = now_ms() < connections.none_until_ms && others >= connections.none_for;
  if (victim == nullptr && !in_vain) {
    find_candidates(connections, others);
    victim = take_candidate(connections, others);
    if (victim == nullptr) {
      connections.none_until_ms = now_ms() + 1;
      connections.none_for = others;
    }
  }
  if (victim == nullptr) return false;
  end(connections, *victim, metrics_.evicted);
  return true;
}

ConnectionRegistry::Entry* ConnectionRegistry::take_candidate(Connections& connections,
                                                              std::size_t others) {
  if (connections.candidates_of != nullptr && connections.candidates_of->live() <= others)
    connections.candidates.clear();
  while (!connections.candidates.empty()) {
    const Candidate candidate = connections.candidates.back();
    connections.candidates.pop_back();
    Entry* const entry = find(connections, candidate.handle);
    if (entry == nullptr || entry->ending) continue;
    if (entry->peer->live() + 1 < others) continue;
    if (entry->activity->at_ms_.load(std::memory_order_relaxed) == candidate.answered_ms)
      return entry;
  }
  return nullptr;
}

ConnectionRegistry::Entry* ConnectionRegistry::find(Connections& connections,
                                                    const Handle& handle) {
  const auto found = connections.entries.find(handle.descriptor);
  return found != connections.entries.end() && found->second.serial == handle.serial
             ? &found->second
             : nullptr;
}

// From the peer that has most, where that is more than `others`, what the newcomer's would have;
// else from any that has as many as the newcomer's, itself too, who has been idle for long. Who has
// fewer never goes.
void ConnectionRegistry::find_candidates(Connections& connections, std::size_t others) {
  const Peer* most = nullptr;
  for (const auto& [address, peer] : connections.peers)
    if (most == nullptr || peer.live() > most->live()) most = &peer;
  if (most == nullptr) return;

  auto& candidates = connections.candidates;
  const auto consider = [&](const Entry& entry, std::uint64_t idle_ms_min) {
    const std::uint64_t answered_ms = entry.activity->at_ms_.load(std::memory_order_relaxed);
    if (!entry.ending && answered_ms != Activity::executing && idle_ms(entry) >= idle_ms_min)
      candidates.push_back({{entry.descriptor, entry.serial}, answered_ms});
  };
  candidates.clear();
  if (most->live() > others) {
    connections.candidates_of = most;
    for (const Entry* entry : most->entries) consider(*entry, 0);
  }
  if (candidates.empty()) {
    connections.candidates_of = nullptr;
    for (const auto& [descriptor, entry] : connections.entries)
      if (entry.peer->live() + 1 >= others) consider(entry, limits_.room_idle_ms);
  }
  const auto idle_longer = [](const Candidate& a, const Candidate& b) {
    return a.answered_ms != b.answered_ms ? a.answered_ms < b.answered_ms
                                          : a.handle.serial < b.handle.serial;
  };
  const std::size_t kept = std::min(candidates.size(), candidates_max);
  std::partial_sort(candidates.begin(), candidates.begin() + std::ptrdiff_t(kept), candidates.end(),
                    idle_longer);
  candidates.resize(kept);
  std::reverse(candidates.begin(), candidates.end());
}

void ConnectionRegistry::handle_fd_exhaustion() {
  connections_.with([this](Connections& connections) {
    connections.possible_max =
        std::max<std::size_t>(connections.entries.size() - connections.ending, 1);
    // nobody comes as far as add() otherwise
    if (connections.spare.empty()) evict(connections, 1);
    for (const int descriptor : connections.spare) ::close(descriptor);
    connections.spare.clear();
  });
}

// Whether all are there.
bool ConnectionRegistry::take_spare(Connections& connections) {
  while (connections.spare.size() < spare_descriptors) {
    const int descriptor = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return false;
    connections.spare.push_back(descriptor);
  }
  return true;
}

// Who owes us bytes sees the end of the stream, so that what has arrived of it is still answered;
// who does not take ours is cut off.
void ConnectionRegistry::end(Connections& connections, Entry& entry, Metrics::Counter& reason) {
  Metrics::add(reason);
  release(connections, entry);
  entry.ending = true;
  ++connections.ending;
  ++entry.peer->ending;
  entry.deadline = Clock::now() + std::chrono::milliseconds(limits_.linger_ms);
  if (entry.taking) {  // what it has not taken the kernel need not keep either
    const ::linger at_once{1, 0};
    ::setsockopt(entry.descriptor, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  }
  ::shutdown(entry.descriptor, entry.taking ? SHUT_RDWR : SHUT_RD);
}

// --- deadlines and memory
// ---------------------------------------------------------------------------

void ConnectionRegistry::linger(tcp::socket& socket) {
  boost::system::error_code ignored;
  socket.shutdown(tcp::socket::shutdown_send, ignored);
  expect_end(socket);
}

void ConnectionRegistry::expect_end(tcp::socket& socket) {
  const Time deadline = Clock::now() + std::chrono::milliseconds(limits_.linger_ms);
  connections_.with([&](Connections& connections) {
    Entry& entry = connections.entries.at(socket.native_handle());
    release(connections, entry);
    if (entry.ending) return;
    entry.ending = true;  // its place is free
    ++connections.ending;
    ++entry.peer->ending;
    entry.deadline = deadline;
  });
}

void ConnectionRegistry::expect(tcp::socket& socket, std::size_t buffered_bytes, bool taking) {
  const Time now = Clock::now();
  connections_.with([&](Connections& connections) {
    Entry& entry = connections.entries.at(socket.native_handle());
    entry.taking = taking;
    if (entry.ending) return;
    entry.deadline = std::min(entry.deadline, now + std::chrono::milliseconds(limits_.stall_ms));
    connections.request_bytes -= entry.request_bytes;
    entry.peer->request_bytes -= entry.request_bytes;
    entry.request_bytes = 0;
    if (entry.buffered_bytes == 0) entry.held_since = now;
    connections.buffered_bytes += buffered_bytes - entry.buffered_bytes;
    entry.buffered_bytes = buffered_bytes;
    if (connections.buffered_bytes > buffered_bytes_max_) shed_load(connections);
  });
}

void ConnectionRegistry::keep(tcp::socket& socket) {
  connections_.with([&](Connections& connections) {
    Entry& entry = connections.entries.at(socket.native_handle());
    release(connections, entry);
    entry.taking = false;
    if (!entry.ending) entry.deadline = Time::max();
  });
}

void ConnectionRegistry::release(Connections& connections, Entry& entry) {
  connections.buffered_bytes -= entry.buffered_bytes;
  connections.request_bytes -= entry.request_bytes;
  entry.peer->request_bytes -= entry.request_bytes;
  entry.buffered_bytes = entry.request_bytes = 0;
}

// The peer whose bytes have been here longest and are most, and of it the same: a good client holds
// much for milliseconds only. Goes on until there is some room, so that not every new byte has to
// look at all.
void ConnectionRegistry::shed_load(Connections& connections) {
  const Time now = Clock::now();
  const auto weight = [now](const Entry& entry) {
    return entry.ending
               ? 0.0
               : double(entry.buffered_bytes) *
                     (1 +
                      std::chrono::duration<double, std::milli>(now - entry.held_since).count());
  };
  std::unordered_map<Peer*, std::pair<double, std::vector<Entry*>>> holders;
  for (auto& [descriptor, entry] : connections.entries) {
    if (entry.buffered_bytes == 0 || entry.ending) continue;
    auto& [sum, entries] = holders[entry.peer];
    sum += weight(entry);
    entries.push_back(&entry);
  }
  for (auto& [peer, holder] : holders)
    std::sort(holder.second.begin(), holder.second.end(),
              [&](const Entry* a, const Entry* b) { return weight(*a) < weight(*b); });
  const std::size_t enough = buffered_bytes_max_ - buffered_bytes_max_ / 8;
  while (connections.buffered_bytes > enough) {
    const auto worst = std::max_element(
        holders.begin(), holders.end(),
        [](const auto& a, const auto& b) { return a.second.first < b.second.first; });
    if (worst == holders.end() || worst->second.second.empty()) return;
    auto& [sum, entries] = worst->second;
    sum -= weight(*entries.back());
    end(connections, *entries.back(), metrics_.ended_for_memory);
    entries.pop_back();
    if (entries.empty()) holders.erase(worst);
  }
}

bool ConnectionRegistry::begin_requests(tcp::socket& socket, Activity& activity, Session& session,
                                        bool watched) {
  activity.at_ms_.store(Activity::executing, std::memory_order_relaxed);
  constexpr std::size_t small_max = 256;  // commands; a hundred kilobytes
  if (watched) keep(socket);
  if (session.commands().size() <= small_max) return false;
  if (admit_requests(socket, session.memory_bytes())) return true;
  session.refuse_requests(
      "the server has no memory for so large a request now; nothing of it was executed");
  return false;
}

void ConnectionRegistry::end_requests(tcp::socket& socket, Activity& activity, bool holds_memory) {
  if (holds_memory) keep(socket);
  answered(activity);
}

// A request batch cannot be taken back once it is executed, so it is held to its share before: half
// of the memory is for everybody, the rest for those who use little of it.
bool ConnectionRegistry::admit_requests(tcp::socket& socket, std::size_t bytes) {
  return connections_.with([&](Connections& connections) {
    Entry& entry = connections.entries.at(socket.native_handle());
    const std::size_t all = connections.request_bytes + bytes,
                      of_peer = entry.peer->request_bytes + bytes;
    const bool alone = connections.request_bytes == 0;
    if (!alone && (all > request_bytes_max_ ||
                   (all > request_bytes_max_ / 2 && of_peer > request_bytes_max_ / 8))) {
      Metrics::add(metrics_.requests_refused);
      return false;
    }
    entry.request_bytes = bytes;
    entry.peer->request_bytes += bytes;
    connections.request_bytes += bytes;
    return true;
  });
}

std::size_t ConnectionRegistry::buffered_bytes() {
  return connections_.with([](Connections& connections) {
    return connections.buffered_bytes + connections.request_bytes;
  });
}

// --- the end of all
// ---------------------------------------------------------------------------------

void ConnectionRegistry::begin_stop() {
  connections_.with([](Connections& connections) { connections.stopping = true; });
  shut_down_all(SHUT_RD);
}

void ConnectionRegistry::wait_until_empty() {
  const auto empty = [](const Connections& connections) { return connections.entries.empty(); };
  if (connections_.wait_for(std::chrono::milliseconds(limits_.drain_ms), empty)) return;
  spdlog::warn("clients did not take their replies in {} ms, closing their connections",
               limits_.drain_ms);
  shut_down_all(SHUT_RDWR);
  connections_.when(empty, [](Connections&) {});
}

// Under the lock a descriptor cannot be closed and given to somebody else.
void ConnectionRegistry::shut_down_all(int how) {
  connections_.with([&](Connections& connections) {
    for (const auto& [descriptor, entry] : connections.entries) ::shutdown(descriptor, how);
  });
}

void ConnectionRegistry::sweep() {
  std::vector<Handle> due;
  const auto pause = [&] {
    return due.empty() ? std::chrono::milliseconds(limits_.sweep_ms) : between_ends;
  };
  while (!connections_.wait_for(
      pause(), [](const Connections& connections) { return !connections.sweeping; })) {
    now_ms_.store(
        std::uint64_t(
            std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start_).count()),
        std::memory_order_relaxed);
    if (due.empty()) due = find_due();
    end_some(due);
  }
}

std::vector<ConnectionRegistry::Handle> ConnectionRegistry::find_due() {
  const Time now = Clock::now();
  std::vector<Handle> due;
  connections_.with([&](Connections& connections) {
    const bool short_of_descriptors = connections.possible_max < limits_.connections_max;
    if (take_spare(connections) && short_of_descriptors)
      connections.possible_max += 1 + connections.possible_max / 8;
    for (const auto& [descriptor, entry] : connections.entries)
      if (is_due(entry, now)) due.push_back({descriptor, entry.serial});
  });
  return due;
}

bool ConnectionRegistry::is_due(const Entry& entry, Time now) const {
  if (entry.activity->at_ms_.load(std::memory_order_relaxed) == Activity::executing) return false;
  if (entry.deadline != Time::max()) return entry.deadline <= now;
  return limits_.idle_ms != 0 && idle_ms(entry) >= limits_.idle_ms;
}

void ConnectionRegistry::end_some(std::vector<Handle>& due) {
  const Time now = Clock::now();
  connections_.with([&](Connections& connections) {
    for (std::size_t i = 0; i < ended_at_once && !due.empty(); ++i) {
      Entry* const entry = find(connections, due.back());
      due.pop_back();
      if (entry == nullptr || !is_due(*entry, now)) continue;
      if (entry->ending)
        ::shutdown(entry->descriptor, SHUT_RDWR);
      else
        end(connections, *entry,
            entry->deadline == Time::max() ? metrics_.ended_idle : metrics_.ended_stalled);
    }
  });
}

}  // namespace exchange
