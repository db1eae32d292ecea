// The operator's commands: creations, symbols, accounts, rounds, days.

#include <unistd.h>

#include <cmath>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/key_file.hpp"
#include "client/cli/step.hpp"

namespace exchange::cli {
namespace {

// Reads the scenario from a file; returns nothing if `file` is empty. Called before the day is
// closed, so that an invalid scenario closes nothing.
std::string scenario_document(const std::string& file, const std::string& key) try {
  if (file.empty()) return {};
  std::ostringstream text;
  std::ifstream in(file);
  if (!(text << in.rdbuf())) throw UsageError("it cannot be read, or is empty");
  return write_scenario(text.str(), key);
} catch (const UsageError& error) {
  throw UsageError("scenario " + file + ": " + error.what());
}

// Returns a key of 192 random bits.
std::string made_key() {
  unsigned char bytes[24];
  if (::getentropy(bytes, sizeof bytes) != 0)
    throw std::runtime_error("the system gives no random bytes for a key");
  std::string key;
  for (const unsigned char byte : bytes)
    for (const int digit : {byte >> 4, byte & 15}) key += "0123456789abcdef"[digit];
  return key;
}

}  // namespace

void Runner::Step::operator()(const NewAccount& created) {
  const Sender by = sender();
  const std::string key = !created.key_file.empty() ? key_of(created.key_file, created.account)
                          : by.account.empty()      ? settings.key
                                                    : "";  // the key of the sender
  const Results results = change(write_document(created, key, by), 1);
  if (!accepted<Created>(results.front(), "account " + created.account)) return;
  runner.accounts_seen_.insert(created.account);
  say("account " + created.account + ": created with balance " + created.balance);
}

void Runner::Step::operator()(const NewSymbol& created) {
  const Results results =
      change(write_document(created, sender()), std::max<std::size_t>(1, created.holdings.size()));
  const std::string what = "symbol " + created.symbol;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const NewSymbol::Holding* const holding =
        created.holdings.empty() ? nullptr : &created.holdings[i];
    if (!accepted<Created>(results[i],
                           holding == nullptr ? what : what + ", account " + holding->account))
      continue;
    runner.symbols_seen_.insert(created.symbol);
    say(what + (holding == nullptr
                    ? ": created"
                    : ": account " + holding->account + " got " + holding->shares + " shares"));
  }
}

void Runner::Step::operator()(const SetRules& set) {
  shown_by = "symbols";
  const Results results =
      change(write_document(set, sender()), std::max<std::size_t>(1, set.trading.size()));
  const Uncrossed* auction = nullptr;
  for (const client::ReplyOutcome& result : results)
    if (const auto* uncrossed = std::get_if<Uncrossed>(&result))
      auction = uncrossed;
    else if (!accepted<Created>(result, named(set)))
      return;
  if (set.symbol) runner.symbols_seen_.insert(*set.symbol);
  say(sentence(set, auction));
}

Sender Runner::Step::sender() const {
  if (!settings.operator_key_file.empty()) return {read_key_file(settings.operator_key_file).key};
  if (!settings.operator_key.empty()) return {settings.operator_key};
  if (settings.account.empty() || settings.key.empty()) return {};
  return {settings.key, settings.account};
}

std::string Runner::Step::key_of(const std::string& file, const std::string& account) const {
  if (file != "-") return read_key_file(file).key;
  const auto ask = [&](const std::string& prompt) {
    std::string typed = runner.console_.secret(prompt);
    if (runner.stop_) throw client::Interrupted();
    return typed;
  };
  const std::string key = ask("key of account " + account + ": ");
  if (ask("the same key again: ") != key) throw UsageError("the keys differ");
  return key;
}

void Runner::Step::operator()(const NewKey& wanted) {
  shown_by = "";
  const Sender by = wanted.account ? sender() : Sender{settings.key, account()};
  const std::string& owner = wanted.account ? *wanted.account : by.account;
  const bool made = wanted.file.empty();
  const std::string key = made ? made_key() : key_of(wanted.file, owner);
  const std::string document = write_document(wanted, key, by);
  // Prints the key before it is sent: if no reply comes, it may be the account's key, and it is
  // stored nowhere else.
  if (made) out << "new key of account " << owner << ", shown only now: " << key << std::endl;
  if (!accepted<Created>(change(document, 1).front(), "account " + owner)) return;
  runner.accounts_seen_.insert(owner);
  if (owner == runner.settings_.account) runner.settings_.key = key;
  say("account " + owner + ": key changed");
}

