#include "client/bots/trading_floor.hpp"

#include <poll.h>

#include <algorithm>
#include <cstdio>

#include "client/bots/wire.hpp"
#include "client/connection/ask.hpp"

namespace exchange::bots {
namespace {

using loadgen::Interrupted;
using loadgen::StopFlag;
using std::chrono::milliseconds;

constexpr double reply_timeout_s = 3;
// a request that was sent is waited for, so that its order is known and can be canceled
const StopFlag never{false};
// between attempts to reach the server
constexpr auto pause_min = milliseconds(100), pause_max = milliseconds(5'000);
// then a market that is refused all it asks rests
constexpr unsigned misfortunes_borne = 8;
constexpr auto rest_min = milliseconds(250), rest_max = milliseconds(60'000);
// whoever stops us does not wait for long
constexpr auto wind_up_max = milliseconds(3'000);

}  // namespace

TradingFloor::TradingFloor(FloorOptions options, const StopFlag& stop)
    : options_(std::move(options)), stop_(stop) {
  std::uint64_t stream = 0;
  for (const ListedSymbol& symbol : options_.symbols) {
    std::string number = std::to_string(stream);
    if (number.size() < 3) number.insert(0, 3 - number.size(), '0');
    seats_.emplace_back(MarketOptions{symbol.name, symbol.anchor, options_.account_prefix + number,
                                      options_.seed, stream++});
  }
}

void TradingFloor::run() {
  const auto interval = std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(1 / options_.requests_per_s));
  if (options_.duration_s)
    end_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                              std::chrono::duration<double>(*options_.duration_s));
  auto due = Clock::now();
  for (std::size_t turn = 0; !over(); ++turn) {
    if (!server_) await_server();
    if (over()) break;
    serve(seats_[turn % seats_.size()]);
    due = std::max(due + interval, Clock::now());  // what was missed is not made up for
    pause_until(due);
  }
  wind_up();
}

void TradingFloor::serve(Seat& seat) {
  if (Clock::now() < seat.rests_until) return;
  if (!ask(seat.market, seat.market.next(), reply_timeout_s)) return;
  if (const unsigned misfortunes = seat.market.misfortunes(); misfortunes > misfortunes_borne)
    seat.rests_until =
        Clock::now() +
        std::min(rest_max, rest_min * (1 << std::min(misfortunes - misfortunes_borne, 10u)));
}

// False where the reply was lost, and the server with it.
bool TradingFloor::ask(Market& market, const std::vector<Command>& commands, double timeout_s) {
  ++requests_;
  std::string why = "its reply makes no sense";
  try {
    if (const auto answers = read_answers(
            loadgen::ask(*server_, document_of(commands), timeout_s, never), commands)) {
      market.answered(*answers);
      return true;
    }
  } catch (const std::runtime_error& error) {  // away, or no exchange
    why = error.what();
  }
  market.lost();
  ++lost_;
  std::fprintf(stderr, "demo-bots: lost the server (%s); trying again\n", why.c_str());
  server_.reset();
  return false;
}

// Returns once it answers, or when it is time to end.
void TradingFloor::await_server() {
  auto pause = std::chrono::duration_cast<Clock::duration>(pause_min);
  std::string said;
  while (!over()) {
    std::string why;
    try {
      const loadgen::Address server = loadgen::resolve(options_.connect_to);
      loadgen::ask(server, "<transactions id=\"0\"><query id=\"1\"/></transactions>",
                   reply_timeout_s, stop_);
      server_ = server;
      std::fprintf(stderr, "demo-bots: trading at %s\n", options_.connect_to.c_str());
      return;
    } catch (const std::runtime_error& error) {  // away, or no exchange
      why = error.what();
    } catch (const Interrupted&) {
      return;
    }
    if (why != said) std::fprintf(stderr, "demo-bots: %s; trying again\n", why.c_str());
    said = why;
    pause_until(Clock::now() + pause);
    pause = std::min<Clock::duration>(2 * pause, pause_max);
  }
}

void TradingFloor::pause_until(Clock::time_point when) const {
  constexpr auto look_up = milliseconds(100);  // at `stop_`: a signal may come just before poll()
  if (end_) when = std::min(when, *end_);
  for (Clock::duration left; !stop_ && (left = when - Clock::now()) > Clock::duration::zero();)
    ::poll(nullptr, 0,
           int(std::chrono::ceil<milliseconds>(std::min<Clock::duration>(left, look_up)).count()));
}

void TradingFloor::wind_up() {
  const auto deadline = Clock::now() + wind_up_max;
  for (Seat& seat : seats_)
    while (server_ && Clock::now() < deadline) {
      const std::vector<Command>& commands = seat.market.wind_up();
      if (commands.empty() || !ask(seat.market, commands, 1)) break;
    }
}

std::string TradingFloor::summary() const {
  std::uint64_t accounts = 0, shares = 0, open = 0;
  for (const Seat& seat : seats_) {
    accounts += seat.market.accounts_used();
    shares += seat.market.shares_taken();
    open += seat.market.open_orders();
  }
  return "requests=" + std::to_string(requests_) + " lost=" + std::to_string(lost_) +
         " shares=" + std::to_string(shares) + " accounts=" + std::to_string(accounts) +
         " open=" + std::to_string(open);
}

}  // namespace exchange::bots
