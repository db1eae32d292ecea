#include "client/cli/runner.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <thread>

#include "client/cli/parser.hpp"
#include "client/cli/step.hpp"
#include "client/cli/views.hpp"
#include "client/cli/watch.hpp"
#include "client/connection/command_line.hpp"
#include "protocol/request_writer.hpp"

namespace exchange::cli {
namespace {

constexpr PagedList symbols_list{"symbols", "next", "after"};
constexpr PagedList orders_list{"orders", "next_order", "orders_after"};
constexpr PagedList executions_list{"executions", "next", "before"};

bool equal_but_case(const std::string& one, const std::string& other) {
  return std::equal(one.begin(), one.end(), other.begin(), other.end(), [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) ==
           std::tolower(static_cast<unsigned char>(b));
  });
}

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

// Carries out each command of a trader.
struct Runner::TraderStep : Step {
  using Step::operator();
  void operator()(const NewOrder& typed);
  void operator()(const Replacement& replacement);
  void operator()(const CancelOrders& cancel);
  void operator()(const CancelAllOrders& cancel);
  void operator()(const ShowOrders& query);
  void operator()(const ShowAccount&);
  void operator()(const ShowOpenOrders&);
  void operator()(const ShowHistory& history);
  void operator()(const ShowBook& command);
  void operator()(const ShowTrades& trades);
  void operator()(const ShowSymbols&);
  void operator()(const ShowLeaderboard& wanted);
  void operator()(const Watch& command);
  void operator()(const WatchAccount& command);
  void operator()(const StartShell&) { throw UsageError("this is the shell"); }
  void operator()(const UseAccount& use);
  void operator()(const ShowXml& show_xml) { runner.settings_.xml = show_xml.on; }
  void operator()(const Help& help);
  void operator()(const Quit&) { runner.has_quit_ = true; }
};

std::optional<std::string> next_page(const Json& page, const PagedList& list) {
  const auto next = page.is_object() ? page.find(list.next) : page.end();
  if (next == page.end()) return {};
  return "?" + std::string(list.parameter) + "=" +
         (next->is_string() ? next->get<std::string>() : next->dump());
}

void add_page(Json& all, const Json& page, const PagedList& list) {
  for (const Json& one : list_field(page, list.name)) all[list.name].push_back(one);
  if (const auto next = page.find(list.next); next != page.end())
    all[list.next] = *next;
  else
    all.erase(list.next);
}

Runner::Runner(Settings settings, Console& console, const client::StopFlag& stop)
    : settings_(std::move(settings)),
      console_(console),
      stop_(stop),
      xml_port_(settings_.connect, settings_.timeout_s, settings_.retry ? settings_.timeout_s : 0,
                stop, settings_.security),
      label_("exchange-cli: ") {}

const std::string& Runner::Step::account() const {
  const std::string& account = checked_account(settings.account);
  runner.accounts_seen_.insert(account);
  return account;
}

Results Runner::Step::change(const std::string& document, std::size_t asked, XmlPort::Kind kind) {
  in_doubt = true;
  const std::string reply = runner.ask(document, kind, settings);
  in_doubt = false;
  return client::read_outcomes(reply, asked);
}

Results Runner::Step::question(const std::string& document, std::size_t asked) {
  return client::read_outcomes(runner.ask(document, XmlPort::Kind::question, settings), asked);
}

const NewOrder* Runner::Step::terms_of(const std::string& order) const {
  const auto found = runner.known_orders_.find(order);
  return found == runner.known_orders_.end() ? nullptr : &found->second;
}

template <class Look>
auto Runner::Step::aside(Look look) -> decltype(look()) {
  if (!settings.knows_http()) return {};
  http_timeout_s = std::min(settings.timeout_s, aside_timeout_s);
  try {
    return look();
  } catch (const client::Unreachable&) {
  } catch (const client::BadReply&) {
  }
  return {};
}

std::string Runner::Step::figures(const NewOrder& order, const std::string& message) {
  const bool funds = message == describe(Reason::insufficient_funds);
  if (!funds && message != describe(Reason::insufficient_shares)) return {};
  return aside([&]() -> std::string {
    catch_up();
    const HttpReply reply = get("/api/accounts/" + settings.account);
    if (reply.status != 200) return {};
    const Json json = parse_json(reply.body);
    std::string needed = order.shares, free = "0";
    if (funds) {
      free = text_field(json, "balance");
      const auto limit = parse_price(order.limit);
      needed = limit ? to_string(cost(parse_shares(order.shares).value, limit.value)) : "";
    } else {
      for (const Json& one : list_field(json, "positions"))
        if (text_field(one, "symbol") == order.symbol) free = text_field(one, "shares");
    }
    return ": " + (needed.empty() ? "" : needed + " needed, ") + free + " free";
  });
}

std::string Runner::Step::symbol_hint(const std::string& symbol) const {
  std::string near;
  for (const std::string& known : runner.symbols()) {
    if (equal_but_case(known, symbol)) return " (did you mean '" + known + "'?)";
    if (symbol.size() > 2 && edit_distance(symbol, known) == 1) near = known;
  }
  return near.empty() ? "" : " (did you mean '" + near + "'?)";
}

bool Runner::Step::may_create(const std::string& symbol) {
  if (settings.new_symbols || runner.symbols_seen_.contains(symbol)) return true;
  const bool unknown = aside([&] {
    const auto is_unknown = [&] { return get("/api/books/" + symbol).status == 404; };
    if (!is_unknown()) return false;
    catch_up();
    return is_unknown();
  });
  if (!unknown) return true;
  const std::string problem = "there is no symbol " + symbol + symbol_hint(symbol);
  if (!runner.console_.confirm)
    runner.fail(problem + "; --new-symbol lets a command create it, for everyone", exit_refused);
  else if (runner.console_.confirm(problem + ". Create it, for everyone?"))
    return true;
  status = exit_refused;
  return false;
}

void Runner::Step::round_limit(std::string& limit, Side side) {
  const auto low = parse_price(limit, Rounding::towards_zero),
             high = parse_price(limit, Rounding::up);
  if (!low || !high || low.value == high.value) return;
  limit = to_string(side == Side::buy ? low.value : high.value);
  say("the limit was rounded to " + limit);
}

// Only a query returns how much of the order was executed, and it needs the id of the order.
void Runner::TraderStep::operator()(const NewOrder& typed) {
  NewOrder order = typed;
  if (settings.retry && order.reference.empty())
    order.reference = "cli-" + client::prefix_from_clock();
  const std::string document = write_document(order, account(), settings.key);
  if (order.side == Side::buy && !may_create(order.symbol)) return;
  reference = order.reference;
  const Results results =
      change(document, 1, settings.retry ? XmlPort::Kind::question : XmlPort::Kind::change);
  const auto* opened = accepted<Opened>(results.front(),
                                        std::string(order.side == Side::buy ? "buy " : "sell ") +
                                            order.shares + " " + order.symbol + " @ " + order.limit,
                                        &order);
  if (opened == nullptr) return;
  const std::string id = std::to_string(opened->order);
  round_limit(order.limit, order.side);
  runner.known_orders_[id] = order;
  runner.symbols_seen_.insert(order.symbol);
  show_state(id, "placed");
}

void Runner::Step::show_state(const std::string& id, const char* done) {
  try {
    const Results state =
        question(write_document(ShowOrders{{id}}, settings.account, settings.key), 1);
    if (const auto* found = accepted<Status>(state.front(), "order " + id)) {
      say(sentence(id, *found, terms_of(id)));
      runner.remember(settings.account, *found);
    }
  } catch (const client::Unreachable&) {
    say("order " + id + ": " + done + "; its state could not be queried");
    throw;
  }
}

// Sends a replace only once: another request may have replaced the order in between.
void Runner::TraderStep::operator()(const Replacement& replacement) {
  const Results results = change(write_document(replacement, account(), settings.key), 1);
  const auto* replaced = accepted<Replaced>(results.front(), "order " + replacement.order);
  if (replaced == nullptr) return;
  const std::string id = std::to_string(replaced->order);
  NewOrder& order = runner.known_orders_[id];
  order.side = replacement.side;
  order.shares = replacement.shares;
  order.limit = replacement.limit;
  round_limit(order.limit, order.side);
  show_state(id, "replaced");
}

void Runner::TraderStep::operator()(const CancelOrders& cancel) {
  const Results results =
      change(write_document(cancel, account(), settings.key), cancel.orders.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    const std::string& order = cancel.orders[i];
    if (const auto* canceled = accepted<Canceled>(results[i], "order " + order)) {
      say(sentence(order, canceled->status, terms_of(order)));
      runner.open_orders_.erase(canceled->status.order);
    }
  }
}

// One request cancels at most a thousand orders, so it is repeated until none is open.
void Runner::TraderStep::operator()(const CancelAllOrders& cancel) {
  const std::string document = write_document(cancel, account(), settings.key);
  const std::string of_symbol = cancel.symbol ? " of " + *cancel.symbol : "";
  for (bool any = false;; any = true) {
    const Results results = change(document, client::any_number);
    const auto* error = std::get_if<client::ErrorElement>(&results.front());
    if (error != nullptr && error->message == "no open orders") {
      if (!any) say(error->message + of_symbol);
      return;
    }
    for (const client::ReplyOutcome& result : results) {
      const auto* canceled = accepted<Canceled>(result, "cancel all" + of_symbol);
      if (canceled == nullptr) return;
      const std::string order = std::to_string(canceled->status.order);
      say(sentence(order, canceled->status, terms_of(order)));
      runner.open_orders_.erase(canceled->status.order);
    }
  }
}

void Runner::TraderStep::operator()(const ShowOrders& query) {
  const Results results =
      question(write_document(query, account(), settings.key), query.orders.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    const std::string& order = query.orders[i];
    const auto* found = accepted<Status>(results[i], "order " + order);
    if (found == nullptr) continue;
    say(sentence(order, *found, terms_of(order)));
    if (!settings.xml) out << execution_lines(*found);
    if (runner.open_orders_.contains(found->order)) runner.remember(settings.account, *found);
  }
}

HttpReply Runner::Step::get(const std::string& target) const {
  const Sender by = as_operator ? sender() : Sender{settings.key, settings.account};
  return http_get(settings.http_address(), target, http_timeout_s, runner.stop_,
                  {by.account, by.key, settings.security});
}

std::optional<std::uint64_t> Runner::Step::committed_batch() const {
  return metric(get("/metrics").body, "exchange_journal_batch");
}

bool Runner::Step::catch_up() const {
  const auto end = std::chrono::steady_clock::now() + catch_up_max;
  const std::optional<std::uint64_t> committed = committed_batch();
  while (committed && std::chrono::steady_clock::now() < end) {
    const Json symbols = Json::parse(get("/api/symbols?limit=1").body, nullptr, false);
    const auto batch = symbols.is_object() ? symbols.find("batch") : symbols.end();
    if (batch == symbols.end() || !batch->is_number_unsigned() ||
        batch->get<std::uint64_t>() >= *committed)
      return true;
    std::this_thread::sleep_for(catch_up_pause);
  }
  return !committed;
}

std::optional<Json> Runner::Step::answer(const std::string& target, const std::string& symbol,
                                         std::initializer_list<PagedList> lists) {
  const HttpReply reply = get(target);
  if (reply.status == 200) {
    Json all = parse_json(reply.body);
    for (const PagedList& list : lists)
      while (const auto next = next_page(all, list)) {
        const HttpReply page = get(target + *next);
        if (page.status != 200) break;
        add_page(all, parse_json(page.body), list);
      }
    return all;
  }
  const Json error = Json::parse(reply.body, nullptr, false);
  if (error.is_object() && error.contains("error")) {
    const std::string hint = reply.status == 404 && !symbol.empty() ? symbol_hint(symbol) : "";
    status = runner.fail(text_field(error, "error") + hint, exit_refused);
    return {};
  } else {
    throw client::BadReply("HTTP status " + std::to_string(reply.status) + " of " +
                           settings.http_address() + target);
  }
}

void Runner::Step::show(const std::string& target, std::string (*view)(const Json&, Style),
                        const std::string& symbol, std::initializer_list<PagedList> lists) {
  catch_up();
  if (const std::optional<Json> json = answer(target, symbol, lists))
    out << view(*json, runner.console_.style);
}

void Runner::TraderStep::operator()(const ShowAccount&) {
  show("/api/accounts/" + account(), account_view, {}, {positions_list, orders_list});
}

void Runner::TraderStep::operator()(const ShowOpenOrders&) {
  show("/api/accounts/" + account(), orders_view, {}, {orders_list});
}

// Returns the executions of an order, newest first. After an error, shows it and returns nothing.
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
      status = runner.fail("order " + order + ": " + std::string(describe(Reason::unknown_order)),
                           exit_refused);
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

// Returns the newest executions of the account. After an error, shows it and returns nothing.
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

void Runner::TraderStep::operator()(const ShowHistory& history) try {
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
  write_document(ShowOrders{history.orders}, settings.account, settings.key);
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

void Runner::TraderStep::operator()(const ShowBook& command) {
  const std::string target =
      "/api/books/" + checked_symbol(command.symbol) + "?levels=" + std::to_string(command.levels);
  catch_up();
  const std::optional<Json> book = answer(target, command.symbol);
  if (!book) return;
  std::optional<Json> own;  // the account whose orders are marked
  if (!settings.account.empty()) {
    const HttpReply reply = get("/api/accounts/" + checked_account(settings.account));
    if (reply.status == 200) own = parse_json(reply.body);
  }
  out << (own ? own_book_view(*book, *own, runner.console_.style)
              : book_view(*book, runner.console_.style));
}

void Runner::TraderStep::operator()(const ShowTrades& trades) {
  show(
      "/api/trades?sym=" + checked_symbol(trades.symbol) + "&limit=" + std::to_string(trades.count),
      trades_view, trades.symbol);
}

void Runner::TraderStep::operator()(const ShowSymbols&) {
  show("/api/symbols", symbols_view, {}, {symbols_list});
}

void Runner::TraderStep::operator()(const ShowLeaderboard& wanted) {
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

void Runner::TraderStep::operator()(const Watch& command) {
  for (const std::string& symbol : command.symbols) checked_symbol(symbol);
  catch_up();
  watch(command, settings.http_address(), settings.timeout_s, runner.console_, runner.stop_,
        settings.security);
}

void Runner::TraderStep::operator()(const WatchAccount& command) {
  account();
  watch_account(command, settings, runner.console_, runner.stop_);
}

void Runner::TraderStep::operator()(const UseAccount& use) {
  if (use.account) {
    runner.settings_.account = checked_account(*use.account);
    runner.accounts_seen_.insert(*use.account);
  } else {
    out << (settings.account.empty() ? "no account chosen" : "account " + settings.account) << "\n";
  }
}

void Runner::TraderStep::operator()(const Help& help) {
  out << wrapped(help_text(help.command),
                 runner.console_.live ? text_columns() : std::string::npos);
}

int Runner::run(const Command& command, const Settings& settings) {
  TraderStep step{{*this, settings}};
  reached_ = true;
  try {
    std::visit(step, command);
    console_.out.flush();
    return step.status;
  } catch (const std::invalid_argument& error) {  // UsageError, --tls-ca
    return fail(error.what(), exit_usage);
  } catch (const Refused& error) {
    return fail(error.what(), exit_refused);
  } catch (const client::NoReply& error) {
    std::string doubt;
    if (step.in_doubt)
      doubt = "\nWhether the exchange executed it is not known: " +
              (step.shown_by.empty()
                   ? "run the command again."
                   : "'" + step.shown_by +
                         (step.reference.empty() ? "" : " ref:" + step.reference) + "' shows.");
    return fail(error.what() + doubt, exit_unreachable);
  } catch (const client::Unreachable& error) {
    return fail(error.what(), exit_unreachable);
  } catch (const client::BadReply& error) {
    return fail("the server's reply is not understood: " + printable(error.what()),
                exit_unreachable);
  }
}

int Runner::run_line(const std::string& text, std::size_t number) {
  label_ = number > 0 ? "exchange-cli: line " + std::to_string(number) + ": " : "";
  try {
    const std::optional<Line> line = parse_line(text, settings_);
    return line ? run(line->command, line->settings) : exit_ok;
  } catch (const UsageError& error) {
    return fail(error.what(), exit_usage);
  }
}

void Runner::remember(const std::string& account, const Status& status) {
  if (status.open > Shares())
    open_orders_[status.order] = {account, executed_shares(status)};
  else
    open_orders_.erase(status.order);
}

void Runner::notice_fills() {
  if (open_orders_.empty() || !reached_) return;
  std::map<std::string, ShowOrders> asked;  // by account
  std::size_t count = 0;
  for (const auto& [order, open] : open_orders_)
    if (count++ < noticed_orders_max) asked[open.account].orders.push_back(std::to_string(order));
  for (const auto& [account, orders] : asked) try {
      const Results results = client::read_outcomes(
          xml_port_.ask(write_document(orders, account, settings_.key), XmlPort::Kind::question),
          orders.orders.size());
      for (std::size_t i = 0; i < results.size(); ++i) {
        const auto* status = std::get_if<Status>(&results[i]);
        if (status == nullptr) continue;
        const std::string& id = orders.orders[i];
        const auto terms = known_orders_.find(id);
        if (executed_shares(*status) > open_orders_[status->order].executed)
          console_.out << "* "
                       << sentence(id, *status,
                                   terms == known_orders_.end() ? nullptr : &terms->second)
                       << "\n";
        remember(account, *status);
      }
    } catch (const client::Unreachable&) {
    } catch (const client::BadReply&) {
    }
  console_.out.flush();
}

void Runner::notice_open_orders() {
  notice_fills();
  if (open_orders_.empty()) return;
  std::string list;
  for (const auto& [order, open] : open_orders_)
    list += (list.empty() ? "" : ", ") + std::to_string(order);
  console_.out << (open_orders_.size() == 1 ? "an order of this shell stays open: "
                                            : "orders of this shell stay open: ")
               << clipped(list, terminal_size().columns) << std::endl;
}

bool Runner::connect() {
  try {
    xml_port_.connect();
    return true;
  } catch (const client::Unreachable& error) {
    fail(error.what(), exit_unreachable);
  } catch (const std::invalid_argument& error) {  // --tls-ca
    fail(error.what(), exit_usage);
  }
  return false;
}

std::set<std::string> Runner::symbols() {
  const auto now = std::chrono::steady_clock::now();
  if (symbols_asked_ &&
      now - *symbols_asked_ < std::chrono::duration<double>(settings_.completion_fresh_s))
    return symbols_seen_;
  symbols_asked_ = now;
  try {
    constexpr int pages_max = 5;
    std::optional<std::string> page = "";
    for (int pages = 0; page && pages < pages_max; ++pages) {
      const HttpReply reply =
          http_get(settings_.http_address(), "/api/symbols" + *page, settings_.completion_timeout_s,
                   stop_, {.security = settings_.security});
      const Json json = reply.status == 200 ? parse_json(reply.body) : Json();
      for (const Json& one : list_field(json, "symbols"))
        symbols_seen_.insert(text_field(one, "symbol"));
      page = next_page(json, symbols_list);
    }
  } catch (const std::exception&) {  // uses only the symbols of this session
  }
  return symbols_seen_;
}

int Runner::fail(const std::string& what, int status) {
  reached_ &= status != exit_unreachable;
  console_.out.flush();
  console_.err << label_ << what << std::endl;
  return status;
}

std::string Runner::ask(const std::string& document, XmlPort::Kind kind, const Settings& settings) {
  if (settings.xml) console_.out << "> " << without_keys(document) << std::endl;
  const std::string reply = xml_port_.ask(document, kind);
  if (settings.xml) {
    const std::size_t end = reply.find_last_not_of(" \r\n\t") + 1;
    console_.out << std::string_view(reply).substr(0, end) << std::endl;
  }
  return reply;
}

}  // namespace exchange::cli