void Runner::Step::operator()(const RevokedKey& revoked) {
  shown_by = "";
  const Results results = change(write_document(revoked, sender()), 1);
  if (accepted<Created>(results.front(), "account " + revoked.account))
    say("account " + revoked.account + ": key revoked");
}

void Runner::Step::operator()(const AccountChange& wanted) {
  shown_by = "";
  const Results results = change(write_document(wanted, sender()), 1);
  if (!accepted<Created>(results.front(), "account " + wanted.account)) return;
  runner.accounts_seen_.insert(wanted.account);
  say(sentence(wanted));
}

void Runner::Step::operator()(const Adjustment& adjustment) {
  shown_by = "--account " + adjustment.account + " status";
  const Results results = change(write_document(adjustment, sender()), 1);
  if (!accepted<Created>(results.front(), "account " + adjustment.account)) return;
  runner.accounts_seen_.insert(adjustment.account);
  say(sentence(adjustment));
}

void Runner::Step::operator()(const NewRound& round) {
  shown_by = "leaderboard";
  const Results results = change(write_document(round, sender()), 1);
  if (accepted<Created>(results.front(), "round " + round.name))
    say("round " + round.name + ": begun");
}

bool Runner::Step::day_has_begun() const {
  const auto batch = committed_batch();
  if (!batch) throw client::BadReply("/metrics has no exchange_journal_batch");
  return *batch > 0;
}

std::optional<Runner::Step::ClosedDay> Runner::Step::close(const std::string& day,
                                                           const std::string& key) {
  const auto end = std::chrono::steady_clock::now() +
                   std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                       std::chrono::duration<double>(settings.timeout_s));
  bool is_checked = false;  // the operator's key
  for (bool asked = false;; asked = true) {
    HttpReply reply;
    try {
      reply = http_post(settings.http_address(), "/api/admin/new-day", Json{{"day", day}}.dump(),
                        key, settings.timeout_s, runner.stop_, settings.security);
    } catch (const client::NoReply&) {
    } catch (const client::Unreachable&) {
      if (!asked) throw;
    }
    const Json json = Json::parse(reply.body, nullptr, false);
    if (reply.status == 200) return ClosedDay{!asked, text_field(json, "store")};
    is_checked |= reply.status == 202;
    const bool is_unchecked =
        json.is_object() && json.contains("code") && json["code"] == to_code(Reason::key_unchecked);
    const bool is_coming =
        reply.status == 0 || reply.status == 202 || is_unchecked || (reply.status == 503 && asked);
    if (!is_coming) {
      if (!json.is_object() || !json.contains("error"))
        throw client::BadReply("HTTP status " + std::to_string(reply.status) + " of " +
                               settings.http_address() + "/api/admin/new-day");
      status = runner.fail("day " + day + ": " + text_field(json, "error"), exit_refused);
      return {};
    }
    if (std::chrono::steady_clock::now() > end) {
      status = runner.fail(
          "day " + day +
              (is_checked ? ": the server has not closed it yet; its log says why. Run the command "
                            "again"
                          : ": the server has not answered: it may not have checked the operator's "
                            "key yet, behind other logins. Run the command again, with more time: "
                            "--timeout " +
                                std::to_string(std::lround(std::ceil(2 * settings.timeout_s)))),
          exit_unreachable);
      return {};
    }
    std::this_thread::sleep_for(new_day_pause);
    if (runner.stop_) throw client::Interrupted();
  }
}

// After an interruption, the same command continues where it stopped: a closed day stays closed,
// and the scenario is one request, which is executed as a whole or not at all.
void Runner::Step::operator()(const NewDay& ended) {
  const Sender by = sender();
  if (by.key.empty() || !by.account.empty())  // no account remains on the next day
    throw UsageError("'admin new-day' needs the operator's key: --operator-key-file FILE");
  const std::string document = scenario_document(ended.scenario, by.key);
  const std::optional<ClosedDay> closed = close(ended.day, by.key);
  if (!closed) return;
  if (closed->before && day_has_begun()) {
    status = runner.fail("day " + ended.day + ": it was closed before, as " + closed->store +
                             ", and the next day has begun: nothing was done",
                         exit_refused);
    return;
  }
  say("day " + ended.day + ": closed as " + closed->store);
  if (document.empty()) return;
  shown_by = "symbols";
  const Results results = change(document, client::any_number);
  std::size_t created = 0;
  for (const client::ReplyOutcome& result : results)
    created += accepted<Created>(result, "scenario " + ended.scenario) != nullptr;
  say("scenario " + ended.scenario + ": " + std::to_string(created) + " of " +
      std::to_string(results.size()) + " created");
}

}  // namespace exchange::cli
