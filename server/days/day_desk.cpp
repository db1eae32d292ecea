#include "days/day_desk.hpp"

#include <algorithm>
#include <set>
#include <span>
#include <vector>

#include "base/log.hpp"
#include "json/view_json.hpp"

namespace exchange {

namespace http = boost::beast::http;

namespace {

DayReply no_such_day(const std::string& day) {
  return {http::status::not_found, "there is no closed day '" + day + "'"};
}

DayReply unknown_symbol(const SymbolName& symbol) {
  return {http::status::not_found,
          "unknown symbol '" + std::string(symbol.view()) + "' on this day", "unknown_symbol"};
}

// Writes the text of the error only to the log: it names hosts and users of the database.
DayReply unavailable(const StoreUnavailable& error) {
  log_warning("closed days cannot be read now: {}", error.what());
  return {http::status::service_unavailable, "the store is unavailable"};
}

// Returns the change of this symbol; null if it did not change.
const MarketView::Change* change_of(const DayReplay::Changes& changes, SymbolNumber symbol) {
  const auto found = std::ranges::find(changes.symbols, symbol, &MarketView::Change::symbol);
  return found == changes.symbols.end() ? nullptr : &*found;
}

bool is_of(const Rows& rows, AccountNumber account) {
  const auto is = [account](const auto& row) { return row.account == account; };
  return std::ranges::any_of(rows.orders, is) || std::ranges::any_of(rows.positions, is) ||
         std::ranges::any_of(rows.accounts,
                             [account](const AccountRow& row) { return row.number == account; });
}

// --- documents ---

struct KeptDay {
  std::string name;
  DayFacts facts;
};

std::string days_json(std::span<const KeptDay> days) {
  Document document;
  document.add_list("days", [&](auto add) {
    for (const KeptDay& day : days) {
      Json json{{"day", day.name},
                {"first_time_us", time_json(day.facts.first_time.value_or(Timestamp()))},
                {"last_time_us", time_json(day.facts.last_time.value_or(Timestamp()))},
                {"whole", day.facts.problem.empty()}};
      if (!day.facts.problem.empty()) json["problem"] = day.facts.problem;
      add(json);
    }
  });
  return document.text();
}

// Shows the trading of `symbol` in detail; if null, shows no details.
std::string day_json(std::string_view day, const DaySummary& summary,
                     const DaySummary::Symbol* symbol) {
  Document document;
  document.add("day", day)
      .add("commands", summary.commands)
      .add("first_time_us", time_json(summary.first_time))
      .add("last_time_us", time_json(summary.last_time));
  document.add_list("symbols", [&](auto add) {
    for (const DaySummary::Symbol& one : summary.symbols)
      add({{"symbol", one.name.view()}, {"trades", one.trades}});
  });
  if (symbol == nullptr) return document.text();
  document.add("symbol", symbol->name.view()).add("bins", DaySummary::bins);
  document.add("trades_of_bin", symbol->trades_of_bin);
  document.add_list("marks", [&](auto add) {
    for (const DaySummary::Mark& mark : symbol->marks)
      add({{"position", mark.position},
           {"time_us", mark.time.microseconds},
           {"trading", word_of(mark.trading)}});
  });
  return document.text();
}

// A moment of a closed day.
struct Moment {
  std::uint64_t position;
  Timestamp time;
};

// Writes the state of a symbol, and of an account if one is given, from the view.
std::string moment_state_json(const MarketView& view, const Moment& at, const SymbolName& name,
                              const std::optional<AccountId>& id, const AccountPage& page) {
  // a symbol that does not exist yet has an empty book
  const MarketView::Symbol none{}, *const found = view.find_symbol(name),
                                          &symbol = found == nullptr ? none : *found;
  Document document;
  document.add("position", at.position).add("time_us", at.time.microseconds);
  add_sides(document, symbol, symbol.levels, page.levels_max);
  add_newest_trades(document, symbol, symbol.trades.size());
  if (!id) return document.nested();
  const MarketView::Account* const account = view.find_account(*id);
  Document of_account;
  if (account != nullptr) add_account(of_account, view, *id, *account, page);
  return document.add_text("account", account == nullptr ? "null" : of_account.nested()).nested();
}

// Writes what one command changed of a symbol and of an account (null: nothing changed); `rows` are
// the changed rows.
std::string moment_change_json(const MarketView& view, const Moment& at,
                               const MarketView::Change* change, const MarketView::Account* account,
                               const Rows& rows) {
  Document document;
  document.add("position", at.position).add("time_us", at.time.microseconds);
  if (change != nullptr) {
    add_sides(document, view.symbols()[change->symbol], change->levels, SIZE_MAX);
    add_trades(document, change->trades);
  }
  if (account == nullptr) return document.nested();
  const AccountNumber number = view.number_of(*account);
  Json now{{"balance", to_string(account->balance)},
           {"reserved", to_string(account->reserved)},
           {"open_orders", account->open_orders},
           {"positions", Json::array()},
           {"orders", Json::array()}};
  std::set<SymbolNumber> symbols;  // also of orders: position rows lack the reserved shares
  for (const PositionRow& row : rows.positions)
    if (row.account == number) symbols.insert(row.symbol);
  for (const OrderRow& row : rows.orders) {
    if (row.account != number) continue;
    symbols.insert(row.symbol);
    now["orders"].push_back(own_order_json(view, row));
    now["orders"].back()["canceled"] = to_string(row.canceled);
  }
  for (const SymbolNumber symbol : symbols)
    if (const auto position = view.find_position(*account, symbol))
      now["positions"].push_back(position_json(view, account->positions[*position]));
  return document.add("account", now).nested();
}

// `state` and `changes` are texts of the two functions above. `changes` contains all changes up to
// `until`.
std::string moments_json(std::string_view day, const SymbolName& symbol, std::string_view state,
                         const std::vector<std::string>& changes, const Moment& until,
                         bool is_end) {
  Document document;
  document.add("day", day)
      .add("symbol", symbol.view())
      .add_text("state", state)
      .add_texts("changes", changes)
      .add("until", until.position)
      .add("until_us", until.time.microseconds)
      .add("end", is_end);
  return document.text();
}

}  // namespace

// Turns the errors of a day that cannot be replayed into answers, so that a client need not
// distinguish the causes.
template <class Make>
DayReply DayDesk::answer(const std::string& day, Make make) try {
  if (!open(day)) return no_such_day(day);
  return make();
} catch (const CannotReplay& error) {
  close();
  return {http::status::conflict, "the day " + day + " cannot be replayed: " + error.what()};
} catch (const StoreCorrupt& error) {
  log_error("the day {} cannot be replayed: {}", day, error.what());
  close();
  return {http::status::conflict, "the day " + day + " is damaged: " + error.what()};
} catch (const StoreFenced& error) {
  close();
  return {http::status::service_unavailable, error.what()};
} catch (const StoreUnavailable& error) {
  close();
  return unavailable(error);
} catch (...) {
  close();
  throw;
}

DayReply DayDesk::list() try {
  std::vector<KeptDay> all;
  for (const std::string& name : days_ ? days_->names() : std::vector<std::string>()) {
    go_on_();
    const std::unique_ptr<JournalReader> journal = days_->open(name);
    if (journal == nullptr) continue;
    try {
      all.push_back({name, look_at(*journal)});
    } catch (const StoreUnavailable&) {
      throw;
    } catch (const std::runtime_error& error) {  // of this day only
      all.push_back({name, {{}, {}, error.what()}});
    }
  }
  return {http::status::ok, days_json(all)};
} catch (const StoreUnavailable& error) {
  return unavailable(error);
}

DayReply DayDesk::summary(const std::string& day, const std::optional<SymbolName>& symbol) {
  return answer(day, [&]() -> DayReply {
    if (symbol && summary_->find(*symbol) == nullptr) return unknown_symbol(*symbol);
    return {http::status::ok, day_json(day, *summary_, symbol ? summary_->find(*symbol) : nullptr)};
  });
}

std::pair<KeyHash, DayReply> DayDesk::key_of(const std::string& day, const AccountId& account) {
  KeyHash key;
  DayReply found = answer(day, [&]() -> DayReply {
    if (const auto at = summary_->keys.find(account.view()); at != summary_->keys.end())
      key = at->second;
    return {};
  });
  return {key, std::move(found)};
}

DayReply DayDesk::moments(const MomentQuestion& question) {
  return answer(question.day, [&]() -> DayReply {
    const DaySummary::Symbol* const of = summary_->find(question.symbol);
    if (of == nullptr) return unknown_symbol(question.symbol);
    const SymbolNumber symbol = SymbolNumber(of - summary_->symbols.data());
    move_to(question);

    const MarketView& view = replay_->view();
    const AccountPage page{.positions_max = limits_.page_lines_max,
                           .orders_max = limits_.page_lines_max,
                           .levels_max = limits_.page_lines_max};
    const auto here = [&] {
      return Moment{replay_->position(),
                    replay_->position() == 0 ? summary_->first_time : replay_->time()};
    };
    const std::string state =
        moment_state_json(view, here(), question.symbol, question.account, page);
    std::vector<std::string> changes;
    const std::uint64_t end = replay_->position() + limits_.reach;
    while (changes.size() < question.changes && replay_->position() < end && replay_->next_time()) {
      replay_->advance();
      const DayReplay::Changes now = replay_->take_changes();
      const MarketView::Change* const change = change_of(now, symbol);
      const MarketView::Account* account =
          question.account ? view.find_account(*question.account) : nullptr;
      if (account != nullptr && !is_of(now.rows, view.number_of(*account))) account = nullptr;
      if (change != nullptr || account != nullptr)
        changes.push_back(moment_change_json(view, here(), change, account, now.rows));
      if (replay_->position() % commands_between_calls == 0) go_on_();
    }
    return {http::status::ok, moments_json(question.day, question.symbol, state, changes, here(),
                                           replay_->position() == summary_->commands)};
  });
}

void DayDesk::move_to(const MomentQuestion& question) {
  const bool is_behind = question.time ? replay_->position() > 0 && replay_->time() > *question.time
                                       : replay_->position() > question.position;
  if (is_behind) begin_replay();
  const auto is_there = [&](Timestamp next) {
    return question.time ? next > *question.time : replay_->position() >= question.position;
  };
  for (auto next = replay_->next_time(); next && !is_there(*next); next = replay_->next_time()) {
    replay_->advance();
    if (replay_->position() % commands_between_calls == 0) go_on_();
  }
  replay_->take_changes();
}

// Returns false if there is no such day.
bool DayDesk::open(const std::string& day) {
  if (day_ == day && summary_) return true;
  close();
  if (days_) journal_ = days_->open(day);
  if (journal_ == nullptr) return false;
  const DayFacts facts = look_at(*journal_);
  if (!facts.problem.empty()) throw CannotReplay(facts.problem);
  begin_replay();
  summary_ = summarize(*replay_, facts, go_on_);
  day_ = day;
  return true;
}

void DayDesk::begin_replay() {
  replay_.reset();  // first, so that two replays are never in memory at once
  replay_ = std::make_unique<DayReplay>(*journal_, limits_);
}

void DayDesk::close() {
  replay_.reset();
  summary_.reset();
  journal_.reset();
  day_.clear();
}

}  // namespace exchange
