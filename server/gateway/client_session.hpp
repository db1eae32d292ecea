#pragma once
// ClientSession is one client at the gateway, whatever door it came through: the request batch that
// it executes, the accounts that it is logged in to, the orders that end with its connection
// (docs/protocol.md, E20), and what is counted of it. A door reads requests into commands and
// credentials, does what each step says, and writes the outcomes in its format:
//   session.begin_reading();
//   ... read ...
//   session.count_requests(requests, errors);
//   Step step = session.begin_batch(commands, credentials);
//   if (step == check_keys) { session.check_keys(on_done); wait; step = session.keys_checked(); }
//   if (step == execute) { submit the submission; wait until it is completed; }
//   session.end_batch();
//   ... for each request: write its outcomes, session.note_request(commands, ties_orders) ...
//   session.forget_outcomes();
//   ... send the replies ...
//   session.replied();
// and when the connection is over, as long as begin_tied_cancels(): submit, wait, end_batch(),
// forget_outcomes().
// Invariants:
// 1. While a batch is executed, the commands and credentials that it was begun with do not change.
// 2. Nothing is executed whose key was not checked; what came with a wrong key is refused by the
//    engine, or does not reach it (Authenticator).
// 3. Outcomes are there after the commit that they depend on, a refusal's too: a server that was
//    replaced does not know the keys that its successor gave.
// Owner: the connection. Thread: one at a time. No sockets, no format.

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "auth/authenticator.hpp"
#include "core/service.hpp"
#include "gateway/tied_orders.hpp"
#include "metrics/metrics.hpp"

namespace exchange {

using Logins = std::vector<KeyCheck::Login>;

// Who is at the other end of a connection.
struct Peer {
  PeerAddress address;
  int socket = -1;  // as in KeyCheck
  // Where each request carries its key: the logins that requests of the connection have proven, so
  // that a later one with the same key needs no hash. It may come from another user of a proxy.
  // Null: none are kept.
  Logins* proven = nullptr;
  operator const PeerAddress&() const { return address; }
};

class ClientSession {
 public:
  enum class Step : std::uint8_t { check_keys, execute, reply };

  // `authenticator` null: accounts have no keys. All outlive it.
  ClientSession(Submission& submission, Authenticator* authenticator, Metrics& metrics,
                const Peer& peer, DoorPolicy policy = {});

  // --- a batch ---
  void begin_reading() {
    submission_.stamps.begin();
    executed_ = false;
  }
  void count_requests(std::size_t requests, std::size_t errors);
  Step begin_batch(std::span<Command> commands, std::span<Credential> credentials);
  // `on_done` is called from a thread of the authenticator, or at once.
  void check_keys(std::function<void()> on_done);
  Step keys_checked();
  // There is one outcome for each command now.
  void end_batch();
  std::span<const Outcome> outcomes() const { return submission_.outcomes; }
  // The next request of the batch had this number of commands; with `ties_orders` its orders end
  // with the connection.
  void note_request(std::size_t commands, bool ties_orders);
  // Its replies are written. Before they are sent: a client that takes them slowly holds no
  // outcomes.
  void forget_outcomes() { submission_.forget_outcomes(); }
  void replied();

  // --- logins ---
  bool has_keys() const { return authenticator_ != nullptr; }
  bool is_logged_in(const AccountId& account) const { return keys_->is_logged_in(account); }
  bool is_operator() const { return keys_ && keys_->is_logged_in(operator_id); }
  // The keys of the batch could not be checked.
  bool keys_unchecked() const { return keys_ && keys_->refused; }

  // --- orders that end with the connection ---
  // Why no more orders can end with this connection, of which `max` may; null: they can.
  const char* tie_problem(std::size_t max) const {
    return tied_orders_.count() < max
               ? nullptr
               : "too many orders of this connection end with it; use another connection";
  }
  // Begins a batch of no request, which cancels some of them; false: there are none.
  bool begin_tied_cancels();
  bool is_disconnecting() const { return disconnecting_; }

 private:
  Submission& submission_;
  Authenticator* const authenticator_;
  Metrics& metrics_;
  Logins* const proven_;
  std::optional<KeyCheck> keys_;
  TiedOrders tied_orders_;
  std::vector<Command> cancels_;
  std::span<Command> commands_;  // of the batch
  std::size_t noted_ = 0;        // of these
  bool proves_ = false;          // the keys of the batch may become proven logins
  bool disconnecting_ = false;   // the connection is over
  bool executed_ = false;        // the batch had commands, which were executed or refused
};

}  // namespace exchange
