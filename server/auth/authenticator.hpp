#pragma once
// Authenticator checks the keys of request batches before they are submitted (--auth). The core
// sees commands only: a creation carries the hash of its key, and what came without the right key
// is for an account that cannot exist, so that the refusal is the engine's own, after the same
// commit. A wrong key costs one hash, whether the account exists or has a key or not. Creations
// without the operator's key do not reach the core at all.
//
// No slow hash is needed for a key that the connection has proven, that was right or wrong before
// on any connection (KnownKeys), or for the right one if it is generated (generated_key.hpp). The
// rest waits for the threads that hash, in this order: what an operator creates; then each address
// in turn, each account of it in turn, one key at a time; and behind them clients that have closed
// their side. The check of a connection that is gone ends. So that a known key does not let a
// client guess faster than hashes go, no key of an account is looked up while another one of the
// same account waits.
//
// Called by conversations and by HTTP. Owner: Server; it outlives its callers.

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "auth/fair_queue.hpp"
#include "auth/key_check.hpp"
#include "auth/key_ring.hpp"
#include "auth/limits.hpp"
#include "base/address_quota.hpp"
#include "base/guarded.hpp"
#include "metrics/metrics.hpp"

namespace exchange {

class Authenticator {
 public:
  Authenticator(const AuthLimits& limits, KeyRing& keys, Metrics& metrics);
  ~Authenticator();

  // Checks keys as long as they need no hash. True: every key of the batch is checked, and
  // check.accepted() may be executed. Any thread.
  bool is_checked(KeyCheck& check);
  // Checks the rest of the keys and calls check.on_done, from a thread of its own or at once.
  // check.refused then: the authenticator stops, the address has too many checks waiting, there is
  // no memory, or the connection is gone. Any thread.
  void check(KeyCheck& check);
  // What check.accepted() was is committed with these outcomes: adds those of refused creations,
  // and the accounts that the batch created can be logged in to. Call it before the client gets the
  // reply, never before the commit. Any thread.
  void complete(const KeyCheck& check, std::vector<Outcome>& outcomes);

  // Against which it checks.
  KeyRing& keys() const { return keys_; }

  // Refuses all checks that wait, and from now on every check().
  void stop();

 private:
  // A check that waits for a hash, and counts for its address until it is done.
  struct Job {
    KeyCheck* check;
    AddressQuota::Share share;
    bool is_half_closed = false;  // by the client
  };
  struct Queue {
    Fifo<Job> creations;  // of operators
    FairQueue<Job> live, half_closed;
    // by account, with those that are being hashed
    std::map<std::string, std::size_t, std::less<>> waiting;
    std::size_t turn = 0;
    bool stopping = false;
    bool empty() const { return creations.empty() && live.empty() && half_closed.empty(); }
    std::size_t size() const { return creations.size() + live.size() + half_closed.size(); }
    void push(Job job);
    Job pop();
    void forget(const AccountId& account);  // one of its jobs waits no more
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
  bool is_key_of(const Credential& credential);
  bool may_operate(const AccountId& account) const;
  bool is_waiting(const AccountId& account);
  template <class Work>
  auto timed(Work work);

  const AuthLimits& limits_;
  KeyRing& keys_;
  Metrics& metrics_;
  // hashed against if an account has no key, or one that was generated and is not the one that came
  KeyHash dummy_;
  AddressQuota waiting_;
  Guarded<Queue> queue_;  // limited by waiting_
  std::vector<std::thread> threads_;
};

}  // namespace exchange
