#pragma once
// ConnectionTable holds the open connections of one port and ends those that break a limit. The
// limits are its parts: AdmissionControl (which connections are admitted), MemoryBudget (how many
// bytes are buffered for them), Deadlines (which connections are late). The table ends a connection
// with shutdown(2) under its lock, even while another thread uses the socket: the thread that
// serves the connection sees the end of the stream. A common request takes no lock here.
// Owner: the transport; the table outlives its slots. Any thread. Its own thread, the sweeper,
// ends late connections.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/guarded.hpp"
#include "metrics/metrics.hpp"
#include "net/admission_control.hpp"
#include "net/deadlines.hpp"
#include "net/limits.hpp"
#include "net/memory_budget.hpp"
#include "net/stream.hpp"
#include "protocol/limits.hpp"

namespace exchange {

class ConnectionTable {
 public:
  // The limits must outlive the table. If `tls` is set, refused clients get no reply, because they
  // expect TLS.
  ConnectionTable(const NetLimits& limits, const ProtocolLimits& protocol, Metrics& metrics,
                  bool tls = false);
  ~ConnectionTable();

  // A connection's place in the table. The connection is in one state at a time; the deadline and
  // the memory of a state end with it, and all of them end with the slot. Destroy the slot before
  // the socket is closed.
  // Owner: the conversation. Thread: one at a time.
  class Slot {
   public:
    Slot(ConnectionTable& table, ConnectionRecord& record) : table_(&table), record_(&record) {}
    Slot(Slot&& other) noexcept;
    Slot& operator=(Slot&&) = delete;
    ~Slot();

    const PeerAddress& address() const { return record_->place.address(); }
    int descriptor() const { return record_->descriptor; }

    // The server waits for no bytes: the client may be silent for the idle time. This is the first
    // state.
    void idle();
    // The client must finish a TLS handshake or a request within stall_ms of the first call;
    // `buffered_bytes` are in memory for it. If the received bytes are a complete document, but the
    // announced length is larger (XmlSession::document_is_complete), each call gives it
    // complete_document_ms, within the same limit.
    void receiving(std::size_t buffered_bytes, bool document_complete = false);
    // A request batch is complete: the client waits for the server. `request_bytes` is the memory
    // that the batch needs; 0 if it is too small to count. Returns false if the budget has no
    // memory for it.
    bool executing(std::size_t request_bytes);
    // The client must take a reply within stall_ms; `buffered_bytes` are in memory for it.
    void sending(std::size_t buffered_bytes);
    // The server ends the connection: the client has linger_ms to close. Its place is free again.
    void closing();

   private:
    ConnectionTable* table_;
    ConnectionRecord* record_;
    bool is_executing_ = false;
    bool is_limited_ = false;  // the table has a deadline or memory of this state
  };

  // Admits a socket just accepted, and evicts another connection if necessary. If it refuses the
  // socket, it sends the client the reason, and the caller closes the socket.
  std::optional<Slot> admit(StreamSocket& socket);
  // Accepting or serving one more connection failed for lack of descriptors or memory: from now on
  // the number of open connections is the limit.
  void handle_fd_exhaustion();
  bool stopping();

  // Admits no more connections, and ends the stream of every connection.
  void begin_stop();
  // Waits until no connection is open. After drain_ms, it cuts off those that still send or take
  // bytes.
  void wait_until_empty();

  std::uint64_t now_ms() const { return deadlines_.now_ms(); }
  // The buffered bytes of all connections that are not closing.
  std::size_t buffered_bytes();

 private:
  using Clock = Deadlines::Clock;
  using Time = Deadlines::Time;
  using Serial = std::uint64_t;
  // The number of connections ended since the last log line about them.
  struct Ended {
    std::uint64_t evicted = 0, for_memory = 0;
  };
  struct State {
    State(const NetLimits& limits, std::size_t bytes_max);
    AdmissionControl admission;
    // Each has half of the bytes, so that neither displaces the other.
    MemoryBudget request_memory, buffer_memory;
    std::unordered_map<Serial, ConnectionRecord> connections;
    Serial serials = 0;
    Ended ended;
    bool stopping = false;
    bool sweeping = true;
  };

  ConnectionRecord* enter(State& state, StreamSocket& socket, const std::string*& refusal);
  void refuse(StreamSocket& socket, const std::string& reply);
  void end(State& state, ConnectionRecord& connection);
  void evict(State& state, ConnectionRecord& connection);
  void shed_load(State& state, Time now);

  // Leases call these; they take the lock.
  void expect(ConnectionRecord& connection, std::size_t buffered_bytes,
              std::chrono::milliseconds time, bool sending);
  void clear(ConnectionRecord& connection);

  void sweep();
  std::vector<Serial> find_late();
  void end_late(std::vector<Serial>& late);
  void log_ended(Time now, Time& logged);
  void shut_down_all(int how);

  const NetLimits& limits_;
  Metrics& metrics_;
  const bool tls_;
  std::string full_reply_, exhausted_reply_, address_reply_;  // to refused clients
  Deadlines deadlines_;
  Guarded<State> state_;
  std::thread sweeper_;
};

using ConnectionSlot = ConnectionTable::Slot;

}  // namespace exchange
