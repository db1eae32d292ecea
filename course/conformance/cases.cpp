// All cases: the texts of cases/, and those that need more than their language. These check replies
// in more detail, or send requests of many clients at once.

#include "course/conformance/cases.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <iomanip>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

namespace exchange::conformance {
namespace {

// --- replies in detail ---

// A sell that a buy executes in part, with account and id of both.
struct Trade {
  std::string buyer, seller, symbol, buy, sell;
  std::int64_t shares, more;  // executed; the rest that the seller ordered
  Quarters limit;
};
Trade given_trade(Talk& talk) {
  Trade trade;
  trade.shares = talk.any_shares(), trade.more = talk.any_shares(), trade.limit = talk.any_price();
  trade.buyer = talk.given_account(trade.shares * (trade.limit + 4));
  trade.seller = talk.given_account(4);
  trade.symbol = talk.given_symbol({{trade.seller, trade.shares + trade.more}});
  trade.sell =
      talk.given_order(trade.seller, trade.symbol, -trade.shares - trade.more, trade.limit);
  trade.buy = talk.given_order(trade.buyer, trade.symbol, trade.shares, trade.limit + 4);
  talk.given_executed(trade.seller, trade.sell);
  return trade;
}

void element_for_element(Talk& talk) {
  // between two new accounts: an existing one, or one with debts
  const std::string a = talk.source().account(), c = talk.source().account();
  std::string b = talk.given_account(4);
  const auto account = [](const std::string& id, const char* balance) {
    return "<account id=\"" + id + "\" balance=\"" + balance + "\"/>";
  };
  const char* refused = "15";
  if (talk.ask_one("<create>" + account(b, refused) + "</create>").name != "error") {
    b = talk.source().account();
    refused = "-1";
    talk.given_error("<create>" + account(b, refused) + "</create>", "C6");
  }
  const std::vector<Element> answers = talk.ask_several(
      "<create>" + account(a, "10") + account(b, refused) + account(c, "20") + "</create>", 3);
  const char* const names[] = {"created", "error", "created"};
  const std::string ids[] = {a, b, c};
  for (std::size_t i = 0; i < 3; ++i)
    expect(answers[i].name == names[i] &&
               (!answers[i].find("id") || answers[i].attribute("id") == ids[i]),
           "<" + std::string(names[i]) + "> for account " + ids[i] + " was expected, got " +
               answers[i].print());
}

void orders_in_sequence(Talk& talk) {
  const Refusal refusal = talk.given_refusal();
  const auto is_refused = [](std::int64_t i) { return i % 3 == 2; };
  std::string inside;
  const std::int64_t count = talk.between(3, 9);
  for (std::int64_t i = 1; i <= count; ++i)
    inside +=
        is_refused(i) ? refusal.order(i) : Talk::order(refusal.symbol, std::to_string(i), "1.25");
  const std::vector<Element> answers =
      talk.ask_several(Talk::transactions(refusal.account, inside), std::size_t(count));
  for (std::int64_t i = 1; i <= count; ++i) {
    const Element& answer = answers[std::size_t(i - 1)];
    const std::string amount = is_refused(i) ? refusal.amount(i) : std::to_string(i);
    expect(answer.name == (is_refused(i) ? "error" : "opened") &&
               (!answer.find("amount") || same_value(answer.attribute("amount"), amount)),
           "reply element " + std::to_string(i) + " does not belong to order " + std::to_string(i) +
               ": " + answer.print());
  }
}

void stays_open(Talk& talk) {
  if (talk.target().style().per_request) broken("the server closes the connection after a reply");
  for (int i = 0; i < 2; ++i)
    talk.ask_one("<create><account id=\"" + talk.source().account() +
                 "\" balance=\"1\"/></create>");
}

std::vector<Element> parts(Talk& talk, const std::string& account, const std::string& id) {
  const Element status = talk.ask_one(Talk::transactions(account, "<query id=\"" + id + "\"/>"));
  expect(status.name == "status" && !status.children.empty(),
         "a <status> with its parts was expected, got " + status.print());
  return status.children;
}

void unsigned_shares(Talk& talk) {
  const Trade trade = given_trade(talk);
  for (const Element& part : parts(talk, trade.seller, trade.sell)) {
    const auto units = units_of(part.attribute("shares"));
    expect(units && *units >= 0, "shares should have no sign: " + part.print());
  }
}

void shortest_numbers(Talk& talk) {
  const Trade trade = given_trade(talk);
  for (const Element& part : parts(talk, trade.buyer, trade.buy))
    for (const char* const name : {"shares", "price"})
      if (const std::string* const text = part.find(name)) {
        const auto units = units_of(*text);
        expect(units && plain(std::abs(*units)) == *text,
               "numbers should be written in shortest decimals: " + part.print());
      }
}

void seconds_since_1970(Talk& talk) {
  constexpr std::int64_t day_s = 86'400;
  const Trade trade = given_trade(talk);
  talk.given_canceled(trade.seller, trade.sell);
  std::size_t times = 0;
  for (const Element& part : parts(talk, trade.seller, trade.sell))
    if (const std::string* const text = part.find("time")) {
      char* end = nullptr;
      const long long time = std::strtoll(text->c_str(), &end, 10);
      const std::int64_t now = std::time(nullptr);
      expect(!text->empty() && *end == '\0' && time > now - day_s && time < now + day_s,
             "the time should be in whole seconds since 1970, now about " +
                 std::to_string(std::time(nullptr)) + ": " + part.print());
      ++times;
    }
  expect(times >= 2, "executions and cancels should have a time");
}

void integer_ids(Talk& talk) {
  const std::string account = talk.given_account(40'000),
                    symbol = talk.given_symbol({{account, 500}});
  for (int i = 0; i < 3; ++i) {
    const std::string id = talk.given_order(account, symbol, -1, 400);
    expect(id.find_first_not_of("0123456789") == std::string::npos && id.front() != '0',
           "the id '" + id + "' is not an integer from 1");
  }
}

void refused_without_id(Talk& talk) {
  const Refusal refusal = talk.given_refusal();
  const Element answer =
      talk.given_error(Talk::transactions(refusal.account, refusal.order(3)), "M2");
  expect(!answer.find("id"), "a refused order should get no id, got " + answer.print());
}

void errors_repeat(Talk& talk) {
  const Refusal refusal = talk.given_refusal();
  const std::int64_t shares = talk.between(100, 900);
  const Element error =
      talk.given_error(Talk::transactions(refusal.account, refusal.order(shares)), "M2");
  for (const auto& [name, value] : {std::pair{"sym", refusal.symbol},
                                    {"amount", refusal.amount(shares)},
                                    {"limit", refusal.limit}})
    expect(same_value(error.attribute(name), value), "the <error> should have " +
                                                         std::string(name) + "=\"" + value +
                                                         "\", got " + error.print());
}

// --- many clients ---

// They send orders, queries and cancels, each of its own: the clients of the load generator, which
// is beside this program. Its audit checks their replies: whether some order of these requests
// explains all of them.

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

std::string rest_of(std::FILE* file) {
  std::string text;
  std::rewind(file);
  for (int byte; (byte = std::fgetc(file)) != EOF;) text += char(byte);
  return text;
}

// The results of the clients.
struct RunReport {
  std::string wrong;       // the error; empty if there is none
  std::string unanswered;  // the requests without a reply; empty if all got one
};

RunReport outcome_of(const nlohmann::json& report) {
  static const std::set<std::string> wrong_kinds{"wrong answer", "protocol"};
  RunReport outcome;
  const auto& result = report.at("result");
  if (const std::string example = result.at("first_wrong_answer"); !example.empty())
    outcome.wrong += " " + first_line(example);
  for (const auto& [kind, count] : result.at("errors").items())
    if (count > 0)
      (wrong_kinds.contains(kind) ? outcome.wrong : outcome.unanswered) +=
          " " + count.dump() + " of the requests got no right reply (" + kind + ").";
  const auto& audit = report.at("audit");
  if (audit.is_null()) {  // the run ended before the audit
    if (outcome.wrong.empty() && outcome.unanswered.empty())
      outcome.unanswered = " The run ended early.";
    return outcome;
  }
  for (const std::string sentence : audit.at("findings")) outcome.wrong += " " + sentence;
  if (outcome.wrong.empty() && outcome.unanswered.empty() && !audit.at("passed"))
    outcome.unanswered = " " + audit.at("not_checked").get<std::string>();
  return outcome;
}

struct Load {
  unsigned clients;
  std::uint64_t requests;
  double reply_s;  // the longest time for a reply
  double run_s;    // the longest time for the run
};

RunReport run_clients(Talk& talk, const Load& load) {
  const Target& target = talk.target();
  const auto program = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "loadgen";
  if (!std::filesystem::exists(program)) throw TestError(program.string() + " is missing");
  using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;
  const File report(std::tmpfile(), std::fclose), errors(std::tmpfile(), std::fclose);
  if (!report || !errors) throw TestError("no temporary file can be created");
  const auto path = [](const File& file) {
    return "/dev/fd/" + std::to_string(fileno(file.get()));
  };
  std::ostringstream command;
  // All requests of one account together cost less than its cash, and that cash fits into 32 bits
  // in cents.
  command << std::quoted(program.string(), '\'') << " --connect " << target.address() << " -c "
          << load.clients << " -n " << load.requests << " --reply-check lenient --audit --timeout "
          << load.reply_s << " --connection "
          << (target.style().per_request ? "per-request" : "persistent")
          << " --workload order=70,query=15,cancel=15 --symbols 3 --cash 2000000 --seed "
          << talk.between(1, 1'000'000) << " --account-prefix " << talk.source().account_prefix()
          << " --json " << path(report) << " 2>" << path(errors);
  constexpr int wrong = 1, unreachable = 3;  // docs/load-generator.md, exit status
  int status = 0;
  try {
    status = run_command(command.str(), load.run_s);
  } catch (const NoReply&) {
    return {.wrong = {},
            .unanswered = " Not all of " + std::to_string(load.requests) +
                          " requests were answered within " +
                          std::to_string(std::int64_t(load.run_s)) + " s."};
  }
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  const std::string text = rest_of(report.get()), sentence = first_line(rest_of(errors.get()));
  if (!text.empty()) return outcome_of(nlohmann::json::parse(text));
  if (code == unreachable) return {.wrong = {}, .unanswered = " " + sentence};
  if (code == wrong) return {.wrong = " " + sentence, .unanswered = {}};
  throw TestError("the load generator ended with status " + std::to_string(code) + ": " + sentence);
}

// Measures how long one request of one client takes now: the median of a few.
double seconds_per_request(Talk& talk) {
  std::array<double, 5> seconds{};
  talk.given_account(4);  // the form of a first reply is also checked, which takes time
  for (double& one : seconds) {
    const auto start = std::chrono::steady_clock::now();
    talk.given_account(4);
    one = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  std::ranges::sort(seconds);
  return seconds[seconds.size() / 2];
}

// Plans as many requests as the server can answer in some seconds, but at least one of each client.
// A reply may take `patience` times as long as one request of each client.
Load affordable(const Talk& talk, unsigned clients, std::uint64_t wanted, double request_s,
                double patience) {
  constexpr double enough_s = 5, reply_min_s = 30, reply_max_s = 600, run_min_s = 600;
  const double affordable = std::min(enough_s / request_s, double(wanted));
  const std::uint64_t requests = std::max<std::uint64_t>(clients, std::uint64_t(affordable));
  const double round_s = clients * request_s;
  return {.clients = clients,
          .requests = requests,
          .reply_s = std::clamp(patience * round_s,
                                std::max(reply_min_s, talk.target().timeout_s()), reply_max_s),
          .run_s = std::max(run_min_s, patience * double(requests) * request_s)};
}

void at_once(Talk& talk, unsigned clients, std::uint64_t requests) {
  if (talk.target().style().wants_end)
    throw Blocked("the load generator does not end the stream after each request", "F1");
  const std::string at_once = std::to_string(clients) + " clients at once";
  RunReport outcome;
  // The machine may be busy with something else: without ample waiting time the test proves
  // nothing.
  constexpr double ample = 100;
  for (const double patience : {5.0, 50.0}) {
    const double request_s = seconds_per_request(talk);
    const Load load = affordable(talk, clients, requests, request_s, patience);
    outcome = run_clients(talk, load);
    if (outcome.wrong.empty() && outcome.unanswered.empty()) return;
    expect(talk.target().answers(), "with " + at_once +
                                        " the server died or hangs: it does not answer any more." +
                                        outcome.wrong + outcome.unanswered);
    if (!outcome.wrong.empty() || load.reply_s > ample * clients * seconds_per_request(talk)) break;
  }
  if (outcome.wrong.empty())
    broken("with " + at_once + " the server did not answer all:" + outcome.unanswered);
  // an error with one client does not break this rule
  const RunReport alone =
      run_clients(talk, affordable(talk, 1, 400, seconds_per_request(talk), 50));
  if (!alone.wrong.empty())
    throw Blocked("results are wrong with one client already:" + alone.wrong, "");
  broken(at_once + ":" + outcome.wrong + outcome.unanswered);
}

}  // namespace

Cases all_cases() {
  Cases cases;
  for (const EmbeddedFile& file : case_files())
    for (Case& one : read_cases(file.name, file.content)) cases.push_back(std::move(one));
  const Cases in_detail{
      {"R3", "an error between accounts", element_for_element},
      {"R3", "errors between orders", orders_in_sequence},
      {"R6", "a second request on the connection", stays_open},
      {"R10", "shares of a sell", unsigned_shares},
      {"R11", "numbers of an execution", shortest_numbers},
      {"R12", "times", seconds_since_1970},
      {"T6", "a refused order", refused_without_id},
      {"T14", "the error of an order", errors_repeat},
      {"T18", "ids are integers", integer_ids},
  };
  cases.insert(cases.end(), in_detail.begin(), in_detail.end());
  for (const unsigned clients : {2u, 20u, 200u})
    cases.push_back({"T17", std::to_string(clients) + " clients at once",
                     [=](Talk& talk) {
                       at_once(talk, clients, clients < 20 ? 400 : clients < 200 ? 1'000 : 2'000);
                     },
                     true});
  return cases;
}

}  // namespace exchange::conformance
