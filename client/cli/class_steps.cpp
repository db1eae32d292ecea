// The class commands. The state of a class is in the exchange, and its keys are in the folder, so
// each command checks what is done already and does the rest: after an interruption, run it again.

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <map>
#include <random>
#include <set>

#include "client/classroom/background.hpp"
#include "client/classroom/bot_floor.hpp"
#include "client/cli/scenario_check.hpp"
#include "client/cli/step.hpp"
#include "client/connection/command_line.hpp"
#include "client/connection/servers.hpp"

namespace exchange::cli {
namespace {

using namespace classroom;

constexpr double bots_stop_s = 30;  // longer than the timeout of one reply and of a cancel after it
// A server of version 1.0.0 needs one hash for each account: about 50 ms, but seconds on a busy
// machine.
constexpr std::size_t accounts_per_request = 4;
constexpr std::size_t gifts_per_request = 2'000;  // about 200 bytes each, of at most 1 MiB
constexpr std::size_t keys_tried_max = 10;
constexpr std::size_t rounds_kept = 100;  // the server keeps this many ended rounds
constexpr const char *bots_lock = "bots.lock", *bots_log = "bots.log";
// Uses the key in the folder, unless another one is given.
Settings with_operator(Settings settings, const ClassFolder& folder) {
  settings.account.clear();
  settings.key.clear();
  if (settings.operator_key_file.empty() && settings.operator_key.empty())
    settings.operator_key_file = folder.operator_key_file();
  return settings;
}

std::string count(std::size_t number, const std::string& noun) {
  return std::to_string(number) + " " + noun + (number == 1 ? "" : "s");
}

std::string port_of(const std::string& servers) {
  const std::string first = client::split_addresses(servers).front();
  return first.substr(first.rfind(':') + 1);
}

// Quotes a text as one word of a shell.
std::string quoted(const std::string& text) {
  constexpr std::string_view plain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./:=@%+,-";
  if (text.find_first_not_of(plain) == std::string::npos) return text;
  std::string word = "'";
  for (const char one : text) word += one == '\'' ? "'\\''" : std::string(1, one);
  return word + "'";
}

// If a reply does not come, reports that the command of the class may be run again.
template <class Work>
void resumable(Work work) try {
  work();
} catch (const client::NoReply& error) {
  throw client::NoReply(std::string(error.what()) +
                        "\nRun the command again: it goes on where it stopped.");
}

std::string trading_of(const Json& symbol) {
  return symbol.contains("trading") ? text_field(symbol, "trading") : "open";
}

}  // namespace

class Runner::Step::OfClass {
 public:
  enum class Does { look, change };
  OfClass(Step& of, const std::string& folder, Does does = Does::change) try
      : of_(of),
        folder_(folder),
        scenario_(folder_.scenario()),
        students_(folder_.students(scenario_)),
        bots_(folder_.bots(scenario_)),
        settings_(with_operator(of.settings, folder_)) {
    step_.as_operator = true;
    if (does == Does::change) lock_ = folder_.locked();
  } catch (const std::invalid_argument& error) {
    throw UsageError(printable(error.what()));
  }
  ~OfClass() { of_.status = step_.status; }
  OfClass(const OfClass&) = delete;

  const ClassFolder& folder() const { return folder_; }
  const Scenario& scenario() const { return scenario_; }
  Step& step() { return step_; }
  void say(const std::string& text) { of_.say(text); }
  std::string size() const {
    return count(students_.size(), "student") + ", " + count(bots_.size(), "bot");
  }
  std::string start_of_server() const {
    const Settings usual;
    std::string ports;
    const auto add = [&](const char* option, const std::string& servers, const std::string& one) {
      if (port_of(servers) != port_of(one)) ports += std::string(option) + port_of(servers);
    };
    add(" --port ", settings_.connect, usual.connect);
    add(" --http-port ", settings_.http_address(), usual.http_address());
    return "exchange-server --auth --operator-key-file " + quoted(settings_.operator_key_file) +
           ports + " --keep-journal" +
           (scenario_.timetable.empty() ? ""
                                        : " --timetable " + quoted(folder_.file("timetable"))) +
           " --store " + quoted("sqlite:" + folder_.file("exchange.db"));
  }

  // Creates the instruments and accounts that the exchange does not have, with their initial cash
  // and shares. After an error, shows it and returns false.
  bool populate() {
    if (!create_instruments()) return false;
    std::vector<const Member*> known, unknown, lacking;
    for_each_member([&](const Member& one) {
      const std::optional<Json> account = account_of(one);
      (account ? known : unknown).push_back(&one);
      if (!gifts_missing(one, account).empty()) lacking.push_back(&one);
    });
    if (!known.empty() && !has_key_of_one(known)) return false;
    if (!create_accounts(unknown)) return false;
    if (!unknown.empty()) say(count(unknown.size(), "account") + " created");
    return lacking.empty() || give_shares(lacking, unknown);
  }

