#pragma once
// The common part of the tests of keys: an authenticator, a core on a memory store, and connections
// without sockets.

#include <deque>
#include <string>

#include "auth/authenticator.hpp"
#include "auth/scrypt.hpp"
#include "catch.hpp"
#include "core/core.hpp"
#include "protocol/xml_session.hpp"
#include "support/local.hpp"

namespace exchange::testing {

inline constexpr std::uint8_t cheap = 4;  // log2 N: of tests that count hashes, not their price
inline const std::string operator_key = "operator secret";

struct Waiting : Submission, CompletionSink {
  Waiting() { sink = this; }
  void completed(std::span<Submission* const>) override {
    done.with([](bool& now) { now = true; });
    done.notify();
  }
  void wait() {
    done.when([](const bool& now) { return now; }, [](bool& now) { now = false; });
  }
  bool wait_for(int milliseconds) {
    return done.wait_for(std::chrono::milliseconds(milliseconds),
                         [](const bool& now) { return now; });
  }
  Guarded<bool> done;
};

// A core with a slow commit: it keeps its submissions until commit().
class SlowService final : public Service {
 public:
  explicit SlowService(MemoryStore& store)
      : committer_(open_and_recover(store).exchange, 0, store.journal(), clock_, limits_,
                   metrics_) {}
  void submit(std::span<Submission* const> submissions) override {
    waiting_.with([&](auto& waiting) {
      waiting.insert(waiting.end(), submissions.begin(), submissions.end());
    });
    waiting_.notify();
  }
  // Returns the next submission, still uncommitted.
  Submission& next() {
    return waiting_.when([](const auto& waiting) { return !waiting.empty(); },
                         [](auto& waiting) -> Submission& {
                           Submission& first = *waiting.front();
                           waiting.pop_front();
                           return first;
                         });
  }
  void commit(Submission& submission) {
    Submission* const one = &submission;
    committer_.commit({&one, 1});
    submission.sink->completed({&one, 1});
  }
  bool idle() {
    return waiting_.with([](const auto& waiting) { return waiting.empty(); });
  }
  Exchange& exchange() { return committer_.exchange(); }

 private:
  FixedClock clock_;
  CoreLimits limits_;
  Metrics metrics_;
  Committer committer_;
  Guarded<std::deque<Submission*>> waiting_;
};

struct Guard {
  explicit Guard(std::size_t checks_per_address_max = AuthLimits().checks_per_address_max)
      : limits{.required = true,
               .checks_per_address_max = checks_per_address_max,
               .scrypt_log2_n = cheap},
        authenticator(std::make_unique<Authenticator>(limits, keys, metrics)) {
    keys.set_key(operator_id, hash_key(operator_key, cheap));
  }
  const AuthLimits limits;
  Metrics metrics;
  MemoryStore store;
  KeyRing keys;
  SlowService service{store};
  std::unique_ptr<Authenticator> authenticator;
  std::uint64_t hashes() const { return metrics.key_hashes; }
};

// One connection, which does what a conversation does with its session, the authenticator and the
// core.
class Talk {
 public:
  explicit Talk(Guard& guard, PeerAddress address = {}, int socket = -1)
      : keys(address, socket), guard_(guard) {}

  // Takes the bytes that a client sends; returns whether there is a batch.
  bool receive(std::string_view bytes) { return testing::receive(session, bytes); }
  // Has the keys of the batch checked, and submits the batch unless they are refused.
  void submit() {
    submission.commands = session.commands();
    keys.begin_batch(session.credentials(), session.commands());
    keys.on_done = [this] { checked(); };
    if (guard_.authenticator->is_checked(keys))
      checked();
    else
      guard_.authenticator->check(keys);
  }
  // Takes documents that are a batch, and submits it.
  void send(std::string_view documents) {
    REQUIRE(receive(documents));
    submit();
  }
  std::string replies() {
    if (!session.commands().empty()) guard_.authenticator->complete(keys, submission.outcomes);
    session.reply(submission.outcomes);
    return std::exchange(session.output(), {});
  }
  // Returns all replies to these documents, sent together.
  std::string ask(const std::string& documents) {
    std::string all;
    for (bool batch = receive(documents); batch; batch = session.take_requests()) {
      submission.outcomes.clear();
      if (!session.commands().empty()) {
        submit();
        const bool submitted =
            submitted_->when([](const auto& known) { return known.has_value(); },
                             [](auto& known) { return std::exchange(known, {}).value(); });
        if (submitted) guard_.service.commit(guard_.service.next());
        submission.wait();
      }
      all += replies();
    }
    return all;
  }

  ProtocolLimits limits{.keys = true};
  XmlSession session{limits};
  KeyCheck keys;
  Waiting submission;

 private:
  // Thread: the authenticator's or the caller's.
  void checked() {
    const auto submitted = submitted_;  // a test may end once it is submitted, and destroy *this
    Submission* const one = &submission;
    submission.commands = keys.refused ? session.commands() : keys.accepted();
    const bool submits = !keys.refused && !submission.commands.empty();
    if (submits) {
      guard_.service.submit({&one, 1});
    } else {
      submission.refuse(keys.refused ? Reason::key_unchecked : Reason::operator_key);
      submission.completed({&one, 1});
    }
    submitted->with([&](auto& known) { known = submits; });
    submitted->notify();
  }
  Guard& guard_;
  // the batch of ask(), once its keys are checked
  std::shared_ptr<Guarded<std::optional<bool>>> submitted_ =
      std::make_shared<Guarded<std::optional<bool>>>();
};

inline std::string key_attribute(const std::string& key) {
  return key.empty() ? "" : " key='" + key + "'";
}
inline std::string creation(const std::string& content, const std::string& key = operator_key) {
  return framed("<create key=\"" + key + "\">" + content + "</create>");
}
inline std::string account(const std::string& id, const std::string& key) {
  return creation("<account id='" + id + "' balance='1000'" + key_attribute(key) + "/>");
}
inline std::string query(const std::string& id, const std::string& key) {
  return framed("<transactions id='" + id + "'" + key_attribute(key) +
                "><query id='9'/></transactions>");
}
inline const std::string created_1 = results(R"(<created id="1"/>)");
inline const std::string unknown = results(R"(<error id="9">unknown account</error>)");
// logged in
inline const std::string in = results(R"(<error id="9">no such order of this account</error>)");

}  // namespace exchange::testing
