#include "client/cli/scenario_check.hpp"

#include <algorithm>
#include <charconv>

#include "client/classroom/class_folder.hpp"
#include "client/cli/documents.hpp"
#include "engine/exchange.hpp"
#include "timetable/timetable.hpp"

namespace exchange::cli {
namespace {

using namespace classroom;

constexpr std::size_t members_at_once = 200;  // a request has at most 256 accounts with keys

// Returns "" if everything is executed, else the sentence of the first refusal.
std::string refusal(Exchange& exchange, const std::string& document) {
  for (const exchange::Command& command : commands_of(document)) {
    const Outcome outcome = exchange.apply(command, Timestamp());
    if (const auto* rejected = std::get_if<Rejected>(&outcome))
      return std::string(describe(rejected->reason));
  }
  return "";
}

class Check {
 public:
  Check(const Scenario& scenario, std::string file) : scenario_(scenario), file_(std::move(file)) {}

  void instruments() {
    for (const Scenario::Instrument& one : scenario_.instruments) {
      const std::string where = "[[instrument]] " + one.symbol;
      execute(instruments_of({one}), where);
      price(one, where);
    }
  }

  void members(const std::string& where, std::size_t count, const Start& start,
               const Attributes& limits = {}) {
    while (count > 0) {
      std::vector<Member> part(std::min(count, members_at_once));
      std::vector<const Member*> members;
      std::vector<Gift> gifts;
      for (Member& one : part) {
        one = {.account = std::to_string(++accounts_),
               .key = "some key",
               .shown_as = "name",
               .start = start,
               .limits = limits};
        members.push_back(&one);
        for (const auto& [symbol, shares] : start.shares)
          gifts.push_back({one.account, symbol, shares});
      }
      execute(accounts_of(members), where);
      execute(gifts_of(gifts), where);
      count -= part.size();
    }
  }

  void timetable() {
    Timetable timetable;
    try {
      timetable = parse_timetable(scenario_.timetable, file_ + ", timetable");
    } catch (const std::invalid_argument& error) {
      throw UsageError(error.what());
    }
    for (const TimetableStep& step : timetable.steps)
      for (const SymbolName& symbol : step.symbols)
        if (std::none_of(scenario_.instruments.begin(), scenario_.instruments.end(),
                         [&](const auto& one) { return one.symbol == symbol.view(); }))
          fail("timetable", "no [[instrument]] has the symbol '" + std::string(symbol.view()) +
                                "', which the step " + describe(step) + " names");
  }

 private:
  [[noreturn]] void fail(const std::string& where, const std::string& why) const {
    throw UsageError(file_ + ", " + where + ": " + why);
  }
  void execute(const std::string& document, const std::string& where) try {
    if (const std::string why = refusal(exchange_, document); !why.empty()) fail(where, why);
  } catch (const UsageError& error) {
    const std::string why = error.what();
    throw UsageError(why.starts_with(file_) ? why : file_ + ", " + where + ": " + why);
  }
  // Bots begin at this price, so an order must be allowed to have it as its limit.
  void price(const Scenario::Instrument& instrument, const std::string& where) const {
    char digits[64];
    const auto end =
        std::to_chars(digits, std::end(digits), instrument.price, std::chars_format::fixed);
    const std::string price(digits, end.ptr);
    std::string lot = "1";
    for (const auto& [name, value] : instrument.rules)
      if (name == "lot" && parse_shares(value).value > Shares()) lot = value;
    Exchange exchange;
    const Member buyer{.account = "1", .key = "some key", .shown_as = "name"};
    const Member* const buyers[]{&buyer};
    refusal(exchange, instruments_of({instrument}));
    refusal(exchange, accounts_of(buyers));
    SetRules open{instrument.symbol, {}, {"open"}};
    refusal(exchange, write_document(open));
    std::string why;
    try {
      why = refusal(exchange, write_document(NewOrder{.side = Side::buy,
                                                      .symbol = instrument.symbol,
                                                      .shares = lot,
                                                      .limit = price},
                                             "1", "some key"));
    } catch (const UsageError& error) {
      why = error.what();
    }
    if (!why.empty() && why != describe(Reason::insufficient_funds))
      fail(where, "'price' is " + price + ", but " + why);
  }

  const Scenario& scenario_;
  const std::string file_;
  Exchange exchange_;
  std::size_t accounts_ = 0;
};

}  // namespace

void check_scenario(const Scenario& scenario, std::size_t students, const std::string& file) {
  Check check(scenario, file);
  check.instruments();
  for (const Scenario::Bots& bots : scenario.bots)
    check.members("[[bots]] " + std::string(to_string(bots.character)), bots.count, bots.start);
  // Checks at least one student, so that the first roster may be empty.
  check.members("[student]", std::max<std::size_t>(students, 1), scenario.student, scenario.limits);
  check.timetable();
}

}  // namespace exchange::cli
