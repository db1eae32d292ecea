#pragma once
// One worker: plays its share of the clients over one epoll. Each client keeps up to `pipeline`
// requests in flight, in its own order. In a closed loop it sends when it is free, in an open loop
// at the planned time, or as soon as it is free after that. Every reply is checked. A connection
// that fails is opened again; with --retry the orders and queries that were in flight on it are
// sent again. Owns the connections and counts. Thread: one at a time; run() blocks it.

#include <sys/epoll.h>

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "client/connection/socket.hpp"
#include "client/loadgen/audit/order_ids.hpp"
#include "client/loadgen/options.hpp"
#include "client/loadgen/pacer.hpp"
#include "client/loadgen/recorder.hpp"
#include "client/loadgen/reply_check.hpp"
#include "client/loadgen/tally.hpp"
#include "client/loadgen/transcript.hpp"
#include "client/loadgen/workload.hpp"

namespace exchange::loadgen {

class Driver {
 public:
  // Worker number `worker` of load.workers plays each client whose number modulo load.workers is
  // `worker`.
  Driver(const LoadOptions& load, const Workload& workload, client::Servers& servers,
         unsigned worker);

  // Opens all connections that exist from the start, outside the measurement. If each request has
  // its own connection, or if clients begin one after another, this opens no client connections.
  // Throws Unreachable, Interrupted.
  void open_connections(const client::StopFlag& stop);
  // Sends `document` on the connection opened last, if there is one: the kernel opens connections
  // before the server accepts them, and a reply on the last one shows that the server has accepted
  // those before it. If no reply comes in time, this closes that connection: a server may serve
  // fewer connections at once. Throws ConnectionEnded, Interrupted.
  void await_accepted(std::string_view document, const client::StopFlag& stop);

  // Called at each tick, in order, and at the end with the remaining counts.
  using Publish = std::function<void(std::unique_ptr<Interval>)>;
  // Sends all requests and waits for those in flight. `stop` ends it early.
  void run(const Ticks& ticks, const client::StopFlag& stop, const Publish& publish);

  // After run():
  const Examples& examples() const { return examples_; }
  const IdSet& opened_ids() const { return opened_ids_; }
  History& history() { return recorder_.history(); }
  const Deviations& deviations() const { return reply_check_.deviations; }
  Transcript& transcript() { return transcript_; }
  std::int64_t last_answer() const { return last_answer_; }  // nanoseconds since the start
  // planned, but not sent when sending ended
  std::uint64_t unsent() const { return unsent_; }
  // no request was answered for longer than the timeout
  bool gave_up() const { return gave_up_; }

 private:
  // waiting: for its turn to begin; greeting: for the reply to the greeting of its protocol
  enum class State : std::uint8_t { waiting, closed, connecting, greeting, open };
  struct InFlight {
    std::int64_t planned, sent;  // nanoseconds since the start
    std::int64_t sent_last;      // of the last sending, with --retry
    std::uint32_t account;
    std::uint32_t actions;
    bool measured;
    Transcript::Entry entry;  // if there is a transcript
  };
  struct Client {
    Client(const Workload& workload, unsigned number_, const LoadOptions& load);
    unsigned number;
    Script script;
    client::Descriptor socket;
    std::uint64_t connection = 0;             // its number, from 1, unique in the process
    const client::Address* server = nullptr;  // the server that it is connected to, or tries
    bool answered = false;                    // this connection got a reply
    bool greeted = false;                     // the greeting was sent on it
    std::size_t tries = 0;                    // connections refused in a row
    State state = State::waiting;
    std::uint64_t quota;          // requests still to send; UINT64_MAX: no limit
    std::int64_t free_since = 0;  // closed loop: the time from which it could send
    std::int64_t connecting_since = 0;
    std::vector<InFlight> in_flight;  // a ring of `pipeline`
    // actions of the requests in flight: a fixed number of places for each
    std::vector<Action> actions;
    std::size_t oldest = 0, count = 0;  // in the ring
    std::vector<std::string> frames;    // with --retry, of the requests in flight
    std::size_t to_send_again = 0;      // requests in flight not yet sent on this connection
    // open loop: planned times that have come, from backlog_at
    std::vector<std::int64_t> backlog;
    std::size_t backlog_at = 0;
    std::string unsent;       // the rest that the socket did not take
    std::string received;     // the beginning of a reply that came in pieces
    std::size_t scanned = 0;  // of `received`
  };

