#pragma once
// Authenticator checks the keys of request batches before they are submitted (--auth). The core
// sees commands only. A creation carries the hash of its key. A command that came without the right
// key names an account that cannot exist, so that the engine itself refuses it, after the same
// commit. A wrong key costs one hash, whether or not the account exists or has a key. Creations
// without the operator's key do not reach the core at all.
//
// Three kinds of keys need no slow hash: a key that the connection has proven, a key that was right
// or wrong before on any connection (KnownKeys), and the right key of an account if it is generated
// (scrypt.hpp). The others wait for the threads that hash, in this order: first what an
// operator creates; then each address in turn, each account of it in turn, one key at a time; last
// the clients that have closed their side. The check of a connection that is closed ends. A known
// key is not looked up while another key of the same account waits; otherwise it would let a client
// guess faster than hashes are computed.
//
// Conversations and HTTP call it. Owner: Server. It outlives its callers.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "auth/credentials.hpp"
#include "auth/fair_queue.hpp"
#include "auth/key_ring.hpp"
#include "auth/limits.hpp"
#include "base/address_limits.hpp"
#include "base/guarded.hpp"
#include "metrics/metrics.hpp"

namespace exchange {

// KeyCheck is the state of one connection for the authenticator: the accounts that it is logged in
// to, including the operator, and the request batch whose keys must be checked.
// Owner: ClientSession; the authenticator from check() until on_done. Thread: one at a time.
struct KeyCheck {
  struct Login {
    AccountId account;
    KeyProof key;           // proof of the key alone
    std::uint64_t version;  // KeyRing::version() of the account for which it holds
  };

  // `socket` is the client's; a check ends with its connection. -1: unknown, so the check always
  // runs.
  explicit KeyCheck(const PeerAddress& address_, int socket_ = -1)
      : address(address_), socket(socket_) {}
  // The authenticator wipes the keys once they are checked, and changes commands without the right
  // key.
  void begin_batch(std::span<Credential> batch_credentials, std::span<Command> batch_commands) {
    credentials = batch_credentials;
    commands = batch_commands;
    checked = 0;
    refused = false;
    creations_refused = 0;
  }
  // Returns the commands that the core may execute.
  std::span<const Command> accepted() const {
    return commands.first(commands.size() - creations_refused);
  }
  bool is_logged_in(const AccountId& account) const {
    for (const Login& login : logins)
      if (login.account == account) return true;
    return false;
  }

  const PeerAddress address;  // for limits and turns
  const int socket;
  std::vector<Login> logins;      // newest last
  std::uint64_t key_version = 0;  // KeyRing::version() for which all logins hold

  // The batch.
  std::span<Credential> credentials;
  std::span<Command> commands;
  std::size_t checked = 0;            // number of credentials checked
  bool refused = false;               // the keys could not be checked: nothing may be executed
  std::size_t creations_refused = 0;  // the last of `commands`, without the operator's key
  std::function<void()> on_done;      // called once for each check()
};

class Authenticator {
 public:
  Authenticator(const AuthLimits& limits, KeyRing& keys, Metrics& metrics);
  ~Authenticator();

  // Checks keys as long as they need no hash. Returns true if every key of the batch is checked;
  // then check.accepted() may be executed. Any thread.
  bool is_checked(KeyCheck& check);
  // Checks the rest of the keys and calls check.on_done, from a thread of the authenticator or at
  // once. Sets check.refused if the authenticator stops, the address has too many checks waiting,
  // there is no memory, or the connection is closed. Any thread.
  void check(KeyCheck& check);
  // Call it after the commands of check.accepted() are committed with these outcomes. Adds the
  // outcomes of refused creations, and makes the new keys and roles of the batch valid for logins.
  // Call it before the client gets the reply, never before the commit. Any thread.
  void complete(const KeyCheck& check, std::vector<Outcome>& outcomes);

  // Returns the keys against which it checks.
  KeyRing& keys() const { return keys_; }

  // Refuses all checks that wait, and every later check().
  void stop();

 private:
  // A check that waits for a hash. It counts for its address until it is done.
  struct Job {
    KeyCheck* check;
    AddressQuota::Share share;
    bool is_half_closed = false;  // by the client
  };
  struct Queue {
    Fifo<Job> creations;  // of operators
    FairQueue<Job> live, half_closed;
    // number of waiting jobs by account, including those that are being hashed
    std::map<std::string, std::size_t, std::less<>> waiting;
    std::size_t turn = 0;
    bool stopping = false;
    bool empty() const { return creations.empty() && live.empty() && half_closed.empty(); }
    std::size_t size() const { return creations.size() + live.size() + half_closed.size(); }
    void push(Job job);
    Job pop();
    void forget(const AccountId& account);  // removes one waiting job of the account
  };
  enum class Lookup { if_alone, always };

  bool enqueue(Job& job);
  bool displace(Job& job);
  void run();
  void work(Job job);
  bool hash_one(Job& job);
  bool has_login(KeyCheck& check) const;
  bool check_without_hash(KeyCheck& check, Lookup lookup);
  void check_next(KeyCheck& check);
  void decide(KeyCheck& check, bool right, std::uint64_t version);
  std::optional<KeyHash> stored_hash(const Credential& credential);
  bool is_trusted(const PeerAddress& peer) const;
  bool is_key_of(const Credential& credential);
  bool may_operate(const AccountId& account) const;
  bool is_waiting(const AccountId& account);
  template <class Work>
  auto timed(Work work);

  const AuthLimits& limits_;
  KeyRing& keys_;
  Metrics& metrics_;
  // the hash to compute if an account has no key, or a generated key that differs from the received
  // one
  KeyHash dummy_;
  AddressQuota waiting_;
  Guarded<Queue> queue_;  // limited by waiting_
  std::vector<std::thread> threads_;
};

}  // namespace exchange