  // Changes each instrument whose trading differs. After an error, shows it and returns false.
  bool set_trading(const std::string& wanted) {
    has_changed_ = false;
    const std::optional<Json> json = symbols();
    if (!json) return false;
    for (const auto& instrument : scenario_.instruments) {
      const Json* const symbol = find(*json, instrument.symbol);
      if (symbol == nullptr || trading_of(*symbol) == wanted) continue;
      step_(SetRules{instrument.symbol, {}, {wanted}});
      if (step_.status != exit_ok) return false;
    }
    return true;
  }
  // After an error, shows it and returns nothing.
  std::optional<Json> symbols() {
    step_.catch_up();
    return step_.answer("/api/symbols", {}, {{"symbols", "next", "after"}});
  }

  std::optional<Json> leaderboard(std::uint64_t round) {
    return step_.answer("/api/leaderboard?ids=true" +
                        (round == 0 ? "" : "&round=" + std::to_string(round)));
  }
  // Begins a round, unless the newest has this name, or no name is given and there is a round.
  bool begin_round(const std::string& name) {
    const std::optional<Json> board = leaderboard(0);
    if (!board) return false;
    const std::vector<Json>& rounds = list_field(*board, "rounds");
    if (!rounds.empty() && (name.empty() || text_field(rounds.back(), "name") == name)) return true;
    has_changed_ = false;
    step_(NewRound{name.empty() ? "first" : name});
    return step_.status == exit_ok;
  }
  // After an error, shows it and returns nothing.
  std::optional<bool> has_begun() {
    const std::optional<Json> board = leaderboard(0);
    if (!board) return {};
    return !list_field(*board, "rounds").empty();
  }
  // Whether the exchange has a closed day of this name.
  bool has_day(const std::string& day) {
    const std::optional<Json> days = step_.answer("/api/days");
    if (!days) return false;
    const std::vector<Json>& all = list_field(*days, "days");
    return std::any_of(all.begin(), all.end(),
                       [&](const Json& one) { return text_field(one, "day") == day; });
  }

  void start_bots() {
    if (bots_.empty()) return;
    of_.out.flush();
    std::random_device random;
    const FloorOptions options{.http = settings_.http_address(),
                               .security = settings_.security,
                               .seed = random(),
                               .log = [](const std::string& line) {
                                 std::fprintf(stderr, "%s %s\n",
                                              local_time(std::time(nullptr)).c_str(), line.c_str());
                               }};
    const auto process = start_in_background(folder_.file(bots_lock), folder_.file(bots_log), [&] {
      client::stop_on_signals();
      BotFloor(bots_, options, client::stop_flag()).run();
    });
    say(process ? count(bots_.size(), "bot") + " trade, as process " + std::to_string(*process) +
                      ": " + folder_.file(bots_log)
                : "the bots trade already");
  }
  bool stop_bots() {
    const bool any = background_process(folder_.file(bots_lock)).has_value();
    if (!stop_background(folder_.file(bots_lock), bots_stop_s)) {
      step_.status =
          of_.runner.fail("the bots have not ended yet: " + folder_.file(bots_log), exit_refused);
      return false;
    }
    if (any) say("the bots have ended");
    return true;
  }
  // The order matters: without the bots a few orders could set the prices at which shares are
  // valued. The bots also end if the exchange cannot be reached.
  bool halt_and_stop_bots() {
    bool halted = false;
    try {
      halted = set_trading("halted");
    } catch (const std::runtime_error&) {
      stop_bots();
      throw;
    }
    return stop_bots() && halted;
  }
  std::string bots_text() const {
    if (bots_.empty()) return "none";
    const auto process = background_process(folder_.file(bots_lock));
    if (!process) return "not running; 'class start' starts them";
    return count(bots_.size(), "bot") +
           (*process > 0 ? ", process " + std::to_string(*process) : "");
  }
  // Whether a student has this account.
  bool is_student(const std::string& account) const {
    return std::any_of(students_.begin(), students_.end(),
                       [&](const Member& one) { return one.account == account; });
  }
  std::size_t students() const { return students_.size(); }
  std::optional<ClosedDay> close(const std::string& day) {
    return step_.close(day, step_.sender().key);
  }

