#pragma once
// ConnectionTable holds the open connections of one port and ends those that break a limit. The
// limits are its parts: AdmissionControl (which connections there may be), MemoryBudget (what is
// buffered for them), Deadlines (which are late). A connection is ended with shutdown(2) under the
// table's lock, whatever thread is inside the socket: the thread that serves it sees the end of the
// stream. A common request takes no lock here.
// Owner: the transport; the table outlives its leases. Any thread. Its own thread, the sweeper,
// ends late connections.

#include <boost/asio/ip/tcp.hpp>
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
#include "protocol/limits.hpp"

namespace exchange {

using boost::asio::ip::tcp;

class ConnectionTable {
 public:
  // The limits must outlive the table. `tls`: refused clients get no reply, as they speak TLS.
  ConnectionTable(const NetLimits& limits, const ProtocolLimits& protocol, Metrics& metrics,
                  bool tls = false);
  ~ConnectionTable();

  // A connection's place in the table. It is in one state at a time; what a state has of deadlines
  // and memory ends with it, and all ends with the lease. Destroy it before the socket is closed.
  // Owner: the conversation. Thread: one at a time.
  class Lease {
   public:
    Lease(ConnectionTable& table, ConnectionRecord& record) : table_(&table), record_(&record) {}
    Lease(Lease&& other) noexcept;
    Lease& operator=(Lease&&) = delete;
    ~Lease();

    const PeerAddress& address() const { return record_->place.address(); }
    int descriptor() const { return record_->descriptor; }

    // The client owes nothing: it may be silent for the idle time. This is the first state.
    void idle();
    // The client owes a TLS handshake or the rest of a request, of which `buffered_bytes` have
    // arrived, within stall_ms of the first call. If these bytes are a complete document, but the
    // announced length is larger (Session::document_is_complete), each call gives it
    // complete_document_ms, within the same limit.
    void receiving(std::size_t buffered_bytes, bool document_complete = false);
    // A request batch is complete: the client waits for the server. `request_bytes`: what the batch
    // needs in memory; 0 if that is too little to count. False if there is no memory for it.
    bool executing(std::size_t request_bytes);
    // The client has to take a reply, of which `buffered_bytes` are left, within stall_ms.
    void sending(std::size_t buffered_bytes);
    // The server ends the connection: the client has linger_ms to close. Its place is free.
    void closing();

   private:
    ConnectionTable* table_;
    ConnectionRecord* record_;
    bool is_executing_ = false;
    bool is_limited_ = false;  // the table has a deadline or memory of this state
  };

  // Admits a socket just accepted, and evicts another connection if it must. Else sends the client
  // the reason, and the caller closes the socket.
  std::optional<Lease> admit(tcp::socket& socket);
  // Accepting, or serving one more, failed for lack of descriptors or memory: from now on there is
  // no room for more than what is open.
  void handle_fd_exhaustion();
  bool stopping();

  // Admits no more, and every connection sees the end of its stream.
  void begin_stop();
  // Waits until there are none: for drain_ms, then cuts off those that still send or take.
  void wait_until_empty();

  std::uint64_t now_ms() const { return deadlines_.now_ms(); }
  // Of connections that are not being ended.
  std::size_t buffered_bytes();

 private:
  using Clock = Deadlines::Clock;
  using Time = Deadlines::Time;
  using Serial = std::uint64_t;
  // Connections ended since the last line about them in the log.
  struct Ended {
    std::uint64_t evicted = 0, for_memory = 0;
  };
  struct State {
    State(const NetLimits& limits, std::size_t bytes_max);
    AdmissionControl admission;
    // Half of the bytes each, so that neither displaces the other.
    MemoryBudget request_memory, buffer_memory;
    std::unordered_map<Serial, ConnectionRecord> connections;
    Serial serials = 0;
    Ended ended;
    bool stopping = false;
    bool sweeping = true;
  };

  ConnectionRecord* enter(State& state, tcp::socket& socket, const std::string*& refusal);
  void refuse(tcp::socket& socket, const std::string& reply);
  void end(State& state, ConnectionRecord& connection);
  void evict(State& state, ConnectionRecord& connection);
  void shed_load(State& state, Time now);

  // What leases do under the lock.
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

using ConnectionLease = ConnectionTable::Lease;

}  // namespace exchange
