#include "client/classroom/bot_floor.hpp"

#include <poll.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "client/connection/results.hpp"
#include "client/connection/servers.hpp"
#include "protocol/request_writer.hpp"

namespace exchange::classroom {
namespace {

using Json = nlohmann::json;
using std::chrono::milliseconds;

constexpr double reply_timeout_s = 10;
constexpr milliseconds market_age_max{200};  // then it is read again
constexpr milliseconds retry_pause{1'000};   // after the server could not be reached
constexpr milliseconds turn_pause_max{50};   // between two checks for a due bot
constexpr std::chrono::minutes report_interval{5};

// Reads a number from a text field; returns nothing if the field is null or absent.
std::optional<double> amount(const Json& from, const char* key) {
  const auto found = from.find(key);
  if (found == from.end() || !found->is_string()) return {};
  return std::strtod(found->get_ref<const std::string&>().c_str(), nullptr);
}

MarketSight market_sight(const Json& row) {
  const std::string trading = row.value("trading", "open");
  return {.bid = amount(row, "bid"),
          .ask = amount(row, "ask"),
          .last = amount(row, "last"),
          .is_open = trading == "open",
          .takes_orders = trading != "halted"};
}

CharacterOptions options_of(const Bot& bot, std::uint64_t seed) {
  const auto number = [](const Attributes& from, const std::string& name, double otherwise) {
    for (const auto& [key, value] : from)
      if (key == name) return std::strtod(value.c_str(), nullptr);
    return otherwise;
  };
  CharacterOptions options;
  options.account = parse_account_id(bot.account).value();
  options.symbol = parse_symbol_name(bot.instrument.symbol).value();
  options.price = bot.instrument.price;
  const auto rule = [&](const char* name, double otherwise) {  // 0: no rule
    const double value = number(bot.instrument.rules, name, 0);
    return value > 0 ? value : otherwise;
  };
  options.tick = rule("tick", 0.01);
  options.lot = rule("lot", 1);
  options.shares_max = rule("order-max", options.shares_max);
  options.shares = bot.character.shares;
  options.shares_at_start = number(bot.start.shares, bot.instrument.symbol, 0);
  options.seed = seed;
  return options;
}

}  // namespace

BotFloor::BotFloor(std::vector<Bot> bots, FloorOptions options, const client::StopFlag& stop)
    : options_(std::move(options)), stop_(stop) {
  std::uint64_t seed = options_.seed;
  for (Bot& bot : bots) {
    values_.try_emplace(bot.instrument.symbol, bot.instrument.price, seed++);
    Seat& seat = seats_.emplace_back();
    seat.character = make_character(bot.character.character, options_of(bot, seed++));
    // Spreads the first turns over time.
    seat.due = begun_ + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(
                            bot.character.pause_s * double(seats_.size()) / double(bots.size())));
    seat.bot = std::move(bot);
  }
}

void BotFloor::run() {
  report_due_ = Clock::now() + report_interval;
  while (!stop_) {
    const auto next = std::min_element(seats_.begin(), seats_.end(),
                                       [](auto& one, auto& other) { return one.due < other.due; });
    if (next == seats_.end()) break;
    wait(next->due);
    if (stop_) break;
    serve(*next);
    next->due = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                   std::chrono::duration<double>(next->bot.character.pause_s));
    if (Clock::now() >= report_due_) report_refusals();
  }
  wind_up();
}

// If the server is unavailable, or the accounts of a new day do not exist yet, only this turn ends.
void BotFloor::serve(Seat& seat) try {
  const std::optional<Sight> sight = sight_of(seat);
  if (!sight) return;
  const std::vector<Command> commands = seat.character->turn(*sight);
  if (commands.empty()) return;
  std::string elements;
  for (const Command& command : commands) elements += write_element(command);
  send(seat, elements, commands.size());
  seat.problem.clear();
} catch (const client::Unreachable& error) {
  seat.connection.reset();
  connection_.reset();
  market_.clear();
  for (Seat& other : seats_) other.connection.reset();
  ++tried_;
  report(seats_.front(), error.what());  // the problem concerns all seats
  wait(Clock::now() + retry_pause);
} catch (const std::exception& error) {  // of this bot alone: its key, or an invalid reply
  seat.connection.reset();
  report(seat, error.what());
}

