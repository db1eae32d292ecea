// The operator's commands: creations, the rules of symbols and their trading, days.

#include <fstream>
#include <sstream>
#include <thread>

#include "base/key_file.hpp"
#include "client/cli/step.hpp"

namespace exchange::cli {
namespace {

// The scenario of a file; nothing if there is none. It is read before the day is closed, so that
// one that cannot be used closes nothing.
std::string scenario_document(const std::string& file, const std::string& key) try {
  if (file.empty()) return {};
  std::ostringstream text;
  std::ifstream in(file);
  if (!(text << in.rdbuf())) throw UsageError("it cannot be read, or is empty");
  return document_of_scenario(text.str(), key);
} catch (const UsageError& error) {
  throw UsageError("scenario " + file + ": " + error.what());
}

}  // namespace

void Runner::Step::operator()(const NewAccount& created) {
  const Results results = change(document_of(created, settings.key, operator_key()), 1);
  if (!accepted<Created>(results.front(), "account " + created.account)) return;
  runner.accounts_seen_.insert(created.account);
  say("account " + created.account + ": created with balance " + created.balance);
}

void Runner::Step::operator()(const NewSymbol& created) {
  const Results results = change(document_of(created, operator_key()),
                                 std::max<std::size_t>(1, created.holdings.size()));
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
      change(document_of(set, operator_key()), std::max<std::size_t>(1, set.trading.size()));
  const Uncrossed* auction = nullptr;
  for (const client::Result& result : results)
    if (const auto* uncrossed = std::get_if<Uncrossed>(&result))
      auction = uncrossed;
    else if (!accepted<Created>(result, named(set)))
      return;
  if (set.symbol) runner.symbols_seen_.insert(*set.symbol);
  say(sentence(set, auction));
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
    const bool is_coming =
        reply.status == 0 || reply.status == 202 || (reply.status == 503 && asked);
    if (!is_coming) {
      if (!json.is_object() || !json.contains("error"))
        throw client::BadReply("HTTP status " + std::to_string(reply.status) + " of " +
                               settings.http_address() + "/api/admin/new-day");
      status = runner.fail("day " + day + ": " + text_field(json, "error"), exit_refused);
      return {};
    }
    if (std::chrono::steady_clock::now() > end) {
      status = runner.fail("day " + day +
                               ": the server has not closed it yet; its log says why. "
                               "Run the command again",
                           exit_unreachable);
      return {};
    }
    std::this_thread::sleep_for(new_day_pause);
    if (runner.stop_) throw client::Interrupted();
  }
}

// If it was interrupted, the same command goes on where it stopped: a closed day stays closed,
// and the scenario, one request, is executed as a whole or not at all.
void Runner::Step::operator()(const NewDay& ended) {
  const std::string key = operator_key();
  if (key.empty()) throw UsageError("'admin' needs the operator's key: --operator-key-file FILE");
  const std::string document = scenario_document(ended.scenario, key);
  const std::optional<ClosedDay> closed = close(ended.day, key);
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
  for (const client::Result& result : results)
    created += accepted<Created>(result, "scenario " + ended.scenario) != nullptr;
  say("scenario " + ended.scenario + ": " + std::to_string(created) + " of " +
      std::to_string(results.size()) + " created");
}

}  // namespace exchange::cli
