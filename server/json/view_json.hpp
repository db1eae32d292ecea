#pragma once
// Writes the parts of documents and messages in JSON that come from a market view. Pure; pauses if
// the thread works in bursts. Thread: that of the view.

#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/bursts.hpp"
#include "base/described.hpp"
#include "json/json_input.hpp"
#include "market_data/market_view.hpp"

namespace exchange {

// The part of an account that a document contains.
struct AccountPage {
  std::size_t positions_max, orders_max;
  std::size_t first_position = 0;       // index
  std::optional<OrderId> orders_after;  // an open order of the account
  std::size_t levels_max = 0;           // per side, in the state of a moment
};

// An object that is written member by member. As one Json a long list would take five times the
// memory, and its dump and destruction would be one long burst without a pause.
class Document {
 public:
  Document& add(const char* name, const Json& value) {
    begin_member(name);
    text_ += dump(value);
    return *this;
  }
  // Calls write(element), which adds an element to the list.
  template <class Write>
  Document& add_list(const char* name, Write write) {
    begin_member(name);
    text_ += '[';
    write([this, first = true](const Json& element) mutable {
      if (!std::exchange(first, false)) text_ += ',';
      text_ += dump(element);
      Bursts::rest_if_due();
    });
    text_ += ']';
    return *this;
  }
  // Adds a list of texts that are JSON already.
  Document& add_texts(const char* name, std::span<const std::string> texts) {
    begin_member(name);
    text_ += '[';
    for (const std::string& text : texts) (text_ += &text == texts.data() ? "" : ",") += text;
    text_ += ']';
    return *this;
  }
  Document& add_text(const char* name, std::string_view text) {
    begin_member(name);
    text_ += text;
    return *this;
  }
  std::string text() { return nested() + "\n"; }
  std::string nested() { return std::move(text_) + "}"; }  // for use in another document

 private:
  void begin_member(const char* name) {
    text_ += text_.empty() ? '{' : ',';
    text_ += dump(name);
    text_ += ':';
  }
  // A sentence may repeat text of a client that is not UTF-8.
  static std::string dump(const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  std::string text_;
};

std::string shares_text(Int128 shares_units);
const char* side_name(Side side);
Json time_json(Timestamp time);
// Returns null for a market order.
Json limit_json(const OrderRow& row);
Json level_json(Side side, std::int64_t rank, const MarketView::Level& level);
void add_levels(Document& document, const char* name, Side side,
                const std::map<std::int64_t, MarketView::Level>& all, std::size_t count);
Json trade_json(const MarketView::Trade& trade);
void add_newest_trades(Document& document, const MarketView::Symbol& symbol, std::size_t count);
// Writes what the auction would execute if it ended now, and its market orders.
Json auction_json(const MarketView::Symbol& symbol);
// Adds the levels of both sides, in the form of every message about a book. Unless trading is open,
// also adds the trading state of the symbol.
void add_sides(Document& document, const MarketView::Symbol& symbol,
               const std::map<std::int64_t, MarketView::Level> (&sides)[2], std::size_t count);
void add_book(Document& document, const MarketView::Symbol& symbol, std::uint64_t sequence,
              const std::map<std::int64_t, MarketView::Level> (&sides)[2], std::size_t count);
void add_trades(Document& document, std::span<const MarketView::Trade> trades);

// Writes the rules that differ from their default.
template <class Rules>
Json rules_json(const Rules& rules) {
  Json json = Json::object();
  for_each_member<Rules>([&](auto rule) {
    const auto& value = rules.*rule.pointer;
    if (value == Rules().*rule.pointer) return;
    using Value = std::remove_cvref_t<decltype(value)>;
    if constexpr (std::is_enum_v<Value>)
      json[rule.name] = word_of(value);
    else if constexpr (std::is_integral_v<Value>)
      json[rule.name] = value;
    else
      json[rule.name] = to_string(value);
  });
  return json;
}

void add_rules(Document& document, const MarketView& view, const MarketView::Account& account);
Json position_json(const MarketView& view, const MarketView::Position& position);
Json own_order_json(const MarketView& view, const OrderRow& row);
// Adds the members of an account that documents and messages have in common.
void add_account(Document& document, const MarketView& view, const AccountId& id,
                 const MarketView::Account& account, const AccountPage& page);

}  // namespace exchange