 private:
  // Calls `each` on parts of at most `most` items. Stops and returns false once `each` does.
  template <class Item, class Each>
  static bool in_parts(std::span<Item> all, std::size_t most, Each each) {
    for (; !all.empty(); all = all.subspan(std::min(most, all.size())))
      if (!each(all.first(std::min(most, all.size())))) return false;
    return true;
  }
  template <class Visit>
  void for_each_member(Visit visit) const {
    for (const Bot& bot : bots_) visit(bot);
    for (const Member& student : students_) visit(student);
  }
  bool create_accounts(const std::vector<const Member*>& members) {
    std::size_t done = 0;
    return in_parts(Members(members), accounts_per_request, [&](Members part) {
      done += part.size();
      if (of_.runner.console_.live)
        step_.out << "\raccounts: " << done << " of " << members.size()
                  << (done < members.size() ? "" : "\n") << std::flush;
      return change(accounts_of(part));
    });
  }
  // Returns the shares of the scenario that the account was not given yet. An account that was
  // given shares of a symbol has a position in it until the day ends, even if it has sold them.
  static std::vector<Gift> gifts_missing(const Member& member, const std::optional<Json>& account) {
    std::set<std::string> positions;
    if (account)
      for (const Json& one : list_field(*account, "positions"))
        positions.insert(text_field(one, "symbol"));
    std::vector<Gift> gifts;
    for (const auto& [symbol, shares] : member.start.shares)
      if (parse_shares(shares).value > Shares() && !positions.contains(symbol))
        gifts.push_back({member.account, symbol, shares});
    return gifts;
  }
  // Gives each share only once, even if a killed command has sent a gift that is executed only now:
  // it reads positions after a request that the exchange executes after everything received before,
  // and the gifts follow on the same connection, which need not log in again.
  bool give_shares(const std::vector<const Member*>& lacking,
                   const std::vector<const Member*>& created) {
    const std::string& symbol = scenario_.instruments.front().symbol;  // it exists
    if (!change("<create><symbol sym=\"" + symbol + "\"/></create>") || !shows_all()) return false;
    std::vector<Gift> gifts;
    std::size_t known = 0;
    for (const Member* one : lacking) {
      const std::vector<Gift> missing = gifts_missing(*one, account_of(*one));
      gifts.insert(gifts.end(), missing.begin(), missing.end());
      known += !missing.empty() && std::find(created.begin(), created.end(), one) == created.end();
    }
    if (!in_parts(std::span<const Gift>(gifts), gifts_per_request,
                  [&](std::span<const Gift> part) { return change(gifts_of(part)); }))
      return false;
    if (known > 0) say(count(known, "account") + " of before got shares that were missing");
    return true;
  }
  // Waits until the HTTP port shows everything that is committed now. After an error, shows it and
  // returns false.
  bool shows_all() {
    if (!step_.committed_batch()) throw client::BadReply("/metrics has no exchange_journal_batch");
    const auto end = std::chrono::steady_clock::now() +
                     std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                         std::chrono::duration<double>(settings_.timeout_s));
    while (!step_.catch_up())
      if (std::chrono::steady_clock::now() > end) {
        step_.status = of_.runner.fail(
            "the exchange does not show yet which shares were given: run the command again",
            exit_unreachable);
        return false;
      }
    return true;
  }
  // If an account exists already, this command created it before it was interrupted. After the
  // first request the others follow on its connection.
  bool change(const std::string& document) {
    const auto kind =
        std::exchange(has_changed_, true) ? XmlPort::Kind::following_change : XmlPort::Kind::change;
    const Results results =
        step_.change(document_of_scenario(document, step_.sender().key), client::any_number, kind);
    for (const client::ReplyOutcome& result : results) {
      const auto* error = std::get_if<client::ErrorElement>(&result);
      if (error != nullptr && error->message == describe(Reason::account_exists)) continue;
      if (step_.accepted<Created>(result, "class " + scenario_.name) == nullptr) return false;
    }
    return true;
  }
  [[noreturn]] void unanswered(const HttpReply& reply, const std::string& account) const {
    const Json json = Json::parse(reply.body, nullptr, false);
    if (reply.status == 503 && json.is_object() && json.contains("error"))
      throw client::NoReply(settings_.http_address() + ": " + text_field(json, "error"));
    throw client::BadReply("HTTP status " + std::to_string(reply.status) + " of account " +
                           account);
  }
  // Returns the account as the operator sees it, with all positions, over one connection, which
  // costs the server one hash. Returns nothing if the exchange does not have it.
  std::optional<Json> account_of(const Member& member) {
    const auto page = [&](const std::string& query) -> std::optional<Json> {
      const Sender by = step_.sender();
      if (!connection_ || connection_->has_ended())
        connection_.emplace(cli::connect(settings_.http_address(), "--http", settings_.timeout_s,
                                         of_.runner.stop_, settings_.security));
      const HttpReply reply =
          client::ask(*connection_, {.head = "GET /api/accounts/" + member.account + query,
                                     .fields = client::authorization(by.account, by.key),
                                     .keep_alive = true});
      if (reply.status == 404) return {};
      if (reply.status != 200) unanswered(reply, member.account);
      return parse_json(reply.body);
    };
    std::optional<Json> account = page("");
    if (!account) return {};
    while (const auto next = next_page(*account, positions_list)) {
      const std::optional<Json> more = page(*next);
      if (!more) break;
      add_page(*account, *more, positions_list);
    }
    return account;
  }
  // Whether the accounts belong to this class. Tries several: a student may have changed a key.
  bool has_key_of_one(const std::vector<const Member*>& known) {
    for (std::size_t i = 0; i < std::min(known.size(), keys_tried_max); ++i) {
      const Member& one = *known[i];
      const HttpReply reply =
          http_get(settings_.http_address(), "/api/accounts/" + one.account, settings_.timeout_s,
                   of_.runner.stop_, {one.account, one.key, settings_.security});
      if (reply.status == 200) return true;
      if (reply.status != 404) unanswered(reply, one.account);
    }
    step_.status = of_.runner.fail(
        "account " + known.front()->account + " exists already, with a key that " + folder_.path() +
            " does not have: 'admin new-day' closes the day of another class, or 'first-account' "
            "in the scenario leaves its accounts alone",
        exit_refused);
    return false;
  }
  static const Json* find(const Json& symbols, const std::string& symbol) {
    for (const Json& one : list_field(symbols, "symbols"))
      if (text_field(one, "symbol") == symbol) return &one;
    return nullptr;
  }
  // Creates the missing instruments. Also sends the rules of those that were not traded yet: the
  // exchange may have refused them when the symbols were created.
  bool create_instruments() {
    const std::optional<Json> json = symbols();
    if (!json) return false;
    std::vector<Scenario::Instrument> missing, unused;
    for (const auto& one : scenario_.instruments) {
      const Json* const symbol = find(*json, one.symbol);
      if (symbol == nullptr)
        missing.push_back(one);
      else if (number_field(*symbol, "trades") == 0 && !one.rules.empty())
        unused.push_back(one);
    }
    return (missing.empty() || change(instruments_of(missing))) &&
           (unused.empty() || change(rules_of(unused)));
  }

