#pragma once
// Writes JSON from a market view: the documents of docs/http-api.md, and their parts, which
// messages of the WebSocket and replays of closed days have too. Pure; pauses if the thread works
// in bursts. Thread: that of the view.

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/bursts.hpp"
#include "json/json_input.hpp"
#include "market_data/market_view.hpp"
#include "store/tables.hpp"

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

// --- parts ---

Json time_json(Timestamp time);
// Adds the levels of both sides, in the form of every message about a book. Unless trading is open,
// also adds the trading state of the symbol.
void add_sides(Document& document, const MarketView::Symbol& symbol,
               const MarketView::Symbol::Levels (&sides)[2], std::size_t count);
void add_book(Document& document, const MarketView::Symbol& symbol, std::uint64_t sequence,
              const MarketView::Symbol::Levels (&sides)[2], std::size_t count);
void add_trades(Document& document, std::span<const MarketView::Trade> trades);
void add_newest_trades(Document& document, const MarketView::Symbol& symbol, std::size_t count);
void add_rules(Document& document, const MarketView& view, const MarketView::Account& account);
Json position_json(const MarketView& view, const MarketView::Position& position);
Json own_order_json(const MarketView& view, const OrderRow& row);
// Adds the members of an account that documents and messages have in common.
void add_account(Document& document, const MarketView& view, const AccountId& id,
                 const MarketView::Account& account, const AccountPage& page);

// --- documents ---

// Writes at most `count` symbols, from number `first` on.
std::string symbols_json(const MarketView& view, std::size_t first, std::size_t count);
std::string book_json(const MarketView::Symbol& symbol, std::size_t levels);
std::string trades_json(const MarketView::Symbol& symbol, std::size_t count);
ShownAccount shown_account(const MarketView& view, AccountNumber number, bool with_ids);
// `standings` belong to `round`; 0 stands for all rounds.
std::string leaderboard_json(const MarketView& view, std::uint64_t round,
                             std::span<const Leaderboard::Standing> standings, bool with_ids);
std::string account_json(const MarketView& view, const AccountId& id,
                         const MarketView::Account& account, const AccountPage& page);
// `order` was read with the executions of `range`. The view must know its account and symbol.
std::string order_json(const MarketView& view, const StoredOrder& order,
                       const ExecutionRange& range);

// Writes fills of the account `id`; the view must know their symbols. `newest` is the newest
// execution of the exchange that was searched. `next` is where the next page begins; empty if this
// page is the last.
std::string fills_json(const MarketView& view, const AccountId& id, const std::vector<Fill>& fills,
                       ExecutionId newest, std::optional<ExecutionId> next);

}  // namespace exchange