  bool sending(std::int64_t now) const { return now < ticks_->end(); }
  bool has_work(const Client& client, std::int64_t now) const;
  bool finished(std::int64_t now) const;
  void begin_clients(std::int64_t now);
  void release_arrivals(std::int64_t now, bool send);
  int wait(epoll_event* events, std::int64_t nanoseconds);
  std::int64_t next_event(std::int64_t now) const;
  void go_on(Client& client, std::int64_t now);
  void open(Client& client, std::int64_t now);
  void fill(Client& client, std::int64_t now);
  void greet(Client& client, std::int64_t now);
  void take_welcome(Client& client, std::int64_t now);
  void write_request(Client& client, std::int64_t now);
  void write_again(Client& client, std::int64_t now);
  bool may_be_sent_again(const Client& client, std::size_t place) const;
  void keep_in_flight(Client& client, ErrorClass error);
  void watch(int operation, int socket, std::uint32_t index, std::uint32_t events);
  void watch(int operation, const Client& client, std::uint32_t events) {
    watch(operation, client.socket.number(), std::uint32_t(&client - clients_.data()), events);
  }
  void send_rest(Client& client);
  void handle(std::uint32_t index, std::uint32_t events);
  void handle_idle(std::uint32_t index);
  void connected(Client& client);
  void receive(Client& client);
  client::ReplyEnd find_reply(Client& client, std::string_view bytes) const;
  bool is_padding(std::string_view bytes) const;
  std::optional<std::size_t> take(Client& client, std::string_view bytes, std::int64_t now);
  bool take_reply(Client& client, std::string_view document, std::int64_t now);
  std::string_view check(Client& client, const InFlight& request, std::span<const Action> actions,
                         std::string_view document, std::int64_t now);
  std::int64_t monotonic(std::int64_t now) const {
    return (ticks_->start().time_since_epoch() + std::chrono::nanoseconds(now)).count();
  }
  void wrong_answer(Client& client, ErrorClass error, std::string_view problem,
                    std::string_view reply, std::int64_t now);
  void fail(Client& client, ErrorClass error, std::int64_t now);
  void refused_connection(Client& client, int error, std::int64_t now);
  void close(Client& client);
  void retry_connections(std::int64_t now);
  void sweep_timeouts(std::int64_t now);
  void give_up_backlog(std::int64_t now);
  void tick(std::int64_t now, const Publish& publish);

  const LoadOptions& load_;
  const Workload& workload_;
  client::Servers& servers_;
  const unsigned worker_;
  const std::int64_t timeout_ns_;
  std::vector<Client> clients_;
  std::vector<client::Descriptor> idle_;
  client::Descriptor epoll_;
  Pacer pacer_;
  std::optional<std::int64_t> next_arrival_;
  std::uint64_t arrivals_ = 0;  // of all workers, up to next_arrival_
  std::string frames_;          // written, to be sent
  std::vector<char> read_buffer_;
  ReplyCheck reply_check_;
  IdSet opened_ids_;
  Recorder recorder_;
  Transcript transcript_;
  Examples examples_;

  const Ticks* ticks_ = nullptr;
  std::uint64_t tick_ = 0;
  std::unique_ptr<Interval> interval_;
  bool measuring_ = false;  // false: warming up
  std::size_t begun_ = 0;   // clients that have begun
  // clients with quota left or requests in flight; a client without either has ended for good
  std::size_t unfinished_ = 0;
  std::uint64_t in_flight_ = 0, refused_connections_ = 0, unsent_ = 0;
  std::int64_t last_answer_ = 0, next_retry_ = 0, next_sweep_ = 0;
  // when a request was last answered, or when no request was in flight
  std::int64_t answered_or_calm_ = 0;
  bool precise_waits_ = true;  // false: epoll_pwait2 is not available
  bool gave_up_ = false;
};

}  // namespace exchange::loadgen
