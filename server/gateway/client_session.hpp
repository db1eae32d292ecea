#pragma once
// ClientSession is one client at the gateway, for every door: the request batch that it executes,
// the accounts that it is logged in to, the orders that end with its connection (docs/protocol.md,
// E20), and its metrics. A door reads requests into commands and credentials, performs each step,
// and writes the outcomes in its format:
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
// When the connection is over, while begin_tied_cancels() returns true, the door does: submit,
// wait, end_batch(), forget_outcomes().
// Invariants:
// 1. While a batch is executed, the commands and credentials that began it do not change.
// 2. A command is executed only after its key was checked. A command with a wrong key gets an
//    account that cannot exist, so the engine refuses it; a creation without the operator's key
//    does not reach the core (Authenticator).
// 3. Outcomes are available after the commit that they depend on. This includes refusals: a server
//    that was replaced does not know the keys that its successor has set.
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

// The client at the other end of a connection.
struct Peer {
  PeerAddress address;
  int socket = -1;  // as in KeyCheck
  // For doors whose requests each carry their key: the logins that earlier requests of the
  // connection have proven, so that a later one with the same key needs no hash. Requests of
  // one connection may come from several users of a proxy. Null: logins are not kept.
  Logins* proven = nullptr;
  operator const PeerAddress&() const { return address; }
};

class ClientSession {
 public:
  enum class Step : std::uint8_t { check_keys, execute, reply };

  // If `authenticator` is null, accounts have no keys. All arguments must outlive the session.
  ClientSession(Submission& submission, Authenticator* authenticator, Metrics& metrics,
                const Peer& peer, DoorPolicy policy = {});

  // --- a batch ---
  void begin_reading() {
    submission_.stamps.begin();
    executed_ = false;
  }
  void count_requests(std::size_t requests, std::size_t errors);
  Step begin_batch(std::span<Command> commands, std::span<Credential> credentials);
  // Calls `on_done` from a thread of the authenticator, or before it returns.
  void check_keys(std::function<void()> on_done);
  Step keys_checked();
  // Call it once each command has its outcome.
  void end_batch();
  std::span<const Outcome> outcomes() const { return submission_.outcomes; }
  // The next request of the batch had this number of commands. If `ties_orders` is set, its orders
  // end with the connection.
  void note_request(std::size_t commands, bool ties_orders);
  // Call it when the replies are written, before they are sent: outcomes then take no memory while
  // a slow client takes its replies.
  void forget_outcomes() { submission_.forget_outcomes(); }
  void replied();

  // --- logins ---
  bool has_keys() const { return authenticator_ != nullptr; }
  bool is_logged_in(const AccountId& account) const { return keys_->is_logged_in(account); }
  bool is_operator() const { return keys_ && keys_->is_logged_in(operator_id); }
  // Whether the keys of the batch could not be checked.
  bool keys_unchecked() const { return keys_ && keys_->refused; }

  // --- orders that end with the connection ---
  // Returns the reason if no more orders can end with this connection, which may have at most `max`
  // such orders; otherwise null.
  const char* tie_problem(std::size_t max) const {
    return tied_orders_.count() < max
               ? nullptr
               : "too many orders of this connection end with it; use another connection";
  }
  // Begins a batch that belongs to no request and cancels some of these orders; returns false if
  // there are none.
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
