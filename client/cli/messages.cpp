#include "client/cli/messages.hpp"

#include "client/cli/text.hpp"

namespace exchange::cli {
namespace {

[[noreturn]] void not_understood(const char* key) {
  throw client::BadReply(std::string("a reply without a good '") + key + "'");
}

Level read_level(const Json& level, const char* key) {
  if (!level.is_array() || level.size() != 3 || !level[0].is_string() || !level[1].is_string() ||
      !level[2].is_number_unsigned())
    not_understood(key);
  const auto price = parse_price(level[0].get_ref<const std::string&>());
  if (!price) not_understood(key);
  return {price.value, printable(level[1].get_ref<const std::string&>()),
          level[2].get<std::uint64_t>()};
}

}  // namespace

const Json& field(const Json& from, const char* key) {
  if (!from.is_object()) not_understood(key);
  const auto found = from.find(key);
  if (found == from.end()) not_understood(key);
  return *found;
}

std::string text_field(const Json& from, const char* key) {
  const Json& value = field(from, key);
  if (!value.is_string()) not_understood(key);
  return printable(value.get_ref<const std::string&>());
}

std::string text_or_dash(const Json& from, const char* key) {
  return field(from, key).is_null() ? "-" : text_field(from, key);
}

std::int64_t number_field(const Json& from, const char* key) {
  const Json& value = field(from, key);
  if (!value.is_number_integer()) not_understood(key);
  return value.get<std::int64_t>();
}

const Json& list_field(const Json& from, const char* key) {
  const Json& value = field(from, key);
  if (!value.is_array()) not_understood(key);
  return value;
}

std::vector<Level> levels_field(const Json& from, const char* key) {
  std::vector<Level> levels;
  for (const Json& level : list_field(from, key)) levels.push_back(read_level(level, key));
  return levels;
}

std::vector<Trade> trades_field(const Json& from, const char* key) {
  std::vector<Trade> trades;
  for (const Json& one : list_field(from, key))
    trades.push_back({.id = std::uint64_t(number_field(one, "id")),
                      .price = text_field(one, "price"),
                      .shares = text_field(one, "shares"),
                      .taker = text_field(one, "taker"),
                      .buy_order = std::to_string(number_field(one, "buy_order")),
                      .sell_order = std::to_string(number_field(one, "sell_order")),
                      .time_us = number_field(one, "time_us")});
  return trades;
}

Json parse_json(std::string_view text) {
  Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) throw client::BadReply("no JSON: " + printable(text.substr(0, 200)));
  return json;
}

}  // namespace exchange::cli
