// The commands of a class. Its state is in the exchange, and the folder has its keys, so each
// command asks what is done already, and does the rest: after an interruption, run it again.

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <sstream>

#include "client/classroom/background.hpp"
#include "client/classroom/bot_floor.hpp"
#include "client/cli/step.hpp"
#include "client/connection/command_line.hpp"

namespace exchange::cli {
namespace {

using namespace classroom;

constexpr double bots_stop_s = 30;  // longer than a reply that does not come, and then a cancel
constexpr std::size_t accounts_per_request = 16;     // each takes the server a hash, some 50 ms
constexpr std::size_t elements_per_request = 2'000;  // some 200 bytes each, of at most 1 MiB
constexpr std::size_t keys_tried_max = 10;
constexpr std::size_t rounds_kept = 100;  // by the server, of those that are over
constexpr const char *bots_lock = "bots.lock", *bots_log = "bots.log", *class_lock = "class.lock";

// With the key that the folder has, unless another one is given.
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

// What the server would refuse of this scenario, before anything is written.
void check_scenario(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  const Scenario scenario = parse_scenario(text.str(), file);
  const auto check = [](const Start& start, const Attributes& limits) {
    const Member one{.account = "1", .key = "some key", .start = start, .limits = limits};
    const Member* const members[]{&one};
    document_of_scenario(accounts_of(members), {});
    document_of_scenario(shares_of(members), {});
  };
  try {
    document_of_scenario(instruments_of(scenario.instruments), {});
    check(scenario.student, scenario.limits);
    for (const Scenario::Bots& bots : scenario.bots) check(bots.start, {});
  } catch (const UsageError& error) {
    throw UsageError(file + ": " + error.what());
  }
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
    if (does == Does::change && !(lock_ = lock(folder_.file(class_lock))))
      throw UsageError("another command changes the class in " + folder + " now");
  } catch (const std::invalid_argument& error) {
    throw UsageError(error.what());
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
    return "exchange-server --auth --operator-key-file " + settings_.operator_key_file +
           " --keep-journal" +
           (scenario_.timetable.empty() ? "" : " --timetable " + folder_.file("timetable")) +
           " --store sqlite:" + folder_.file("exchange.db");
  }

  // Instruments and accounts that the exchange does not have, and what they begin with. False after
  // an error, which was shown.
  bool populate() {
    if (!create_instruments()) return false;
    std::vector<const Member*> known, unknown, unnamed;
    for_each_member([&](const Member& one) {
      const std::optional<Json> account = account_of(one);
      (account ? known : unknown).push_back(&one);
      if (!account || !account->contains("name")) unnamed.push_back(&one);
    });
    if (!known.empty() && !has_key_of_one(known)) return false;
    std::size_t done = 0;
    const bool created = in_parts(unknown, accounts_per_request, [&](Members part) {
      done += part.size();
      if (of_.runner.console_.live)
        step_.out << "\raccounts: " << done << " of " << unknown.size()
                  << (done < unknown.size() ? "" : "\n") << std::flush;
      return change(accounts_of(part));
    });
    const std::size_t names_per_request =
        elements_per_request / (1 + scenario_.instruments.size()) + 1;
    if (!created || !in_parts(unnamed, names_per_request,
                              [&](Members part) { return change(shares_of(part)); }))
      return false;
    if (!unnamed.empty()) say(count(unnamed.size(), "account") + " created");
    return true;
  }

