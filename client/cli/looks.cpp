// The commands that ask the HTTP port.

#include <algorithm>
#include <charconv>
#include <set>
#include <thread>

#include "client/cli/step.hpp"
#include "client/cli/views.hpp"
#include "client/cli/watch.hpp"

namespace exchange::cli {
namespace {

constexpr PagedList positions_list{"positions", "next_position", "positions_after"};
constexpr PagedList orders_list{"orders", "next_order", "orders_after"};
constexpr PagedList executions_list{"executions", "next", "before"};

// Returns the value of a line "name value" of /metrics.
std::optional<std::uint64_t> metric(std::string_view text, const std::string& name) {
  const std::size_t line = text.find("\n" + name + " ");
  if (line == std::string_view::npos) return {};
  const std::string_view rest = text.substr(line + name.size() + 2);
  std::uint64_t value = 0;
  if (std::from_chars(rest.data(), rest.data() + rest.size(), value).ec != std::errc()) return {};
  return value;
}

}  // namespace

std::optional<std::string> next_page(const Json& page, const PagedList& list) {
  const auto next = page.is_object() ? page.find(list.next) : page.end();
  if (next == page.end()) return {};
  return "?" + std::string(list.parameter) + "=" +
         (next->is_string() ? next->get<std::string>() : next->dump());
}

HttpReply Runner::Step::get(const std::string& target) const {
  const Sender by = as_operator ? sender() : Sender{settings.key, settings.account};
  return ask_http(settings, target, by, http_timeout_s, runner.stop_);
}

std::optional<std::uint64_t> Runner::Step::committed_batch() const {
  return metric(get("/metrics").body, "exchange_journal_batch");
}

void Runner::Step::catch_up() const {
  const auto end = std::chrono::steady_clock::now() + catch_up_max;
  const std::optional<std::uint64_t> committed = committed_batch();
  while (committed && std::chrono::steady_clock::now() < end) {
    const Json symbols = Json::parse(get("/api/symbols?limit=1").body, nullptr, false);
    const auto batch = symbols.is_object() ? symbols.find("batch") : symbols.end();
    if (batch == symbols.end() || !batch->is_number_unsigned() ||
        batch->get<std::uint64_t>() >= *committed)
      return;
    std::this_thread::sleep_for(catch_up_pause);
  }
}

std::optional<Json> Runner::Step::answer(const std::string& target, const std::string& symbol,
                                         std::initializer_list<PagedList> lists) {
  const HttpReply reply = get(target);
  if (reply.status == 200) {
    Json all = parse_json(reply.body);
    for (const PagedList& list : lists)
      while (const auto next = next_page(all, list)) {
        const HttpReply next_reply = get(target + *next);
        if (next_reply.status != 200) break;
        const Json page = parse_json(next_reply.body);
        for (const Json& one : list_field(page, list.name)) all[list.name].push_back(one);
        all.erase(list.next);
        if (page.contains(list.next)) all[list.next] = page[list.next];
      }
    return all;
  }
  const Json error = Json::parse(reply.body, nullptr, false);
  if (!error.is_object() || !error.contains("error"))
    throw client::BadReply("HTTP status " + std::to_string(reply.status) + " of " +
                           settings.http_address() + target);
  const std::string hint = reply.status == 404 && !symbol.empty() ? symbol_hint(symbol) : "";
  fail(text_field(error, "error") + hint);
  return {};
}

void Runner::Step::show(const std::string& target, std::string (*view)(const Json&, Style),
                        const std::string& symbol, std::initializer_list<PagedList> lists) {
  catch_up();
  if (const std::optional<Json> json = answer(target, symbol, lists))
    out << view(*json, runner.console_.style);
}

void Runner::Step::operator()(const ShowAccount&) {
  show("/api/accounts/" + account(), account_view, {}, {positions_list, orders_list});
}

void Runner::Step::operator()(const ShowOpenOrders&) {
  show("/api/accounts/" + account(), orders_view, {}, {orders_list});
}

std::optional<std::vector<Json>> Runner::Step::executions_of(const std::string& order) {
  std::string id = order;
  if (order.starts_with("ref:")) {
    const auto named = answer("/api/orders/" + order + "?limit=1&account=" + account());
    if (!named) return {};
    id = std::to_string(number_field(*named, "order"));
  }
  std::vector<Json> found;
  // pages come newest first; within a page the oldest execution is first
  for (std::string target = "/api/orders/" + id;;) {
    const std::optional<Json> page = answer(target);
    if (!page) return {};
    if (text_field(*page, "account") != settings.account) {
      fail("order " + order + ": " + std::string(describe(Reason::unknown_order)));
      return {};
    }
    const std::vector<Json>& executions = list_field(*page, "executions");
    for (auto one = executions.rbegin(); one != executions.rend(); ++one) {
      Json& fill = found.emplace_back(*one);
      for (const char* member : {"order", "side", "symbol"}) fill[member] = (*page)[member];
    }
    const auto next = next_page(*page, executions_list);
    if (!next) return found;
    target = "/api/orders/" + id + *next;
  }
}

std::optional<std::vector<Json>> Runner::Step::newest_fills(std::size_t count) {
  const std::string path = "/api/accounts/" + account() + "/fills?before=";
  std::vector<Json> found;
  for (std::string before = "newest";;) {
    const std::size_t wanted = std::min<std::size_t>(count - found.size(), 1'000);
    const std::optional<Json> page = answer(path + before + "&limit=" + std::to_string(wanted));
    if (!page) return {};
    const std::vector<Json>& fills = list_field(*page, "fills");
    found.insert(found.end(), fills.begin(), fills.end());
    const auto next = page->find("next");
    if (next == page->end()) return found;
    if (found.size() >= count) {
      say("the newest " + std::to_string(found.size()) + " executions of account " +
          settings.account + "; -n shows more");
      return found;
    }
    before = next->dump();
  }
}

void Runner::Step::operator()(const ShowHistory& history) try {
  account();
  if (history.orders.empty()) {
    if (const auto fills = newest_fills(history.count)) {
      if (fills->empty())
        say("no executions of account " + settings.account);
      else
        out << history_view(*fills, runner.console_.style);
    }
    return;
  }
  // finds what the server would refuse before any request is sent
  write_document(NamedOrders{false, history.orders}, own());
  std::vector<Json> all;
  std::set<std::int64_t> shown;  // an order may have been named twice
  for (const std::string& order : history.orders) {
    const auto found = executions_of(order);
    if (!found) continue;
    if (found->empty())
      say("no executions of order " + order);
    else if (shown.insert(number_field(found->front(), "order")).second)
      all.insert(all.end(), found->begin(), found->end());
  }
  std::stable_sort(all.begin(), all.end(), [](const Json& one, const Json& other) {
    return number_field(one, "time_us") > number_field(other, "time_us");
  });
  if (!all.empty()) out << history_view(all, runner.console_.style);
} catch (const client::NoReply&) {
  throw;
} catch (const client::Unreachable& error) {
  throw client::Unreachable(std::string(error.what()) +
                            "; history needs the HTTP port (--http), 'status ORDER' does not");
}

void Runner::Step::operator()(const ShowBook& command) {
  const std::string target =
      "/api/books/" + checked_symbol(command.symbol) + "?levels=" + std::to_string(command.levels);
  catch_up();
  const std::optional<Json> book = answer(target, command.symbol);
  if (!book) return;
  Json own_account;  // whose orders are marked
  if (!settings.account.empty()) {
    const HttpReply reply = get("/api/accounts/" + checked_account(settings.account));
    if (reply.status == 200) own_account = parse_json(reply.body);
  }
  out << book_view(*book, runner.console_.style, own_account);
}

void Runner::Step::operator()(const ShowTrades& trades) {
  show(
      "/api/trades?sym=" + checked_symbol(trades.symbol) + "&limit=" + std::to_string(trades.count),
      trades_view, trades.symbol);
}

void Runner::Step::operator()(const ShowSymbols&) {
  show("/api/symbols", symbols_view, {}, {symbols_list});
}

void Runner::Step::operator()(const ShowLeaderboard& wanted) {
  catch_up();
  as_operator = wanted.ids;
  std::string target = "/api/leaderboard";
  const auto add = [&](const std::string& parameter) {
    target += (target.ends_with("board") ? "?" : "&") + parameter;
  };
  if (wanted.round > 0) add("round=" + std::to_string(wanted.round));
  if (wanted.count > 0) add("limit=" + std::to_string(wanted.count));
  if (wanted.ids) add("ids=true");
  if (const std::optional<Json> json = answer(target))
    out << leaderboard_view(*json, runner.console_.style);
}

void Runner::Step::operator()(const Watch& command) {
  for (const std::string& symbol : command.symbols) checked_symbol(symbol);
  catch_up();
  watch(command, settings, runner.console_, runner.stop_);
}

void Runner::Step::operator()(const WatchAccount& command) {
  account();
  watch_account(command, settings, runner.console_, runner.stop_);
}

}  // namespace exchange::cli
