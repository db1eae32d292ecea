// The commands of a class. Its state is in the exchange, and the folder has its keys, so each
// command asks what is done already, and does the rest: after an interruption, run it again.

#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>

#include "client/classroom/background.hpp"
#include "client/classroom/bot_floor.hpp"
#include "client/cli/step.hpp"

namespace exchange::cli {
namespace {

using namespace classroom;

constexpr double bots_stop_s = 15;
constexpr std::size_t accounts_per_request = 16;  // each takes the server a hash, some 50 ms
constexpr std::size_t names_per_request = 500;    // some 200 bytes each, of at most 1 MiB
constexpr const char *bots_lock = "bots.lock", *bots_log = "bots.log";

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
    document_of_scenario(instruments_of(scenario), {});
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
  OfClass(Step& of, const std::string& folder) try
      : of_(of),
        folder_(folder),
        scenario_(folder_.scenario()),
        students_(folder_.students(scenario_)),
        bots_(folder_.bots(scenario_)),
        settings_(with_operator(of.settings, folder_)) {
    step_.as_operator = true;
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
    if (trading().empty() && !change(instruments_of(scenario_))) return false;
    std::vector<const Member*> unknown, unnamed;
    for_each_member([&](const Member& one) {
      const std::optional<Json> account = account_of(one);
      if (!account) unknown.push_back(&one);
      if (!account || !account->contains("name")) unnamed.push_back(&one);
    });
    if (unknown.size() < size_ && !has_keys_of_accounts()) return false;
    std::size_t done = 0;
    const bool created = in_parts(unknown, accounts_per_request, [&](Members part) {
      done += part.size();
      if (of_.runner.console_.live)
        step_.out << "\raccounts: " << done << " of " << unknown.size()
                  << (done < unknown.size() ? "" : "\n") << std::flush;
      return change(accounts_of(part));
    });
    if (!created || !in_parts(unnamed, names_per_request,
                              [&](Members part) { return change(shares_of(part)); }))
      return false;
    if (!unnamed.empty()) say(count(unnamed.size(), "account") + " created");
    return true;
  }

  // Of each instrument that trades otherwise. False after an error.
  bool set_trading(const std::string& wanted) {
    for (const auto& [symbol, now] : trading()) {
      if (now == wanted) continue;
      step_(SetRules{symbol, {}, {wanted}});
      if (step_.status != exit_ok) return false;
    }
    return true;
  }

  // How the instruments of the class trade; those that the exchange has.
  std::vector<std::pair<std::string, std::string>> trading() {
    std::vector<std::pair<std::string, std::string>> all;
    const std::optional<Json> json = symbols();
    if (!json) return all;
    for (const Json& one : list_field(*json, "symbols"))
      for (const auto& instrument : scenario_.instruments)
        if (text_field(one, "symbol") == instrument.symbol)
          all.emplace_back(instrument.symbol, trading_of(one));
    return all;
  }
  std::optional<Json> symbols() {
    step_.catch_up();
    return step_.answer("/api/symbols", {}, {{"symbols", "next", "after"}});
  }

  std::optional<Json> leaderboard(std::uint64_t round) {
    return step_.answer("/api/leaderboard?ids=true" +
                        (round == 0 ? "" : "&round=" + std::to_string(round)));
  }
  bool begin_round(const std::string& name) {
    if (name.empty()) {
      const std::optional<Json> board = leaderboard(0);
      if (!board) return false;
      if (!list_field(*board, "rounds").empty()) return true;
    }
    step_(NewRound{name.empty() ? "first" : name});
    return step_.status == exit_ok;
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
      BotFloor(bots_, options, of_.runner.stop_).run();
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
    return process ? count(bots_.size(), "bot") + ", process " + std::to_string(*process)
                   : "not running; 'class start' starts them";
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
  // Whether those that exist are of this class: the first one is asked for.
  bool has_keys_of_accounts() {
    const Member* found = nullptr;
    for_each_member([&](const Member& one) {
      if (found == nullptr && account_of(one)) found = &one;
    });
    if (http_get(settings_.http_address(), "/api/accounts/" + found->account, settings_.timeout_s,
                 of_.runner.stop_, {found->account, found->key, settings_.security})
            .status == 200)
      return true;
    step_.status = of_.runner.fail(
        "account " + found->account + " exists already, with a key that " + folder_.path() +
            " does not have: 'admin new-day' closes the day of another class, or 'first-account' "
            "in the scenario leaves its accounts alone",
        exit_refused);
    return false;
  }

  Step& of_;
  const ClassFolder folder_;
  const Scenario scenario_;
  const std::vector<Member> students_;
  const std::vector<Bot> bots_;
  const std::size_t size_ = students_.size() + bots_.size();
  const Settings settings_;
  Step step_{of_.runner, settings_, of_.out};
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
  } catch (const client::Unreachable&) {
    say("no server at " + settings.connect + " yet. Start it:\n  " + all.start_of_server() +
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
  if (!all.stop_bots()) return;
  const std::optional<ClosedDay> closed = all.close(wanted.day);
  if (!closed) return;
  say("day " + wanted.day + ": " + (closed->before ? "was closed before, as " : "closed as ") +
      closed->store);
  if (all.populate()) say("the next day is ready: 'exchange-cli class start' opens it");
}

void Runner::Step::operator()(const ShowClass& wanted) {
  OfClass all(*this, wanted.folder);
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
  OfClass all(*this, wanted.folder);
  catch_up();
  const std::optional<Json> board = all.leaderboard(0);
  if (!board) return;
  CsvTable table = all.folder().students_table();
  const std::size_t account = table.heading.size() - 4;  // as ClassFolder writes it
  // The keys stay in the folder.
  const auto without_keys = [](CsvRow row) {
    row.resize(row.size() - 2);
    return row;
  };
  table.heading = without_keys(table.heading);
  for (CsvRow& row : table.rows) row = without_keys(row);
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
  for (const Json& round : list_field(*board, "rounds")) {
    const std::optional<Json> one = all.leaderboard(std::uint64_t(number_field(round, "round")));
    if (!one) return;
    add(*one, "round " + text_field(round, "name") + " ", {"profit"});
  }
  std::filesystem::create_directories(wanted.to);
  const std::string file = wanted.to + "/students.csv";
  std::ofstream(file) << to_csv(table);
  say(count(table.rows.size(), "student") + ": " + file);
}

}  // namespace exchange::cli