  Step& of_;
  const ClassFolder folder_;
  const Scenario scenario_;
  const std::vector<Member> students_;
  const std::vector<Bot> bots_;
  const Settings settings_;
  Step step_{of_.runner, settings_, of_.out};
  client::Descriptor lock_;                   // while the command changes the class
  bool has_changed_ = false;                  // a request was sent over the open connection
  std::optional<client::Stream> connection_;  // to the HTTP port
};

void Runner::Step::operator()(const InitClass& wanted) {
  ClassFolder folder(wanted.folder);
  Written written;
  try {
    written = folder.write({.roster = wanted.roster,
                            .scenario = wanted.scenario,
                            .page = (settings.security.tls ? "https://" : "http://") +
                                    client::split_addresses(settings.http_address()).front(),
                            .names = wanted.names,
                            .identity = wanted.identity,
                            .check = [&](const Scenario& scenario, std::size_t students) {
                              check_scenario(scenario, students, wanted.scenario);
                            }});
  } catch (const std::invalid_argument& error) {
    throw UsageError(printable(error.what()));
  }
  OfClass all(*this, wanted.folder);
  say("class " + printable(all.scenario().name) + ": " + all.size() + "; " +
      count(written.added, "student") + " new; keys and links in " + folder.file("keys.csv"));
  for (const std::string& remark : written.remarks) say(printable(remark));
  try {
    resumable([&] {
      if (all.populate()) say("the exchange is ready: 'exchange-cli class start' opens it");
    });
  } catch (const client::NoReply&) {
    throw;
  } catch (const client::Unreachable& error) {
    const std::string why = error.what();
    say(why.substr(0, why.find('\n')) + "\nIf the server does not run yet, start it:\n  " +
        all.start_of_server() +
        "\nthen 'exchange-cli class start' creates the accounts, and opens trading");
  }
}

void Runner::Step::operator()(const StartClass& wanted) {
  OfClass all(*this, wanted.folder);
  resumable([&] {
    if (!all.populate() || !all.begin_round(wanted.round)) return;
    if (all.scenario().timetable.empty()) {
      if (!all.set_trading("open")) return;
    } else {
      say("trading follows " + all.folder().file("timetable") +
          ", if the server was started with it");
    }
    all.start_bots();
  });
}

