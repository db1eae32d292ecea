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
#include <stdexcept>

#include "auth/scrypt.hpp"
#include "protocol/credentials.hpp"

namespace exchange {
namespace {

const AccountId no_account("");  // no account is called so, and the engine says that it is unknown

using Digest = std::array<std::uint8_t, 32>;

// So that a session that sends its key again and again pays for one hash. Of no use to who reads it
// without the secret.
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

auto find_login(Credentials& credentials, const AccountId& account) {
  return std::find_if(credentials.logins.begin(), credentials.logins.end(),
                      [&](const Credentials::Login& login) { return login.account == account; });
}

void wipe(std::string& key) {
  OPENSSL_cleanse(key.data(), key.size());
  key.clear();
}

// What stands on a refused login is for nobody's account.
void reject(Credentials& credentials, const Credential& credential) {
  for (Command& command :
       credentials.commands.subspan(credential.first_command, credential.commands)) {
    if (auto* const place = std::get_if<PlaceOrder>(&command))
      place->account = no_account;
    else if (auto* const cancel = std::get_if<CancelOrder>(&command))
      cancel->account = no_account;
    else
      std::get<QueryOrder>(command).account = no_account;
  }
}

}  // namespace

Authenticator::Authenticator(const AuthLimits& limits, KeyRing& keys, Service& core,
                             Metrics& metrics)
    : limits_(limits), keys_(keys), core_(core), metrics_(metrics) {
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

void Authenticator::submit(std::span<Submission* const> submissions) {
  std::vector<Submission*> free;
  for (Submission* submission : submissions) {
    Credentials& credentials = *submission->credentials;
    credentials.verified = 0;
    if (!needs_hash(credentials))
      free.push_back(submission);
    else if (!enqueue(credentials.peer, {.submission = submission}))
      refuse(*submission);
  }
  if (!free.empty()) core_.submit(free);
}

void Authenticator::check(const AccountId& account, std::string key, const Peer& peer,
                          OnChecked on_checked) {
  Job job{.question = Question{account, std::move(key), peer, on_checked}};
  if (!enqueue(peer, std::move(job))) on_checked({});
}

bool Authenticator::enqueue(const Peer& peer, Job job, bool again) {
  const bool taken = queue_.with([&](Queue& queue) {
    if (queue.stopping || (!again && queue.jobs.size_of(peer) >= limits_.waiting_per_peer_max))
      return false;
    queue.jobs.push(peer, std::move(job));
    Metrics::set(metrics_.key_queue_depth, queue.jobs.size());
    return true;
  });
  if (taken) queue_.notify();
  return taken;
}

void Authenticator::run() {
  while (true) {
    bool stopping = false;
    std::optional<Job> job =
        queue_.when([](const Queue& queue) { return !queue.jobs.empty() || queue.stopping; },
                    [&](Queue& queue) -> std::optional<Job> {
                      stopping = queue.stopping;
                      if (queue.jobs.empty()) return {};
                      Job next = queue.jobs.pop();
                      Metrics::set(metrics_.key_queue_depth, queue.jobs.size());
                      return next;
                    });
    if (!job) return;
    if (stopping)
      refuse(std::move(*job));
    else
      work(std::move(*job));
  }
}

// One hash, and then the next in turn.
void Authenticator::work(Job job) {
  try {
    if (job.question) {
      Question& question = *job.question;
      const bool right = is_key_of(question.account, question.key);
      wipe(question.key);
      question.on_checked(right);
      return;
    }
    Credentials& credentials = *job.submission->credentials;
    verify_next(credentials);
    if (!needs_hash(credentials)) return pass(*job.submission);
    if (enqueue(credentials.peer, {.submission = job.submission}, true)) return;
  } catch (const std::exception& error) {  // no memory
    spdlog::error("a key could not be hashed: {}", error.what());
  }
  refuse(std::move(job));
}

void Authenticator::refuse(Job job) {
  if (job.question)
    job.question->on_checked({});
  else
    refuse(*job.submission);
}

// Without asking the core: nothing of the request batch is executed.
void Authenticator::refuse(Submission& submission) {
  for (Credential& credential : submission.credentials->batch) wipe(credential.key);
  submission.outcomes.assign(submission.commands.size(), Rejected{Reason::key_unchecked});
  for (const Stage stage : {Stage::queue, Stage::apply, Stage::commit})
    submission.stamps.end(stage);
  Submission* const one = &submission;
  submission.sink->completed({&one, 1});
}

// Goes past what needs none.
bool Authenticator::needs_hash(Credentials& credentials) const {
  for (; credentials.verified < credentials.batch.size(); ++credentials.verified) {
    Credential& credential = credentials.batch[credentials.verified];
    if (credential.use == Credential::Use::create) return true;
    const auto login = find_login(credentials, credential.account);
    if (login == credentials.logins.end()) return true;
    if (credential.key.empty()) continue;
    const Digest digest = quick_digest(secret_, credential.key);
    if (CRYPTO_memcmp(digest.data(), login->digest.data(), digest.size()) != 0) return true;
    wipe(credential.key);
  }
  return false;
}

template <class Work>
auto Authenticator::timed(Work work) {
  const std::int64_t begin_ns = monotonic_ns();
  auto result = work();
  Metrics::add(metrics_.key_hashes);
  Metrics::add(metrics_.key_hash_us, std::uint64_t(monotonic_ns() - begin_ns) / 1'000);
  return result;
}

void Authenticator::verify_next(Credentials& credentials) {
  Credential& credential = credentials.batch[credentials.verified];
  if (credential.use == Credential::Use::create) {
    auto& command = std::get<CreateAccount>(credentials.commands[credential.first_command]);
    command.key = timed([&] { return hash_key(credential.key, limits_.scrypt_log2_n); });
  } else {
    const bool right = is_key_of(credential.account, credential.key);
    std::erase_if(credentials.logins, [&](const Credentials::Login& login) {
      return login.account == credential.account;
    });
    if (right) {
      if (credentials.logins.size() >= limits_.session_logins_max)
        credentials.logins.erase(credentials.logins.begin());
      credentials.logins.push_back({credential.account, quick_digest(secret_, credential.key)});
    } else {
      reject(credentials, credential);
    }
  }
  wipe(credential.key);
  ++credentials.verified;
}

bool Authenticator::is_key_of(const AccountId& account, std::string_view key) {
  const std::optional<KeyHash> hash = keys_.find(account);
  const bool same = timed([&] { return is_hash_of(key, hash ? *hash : dummy_); });
  const bool right = hash.has_value() & same;
  Metrics::add(right ? metrics_.logins_accepted : metrics_.logins_refused);
  return right;
}

void Authenticator::pass(Submission& submission) {
  if (submission.credentials->creates()) {
    creating_.with([&](auto& creating) { creating[&submission] = submission.sink; });
    submission.sink = this;
  }
  Submission* const one = &submission;
  core_.submit({&one, 1});
}

// Core threads, after the commit and before the client hears of it.
void Authenticator::completed(std::span<Submission* const> submissions) {
  for (Submission* submission : submissions) {
    for (const Credential& credential : submission->credentials->batch) {
      if (credential.use != Credential::Use::create) continue;
      if (std::holds_alternative<Created>(submission->outcomes[credential.first_command]))
        keys_.add(credential.account,
                  std::get<CreateAccount>(submission->commands[credential.first_command]).key);
    }
    submission->sink =
        creating_.with([&](auto& creating) { return creating.extract(submission).mapped(); });
    submission->sink->completed({&submission, 1});
  }
}

}  // namespace exchange
