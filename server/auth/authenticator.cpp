#include "auth/authenticator.hpp"

#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <poll.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <stdexcept>
#include <utility>

#include "auth/scrypt.hpp"
#include "base/ensure.hpp"
#include "base/log.hpp"
#include "engine/login_change.hpp"
#include "metrics/stages.hpp"

namespace exchange {
namespace {

const AccountId no_account("");  // no account has this id: the engine refuses it as unknown

enum class Peer { live, half_closed, gone };

// A client that has only closed its side may still wait for the reply.
Peer peer_of(int socket) {
  pollfd poll{.fd = socket, .events = POLLRDHUP, .revents = 0};
  if (socket < 0 || ::poll(&poll, 1, 0) <= 0) return Peer::live;
  if ((poll.revents & (POLLERR | POLLHUP | POLLNVAL)) != 0) return Peer::gone;
  return (poll.revents & POLLRDHUP) != 0 ? Peer::half_closed : Peer::live;
}

void wipe(std::string& key) {
  OPENSSL_cleanse(key.data(), key.size());
  key.clear();
}

// Redirects the commands that depend on a refused login to no_account.
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

// `check` may be destroyed, or in use again, before the call returns.
void finish(KeyCheck& check) {
  const auto on_done = std::move(check.on_done);
  on_done();
}

// Refuses the creations, which end the batch. None of their keys is hashed.
void refuse_creations(KeyCheck& check) {
  check.creations_refused = check.credentials[check.checked].commands;
  for (Credential& credential : check.credentials.subspan(check.checked)) wipe(credential.key);
  check.checked = check.credentials.size();
}

// Refuses the whole batch: none of it is executed.
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
  std::array<unsigned char, 32> random{};
  if (RAND_bytes(random.data(), int(random.size())) != 1)
    throw std::runtime_error("no random bytes for the authenticator");
  dummy_ = hash_key(std::string_view(reinterpret_cast<const char*>(random.data()), random.size()),
                    limits.scrypt_log2_n);
  for (unsigned i = 0; i < limits.threads; ++i)
    threads_.emplace_back([this, i] {
      pthread_setname_np(pthread_self(), "keys");
      // on Linux this sets the priority of this thread only
      if (i > 0) setpriority(PRIO_PROCESS, id_t(::gettid()), limits_.nice_of_others);
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

bool Authenticator::is_checked(KeyCheck& check) {
  if (const std::uint64_t now = keys_.version(); check.key_version != now) {
    std::erase_if(check.logins,
                  [&](const auto& login) { return login.version != keys_.version(login.account); });
    check.key_version = now;
  }
  while (check.checked < check.credentials.size())
    if (!has_login(check) && !check_without_hash(check, Lookup::if_alone)) return false;
  return true;
}

// Skips the next key if the connection already has its login.
bool Authenticator::has_login(KeyCheck& check) const {
  Credential& credential = check.credentials[check.checked];
  if (credential.use == Credential::Use::create) return false;
  const auto login = std::find_if(check.logins.begin(), check.logins.end(), [&](const auto& one) {
    return one.account == credential.account;
  });
  if (login == check.logins.end()) return false;
  if (credential.use == Credential::Use::operate && !may_operate(credential.account)) return false;
  if (!credential.key.empty() && !is_same(make_proof(credential.key), login->key)) return false;
  wipe(credential.key);
  ++check.checked;
  return true;
}

// Checks the next key if that needs no slow hash. `lookup` decides when a known key may be used.
bool Authenticator::check_without_hash(KeyCheck& check, Lookup lookup) {
  Credential& credential = check.credentials[check.checked];
  const bool creates = credential.use == Credential::Use::create;
  const bool generated = is_generated_key(credential.key);
  if (creates ? generated : credential.key.empty()) {
    check_next(check);
    return true;
  }
  if (creates) return false;
  const std::uint64_t version = keys_.version(credential.account);  // before its key is read
  const std::optional<KeyHash> hash = stored_hash(credential);
  if (generated && hash && is_quick(*hash) && is_hash_of(credential.key, *hash)) {
    decide(check, true, version);
    return true;
  }
  const std::optional<bool> known =
      keys_.known().find(make_proof(credential.account, hash.value_or(KeyHash{}), credential.key));
  if (!known || (*known && lookup == Lookup::if_alone && is_waiting(credential.account)))
    return false;
  decide(check, *known, version);
  return true;
}

bool Authenticator::is_waiting(const AccountId& account) {
  return queue_.with([&](const Queue& queue) { return queue.waiting.contains(account.view()); });
}

void Authenticator::check(KeyCheck& check) {
  Job job{&check, waiting_.take(check.address)};
  if (job.share ? !enqueue(job) : !displace(job)) refuse(check);
}

// Returns false, and leaves the job as it is, if the authenticator stops.
bool Authenticator::enqueue(Job& job) {
  const bool accepted = queue_.with([&](Queue& queue) {
    if (queue.stopping) return false;
    queue.push(std::move(job));
    Metrics::set(metrics_.key_queue_depth, queue.size());
    return true;
  });
  if (accepted) queue_.notify();
  return accepted;
}

// Called if the address already has its maximum of jobs. Refuses one of them in favour of `job`:
// the newest of a client that has closed its side, or else the newest of the account that has most.
// Returns false if it cannot refuse any.
bool Authenticator::displace(Job& job) {
  std::optional<Job> displaced = queue_.with([&](Queue& queue) -> std::optional<Job> {
    const PeerAddress& address = job.check->address;
    for (FairQueue<Job>* const jobs : {&queue.half_closed, &queue.live})
      if (!queue.stopping && jobs->contains(address)) {
        Job newest = jobs->pop_newest_of_longest(address);
        queue.forget(newest.check->credentials[newest.check->checked].account);
        return newest;
      }
    return {};
  });
  if (!displaced) return false;
  job.share = std::move(displaced->share);
  refuse(*displaced->check);
  return enqueue(job);
}

void Authenticator::Queue::push(Job job) {
  const KeyCheck& check = *job.check;
  const Credential& next = check.credentials[check.checked];
  std::size_t& of_account = waiting.try_emplace(std::string(next.account.view())).first->second;
  ++of_account;
  try {
    if (next.use == Credential::Use::create)
      creations.push(std::move(job));  // its login is checked
    else
      (job.is_half_closed ? half_closed : live)
          .push(check.address, next.account.view(), std::move(job));
  } catch (...) {  // no memory
    forget(next.account);
    throw;
  }
}

Authenticator::Job Authenticator::Queue::pop() {
  constexpr std::size_t half_closed_in = 8;  // they get at least each 8th turn
  if (!creations.empty()) return creations.pop();
  const bool is_their_turn = ++turn % half_closed_in == 0 && !half_closed.empty();
  return live.empty() || is_their_turn ? half_closed.pop() : live.pop();
}

void Authenticator::Queue::forget(const AccountId& account) {
  const auto entry = waiting.find(account.view());
  if (--entry->second == 0) waiting.erase(entry);
}

void Authenticator::run() {
  while (true) {
    bool stopping = false;
    std::optional<Job> job =
        queue_.when([](const Queue& queue) { return !queue.empty() || queue.stopping; },
                    [&](Queue& queue) -> std::optional<Job> {
                      stopping = queue.stopping;
                      if (queue.empty()) return {};
                      std::optional<Job> next = queue.pop();
                      Metrics::set(metrics_.key_queue_depth, queue.size());
                      return next;
                    });
    if (!job) return;
    if (stopping)
      refuse(*job->check);
    else
      work(std::move(*job));
  }
}

// Computes one hash, then lets the next job have its turn.
void Authenticator::work(Job job) {
  KeyCheck& check = *job.check;
  const AccountId account = check.credentials[check.checked].account;
  bool done = false;
  try {
    const bool goes_on = hash_one(job);
    queue_.with([&](Queue& queue) { queue.forget(account); });
    done = goes_on && is_checked(check);
    if (goes_on && !done && enqueue(job)) return;
  } catch (const std::exception& error) {  // no memory
    log_error("a key could not be checked: {}", error.what());
  }
  job.share = {};  // before the reply: the connection may check its next keys at once
  if (done)
    finish(check);
  else
    refuse(check);
}

// Checks the next key, unless the client must first wait behind those that are connected. Returns
// false if the client has disconnected, or the hash failed, such as for lack of memory.
bool Authenticator::hash_one(Job& job) try {
  KeyCheck& check = *job.check;
  const Peer peer = peer_of(check.socket);
  if (peer == Peer::gone) {
    Metrics::add(metrics_.key_checks_abandoned);
    return false;
  }
  const bool steps_back = peer == Peer::half_closed && !std::exchange(job.is_half_closed, true);
  if (!steps_back && !check_without_hash(check, Lookup::always)) check_next(check);
  return true;
} catch (const std::exception& error) {  // no memory
  log_error("a key could not be hashed: {}", error.what());
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

void Authenticator::check_next(KeyCheck& check) {
  Credential& credential = check.credentials[check.checked];
  if (credential.use != Credential::Use::create) {
    const std::uint64_t version = keys_.version(credential.account);  // before its key is read
    const bool right = credential.key.empty() ? is_trusted(check.address) : is_key_of(credential);
    return decide(check, right, version);
  }
  std::visit(
      [&](auto& command) {
        if constexpr (requires { command.key; }) {
          if (command.account == no_account) return;  // its login was refused
          const std::uint8_t cost = cost_for(credential.key, limits_.scrypt_log2_n);
          command.key = timed([&] { return hash_key(credential.key, cost); });
        }
      },
      check.commands[credential.first_command]);
  wipe(credential.key);
  ++check.checked;
}

// Records whether the next key, which is a login's, is right. `version` is that of its account when
// the key was compared.
void Authenticator::decide(KeyCheck& check, bool right, std::uint64_t version) {
  Credential& credential = check.credentials[check.checked];
  const bool operates = credential.use == Credential::Use::operate;
  right = right && (!operates || may_operate(credential.account));
  auto& logins = operates ? metrics_.operator_logins : metrics_.logins;
  Metrics::add(logins[right ? LoginResult::accepted : LoginResult::refused]);
  // a request without a key that its account may not make changes no login
  if (!credential.key.empty())
    std::erase_if(check.logins,
                  [&](const auto& login) { return login.account == credential.account; });
  if (right) {
    if (check.logins.size() >= limits_.session_logins_max) check.logins.erase(check.logins.begin());
    check.logins.push_back({credential.account, make_proof(credential.key), version});
  } else if (operates) {
    return refuse_creations(check);
  } else {
    reject(check.commands, credential);
  }
  wipe(credential.key);
  ++check.checked;
}

// Returns nothing for an account that does not exist or has no key.
std::optional<KeyHash> Authenticator::stored_hash(const Credential& credential) {
  if (credential.hash == nullptr) return keys_.find(credential.account);
  return credential.hash->has_key() ? std::optional(*credential.hash) : std::nullopt;
}

bool Authenticator::is_trusted(const PeerAddress& peer) const {
  return limits_.trusted_user && peer == peer_of_user(*limits_.trusted_user);
}

// Requires: a key.
bool Authenticator::is_key_of(const Credential& credential) {
  const std::optional<KeyHash> hash = stored_hash(credential);
  // A quick hash cannot be that of this key: check_without_hash() has compared them. A generated
  // key may have a slow hash from an older version, which had no quick hashes.
  const bool is_possible = hash && !is_quick(*hash);
  const bool same = timed([&] { return is_hash_of(credential.key, is_possible ? *hash : dummy_); });
  const bool right = is_possible & same;
  keys_.known().add(make_proof(credential.account, hash.value_or(KeyHash{}), credential.key),
                    right);
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
