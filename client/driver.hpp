#pragma once
// Plays many clients on one thread over one epoll: each sends its script's next request, waits for the
// reply, checks it, and goes on. A connection that fails is opened anew. Owns the connections and counts.
// Thread: one at a time; run() blocks it.

#include <sys/epoll.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "client/id_set.hpp"
#include "client/options.hpp"
#include "client/socket.hpp"
#include "client/tally.hpp"
#include "client/workload.hpp"

namespace exchange::loadgen {

class Driver {
 public:
  Driver(const LoadOptions& load, const WorkloadOptions& workload, Address address);

  // Opens all persistent connections, outside the measurement; where each request has its own, tries one. Throws Unreachable, Interrupted.
  void open_connections(const StopFlag& stop);
  // Called once a second; false ends the run.
  using Look = std::function<bool(const Snapshot&)>;
  // Sends all requests, or for the whole duration, and waits for what is in flight.
  void run(const StopFlag& stop, const Look& look);
  const Tally& tally() const { return tally_; }

 private:
  using Clock = std::chrono::steady_clock;
  enum class State : std::uint8_t { closed, connecting, idle, awaiting_reply };
  struct Client {
    explicit Client(const WorkloadOptions& workload, unsigned index) : script(workload, index) {}
    Script script;
    Descriptor socket;
    State state = State::closed;
    Clock::time_point since;    // of the request in flight, or of its connection where each has its own
    std::string unsent;         // the rest of a request that the socket did not take
    std::string received;       // the beginning of a reply that came in pieces
    std::size_t scanned = 0;    // of `received`
  };

  bool more_to_send(Clock::time_point now) const;
  void go_on(Client& client, Clock::time_point now);
  void open(Client& client, Clock::time_point now);
  void connected(Client& client, Clock::time_point now);
  void watch(Client& client, int operation, std::uint32_t events);
  void send_next(Client& client);
  void send_rest(Client& client);
  void handle(Client& client, std::uint32_t events);
  void receive(Client& client);
  void take(Client& client, std::string_view bytes, Clock::time_point now);
  std::string_view check(Client& client, std::string_view document);
  void wrong_answer(Client& client, std::string_view problem, std::string_view reply, Clock::time_point now);
  void fail(Client& client, ErrorClass error, Clock::time_point now);
  void refused_connection(Client& client, int error, Clock::time_point now);
  void close(Client& client);
  void retry_connections(Clock::time_point now);
  void sweep_timeouts(Clock::time_point now);
  bool look_up(Clock::time_point now, const Look& look);

  const LoadOptions& load_;
  const Address address_;
  std::vector<Client> clients_;
  Descriptor epoll_;
  FrameBuffer frame_;
  std::vector<char> read_buffer_;
  IdSet opened_ids_;
  Tally tally_;
  Histogram recent_ns_;  // since the last look, then added to the tally

  Clock::time_point start_, end_, last_answer_, last_look_, next_retry_;
  std::uint64_t sent_ = 0, in_flight_ = 0, refused_connections_ = 0;
};

}  // namespace exchange::loadgen
