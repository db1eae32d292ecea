// The operator's commands: creations, symbols, accounts, rounds, days.

#include <unistd.h>

#include <cmath>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/key_file.hpp"
#include "client/cli/step.hpp"
#include "client/cli/views.hpp"

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

// Returns the command that shows whether a change was executed; empty if it may be sent again.
std::string shown_by_command(const Change& change) {
  switch (change.kind) {
    case command_kind<CreateAccount>: return "status";
    case command_kind<SetInstrument>: return "symbols";
    case command_kind<BeginRound>: return "leaderboard";
    case command_kind<AdjustCash>:
    case command_kind<AdjustShares>: return "--account " + *find_typed(change, "id") + " status";
    default: return "";
  }
}

}  // namespace

void Runner::Step::operator()(const Change& typed) {
  Change sent = typed;
  shown_by = shown_by_command(sent);
  const Sender by = sender();
  if (sent.kind == command_kind<CreateAccount>) {
    const std::string key = !sent.key_file.empty() ? key_of(sent.key_file, *find_typed(sent, "id"))
                            : by.account.empty()   ? settings.key
                                                   : "";  // the key of the sender
    if (!key.empty()) sent.elements.front().push_back({"key", key});
  }
  const Results results = change(write_document(sent, by), sent.elements.size());
  const Uncrossed* auction = nullptr;
  for (const client::ReplyOutcome& result : results)
    if (const auto* uncrossed = std::get_if<Uncrossed>(&result))
      auction = uncrossed;
    else if (!accepted<Created>(result, named(sent)))
      return;
  if (const auto* account = find_typed(sent, "id")) runner.accounts_seen_.insert(*account);
  if (const auto* symbol = find_typed(sent, "sym")) runner.symbols_seen_.insert(*symbol);
  say(sentence(sent, auction));
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
  const Sender by = wanted.account ? sender() : own();
  const std::string& owner = wanted.account ? *wanted.account : by.account;
  const bool made = wanted.file.empty();
  const std::string key = made ? made_key() : key_of(wanted.file, owner);
  Change sent{command_kind<SetKey>, {{{"key", key}}}};
  if (wanted.account) sent.elements.front().push_back({"id", owner});
  const std::string document = write_document(sent, by);
  // Prints the key before it is sent: if no reply comes, it may be the account's key, and it is
  // stored nowhere else.
  if (made) out << "new key of account " << owner << ", shown only now: " << key << std::endl;
  if (!accepted<Created>(change(document, 1).front(), "account " + owner)) return;
  runner.accounts_seen_.insert(owner);
  if (owner == runner.settings_.account) runner.settings_.key = key;
  say("account " + owner + ": key changed");
}

bool Runner::Step::day_has_begun() const {
  const auto batch = committed_batch();
  if (!batch) throw client::BadReply("/metrics has no exchange_journal_batch");
  return *batch > 0;
}

std::optional<Runner::Step::ClosedDay> Runner::Step::close(const std::string& day,
                                                           const std::string& key) {
  const auto end =
      std::chrono::steady_clock::now() + std::chrono::duration<double>(settings.timeout_s);
  bool is_checked = false;  // the operator's key
  for (bool asked = false;; asked = true) {
    HttpReply reply;
    try {
      reply = ask_http(settings, "/api/admin/new-day", {key}, settings.timeout_s, runner.stop_,
                       Json{{"day", day}}.dump());
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
      fail("day " + day + ": " + text_field(json, "error"));
      return {};
    }
    if (std::chrono::steady_clock::now() > end) {
      fail(
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
    fail("day " + ended.day + ": it was closed before, as " + closed->store +
         ", and the next day has begun: nothing was done");
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
