#pragma once
// Authenticator stands in front of the core where accounts have keys (--auth): request batches go
// through once their keys are hashed or checked. The core sees commands only: a creation carries
// its hash, and what came without the right key is for an account that cannot exist, so that the
// refusal is the engine's own, after the same commit. Every refused login costs one hash on the
// same threads, whether the key is wrong or missing, the account unknown or without a key. Hashing
// runs on a few threads at low priority, one key at a time from each request batch, peers in turn.
// Owner: main. It outlives the core and all who submit.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "auth/key_ring.hpp"
#include "auth/limits.hpp"
#include "auth/peer_queue.hpp"
#include "base/guarded.hpp"
#include "core/service.hpp"
#include "metrics/metrics.hpp"

namespace exchange {

class Authenticator final : public Service, private CompletionSink {
 public:
  Authenticator(const AuthLimits& limits, KeyRing& keys, Service& core, Metrics& metrics);
  ~Authenticator();

  // Any thread. A submission that needs no hash goes to the core at once.
  void submit(std::span<Submission* const> submissions) override;

  // Whether this is the key of the account; nothing where the authenticator stops. Calls back from
  // a thread of its own, or at once. Any thread.
  using OnChecked = std::function<void(std::optional<bool>)>;
  void check(const AccountId& account, std::string key, const Peer& peer, OnChecked on_checked);

  // Refuses what waits, and from now on all that would need a hash. What needs none still goes
  // through.
  void stop();

 private:
  struct Question {
    AccountId account;
    std::string key;
    Peer peer;
    OnChecked on_checked;
  };
  struct Job {  // one of them
    Submission* submission = nullptr;
    std::optional<Question> question;
  };
  struct Queue {
    PeerQueue<Job> jobs;
    bool stopping = false;
  };

  void run();
  void work(Job job);
  // False where the authenticator stops, or, unless it has waited before, where its peer has enough
  // that waits.
  bool enqueue(const Peer& peer, Job job, bool again = false);
  void refuse(Job job);
  void refuse(Submission& submission);
  bool needs_hash(Credentials& credentials) const;
  void verify_next(Credentials& credentials);
  bool is_key_of(const AccountId& account, std::string_view key);
  template <class Work>
  auto timed(Work work);
  void pass(Submission& submission);
  void completed(std::span<Submission* const> submissions) override;

  const AuthLimits& limits_;
  KeyRing& keys_;
  Service& core_;
  Metrics& metrics_;
  // what is hashed against for want of a key
  KeyHash dummy_;
  // of the digests that sessions remember
  std::array<std::uint8_t, 32> secret_;
  Guarded<Queue> queue_;  // waiting_per_peer_max of each peer
  // whose creations are at the core, and who waits for them
  Guarded<std::map<Submission*, CompletionSink*>> creating_;
  std::vector<std::thread> threads_;
};

}  // namespace exchange
