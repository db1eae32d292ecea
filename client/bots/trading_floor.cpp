#include "client/bots/trading_floor.hpp"

#include <poll.h>

#include <algorithm>
#include <cstdio>
#include <sstream>
#include <stdexcept>

#include "client/bots/wire.hpp"
#include "client/connection/servers.hpp"

namespace exchange::bots {
namespace {

using client::StopFlag;
using std::chrono::milliseconds;

constexpr double reply_timeout_s = 3;
// waits for the reply to a request that was sent, so that its order can be canceled
const StopFlag never{false};
// the pause between attempts to reach the server
constexpr auto pause_min = milliseconds(100), pause_max = milliseconds(5'000);
constexpr auto report_interval = std::chrono::minutes(1);  // for a problem that persists
// after more refusals than this in a row, a market rests
constexpr unsigned refusals_max = 8;
constexpr auto rest_min = milliseconds(250), rest_max = milliseconds(60'000);
// SIGTERM ends the bots within this time plus the time of one reply
constexpr auto wind_up_max = milliseconds(3'000);

}  // namespace

std::vector<ListedSymbol> parse_symbol_list(const std::string& text) {
  std::vector<ListedSymbol> symbols;
  std::istringstream parts(text + ",");
  for (std::string part; std::getline(parts, part, ',');) {
    const std::size_t equals = part.find('=');
    const std::optional<SymbolName> name = parse_symbol_name(part.substr(0, equals));
    if (!name)
      throw std::invalid_argument("'" + part + "': a symbol is 1 to 32 letters and digits");
    Parsed<Price> anchor{Price::whole(100)};
    if (equals != std::string::npos) anchor = parse_price(part.substr(equals + 1));
    if (!anchor || anchor.value < Market::anchor_min || anchor.value > Market::anchor_max)
      throw std::invalid_argument("'" + part + "': a price is from " +
                                  to_string(Market::anchor_min) + " to " +
                                  to_string(Market::anchor_max) + ", with at most 8 decimals");
    for (const ListedSymbol& other : symbols)
      if (other.name == *name) throw std::invalid_argument("'" + part + "' is there twice");
    symbols.push_back({*name, anchor.value});
  }
  return symbols;
}

TradingFloor::TradingFloor(FloorOptions options, const StopFlag& stop)
    : options_(std::move(options)), stop_(stop) {
  std::uint64_t stream = 0;
  for (const ListedSymbol& symbol : options_.symbols) {
    seats_.emplace_back(MarketOptions{symbol.name, symbol.anchor,
                                      options_.account_prefix + digits(stream, 3), options_.seed,
                                      stream, options_.retry});
    ++stream;
  }
}

void TradingFloor::run() {
  const auto duration = [](double seconds) {
    return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  };
  const Clock::duration interval = duration(1 / options_.requests_per_s);
  if (options_.duration_s) end_ = Clock::now() + duration(*options_.duration_s);
  auto due = Clock::now();
  for (std::size_t turn = 0; !over(); ++turn) {
    if (!server_) await_server();
    if (over()) break;
    serve(seats_[turn % seats_.size()]);
    due = std::max(due + interval, Clock::now());  // a missed turn is skipped
    pause_until(due);
  }
  wind_up();
}

void TradingFloor::serve(Seat& seat) {
  if (Clock::now() < seat.rests_until) return;
  if (!ask(seat.market, seat.market.next())) return;
  const unsigned refusals = seat.market.refusals();
  if (refusals <= refusals_max) return;
  const auto rest = std::min(rest_max, rest_min * (1 << std::min(refusals - refusals_max, 10u)));
  seat.rests_until = Clock::now() + rest;
  std::fprintf(
      stderr,
      "demo-bots: %s: %u refusals one after another, the last: %s; trying again in %.1f s\n",
      std::string(seat.market.symbol().view()).c_str(), refusals, refusal_.c_str(),
      std::chrono::duration<double>(rest).count());
}

// Returns false if the reply was lost: the server must then be found again.
bool TradingFloor::ask(Market& market, const std::vector<Command>& commands) {
  ++requests_;
  while (server_) {
    try {
      const std::vector<Answer> answers =
          read_answers(send(write_document(commands, options_.keys)), commands);
      for (const Answer& answer : answers)
        if (answer.refused) refusal_ = answer.why;
      market.answered(answers);
      return true;
    } catch (const std::runtime_error& error) {  // NoReply, BadReply
      std::fprintf(stderr, "demo-bots: lost the server (%s); trying again\n", error.what());
    }
    server_.reset();
    connection_.reset();
    if (!options_.retry || !market.may_be_asked_again()) break;
    await_server();
    if (server_) ++sent_again_;
  }
  market.lost();
  ++lost_;
  return false;
}

// Uses the same connection as long as the server keeps it open.
std::string TradingFloor::send(std::string_view document) {
  if (!connection_ || connection_->has_ended())
    connection_.emplace(client::connect_to(*server_, reply_timeout_s, never), server_->text,
                        reply_timeout_s, never);
  return client::ask(*connection_, document);
}

// Returns once the server replies, or when the run must end. Reports each new problem at once.
// Reports a persistent one each time that the pause between two attempts has grown, then each
// minute.
void TradingFloor::await_server() {
  auto pause = std::chrono::duration_cast<Clock::duration>(pause_min);
  Clock::time_point report_due;
  std::string reported;
  while (!over()) {
    std::string problem;
    try {
      client::Servers servers(options_.connect_to);
      // changes nothing, and cannot be refused
      client::ask(servers, "<create/>", reply_timeout_s, stop_);
      server_ = servers.current();
      std::fprintf(stderr, "demo-bots: trading at %s\n", server_->text.c_str());
      return;
    } catch (const std::runtime_error& error) {  // unreachable, or not an exchange
      problem = error.what();
    } catch (const client::Interrupted&) {
      return;
    }
    if (problem != reported || pause < pause_max || Clock::now() >= report_due) {
      std::fprintf(stderr, "demo-bots: %s; trying again every %.1f s\n", problem.c_str(),
                   std::chrono::duration<double>(pause).count());
      report_due = Clock::now() + report_interval;
    }
    reported = problem;
    pause_until(Clock::now() + pause);
    pause = std::min<Clock::duration>(2 * pause, pause_max);
  }
}

void TradingFloor::pause_until(Clock::time_point when) const {
  constexpr auto stop_check = milliseconds(100);  // a signal may come just before poll()
  if (end_) when = std::min(when, *end_);
  for (Clock::duration left; !stop_ && (left = when - Clock::now()) > Clock::duration::zero();)
    ::poll(
        nullptr, 0,
        int(std::chrono::ceil<milliseconds>(std::min<Clock::duration>(left, stop_check)).count()));
}

void TradingFloor::wind_up() {
  const auto deadline = Clock::now() + wind_up_max;
  for (Seat& seat : seats_)
    while (server_ && Clock::now() < deadline) {
      const std::vector<Command>& commands = seat.market.wind_up();
      if (commands.empty() || !ask(seat.market, commands)) break;
    }
}

std::string TradingFloor::summary() const {
  std::uint64_t accounts = 0, shares = 0, open = 0;
  for (const Seat& seat : seats_) {
    accounts += seat.market.accounts_used();
    shares += seat.market.shares_taken();
    open += seat.market.open_orders();
  }
  return "requests=" + std::to_string(requests_) + " sent-again=" + std::to_string(sent_again_) +
         " lost=" + std::to_string(lost_) + " shares=" + std::to_string(shares) +
         " accounts=" + std::to_string(accounts) + " open=" + std::to_string(open);
}

}  // namespace exchange::bots