  // Of each instrument that trades otherwise. False after an error, which was shown.
  bool set_trading(const std::string& wanted) {
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
  // Nothing after an error, which was shown.
  std::optional<Json> symbols() {
    step_.catch_up();
    return step_.answer("/api/symbols", {}, {{"symbols", "next", "after"}});
  }

  std::optional<Json> leaderboard(std::uint64_t round) {
    return step_.answer("/api/leaderboard?ids=true" +
                        (round == 0 ? "" : "&round=" + std::to_string(round)));
  }
  // The newest goes on if it has this name, or if none is given.
  bool begin_round(const std::string& name) {
    const std::optional<Json> board = leaderboard(0);
    if (!board) return false;
    const std::vector<Json>& rounds = list_field(*board, "rounds");
    if (!rounds.empty() && (name.empty() || text_field(rounds.back(), "name") == name)) return true;
    step_(NewRound{name.empty() ? "first" : name});
    return step_.status == exit_ok;
  }
  // Nothing after an error, which was shown.
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
  std::string bots_text() const {
    if (bots_.empty()) return "none";
    const auto process = background_process(folder_.file(bots_lock));
    if (!process) return "not running; 'class start' starts them";
    return count(bots_.size(), "bot") +
           (*process > 0 ? ", process " + std::to_string(*process) : "");
  }
  // Whether this account is a student's.
  bool is_student(const std::string& account) const {
    return std::any_of(students_.begin(), students_.end(),
                       [&](const Member& one) { return one.account == account; });
  }
  std::size_t students() const { return students_.size(); }
  std::optional<ClosedDay> close(const std::string& day) {
    return step_.close(day, step_.sender().key);
  }

 private:
  // False once `each` is.
  template <class Each>
  static bool in_parts(Members all, std::size_t most, Each each) {
    for (; !all.empty(); all = all.subspan(std::min(most, all.size())))
      if (!each(all.first(std::min(most, all.size())))) return false;
    return true;
  }
  template <class Visit>
  void for_each_member(Visit visit) const {
    for (const Bot& bot : bots_) visit(bot);
    for (const Member& student : students_) visit(student);
  }
  // An account that exists is one that this command, when it was interrupted, still created.
  bool change(const std::string& document) {
    const Results results =
        step_.change(document_of_scenario(document, step_.sender().key), client::any_number);
    for (const client::Result& result : results) {
      const auto* error = std::get_if<client::Error>(&result);
      if (error != nullptr && error->message == describe(Reason::account_exists)) continue;
      if (step_.accepted<Created>(result, "class " + scenario_.name) == nullptr) return false;
    }
    return true;
  }
  // As the operator sees it; on one connection, which costs the server one hash.
  std::optional<Json> account_of(const Member& member) {
    const Sender by = step_.sender();
    if (!connection_ || connection_->has_ended())
      connection_.emplace(cli::connect(settings_.http_address(), "--http", settings_.timeout_s,
                                       of_.runner.stop_, settings_.security));
    const HttpReply reply =
        client::ask(*connection_, {.head = "GET /api/accounts/" + member.account,
                                   .fields = client::authorization(by.account, by.key),
                                   .keep_alive = true});
    if (reply.status == 404) return {};
    if (reply.status != 200)
      throw client::BadReply("HTTP status " + std::to_string(reply.status) + " of account " +
                             member.account);
    return parse_json(reply.body);
  }
  // Whether they are of this class. A student may have changed the key of one.
  bool has_key_of_one(const std::vector<const Member*>& known) {
    for (std::size_t i = 0; i < std::min(known.size(), keys_tried_max); ++i) {
      const Member& one = *known[i];
      const unsigned status =
          http_get(settings_.http_address(), "/api/accounts/" + one.account, settings_.timeout_s,
                   of_.runner.stop_, {one.account, one.key, settings_.security})
              .status;
      if (status == 200) return true;
      if (status != 404)
        throw client::BadReply("HTTP status " + std::to_string(status) + " of account " +
                               one.account);
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
  // Those that are missing; and the rules of those that were not traded yet, which may have been
  // refused when the symbols were created.
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
  std::optional<client::Stream> connection_;  // to the HTTP port
};

void Runner::Step::operator()(const InitClass& wanted) {
  ClassFolder folder(wanted.folder);
  std::size_t added = 0;
  try {
    check_scenario(wanted.scenario);
    added =
        folder.write(wanted.roster, wanted.scenario,
                     (settings.security.tls ? "https://" : "http://") + settings.http_address());
  } catch (const std::invalid_argument& error) {
    throw UsageError(error.what());
  }
  OfClass all(*this, wanted.folder);
  say("class " + all.scenario().name + ": " + all.size() + "; " + count(added, "student") +
      " new; keys and links in " + folder.file("keys.csv"));
  try {
    if (all.populate()) say("the exchange is ready: 'exchange-cli class start' opens it");
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
  if (!all.populate() || !all.begin_round(wanted.round)) return;
  if (all.scenario().timetable.empty()) {
    if (!all.set_trading("open")) return;
  } else {
    say("trading follows " + all.folder().file("timetable") +
        ", if the server was started with it");
  }
  all.start_bots();
}

void Runner::Step::operator()(const PauseClass& wanted) {
  OfClass(*this, wanted.folder).set_trading("halted");
}

void Runner::Step::operator()(const StopClass& wanted) {
  OfClass all(*this, wanted.folder);
  if (all.stop_bots()) all.set_trading("halted");
}

void Runner::Step::operator()(const NewClassDay& wanted) {
  OfClass all(*this, wanted.folder);
  if (all.has_day(wanted.day) && all.has_begun().value_or(true)) {
    if (status == exit_ok)
      status = runner.fail("day " + wanted.day + " was closed before, and the next one has begun",
                           exit_refused);
    all.step().status = status;
    return;
  }
  if (!all.stop_bots()) return;
  const std::optional<ClosedDay> closed = all.close(wanted.day);
  if (!closed) return;
  say("day " + wanted.day + ": " + (closed->before ? "was closed before, as " : "closed as ") +
      closed->store);
  if (all.populate()) say("the next day is ready: 'exchange-cli class start' opens it");
}

void Runner::Step::operator()(const ShowClass& wanted) {
  OfClass all(*this, wanted.folder, OfClass::Does::look);
  const std::optional<Json> symbols = all.symbols();
  const std::optional<Json> board = symbols ? all.leaderboard(0) : std::nullopt;
  if (!board) return;
  say("class " + all.scenario().name + ": " + all.size());
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

// One row for each student, as in the roster, with the results of all rounds and of each.
void Runner::Step::operator()(const ExportClass& wanted) {
  OfClass all(*this, wanted.folder, OfClass::Does::look);
  catch_up();
  const std::optional<Json> board = all.leaderboard(0);
  if (!board) return;
  std::size_t account = 0;
  CsvTable table = all.folder().students_table(account);
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