std::optional<Sight> BotFloor::sight_of(Seat& seat) {
  const MarketSight* const market = market_of(seat.bot.instrument.symbol);
  if (market == nullptr || !market->takes_orders) return {};
  const client::HttpReply reply = ask(seat, "GET /api/accounts/" + seat.bot.account);
  const Json account = Json::parse(reply.body, nullptr, false);
  if (reply.status != 200 || !account.is_object())
    throw client::BadReply("account " + seat.bot.account + " of " + seat.bot.shown_as +
                           ": HTTP status " + std::to_string(reply.status) + ", " + reply.body);
  Sight sight{.time_s = seconds(),
              .value = values_.at(seat.bot.instrument.symbol).at(seconds()),
              .market = *market,
              .cash = amount(account, "balance").value_or(0)};
  for (const Json& one : account.value("positions", Json::array()))
    if (one.value("symbol", "") == seat.bot.instrument.symbol) {
      sight.shares = amount(one, "shares").value_or(0);
      sight.shares_in_orders = amount(one, "reserved").value_or(0);
    }
  for (const Json& one : account.value("orders", Json::array())) {
    const Json text = one.value("limit", Json());  // null: a market order
    const auto limit = parse_price(text.is_string() ? text.get<std::string>() : "0");
    sight.orders.push_back({.id = one.value("order", OrderId()),
                            .side = one.value("side", "") == "buy" ? Side::buy : Side::sell,
                            .limit = limit ? limit.value : Price()});
  }
  return sight;
}

const MarketSight* BotFloor::market_of(const std::string& symbol) {
  if (Clock::now() >= market_read_ + market_age_max) {
    if (!connection_ || connection_->has_ended()) connection_.emplace(connect());
    const client::HttpReply reply =
        client::ask(*connection_, {.head = "GET /api/symbols", .keep_alive = true});
    const Json symbols = Json::parse(reply.body, nullptr, false);
    if (reply.status != 200 || !symbols.is_object())
      throw client::BadReply("the symbols: HTTP status " + std::to_string(reply.status));
    market_.clear();
    for (const Json& row : symbols.value("symbols", Json::array()))
      market_[row.value("symbol", "")] = market_sight(row);
    market_read_ = Clock::now();
  }
  const auto found = market_.find(symbol);
  return found == market_.end() ? nullptr : &found->second;
}

void BotFloor::send(Seat& seat, const std::string& elements, std::size_t asked) {
  const client::HttpReply reply =
      ask(seat, "POST /api/xml", write_transactions(seat.bot.account, elements, seat.bot.key));
  if (reply.status != 200)
    throw client::BadReply("HTTP status " + std::to_string(reply.status) + " of a request");
  for (const client::ReplyOutcome& result : client::read_outcomes(reply.body, asked)) {
    ++seat.requests;
    if (const auto* error = std::get_if<client::ErrorElement>(&result)) {
      ++seat.refused;
      seat.refusal = error->message;
    }
  }
}

client::HttpReply BotFloor::ask(Seat& seat, const std::string& head, const std::string& body) {
  if (!seat.connection || seat.connection->has_ended()) seat.connection.emplace(connect());
  const client::HttpReply reply = client::ask(
      *seat.connection, {.head = head,
                         .fields = client::authorization(seat.bot.account, seat.bot.key),
                         .body = body,
                         .keep_alive = true});
  // A server that executes nothing: a standby, or a replaced server.
  if (reply.status == 503) throw client::Unreachable(seat.connection->peer() + ": " + reply.body);
  return reply;
}

client::Stream BotFloor::connect() const {
  static const client::StopFlag never{false};  // a request in progress is completed
  std::vector<std::string> all = client::split_addresses(options_.http);
  std::rotate(all.begin(), all.begin() + std::ptrdiff_t(tried_ % all.size()), all.end());
  std::string list;
  for (const std::string& one : all) list += (list.empty() ? "" : ",") + one;
  client::Servers servers(list);
  client::Descriptor connected = client::connect_to(servers, reply_timeout_s, never);
  return {std::move(connected), servers.current().text, reply_timeout_s, never, options_.security};
}

void BotFloor::wait(Clock::time_point until) const {
  for (Clock::duration left; !stop_ && (left = until - Clock::now()) > Clock::duration::zero();)
    ::poll(nullptr, 0,
           int(std::chrono::ceil<milliseconds>(std::min<Clock::duration>(left, turn_pause_max))
                   .count()));
}

// Reports each new problem at once.
void BotFloor::report(Seat& seat, const std::string& problem) {
  if (problem == seat.problem) return;
  seat.problem = problem;
  options_.log(problem + "; trying again");
}

void BotFloor::report_refusals() {
  report_due_ = Clock::now() + report_interval;
  for (const Seat& seat : seats_)
    options_.log(seat.bot.shown_as + ": " + std::to_string(seat.requests) + " sent, " +
                 std::to_string(seat.refused) + " refused" +
                 (seat.refused == 0 ? "" : ", the last: " + seat.refusal));
}

void BotFloor::wind_up() {
  for (Seat& seat : seats_) try {
      if (seat.requests == 0) continue;
      send(seat, write_element(CancelAll{parse_account_id(seat.bot.account).value(), {}}),
           client::any_number);
    } catch (const client::Unreachable& error) {
      options_.log(std::string(error.what()) + "; the bots' orders may be open");
      break;
    } catch (const std::exception& error) {
      options_.log(seat.bot.shown_as + ": " + error.what() + "; its orders may be open");
    }
  report_refusals();
}

}  // namespace exchange::classroom
