#pragma once
// Replies and messages of the HTTP port (docs/http-api.md) as values. Text is made printable. Pure.
// Slow to compile: include it only in files that read JSON.

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "client/connection/framing.hpp"
#include "engine/decimal.hpp"

namespace exchange::cli {

using Json = nlohmann::json;

// Return the value of `key`. All throw client::BadReply if it is missing or of another type.
std::string text_field(const Json& from, const char* key);
std::string text_or_dash(const Json& from, const char* key);  // "-" for null
std::int64_t number_field(const Json& from, const char* key);
const std::vector<Json>& list_field(const Json& from, const char* key);

struct Level {
  Price price;
  std::string shares;
  std::uint64_t orders = 0;
};
std::vector<Level> levels_field(const Json& from, const char* key);

struct Trade {
  std::string price, shares, taker;  // taker: "buy" or "sell", the side that arrived last
  std::int64_t time_us = 0;
};
std::vector<Trade> trades_field(const Json& from, const char* key);

// Throws client::BadReply if the text is not JSON.
Json parse_json(std::string_view text);

// One symbol as the WebSocket sends it: a snapshot that updates keep current.
class WatchedSymbol {
 public:
  // Applies a snapshot or an update. Returns false after a gap in the sequence: a new snapshot is
  // needed. Throws client::BadReply.
  bool apply(const Json& message);

  bool known() const { return known_; }  // a snapshot was received
  std::vector<Level> bids() const { return best_of(bids_); }
  std::vector<Level> asks() const { return best_of(asks_); }
  // Returns "145.67 60 146 10": best bid and its shares, best ask and its shares, each "-" if that
  // side is empty.
  std::string top() const;
  // The trades of the last message, oldest first. Excludes those of a snapshot: they are older.
  const std::vector<Trade>& new_trades() const { return new_trades_; }
  // The last trades, newest first.
  const std::deque<Trade>& tape() const { return tape_; }

 private:
  static constexpr std::size_t tape_max = 100;
  template <class Side>
  static std::vector<Level> best_of(const Side& side) {
    std::vector<Level> levels;
    levels.reserve(side.size());
    for (const auto& [price, level] : side) levels.push_back(level);
    return levels;
  }
  template <class Side>
  static void change(Side& side, const std::vector<Level>& levels) {
    for (const Level& level : levels)
      if (level.orders == 0)
        side.erase(level.price);
      else
        side[level.price] = level;
  }

  bool known_ = false;
  std::int64_t sequence_ = 0;
  std::map<Price, Level, std::greater<>> bids_;
  std::map<Price, Level> asks_;
  std::vector<Trade> new_trades_;
  std::deque<Trade> tape_;
};

}  // namespace exchange::cli
