#pragma once
// Replies of the HTTP port (docs/http-api.md) as values. Texts are made printable. Pure.
// Slow to compile: only for the files that read JSON.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "client/connection/framing.hpp"
#include "engine/decimal.hpp"

namespace exchange::cli {

using Json = nlohmann::json;

// The value of `key`. All throw client::BadReply if it is missing or of another type.
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
  std::uint64_t id = 0;
  std::string price, shares, taker;  // taker: "buy" or "sell", the side that arrived last
  std::string buy_order, sell_order;
  std::int64_t time_us = 0;
};
std::vector<Trade> trades_field(const Json& from, const char* key);

// Throws client::BadReply if it is no JSON.
Json parse_json(std::string_view text);

}  // namespace exchange::cli
