#pragma once
// Authenticator checks the keys of request batches before they are submitted (--auth). The core
// sees commands only: a creation carries the hash of its key, and what came without the right key
// is for an account that cannot exist, so that the refusal is the engine's own, after the same
// commit. Every refused login costs one hash on the same threads, whether the key is wrong or
// missing, the account unknown or without a key. Hashing runs on a few threads at low priority, one
// key at a time of each request batch, addresses in turn. Creations without the operator's key do
// not reach the core at all.
// Called by conversations and by HTTP. Owner: Server; it outlives its callers.

#include <array>
#include <span>
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

  // True: every key of the batch is checked, or is that of a login that the connection has. False:
  // some need a hash. Any thread.
  bool is_checked(KeyCheck& check) const;
  // Checks the rest of the keys and calls check.on_done, from a thread of its own or at once.
  // check.refused then: the authenticator stops, the address has too many checks waiting, or there
  // is no memory. Any thread.
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
  };
  struct Queue {
    FairQueue<Job> jobs;
    bool stopping = false;
  };

  bool enqueue(Job& job);
  void run();
  void work(Job job);
  void check_next(KeyCheck& check);
  bool is_key_of(const Credential& credential);
  bool may_operate(const AccountId& account) const;
  template <class Work>
  auto timed(Work work);

  const AuthLimits& limits_;
  KeyRing& keys_;
  Metrics& metrics_;
  // hashed against if an account has no key
  KeyHash dummy_;
  // of the digests that connections remember
  std::array<std::uint8_t, 32> secret_;
  AddressQuota waiting_;
  Guarded<Queue> queue_;  // limited by waiting_
  std::vector<std::thread> threads_;
};

}  // namespace exchange