void Runner::Step::operator()(const PauseClass& wanted) {
  OfClass all(*this, wanted.folder);
  resumable([&] { all.set_trading("halted"); });
}

void Runner::Step::operator()(const StopClass& wanted) {
  OfClass all(*this, wanted.folder);
  resumable([&] { all.halt_and_stop_bots(); });
}

void Runner::Step::operator()(const NewClassDay& wanted) {
  OfClass all(*this, wanted.folder);
  resumable([&] {
    const bool is_over = all.has_day(wanted.day) && all.has_begun().value_or(false);
    if (all.step().status != exit_ok) return;
    if (is_over) {
      all.step().status = runner.fail("day " + wanted.day +
                                          " was closed before, and the next one has begun: "
                                          "'exchange-cli class start' creates what it lacks",
                                      exit_refused);
      return;
    }
    if (!all.halt_and_stop_bots()) return;
    const std::optional<ClosedDay> closed = all.close(wanted.day);
    if (!closed) return;
    say("day " + wanted.day + ": " + (closed->before ? "was closed before, as " : "closed as ") +
        closed->store);
    if (all.populate()) say("the next day is ready: 'exchange-cli class start' opens it");
  });
}

void Runner::Step::operator()(const ShowClass& wanted) {
  OfClass all(*this, wanted.folder, OfClass::Does::look);
  const std::optional<Json> symbols = all.symbols();
  const std::optional<Json> board = symbols ? all.leaderboard(0) : std::nullopt;
  if (!board) return;
  say("class " + printable(all.scenario().name) + ": " + all.size());
  const std::vector<Json>& rounds = list_field(*board, "rounds");
  say("round: " + (rounds.empty() ? "none yet" : text_field(rounds.back(), "name")));
  say("bots: " + all.bots_text());
  std::size_t traded = 0;
  for (const Json& one : list_field(*board, "standings"))
    traded += all.is_student(text_field(one, "account"));
  say("students who have traded: " + std::to_string(traded) + " of " +
      std::to_string(all.students()));
  Table table({"SYMBOL", "TRADING", ">BID", ">ASK", ">LAST", ">TRADES", ">ORDERS"},
              runner.console_.style);
  for (const Json& one : list_field(*symbols, "symbols"))
    table.add({text_field(one, "symbol"), trading_of(one), text_or_dash(one, "bid"),
               text_or_dash(one, "ask"), text_or_dash(one, "last"),
               std::to_string(number_field(one, "trades")),
               std::to_string(number_field(one, "open_orders"))});
  out << table.text();
}

// Writes one row for each student, as in the roster, with the results of all rounds and of each
// one.
void Runner::Step::operator()(const ExportClass& wanted) {
  OfClass all(*this, wanted.folder, OfClass::Does::look);
  catch_up();
  const std::optional<Json> board = all.leaderboard(0);
  if (!board) return;
  std::size_t account = 0;
  CsvTable table = all.folder().students_table(account);
  for (std::string& name : table.heading) name = harmless(name);
  for (CsvRow& row : table.rows)
    for (std::string& cell : row) cell = harmless(cell);
  const auto add = [&](const Json& standings, const std::string& name,
                       std::initializer_list<const char*> fields) {
    std::map<std::string, const Json*> of;
    for (const Json& one : list_field(standings, "standings"))
      of[text_field(one, "account")] = &one;
    for (const char* field : fields) table.heading.push_back(name + field);
    for (CsvRow& row : table.rows)
      for (const char* field : fields) {
        const auto found = of.find(row[account]);
        const Json none = field == std::string_view("rank") ? "" : "0";
        const Json value = found == of.end() ? none : (*found->second)[field];
        row.push_back(value.is_string() ? value.get<std::string>() : value.dump());
      }
  };
  add(*board, "", {"rank", "profit", "volume", "trades", "largest_position"});
  const std::vector<Json>& rounds = list_field(*board, "rounds");
  for (std::size_t i = rounds.size() - std::min(rounds.size(), rounds_kept); i < rounds.size();
       ++i) {
    const std::optional<Json> one =
        all.leaderboard(std::uint64_t(number_field(rounds[i], "round")));
    if (!one) return;
    add(*one, "round " + text_field(rounds[i], "name") + " ", {"profit"});
  }
  std::filesystem::create_directories(wanted.to);
  const std::string file = wanted.to + "/students.csv";
  write_private(file, to_csv(table));
  say(count(table.rows.size(), "student") + ": " + file);
}

}  // namespace exchange::cli
