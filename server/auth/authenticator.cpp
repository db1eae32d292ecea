#include "auth/authenticator.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <pthread.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <utility>

#include "auth/scrypt.hpp"
#include "base/ensure.hpp"
#include "engine/login_change.hpp"
#include "metrics/stages.hpp"

namespace exchange {
namespace {

const AccountId no_account("");  // no account has this id: the engine answers that it is unknown

using Digest = std::array<std::uint8_t, 32>;

// So that a connection that sends its key again and again pays for one hash. Of no use without the
// secret.
Digest quick_digest(const Digest& secret, std::string_view key) {
  Digest digest{};
  unsigned size = 0;
  const auto* const bytes = reinterpret_cast<const unsigned char*>(key.data());
  if (HMAC(EVP_sha256(), secret.data(), int(secret.size()), bytes, key.size(), digest.data(),
           &size) == nullptr ||
      size != digest.size())
    throw std::runtime_error("HMAC failed");
  return digest;
}

void wipe(std::string& key) {
  OPENSSL_cleanse(key.data(), key.size());
  key.clear();
}

// The commands that depend on a refused login are for no account.
void reject(std::span<Command> commands, const Credential& credential) {
  for (Command& command : commands.subspan(credential.first_command, credential.commands))
    std::visit(
        [](auto& of_account) {
          if constexpr (requires { of_account.account; })
            of_account.account = no_account;
          else
            ENSURE(false && "a command that depends on a login has an account");
        },
        command);
}

// The check may be gone, or in use again, before the call returns.
void finish(KeyCheck& check) {
  const auto on_done = std::move(check.on_done);
  on_done();
}

// They end the batch, and none of their keys is hashed.
void refuse_creations(KeyCheck& check) {
  check.creations_refused = check.credentials[check.checked].commands;
  for (Credential& credential : check.credentials.subspan(check.checked)) wipe(credential.key);
  check.checked = check.credentials.size();
}

// Nothing of the batch is executed.
void refuse(KeyCheck& check) {
  for (Credential& credential : check.credentials) wipe(credential.key);
  check.refused = true;
  finish(check);
}

}  // namespace

Authenticator::Authenticator(const AuthLimits& limits, KeyRing& keys, Metrics& metrics)
    : limits_(limits),
      keys_(keys),
      metrics_(metrics),
      waiting_(AddressQuota::unlimited, limits.checks_per_address_max) {
  if (RAND_bytes(secret_.data(), int(secret_.size())) != 1)
    throw std::runtime_error("no random bytes for the authenticator");
  dummy_ = hash_key(std::string_view(reinterpret_cast<const char*>(secret_.data()), secret_.size()),
                    limits.scrypt_log2_n);
  for (unsigned i = 0; i < limits.threads; ++i)
    threads_.emplace_back([this] {
      pthread_setname_np(pthread_self(), "keys");
      setpriority(PRIO_PROCESS, id_t(::gettid()), limits_.nice);  // of this thread alone, on Linux
      run();
    });
}

Authenticator::~Authenticator() { stop(); }

void Authenticator::stop() {
  queue_.with([](Queue& queue) { queue.stopping = true; });
  queue_.notify();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

// Goes past the keys that need no hash.
bool Authenticator::is_checked(KeyCheck& check) const {
  if (const std::uint64_t now = keys_.version(); check.key_version != now) {
    std::erase_if(check.logins,
                  [&](const auto& login) { return login.version != keys_.version(login.account); });
    check.key_version = now;
  }
  for (; check.checked < check.credentials.size(); ++check.checked) {
    Credential& credential = check.credentials[check.checked];
    if (credential.use == Credential::Use::create) return false;
    const auto login = std::find_if(check.logins.begin(), check.logins.end(), [&](const auto& one) {
      return one.account == credential.account;
    });
    if (login == check.logins.end()) return false;
    if (credential.use == Credential::Use::operate && !may_operate(credential.account))
      return false;
    if (credential.key.empty()) continue;
    const Digest digest = quick_digest(secret_, credential.key);
    if (CRYPTO_memcmp(digest.data(), login->digest.data(), digest.size()) != 0) return false;
    wipe(credential.key);
  }
  return true;
}

void Authenticator::check(KeyCheck& check) {
  Job job{&check, waiting_.take(check.address)};
  if (!job.share || !enqueue(job)) refuse(check);
}

// False, and the job is left as it is, if the authenticator stops.
bool Authenticator::enqueue(Job& job) {
  const bool accepted = queue_.with([&](Queue& queue) {
    if (queue.stopping) return false;
    const PeerAddress address = job.check->address;
    queue.jobs.push(address, std::move(job));
    Metrics::set(metrics_.key_queue_depth, queue.jobs.size());
    return true;
  });
  if (accepted) queue_.notify();
  return accepted;
}

void Authenticator::run() {
  while (true) {
    bool stopping = false;
    std::optional<Job> job =
        queue_.when([](const Queue& queue) { return !queue.jobs.empty() || queue.stopping; },
                    [&](Queue& queue) -> std::optional<Job> {
                      stopping = queue.stopping;
                      if (queue.jobs.empty()) return {};
                      std::optional<Job> next = queue.jobs.pop();
                      Metrics::set(metrics_.key_queue_depth, queue.jobs.size());
                      return next;
                    });
    if (!job) return;
    if (stopping)
      refuse(*job->check);
    else
      work(std::move(*job));
  }
}

// One hash, and then the next job in turn.
void Authenticator::work(Job job) {
  KeyCheck& check = *job.check;
  bool done = false;
  try {
    check_next(check);
    done = is_checked(check);
    if (!done && enqueue(job)) return;
  } catch (const std::exception& error) {  // no memory
    spdlog::error("a key could not be hashed: {}", error.what());
  }
  job.share = {};  // first: the connection may check its next keys at once
  if (done)
    finish(check);
  else
    refuse(check);
}

template <class Work>
auto Authenticator::timed(Work work) {
  const std::int64_t begin_ns = monotonic_ns();
  auto result = work();
  Metrics::add(metrics_.key_hashes);
  Metrics::add(metrics_.key_hash_us, std::uint64_t(monotonic_ns() - begin_ns) / 1'000);
  return result;
}

void Authenticator::check_next(KeyCheck& check) {
  Credential& credential = check.credentials[check.checked];
  if (credential.use == Credential::Use::create) {
    std::visit(
        [&](auto& command) {
          if constexpr (requires { command.key; }) {
            if (command.account == no_account) return;  // its login was refused
            command.key = timed([&] { return hash_key(credential.key, limits_.scrypt_log2_n); });
          }
        },
        check.commands[credential.first_command]);
  } else {
    const std::uint64_t version = keys_.version(credential.account);  // before its key is read
    const bool right = is_key_of(credential);
    // a request without a key, which its account may not make, changes no login
    if (!credential.key.empty())
      std::erase_if(check.logins,
                    [&](const auto& login) { return login.account == credential.account; });
    if (right) {
      if (check.logins.size() >= limits_.session_logins_max)
        check.logins.erase(check.logins.begin());
      check.logins.push_back({credential.account, quick_digest(secret_, credential.key), version});
    } else if (credential.use == Credential::Use::operate) {
      return refuse_creations(check);
    } else {
      reject(check.commands, credential);
    }
  }
  wipe(credential.key);
  ++check.checked;
}

bool Authenticator::is_key_of(const Credential& credential) {
  std::optional<KeyHash> hash = keys_.find(credential.account);
  if (credential.hash != nullptr) hash = *credential.hash;
  if (hash && !hash->has_key()) hash.reset();
  const bool same = timed([&] { return is_hash_of(credential.key, hash ? *hash : dummy_); });
  const bool right =
      hash.has_value() & same &
      (credential.use != Credential::Use::operate || may_operate(credential.account));
  auto& logins =
      credential.use == Credential::Use::operate ? metrics_.operator_logins : metrics_.logins;
  Metrics::add(logins[right ? LoginResult::accepted : LoginResult::refused]);
  return right;
}

void Authenticator::complete(const KeyCheck& check, std::vector<Outcome>& outcomes) {
  outcomes.resize(outcomes.size() + check.creations_refused, Rejected{Reason::operator_key});
  ENSURE(outcomes.size() >= check.commands.size());
  for (std::size_t i = 0; i < check.commands.size(); ++i)
    if (std::holds_alternative<Created>(outcomes[i]))
      if (const auto change = login_change_of(check.commands[i])) keys_.change(*change);
}

bool Authenticator::may_operate(const AccountId& account) const {
  return account == operator_id || keys_.is_operator(account);
}

}  // namespace exchange
