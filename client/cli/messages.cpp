#include "client/cli/messages.hpp"

#include "client/cli/terminal.hpp"

namespace exchange::cli {
namespace {

[[noreturn]] void not_understood(const char* key) {
  throw client::BadReply(std::string("a reply without a good '") + key + "'");
}

template <class Value>
const Value& value_of(const Json& from, const char* key) try {
  return from.at(key).get_ref<const Value&>();
} catch (const Json::exception&) {
  not_understood(key);
}

Level read_level(const Json& level, const char* key) try {
  const auto price = parse_price(level.at(0).get_ref<const std::string&>());
  if (!price || level.size() != 3) not_understood(key);
  return {price.value, printable(level.at(1).get_ref<const std::string&>()),
          level.at(2).get_ref<const std::uint64_t&>()};
} catch (const Json::exception&) {
  not_understood(key);
}

}  // namespace

std::string text_field(const Json& from, const char* key) {
  return printable(value_of<std::string>(from, key));
}

std::string text_or_dash(const Json& from, const char* key) {
  return from.is_object() && from.contains(key) && from[key].is_null() ? "-"
                                                                       : text_field(from, key);
}

std::int64_t number_field(const Json& from, const char* key) {
  return value_of<std::int64_t>(from, key);
}

const std::vector<Json>& list_field(const Json& from, const char* key) {
  return value_of<Json::array_t>(from, key);
}

std::vector<Level> levels_field(const Json& from, const char* key) {
  std::vector<Level> levels;
  for (const Json& level : list_field(from, key)) levels.push_back(read_level(level, key));
  return levels;
}

std::vector<Trade> trades_field(const Json& from, const char* key) {
  std::vector<Trade> trades;
  for (const Json& one : list_field(from, key))
    trades.push_back({.price = text_field(one, "price"),
                      .shares = text_field(one, "shares"),
                      .taker = text_field(one, "taker"),
                      .time_us = number_field(one, "time_us")});
  return trades;
}

Json parse_json(std::string_view text) {
  Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) throw client::BadReply("no JSON: " + printable(text.substr(0, 200)));
  return json;
}

bool WatchedSymbol::apply(const Json& message) {
  const bool snapshot = text_field(message, "type") == "snapshot";
  const std::int64_t sequence = number_field(message, "sequence");
  new_trades_.clear();
  if (!snapshot && (!known_ || sequence != sequence_ + 1)) {
    known_ = false;
    return false;
  }
  std::vector<Trade> trades = trades_field(message, "trades");
  if (snapshot) {
    bids_.clear();
    asks_.clear();
    tape_.assign(trades.begin(), trades.end());
  } else {
    for (const Trade& trade : trades) tape_.push_front(trade);
    new_trades_ = std::move(trades);
  }
  change(bids_, levels_field(message, "bids"));
  change(asks_, levels_field(message, "asks"));
  if (tape_.size() > tape_max) tape_.resize(tape_max);
  sequence_ = sequence;
  known_ = true;
  return true;
}

std::string WatchedSymbol::top() const {
  const auto best = [](const auto& side) {
    return side.empty() ? "- -"
                        : to_string(side.begin()->first) + " " + side.begin()->second.shares;
  };
  return best(bids_) + " " + best(asks_);
}

}  // namespace exchange::cli
