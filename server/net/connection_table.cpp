#include "net/connection_table.hpp"

#include <pthread.h>
#include <sys/socket.h>

#include <algorithm>
#include <utility>

#include "base/log.hpp"
#include "protocol/reply.hpp"
#include "protocol/request.hpp"

namespace exchange {
namespace {

// Ending a connection takes time of the serving threads. If thousands are late at once, the other
// connections do not wait until all of them are ended.
constexpr std::size_t ended_at_once = 16;
constexpr std::chrono::milliseconds between_ends{4};
constexpr std::chrono::seconds between_log_lines{10};

std::string error_reply(const std::string& sentence, const ProtocolLimits& protocol) {
  std::string reply;
  append_results(reply, Request{.error = sentence}, {}, {}, protocol.length_before_reply);
  return reply;
}

std::size_t budget_bytes(const NetLimits& limits, const ProtocolLimits& protocol) {
  // one request always fits
  return std::max(limits.buffered_bytes_max / 2, 2 * protocol.frame_bytes_max);
}

}  // namespace

ConnectionTable::State::State(const NetLimits& limits, std::size_t bytes_max)
    : admission(limits),
      // Any address may use the first half; the rest is for addresses that use little.
      request_memory({.bytes_max = bytes_max,
                      .uncontested_bytes_max = bytes_max / 2,
                      .bytes_per_address_max = bytes_max / 8}),
      buffer_memory({.bytes_max = bytes_max,
                     .uncontested_bytes_max = bytes_max,
                     .bytes_per_address_max = bytes_max}) {}

ConnectionTable::ConnectionTable(const NetLimits& limits, const ProtocolLimits& protocol,
                                 Metrics& metrics, bool tls)
    : limits_(limits),
      metrics_(metrics),
      tls_(tls),
      full_reply_(error_reply("the server takes no more connections now (limit " +
                                  std::to_string(limits.connections_max) + ", --connections-max)",
                              protocol)),
      exhausted_reply_(error_reply(
          "the server takes no more connections now (out of file descriptors)", protocol)),
      deadlines_(limits),
      state_(limits, budget_bytes(limits, protocol)) {
  const std::size_t per_address =
      state_.with([](const State& state) { return state.admission.per_address_max(); });
  address_reply_ = error_reply("too many connections from your address (limit " +
                                   std::to_string(per_address) + ", --connections-per-address)",
                               protocol);
  sweeper_ = std::thread([this] {
    pthread_setname_np(pthread_self(), "sweeper");
    sweep();
  });
}

ConnectionTable::~ConnectionTable() {
  state_.with([](State& state) { state.sweeping = false; });
  state_.notify();
  sweeper_.join();
}

// --- admission ---

std::optional<ConnectionSlot> ConnectionTable::admit(StreamSocket& socket) {
  const std::string* refusal = nullptr;
  ConnectionRecord* const record =
      state_.with([&](State& state) { return enter(state, socket, refusal); });
  if (record == nullptr) {
    if (refusal != nullptr) refuse(socket, *refusal);
    return {};
  }
  Metrics::add(metrics_.connections_accepted);
  Metrics::add(metrics_.connections);
  return std::optional<Slot>(std::in_place, *this, *record);
}

// Returns null if the connection is not admitted; `refusal` stays null if the server stops.
ConnectionRecord* ConnectionTable::enter(State& state, StreamSocket& socket,
                                         const std::string*& refusal) {
  if (state.stopping) return nullptr;
  auto [place, refused, evicted] =
      state.admission.decide(peer_address(socket.native_handle()), now_ms());
  if (refused != AdmissionControl::Refusal::none) {
    const bool of_address = refused == AdmissionControl::Refusal::address;
    Metrics::add(
        metrics_.connections_refused[of_address ? AdmissionLimit::peer : AdmissionLimit::limit]);
    refusal = of_address                            ? &address_reply_
              : state.admission.lacks_descriptors() ? &exhausted_reply_
                                                    : &full_reply_;
    return nullptr;
  }
  if (evicted != nullptr) evict(state, *evicted);
  const Serial serial = ++state.serials;
  ConnectionRecord& record =
      state.connections
          .try_emplace(serial, serial, socket.native_handle(), std::move(place),
                       state.request_memory, state.buffer_memory)
          .first->second;
  try {
    state.admission.add(record);
  } catch (...) {  // no memory
    state.connections.erase(serial);
    throw;
  }
  record.activity.answered(now_ms());
  return &record;
}

void ConnectionTable::refuse(StreamSocket& socket, const std::string& reply) {
  const int descriptor = socket.native_handle();
  if (tls_ && !is_user(peer_address(descriptor))) return;
  ::send(descriptor, reply.data(), reply.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  ::shutdown(descriptor, SHUT_WR);
  // closing with unread bytes would reset the connection and might discard the reply
  char unread[4096];
  for (int i = 0; i < 16 && ::recv(descriptor, unread, sizeof unread, MSG_DONTWAIT) > 0; ++i) {
  }
}

void ConnectionTable::handle_fd_exhaustion() {
  state_.with([this](State& state) {
    ConnectionRecord* const evicted = state.admission.handle_fd_exhaustion(now_ms());
    if (evicted != nullptr) evict(state, *evicted);
  });
}

bool ConnectionTable::stopping() {
  return state_.with([](const State& state) { return state.stopping; });
}

// --- ending connections ---

// Ends only the receiving direction if the connection still receives, so that the server still
// answers the requests that have arrived. Cuts off a client that does not take the server's bytes.
void ConnectionTable::end(State& state, ConnectionRecord& connection) {
  connection.request_memory.release();
  connection.buffer_memory.release();
  state.admission.set_closing(connection);
  deadlines_.begin_closing(connection, Clock::now());
  if (connection.sending) {  // the kernel need not keep the bytes that it has not taken
    const ::linger at_once{1, 0};
    ::setsockopt(connection.descriptor, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  }
  ::shutdown(connection.descriptor, connection.sending ? SHUT_RDWR : SHUT_RD);
}

void ConnectionTable::evict(State& state, ConnectionRecord& connection) {
  Metrics::add(metrics_.connections_ended[EndCause::evicted]);
  ++state.ended.evicted;
  end(state, connection);
}

void ConnectionTable::shed_load(State& state, Time now) {
  std::vector<HeldBytes> held;
  std::vector<ConnectionRecord*> holders;
  for (auto& [serial, connection] : state.connections) {
    if (connection.buffer_memory.bytes() == 0) continue;
    held.push_back(
        {connection.place.address(), connection.buffer_memory.bytes(), connection.buffered_since});
    holders.push_back(&connection);
  }
  for (const std::size_t i : choose_to_shed(held, state.buffer_memory.excess(), now)) {
    Metrics::add(metrics_.connections_ended[EndCause::memory]);
    ++state.ended.for_memory;
    end(state, *holders[i]);
  }
}

// --- slots ---

ConnectionTable::Slot::Slot(Slot&& other) noexcept
    : table_(std::exchange(other.table_, nullptr)),
      record_(other.record_),
      is_executing_(other.is_executing_),
      is_limited_(other.is_limited_) {}

ConnectionTable::Slot::~Slot() {
  if (table_ == nullptr) return;
  const bool last = table_->state_.with([&](State& state) {
    state.admission.remove(*record_);
    state.connections.erase(record_->serial);
    return state.connections.empty();
  });
  table_->metrics_.connections.fetch_sub(1, std::memory_order_relaxed);
  if (last) table_->state_.notify();
}

void ConnectionTable::Slot::idle() {
  if (std::exchange(is_limited_, false)) table_->clear(*record_);
  if (std::exchange(is_executing_, false)) record_->activity.answered(table_->now_ms());
}

void ConnectionTable::Slot::receiving(std::size_t buffered_bytes, bool document_complete) {
  is_limited_ = true;
  const std::uint32_t time_ms =
      document_complete ? table_->limits_.complete_document_ms : table_->limits_.stall_ms;
  table_->expect(*record_, buffered_bytes, std::chrono::milliseconds(time_ms), false);
}

bool ConnectionTable::Slot::executing(std::size_t request_bytes) {
  is_executing_ = true;
  record_->activity.begin_executing();
  if (std::exchange(is_limited_, false)) table_->clear(*record_);
  if (request_bytes == 0) return true;
  is_limited_ =
      table_->state_.with([&](State&) { return record_->request_memory.reserve(request_bytes); });
  if (!is_limited_) Metrics::add(table_->metrics_.requests_refused);
  return is_limited_;
}

void ConnectionTable::Slot::sending(std::size_t buffered_bytes) {
  is_limited_ = true;
  table_->expect(*record_, buffered_bytes, std::chrono::milliseconds(table_->limits_.stall_ms),
                 true);
}

void ConnectionTable::Slot::closing() {
  is_limited_ = false;
  table_->state_.with([&](State& state) {
    record_->request_memory.release();
    record_->buffer_memory.release();
    if (record_->closing) return;
    state.admission.set_closing(*record_);
    table_->deadlines_.begin_closing(*record_, Clock::now());
  });
}

void ConnectionTable::expect(ConnectionRecord& connection, std::size_t buffered_bytes,
                             std::chrono::milliseconds time, bool sending) {
  const Time now = Clock::now();
  state_.with([&](State& state) {
    connection.sending = sending;
    if (connection.closing) {
      // Execution may have taken longer than the time to close. A reply renews this time, but only
      // once: a client that keeps sending requests must not stay.
      if (sending && !std::exchange(connection.closing_renewed, true))
        deadlines_.begin_closing(connection, now);
      return;
    }
    deadlines_.expect(connection, now, time);
    if (connection.buffer_memory.bytes() == 0) connection.buffered_since = now;
    connection.buffer_memory.hold(buffered_bytes);
    if (state.buffer_memory.excess() > 0) shed_load(state, now);
  });
}

void ConnectionTable::clear(ConnectionRecord& connection) {
  state_.with([&](State&) {
    connection.sending = false;
    connection.request_memory.release();
    connection.buffer_memory.release();
    deadlines_.clear(connection);
  });
}

std::size_t ConnectionTable::buffered_bytes() {
  return state_.with([](const State& state) {
    return state.request_memory.bytes() + state.buffer_memory.bytes();
  });
}

// --- stop ---

void ConnectionTable::begin_stop() {
  state_.with([](State& state) { state.stopping = true; });
  shut_down_all(SHUT_RD);
}

void ConnectionTable::wait_until_empty() {
  const auto empty = [](const State& state) { return state.connections.empty(); };
  if (state_.wait_for(std::chrono::milliseconds(limits_.drain_ms), empty)) return;
  log_warning("clients did not take their replies in {} ms, closing their connections",
              limits_.drain_ms);
  shut_down_all(SHUT_RDWR);
  state_.when(empty, [](State&) {});
}

// While the lock is held, a descriptor cannot be closed and reused for another connection.
void ConnectionTable::shut_down_all(int how) {
  state_.with([&](State& state) {
    for (const auto& [serial, connection] : state.connections)
      ::shutdown(connection.descriptor, how);
  });
}

// --- the sweeper ---

void ConnectionTable::sweep() {
  std::vector<Serial> late;
  Time logged = Clock::now() - between_log_lines;
  const auto pause = [&] {
    return late.empty() ? std::chrono::milliseconds(limits_.sweep_ms) : between_ends;
  };
  while (!state_.wait_for(pause(), [](const State& state) { return !state.sweeping; })) try {
      deadlines_.tick(Clock::now());
      if (late.empty()) late = find_late();
      end_late(late);
      log_ended(Clock::now(), logged);
    } catch (const std::exception& error) {  // no memory: the next round tries again
      log_error("late connections could not be ended: {}", error.what());
    }
}

std::vector<ConnectionTable::Serial> ConnectionTable::find_late() {
  const Time now = Clock::now();
  std::vector<Serial> late;
  state_.with([&](State& state) {
    state.admission.recover_descriptors();
    for (const auto& [serial, connection] : state.connections)
      if (deadlines_.check(connection, now) != Deadlines::Late::no) late.push_back(serial);
  });
  return late;
}

// Ends the next connections that were found late, if they still are.
void ConnectionTable::end_late(std::vector<Serial>& late) {
  const Time now = Clock::now();
  state_.with([&](State& state) {
    for (std::size_t i = 0; i < ended_at_once && !late.empty(); ++i) {
      const auto found = state.connections.find(late.back());
      late.pop_back();
      if (found == state.connections.end()) continue;
      ConnectionRecord& connection = found->second;
      using Late = Deadlines::Late;
      const Late with = deadlines_.check(connection, now);
      if (with == Late::closing) ::shutdown(connection.descriptor, SHUT_RDWR);
      if (with != Late::idle && with != Late::stalled) continue;
      const EndCause cause = with == Late::idle ? EndCause::idle : EndCause::stalled;
      Metrics::add(metrics_.connections_ended[cause]);
      end(state, connection);
    }
  });
}

void ConnectionTable::log_ended(Time now, Time& logged) {
  if (now - logged < between_log_lines) return;
  const Ended ended = state_.with([](State& state) { return std::exchange(state.ended, {}); });
  if (ended.evicted > 0)
    log_warning("evicted {} idle connections to admit new ones (--connections-max is {})",
                ended.evicted, limits_.connections_max);
  if (ended.for_memory > 0)
    log_warning(
        "ended {} connections whose requests and replies held too much memory "
        "(--buffered-bytes-max)",
        ended.for_memory);
  if (ended.evicted + ended.for_memory > 0) logged = now;
}

}  // namespace exchange
