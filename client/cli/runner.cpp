#include "client/cli/runner.hpp"

#include <algorithm>
#include <boost/algorithm/string/predicate.hpp>

#include "client/cli/parser.hpp"
#include "client/cli/step.hpp"
#include "client/cli/views.hpp"
#include "client/cli/watch.hpp"
#include "client/connection/command_line.hpp"
#include "protocol/request_writer.hpp"

namespace exchange::cli {
Runner::Runner(Settings settings, Console& console, const client::StopFlag& stop)
    : settings_(std::move(settings)),
      console_(console),
      stop_(stop),
      xml_port_(settings_, stop),
      label_("exchange-cli: ") {}

const std::string& Runner::Step::account() const {
  const std::string& account = checked_account(settings.account);
  runner.accounts_seen_.insert(account);
  return account;
}

Sender Runner::Step::own() const { return {settings.key, account()}; }

Results Runner::Step::change(const std::string& document, std::size_t asked, XmlPort::Kind kind) {
  in_doubt = true;
  const std::string reply = runner.ask(document, kind, settings);
  in_doubt = false;
  return client::read_outcomes(reply, asked);
}

Results Runner::Step::question(const std::string& document, std::size_t asked) {
  return client::read_outcomes(runner.ask(document, XmlPort::Kind::question, settings), asked);
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
    if (boost::iequals(known, symbol)) return " (did you mean '" + known + "'?)";
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
  if (!runner.console_.confirm) {
    fail(problem + "; --new-symbol lets a command create it, for everyone");
    return false;
  }
  if (runner.console_.confirm(problem + ". Create it, for everyone?")) return true;
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
void Runner::Step::operator()(const NewOrder& typed) {
  NewOrder order = typed;
  if (settings.retry && order.reference.empty())
    order.reference = "cli-" + client::prefix_from_clock();
  const std::string document = write_document(order, own());
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
    const Results state = question(write_document(NamedOrders{false, {id}}, own()), 1);
    if (const auto* found = accepted<Status>(state.front(), "order " + id)) {
      say(sentence(id, *found, runner.terms_of(id)));
      runner.remember(settings.account, *found);
    }
  } catch (const client::Unreachable&) {
    say("order " + id + ": " + done + "; its state could not be queried");
    throw;
  }
}

// Sends a replace only once: another request may have replaced the order in between.
void Runner::Step::operator()(const Replacement& replacement) {
  const Results results = change(write_document(replacement, own()), 1);
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

void Runner::Step::operator()(const NamedOrders& named) {
  const std::string document = write_document(named, own());
  const Results results = named.cancel ? change(document, named.orders.size())
                                       : question(document, named.orders.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    const std::string& order = named.orders[i];
    const std::string what = "order " + order;
    const Status* found = nullptr;
    if (!named.cancel)
      found = accepted<Status>(results[i], what);
    else if (const auto* canceled = accepted<Canceled>(results[i], what))
      found = &canceled->status;
    if (found == nullptr) continue;
    say(sentence(order, *found, runner.terms_of(order)));
    if (!named.cancel && !settings.xml) out << execution_lines(*found);
    if (runner.open_orders_.contains(found->order)) runner.remember(settings.account, *found);
  }
}

// One request cancels at most a thousand orders, so it is repeated until none is open.
void Runner::Step::operator()(const CancelAllOrders& cancel) {
  const std::string document = write_document(cancel, own());
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
      say(sentence(order, canceled->status, runner.terms_of(order)));
      runner.open_orders_.erase(canceled->status.order);
    }
  }
}

void Runner::Step::operator()(const UseAccount& use) {
  if (use.account) {
    runner.settings_.account = checked_account(*use.account);
    runner.accounts_seen_.insert(*use.account);
  } else {
    out << (settings.account.empty() ? "no account chosen" : "account " + settings.account) << "\n";
  }
}

void Runner::Step::operator()(const Help& help) {
  out << wrapped(help_text(help.command),
                 runner.console_.live ? text_columns() : std::string::npos);
}

int Runner::run(const Command& command, const Settings& settings) {
  Step step{*this, settings};
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

const NewOrder* Runner::terms_of(const std::string& order) const {
  const auto found = known_orders_.find(order);
  return found == known_orders_.end() ? nullptr : &found->second;
}

void Runner::remember(const std::string& account, const Status& status) {
  if (status.open > Shares())
    open_orders_[status.order] = {account, executed_shares(status)};
  else
    open_orders_.erase(status.order);
}

void Runner::notice_fills() {
  if (open_orders_.empty() || !reached_) return;
  std::map<std::string, NamedOrders> asked;  // by account
  std::size_t count = 0;
  for (const auto& [order, open] : open_orders_)
    if (count++ < noticed_orders_max) asked[open.account].orders.push_back(std::to_string(order));
  for (const auto& [account, orders] : asked) try {
      const Results results = client::read_outcomes(
          xml_port_.ask(write_document(orders, {settings_.key, account}), XmlPort::Kind::question),
          orders.orders.size());
      for (std::size_t i = 0; i < results.size(); ++i) {
        const auto* status = std::get_if<Status>(&results[i]);
        if (status == nullptr) continue;
        const std::string& id = orders.orders[i];
        if (executed_shares(*status) > open_orders_[status->order].executed)
          console_.out << "* " << sentence(id, *status, terms_of(id)) << "\n";
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
          ask_http(settings_, "/api/symbols" + *page, {}, settings_.completion_timeout_s, stop_);
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
