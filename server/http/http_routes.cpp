#include "http/http_routes.hpp"

#include <algorithm>
#include <boost/algorithm/string/case_conv.hpp>
#include <charconv>
#include <memory>

#include "auth/basic_credentials.hpp"
#include "base/embedded_file.hpp"
#include "http/api.hpp"
#include "http/authority.hpp"
#include "http/json_requests.hpp"
#include "protocol/reply.hpp"
#include "protocol/request.hpp"

namespace exchange {

namespace asio = boost::asio;
namespace http = boost::beast::http;

namespace {

using Answer = asio::awaitable<HttpResponse>;

constexpr const char* json_type = "application/json";
constexpr const char* text_type = "text/plain; charset=utf-8";
constexpr const char* xml_type = "application/xml; charset=utf-8";

std::string_view target_of(const HttpHeader& header) {
  return {header.target().data(), header.target().size()};
}
std::string_view path_of(const HttpHeader& header) {
  return target_of(header).substr(0, target_of(header).find('?'));
}

// The value of a query parameter, which may be empty; null if it is absent. No value that is valid
// here needs percent-encoding.
std::string_view parameter(const HttpHeader& header, std::string_view name) {
  std::string_view query = target_of(header);
  query.remove_prefix(std::min(path_of(header).size() + 1, query.size()));
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(pair.size() + 1, query.size()));
    if (pair == name) return pair.substr(name.size());
    if (pair.starts_with(name) && pair.substr(name.size()).starts_with('='))
      return pair.substr(name.size() + 1);
  }
  return {};
}

std::string_view last_segment(const HttpHeader& header) {
  const std::string_view path = path_of(header);
  return path.substr(path.rfind('/') + 1);
}

const EmbeddedFile* find_page_file(std::string_view path) {
  if (!path.starts_with('/')) return nullptr;
  const auto files = dashboard_files();
  const auto found = std::find_if(files.begin(), files.end(), [&](const EmbeddedFile& file) {
    return path.substr(1) == (file.name == "index.html" ? "" : file.name);
  });
  return found == files.end() ? nullptr : &*found;
}

const char* content_type(std::string_view name) {
  if (name.ends_with(".html")) return "text/html; charset=utf-8";
  if (name.ends_with(".css")) return "text/css; charset=utf-8";
  if (name.ends_with(".svg")) return "image/svg+xml";
  return "text/javascript; charset=utf-8";
}

std::string_view field_of(const HttpHeader& header, http::field name) {
  const auto value = header[name];
  return {value.data(), value.size()};
}

// For an error, which may be XML or JSON.
std::string_view printable(std::string_view value) {
  const bool plain =
      std::all_of(value.begin(), value.end(), [](char c) { return c >= ' ' && c <= '~'; });
  return plain ? value : "(not ASCII)";
}

HttpResponse respond(const HttpHeader& header, http::status status, const char* content_type,
                     std::string body) {
  HttpResponse response{status, header.version()};
  response.set(http::field::content_type, content_type);
  response.set(http::field::cache_control, "no-cache");
  response.set("X-Content-Type-Options", "nosniff");
  response.body() = std::move(body);
  return response;
}

HttpResponse json(const HttpHeader& header, std::string body) {
  return respond(header, http::status::ok, json_type, std::move(body));
}

// A parameter that is a whole number from 1 to `max`: its value, `absent` if it is not given, 0 if
// it is invalid.
std::size_t count_parameter(const HttpHeader& header, std::string_view name, std::size_t absent,
                            std::size_t max) {
  const std::string_view text = parameter(header, name);
  if (text.data() == nullptr) return absent;
  std::size_t count = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), count);
  return problem == std::errc() && end == text.data() + text.size() && count <= max ? count : 0;
}

// "not_found".
std::string code_of_status(http::status status) {
  std::string code;
  for (const char c : http::obsolete_reason(status)) code += c == ' ' ? '_' : c;
  return boost::to_lower_copy(code);
}

constexpr auto bad_request = http::status::bad_request, not_found = http::status::not_found,
               unavailable = http::status::service_unavailable;

HttpResponse refusal(const HttpHeader& header, http::status status, Reason reason) {
  return http_error(header, status, describe(reason), code_of(reason));
}

HttpResponse unknown_symbol(const HttpHeader& header, std::string_view symbol) {
  return http_error(header, not_found, "unknown symbol '" + std::string(symbol) + "'",
                    code_of(Reason::unknown_symbol));
}

HttpResponse count_error(const HttpHeader& header, std::string_view name, std::size_t max) {
  return http_error(header, bad_request,
                    std::string(name) + " is a whole number from 1 to " + std::to_string(max));
}

// The burst and rest of making a response: a large one takes some 5 ms of CPU time, over 20 ms.
constexpr auto spread = std::chrono::milliseconds(20);

// --- at once ---

HttpResponse liveness(HttpRoutes& at, const HttpHeader& header) {
  const std::string reason = at.readiness.not_alive(monotonic_ns());
  return reason.empty() ? respond(header, http::status::ok, text_type, "alive\n")
                        : http_error(header, unavailable, reason);
}

// Kubernetes asks a standby with ?standby: to it, a server that can take over is ready.
HttpResponse readiness(HttpRoutes& at, const HttpHeader& header) {
  const bool standby = parameter(header, "standby").data() != nullptr;
  const std::int64_t now_ns = monotonic_ns();
  const std::string reason =
      standby ? at.readiness.not_able(now_ns) : at.readiness.not_ready(now_ns);
  if (!reason.empty()) return http_error(header, unavailable, reason);
  const bool active = at.readiness.role() == Readiness::Role::active;
  return respond(header, http::status::ok, text_type, active ? "ready\n" : "standby\n");
}

HttpResponse page(HttpRoutes&, const HttpHeader& header) {
  const EmbeddedFile& file = *find_page_file(path_of(header));
  HttpResponse response =
      respond(header, http::status::ok, content_type(file.name), std::string(file.content));
  response.set("Content-Security-Policy", "default-src 'self'; frame-ancestors 'none'");
  response.set("Referrer-Policy", "no-referrer");
  return response;
}

// Without the handshake, which HttpServer answers.
HttpResponse websocket(HttpRoutes&, const HttpHeader& header) {
  HttpResponse response =
      http_error(header, http::status::upgrade_required, "this path is for WebSocket");
  response.set(http::field::upgrade, "websocket");
  response.set(http::field::connection, "Upgrade");
  return response;
}

// --- market data, from the view ---

HttpResponse symbols(const HttpRoutes& at, const HttpHeader& header) {
  const std::size_t max = at.limits.symbols_max, count = count_parameter(header, "limit", max, max);
  if (count == 0) return count_error(header, "limit", max);
  const std::string_view after = parameter(header, "after");
  std::size_t first = 0;
  if (after.data() != nullptr) {
    const auto name = parse_symbol_name(after);
    const auto number = name ? at.view->symbol_number(*name) : std::nullopt;
    if (!number) return unknown_symbol(header, after);
    first = *number + std::size_t(1);
  }
  return json(header, symbols_json(*at.view, first, count));
}

// `parameter_name`: how many of the symbol's levels or trades.
HttpResponse of_symbol(const HttpRoutes& at, const HttpHeader& header, std::string_view text,
                       const char* parameter_name, std::size_t usual, std::size_t max,
                       std::string (*document)(const MarketView::Symbol&, std::size_t)) {
  const auto name = parse_symbol_name(text);
  const MarketView::Symbol* symbol = name ? at.view->find_symbol(*name) : nullptr;
  if (symbol == nullptr) return unknown_symbol(header, text);
  const std::size_t count = count_parameter(header, parameter_name, usual, max);
  if (count == 0) return count_error(header, parameter_name, max);
  return json(header, document(*symbol, count));
}

HttpResponse book(const HttpRoutes& at, const HttpHeader& header) {
  return of_symbol(at, header, last_segment(header), "levels", 20, at.limits.book_levels_max,
                   book_json);
}

HttpResponse trades(const HttpRoutes& at, const HttpHeader& header) {
  const std::string_view text = parameter(header, "sym");
  if (text.empty())
    return http_error(header, bad_request, "the parameter sym is missing: /api/trades?sym=SPY");
  return of_symbol(at, header, text, "limit", 50, at.limits.trades_kept_max, trades_json);
}

// --- what may wait ---

// Why what this server would show may be outdated; empty if it is not.
asio::awaitable<std::string> stale(HttpRoutes& at) {
  std::string reason;
  if (at.readiness.role() != Readiness::Role::active) {
    reason = at.readiness.stale(monotonic_ns());
  } else {
    const bool active =
        co_await at.core.is_active(std::chrono::milliseconds(at.limits.store_answer_ms));
    if (!active)
      reason = "this server cannot know now whether it is still the active one; ask again later";
  }
  co_return reason;
}

Answer metrics(HttpRoutes& at, HttpRequest& request, PeerAddress peer) {
  const bool active =
      co_await at.core.is_active(std::chrono::milliseconds(at.limits.store_answer_ms));
  const AddressTurns::Turn turn = co_await at.turns.take(peer);
  std::string text =
      prometheus_text(at.metrics, at.core.health(), at.store.status(),
                      at.certificate == nullptr ? 0 : at.certificate->expires_s(), active);
  co_return respond(request, http::status::ok, "text/plain; version=0.0.4; charset=utf-8",
                    std::move(text));
}

// If accounts have keys, the request must carry that of `account`. Always takes one hash, so that
// the time of a refusal reveals nothing.
asio::awaitable<std::optional<bool>> may_see(HttpRoutes& at, const HttpHeader& header,
                                             const AccountId& account, PeerAddress peer) {
  if (!at.core.has_keys()) co_return true;
  auto given = read_basic_credentials(field_of(header, http::field::authorization));
  std::string key = given && given->account == account ? std::move(given->key) : "";
  co_return co_await at.core.may_see(account, std::move(key), peer);
}

Answer account(HttpRoutes& at, HttpRequest& request, PeerAddress peer) {
  const auto id = parse_account_id(last_segment(request));
  if (!id)
    co_return http_error(request, bad_request, "an account id is 1 to 64 digits",
                         code_of(ErrorCode::malformed_id));
  // First: a server that shows nothing hashes nothing. What is read later is as new at least.
  const std::string reason = co_await stale(at);
  if (!reason.empty()) co_return http_error(request, unavailable, reason);
  const std::optional<bool> allowed = co_await may_see(at, request, *id, peer);
  if (!allowed) co_return refusal(request, unavailable, Reason::key_unchecked);
  const AddressTurns::Turn turn = co_await at.turns.take(peer);
  const MarketView::Account* found = at.view->find_account(*id);
  if (found == nullptr || !*allowed) co_return refusal(request, not_found, Reason::unknown_account);

  AccountPage page{at.limits.positions_max, at.limits.account_orders_max};
  if (const auto after = parameter(request, "positions_after"); after.data() != nullptr) {
    const auto name = parse_symbol_name(after);
    const auto symbol = name ? at.view->symbol_number(*name) : std::nullopt;
    const auto position = symbol ? at.view->find_position(*found, *symbol) : std::nullopt;
    if (!position) co_return http_error(request, not_found, "this account has no such position");
    page.first_position = *position + 1;
  }
  if (const auto after = parameter(request, "orders_after"); after.data() != nullptr) {
    page.orders_after = parse_order_id(after);
    if (!page.orders_after || !at.view->has_open_order(*found, *page.orders_after))
      co_return http_error(request, not_found,
                           "this account has no such open order; begin with the first page");
  }
  const Bursts::Work work(at.bursts, spread);
  co_return json(request, account_json(*at.view, *id, *found, page));
}

// Who asks: the account of `Authorization: Basic`, which has its key, or the one that the request
// names. Without a problem there is an account.
struct Asker {
  std::optional<AccountId> account;
  std::string key;
  Problem problem;
};

Asker asker_of(const HttpHeader& header, std::string_view named) {
  Asker asker;
  if (auto given = read_basic_credentials(field_of(header, http::field::authorization))) {
    asker.account = given->account;
    asker.key = std::move(given->key);
  }
  if (named.data() == nullptr) {
    if (!asker.account) asker.problem = {ErrorCode::missing_attribute, "missing member 'account'"};
    return asker;
  }
  AccountId id;
  asker.problem = read_value(named, id, "account");
  if (!asker.problem && asker.account && !(*asker.account == id))
    asker.problem = {ErrorCode::conflicting_attributes,
                     "the account is not that of the Authorization field"};
  asker.account = id;
  return asker;
}

// By the member `account`, or else the parameter.
Asker asker_of_body(const HttpHeader& header, const Json& body) {
  const auto account = body.find("account");
  if (account == body.end()) return asker_of(header, parameter(header, "account"));
  return asker_of(
      header, account->is_string() ? account->get_ref<const std::string&>() : std::string_view(""));
}

// That of `Authorization: Bearer`.
std::string operator_key_of(const HttpHeader& header) {
  constexpr std::string_view bearer = "Bearer ";
  const std::string_view field = field_of(header, http::field::authorization);
  return field.starts_with(bearer) ? std::string(field.substr(bearer.size())) : std::string();
}

HttpResponse problem_response(const HttpHeader& header, const Problem& problem) {
  return http_error(header, bad_request, problem.sentence, code_of(problem.code));
}

http::status status_of(const Outcome& outcome) {
  if (std::holds_alternative<Opened>(outcome) || std::holds_alternative<Created>(outcome))
    return http::status::created;
  const auto* const rejected = std::get_if<Rejected>(&outcome);
  if (rejected == nullptr) return http::status::ok;
  switch (rejected->reason) {
    case Reason::unknown_account:
    case Reason::unknown_order:
    case Reason::unknown_symbol: return not_found;
    case Reason::operator_key: return http::status::forbidden;
    case Reason::key_unchecked: return unavailable;
    default: return http::status::conflict;
  }
}

// Executes the commands; the outcomes, or the response that refuses all.
asio::awaitable<std::optional<HttpResponse>> execute_all(HttpRoutes& at, const HttpHeader& header,
                                                         PendingRequest& pending,
                                                         std::vector<Command>& commands,
                                                         std::vector<Credential>& credentials) {
  pending.commands = commands;
  pending.keys.begin_batch(credentials, commands);
  std::string_view refusal = "the store is unavailable";
  if (at.core.health().store_available()) refusal = co_await at.core.execute(pending);
  if (refusal.empty()) co_return std::nullopt;
  co_return http_error(header, unavailable, refusal);
}

// Of an account.
asio::awaitable<std::optional<HttpResponse>> execute_as(HttpRoutes& at, const HttpHeader& header,
                                                        PendingRequest& pending, Asker asker,
                                                        std::vector<Command>& commands) {
  std::vector<Credential> credentials;
  if (at.core.has_keys())
    credentials.push_back({Credential::Use::login, *asker.account, std::move(asker.key), 0,
                           std::uint32_t(commands.size())});
  co_return co_await execute_all(at, header, pending, commands, credentials);
}

HttpResponse outcome_response(const HttpHeader& header, const Outcome& outcome,
                              const Json& more = Json::object()) {
  const http::status status = status_of(outcome);
  Json json = outcome_json(outcome);
  if (!std::holds_alternative<Rejected>(outcome)) json.update(more);
  return respond(header, status, json_type, json_text(json));
}

// The number of the order that the account calls so; 0 with the response that refuses it.
asio::awaitable<std::pair<OrderId, std::optional<HttpResponse>>> find_reference(
    HttpRoutes& at, const HttpHeader& header, PeerAddress peer, const OrderName& name) {
  Asker asker = asker_of(header, parameter(header, "account"));
  if (asker.problem) co_return std::pair(0, problem_response(header, asker.problem));
  QueryOrder query{.account = *asker.account, .reference = name.reference};
  query.from = listed_executions_max;  // only its number is wanted
  std::vector<Command> commands{std::move(query)};
  PendingRequest pending(at.context, peer);
  if (auto refused = co_await execute_as(at, header, pending, std::move(asker), commands))
    co_return std::pair(0, std::move(refused));
  if (const auto* status = std::get_if<Status>(&pending.outcomes[0]))
    co_return std::pair(status->order, std::nullopt);
  co_return std::pair(0, outcome_response(header, pending.outcomes[0]));
}

// Whether the view has all that the order refers to.
bool is_known(const HttpRoutes& at, const std::optional<StoredOrder>& order) {
  return order && at.view && order->row.account < at.view->accounts() &&
         order->row.symbol < at.view->symbols().size();
}

// The key is checked after the order's row is read, which names the account, but before its
// executions are. The tables are ahead of the view by a moment: what is not in both is not shown
// yet.
Answer order(HttpRoutes& at, HttpRequest& request, PeerAddress peer) {
  const auto refuse = [&](std::string_view sentence) {
    return http_error(request, unavailable, sentence);
  };
  const auto unknown = [&] {
    return http_error(request, not_found, "no such order", code_of(Reason::unknown_order));
  };
  OrderName name;
  if (read_order_name(last_segment(request), name))
    co_return http_error(request, bad_request, "an order id is a whole number from 1, or ref:REF",
                         code_of(ErrorCode::malformed_id));
  if (name.reference) {
    auto [found, refused] = co_await find_reference(at, request, peer, name);
    if (refused) co_return std::move(*refused);
    name.id = found;
  }
  const std::optional<OrderId> id = name.id;
  ExecutionRange range;
  range.count = count_parameter(request, "limit", at.limits.order_executions_max,
                                at.limits.order_executions_max);
  if (range.count == 0) co_return count_error(request, "limit", at.limits.order_executions_max);
  range.before = count_parameter(request, "before", INT64_MAX, INT64_MAX);
  if (range.before == 0)
    co_return http_error(request, bad_request, "before is a whole number from 1");

  const auto reading = std::make_shared<const AddressQuota::Share>(at.order_reads.take(peer));
  if (!*reading) {
    // in turn, as an answer would come: a client that asks again at once gets no faster
    const AddressTurns::Turn turn = co_await at.turns.take(peer);
    co_return refuse("too many orders are being read");
  }
  const std::chrono::milliseconds time(at.limits.store_answer_ms);
  const auto read = [&](const ExecutionRange& executions) {
    return at.core.read_order(*id, executions, reading, time, at.limits.order_reads_max);
  };
  CoreClient::Read found;
  if (at.core.has_keys()) {
    found = co_await read({.count = 0});
    if (!found.problem.empty()) co_return refuse(found.problem);
    AccountId owner("");  // no account: no key is right
    if (is_known(at, found.order)) owner = at.view->account_id(found.order->row.account);
    const std::optional<bool> allowed = co_await may_see(at, request, owner, peer);
    if (!allowed) co_return refusal(request, unavailable, Reason::key_unchecked);
    if (!*allowed) co_return unknown();
  }
  found = co_await read(range);
  if (!found.problem.empty()) co_return refuse(found.problem);
  if (!is_known(at, found.order)) co_return unknown();
  const std::string reason = co_await stale(at);
  if (!reason.empty()) co_return refuse(reason);
  const AddressTurns::Turn turn = co_await at.turns.take(peer);
  const Bursts::Work work(at.bursts, spread);
  co_return json(request, order_json(*at.view, *found.order, range));
}

Answer execute(HttpRoutes& at, HttpRequest& request, PeerAddress peer) {
  AddressTurns::Turn parsing = co_await at.turns.take(peer);
  StageStamps stamps;
  stamps.begin();
  std::string& body = request.body();
  const std::size_t bytes = body.size();
  Metrics::add(at.metrics.requests);
  if (bytes == 0) {
    Metrics::add(at.metrics.client_errors);
    co_return http_error(
        request, bad_request,
        "the body is empty; it must be the XML of a request, without the length line");
  }
  body.push_back('\0');  // parsing needs a byte behind the document
  XmlDocument document;
  std::vector<RequestElement> elements;
  std::vector<Command> commands;
  std::vector<Credential> credentials;
  const Request parsed = read_request(body.data(), bytes, at.protocol, document, elements, commands,
                                      at.protocol.keys ? &credentials : nullptr,
                                      "cancel-on-disconnect needs a connection to the XML port");
  Metrics::add(at.metrics.client_errors,
               (parsed.error.empty() ? 0 : 1) + elements.size() - commands.size());

  PendingRequest pending(at.context, peer);
  pending.commands = commands;
  pending.keys.begin_batch(credentials, commands);
  pending.stamps = stamps;
  pending.stamps.end(Stage::parse);
  parsing.end();  // the core may have to wait for its store
  if (!commands.empty()) {
    // Requests that wait for the store would take the connections that ask for its state.
    std::string_view refusal = "the store is unavailable";
    if (at.core.health().store_available()) refusal = co_await at.core.execute(pending);
    if (!refusal.empty()) co_return http_error(request, unavailable, refusal);
    pending.stamps.end(Stage::deliver);
  }
  const AddressTurns::Turn replying = co_await at.turns.take(peer);
  const http::status status = parsed.error.empty() ? http::status::ok : bad_request;
  HttpResponse response = respond(request, status, xml_type, "");
  append_results(response.body(), parsed, elements, pending.outcomes, false);
  pending.forget_outcomes();
  pending.stamps.end(Stage::write);  // but for the socket
  if (!commands.empty()) at.metrics.stage_times.record(pending.stamps);
  co_return response;
}

// --- orders, accounts and symbols in JSON ---

// POST /api/orders: one order, or {"orders": [...]}, each of which succeeds or fails alone.
Answer post_orders(HttpRoutes& at, HttpRequest& request, PeerAddress peer) {
  AddressTurns::Turn parsing = co_await at.turns.take(peer);
  const Json body = Json::parse(request.body(), nullptr, false);
  if (!body.is_object())
    co_return http_error(request, bad_request, "the body is no JSON object", "malformed_json");
  Asker asker = asker_of_body(request, body);
  if (asker.problem) co_return problem_response(request, asker.problem);
  const bool batch = body.contains("orders");
  const Json one = Json::array({body});
  const Json& orders = batch ? body["orders"] : one;
  if (!orders.is_array() || orders.empty() || orders.size() > at.protocol.elements_max)
    co_return problem_response(request,
                               {ErrorCode::unexpected_content, "orders must be a list of orders"});
  std::vector<Command> commands;
  std::vector<Problem> problems;
  for (const Json& order : orders) {
    PlaceOrder place;
    problems.push_back(read_order(order, *asker.account, at.protocol, place));
    if (!problems.back()) commands.emplace_back(std::move(place));
  }
  if (!batch && problems[0]) co_return problem_response(request, problems[0]);
  PendingRequest pending(at.context, peer);
  parsing.end();  // the core may have to wait for its store
  if (!commands.empty())
    if (auto refused = co_await execute_as(at, request, pending, std::move(asker), commands))
      co_return std::move(*refused);
  if (!batch) co_return outcome_response(request, pending.outcomes[0]);
  Json results = Json::array();
  std::size_t executed = 0;
  for (const Problem& problem : problems)
    results.push_back(problem ? error_object(problem.sentence, code_of(problem.code))
                              : outcome_json(pending.outcomes[executed++]));
  co_return json(request, json_text({{"orders", std::move(results)}}));
}

// DELETE /api/orders?sym=: all open orders of the account, or of the symbol.
Answer delete_orders(HttpRoutes& at, HttpRequest& request, PeerAddress peer) {
  Asker asker = asker_of(request, parameter(request, "account"));
  if (asker.problem) co_return problem_response(request, asker.problem);
  CancelAll cancel{*asker.account, {}};
  if (const auto text = parameter(request, "sym"); text.data() != nullptr)
    if (const Problem problem = read_value(text, cancel.symbol.emplace(), "sym"))
      co_return problem_response(request, problem);
  std::vector<Command> commands{std::move(cancel)};
  PendingRequest pending(at.context, peer);
  if (auto refused = co_await execute_as(at, request, pending, std::move(asker), commands))
    co_return std::move(*refused);
  co_return outcome_response(request, pending.outcomes[0]);
}

// DELETE and PATCH /api/orders/{id}.
Answer change_order(HttpRoutes& at, HttpRequest& request, PeerAddress peer) {
  OrderName name;
  if (const Problem problem = read_order_name(last_segment(request), name))
    co_return problem_response(request, problem);
  const bool replaces = request.method() == http::verb::patch;
  const Json body = replaces ? Json::parse(request.body(), nullptr, false) : Json::object();
  if (!body.is_object())
    co_return http_error(request, bad_request, "the body is no JSON object", "malformed_json");
  Asker asker = asker_of_body(request, body);
  if (asker.problem) co_return problem_response(request, asker.problem);
  std::vector<Command> commands;
  if (replaces) {
    ReplaceOrder replace;
    if (const Problem problem = read_replacement(body, *asker.account, name, replace))
      co_return problem_response(request, problem);
    commands.emplace_back(std::move(replace));
  } else {
    commands.emplace_back(CancelOrder{*asker.account, name.id, name.reference});
  }
  PendingRequest pending(at.context, peer);
  if (auto refused = co_await execute_as(at, request, pending, std::move(asker), commands))
    co_return std::move(*refused);
  co_return outcome_response(request, pending.outcomes[0]);
}

// Of the operator.
Answer create(HttpRoutes& at, HttpRequest& request, PeerAddress peer) {
  AddressTurns::Turn parsing = co_await at.turns.take(peer);
  const Json body = Json::parse(request.body(), nullptr, false);
  if (body.is_discarded())
    co_return http_error(request, bad_request, "the body is no JSON object", "malformed_json");
  std::vector<Command> commands;
  std::vector<Credential> credentials;
  std::string operator_key = operator_key_of(request);
  Json created = Json::object();
  if (at.core.has_keys())
    credentials.push_back({Credential::Use::operate, operator_id, std::move(operator_key), 0, 0});
  if (path_of(request) == "/api/accounts") {
    CreateAccount account;
    std::string key;
    if (const Problem problem = read_account(body, account, key))
      co_return problem_response(request, problem);
    if (at.core.has_keys() && key.empty())
      co_return problem_response(
          request, {ErrorCode::missing_attribute,
                    "missing member 'key': this exchange wants one for each account"});
    created["account"] = account.account.view();
    if (at.core.has_keys())
      credentials.push_back({Credential::Use::create, account.account, std::move(key), 0, 1});
    commands.emplace_back(std::move(account));
  } else {
    if (const Problem problem = read_symbol(body, commands))
      co_return problem_response(request, problem);
    created["symbol"] = body["symbol"];
  }
  if (!credentials.empty()) credentials[0].commands = std::uint32_t(commands.size());
  PendingRequest pending(at.context, peer);
  parsing.end();
  if (auto refused = co_await execute_all(at, request, pending, commands, credentials))
    co_return std::move(*refused);
  // of several holdings, the first that was refused
  const auto refused = std::find_if(
      pending.outcomes.begin(), pending.outcomes.end(),
      [](const Outcome& outcome) { return std::holds_alternative<Rejected>(outcome); });
  co_return outcome_response(
      request, refused == pending.outcomes.end() ? pending.outcomes[0] : *refused, created);
}

// --- the table ---

constexpr std::string_view reading = "GET, HEAD", posting = "POST", deleting = "DELETE",
                           patching = "PATCH";

// Where a request goes. A path that ends with a slash is followed by one more segment. One of the
// functions is set. A path has a row for each group of methods.
struct Route {
  std::string_view path;
  std::string_view methods = reading;
  HttpResponse (*at_once)(HttpRoutes&, const HttpHeader&) = nullptr;
  // From a view that is up to date, by a caller who has the turn. Pure.
  HttpResponse (*of_market)(const HttpRoutes&, const HttpHeader&) = nullptr;
  Answer (*answer)(HttpRoutes&, HttpRequest&, PeerAddress) = nullptr;
  bool takes_body() const { return methods == posting || methods == patching; }
};

constexpr Route routes[] = {
    {.path = "/healthz", .at_once = liveness},
    {.path = "/readyz", .at_once = readiness},
    {.path = "/metrics", .answer = metrics},
    {.path = "/api/symbols", .of_market = symbols},
    {.path = "/api/symbols", .methods = posting, .answer = create},
    {.path = "/api/books/", .of_market = book},
    {.path = "/api/trades", .of_market = trades},
    {.path = "/api/accounts", .methods = posting, .answer = create},
    {.path = "/api/accounts/", .answer = account},
    {.path = "/api/orders", .methods = posting, .answer = post_orders},
    {.path = "/api/orders", .methods = deleting, .answer = delete_orders},
    {.path = "/api/orders/", .answer = order},
    {.path = "/api/orders/", .methods = deleting, .answer = change_order},
    {.path = "/api/orders/", .methods = patching, .answer = change_order},
    {.path = "/api/xml", .methods = posting, .answer = execute},
    {.path = "/ws", .at_once = websocket},
};
static_assert(std::ranges::all_of(routes, [](const Route& route) {
  return (route.at_once != nullptr) + (route.of_market != nullptr) + (route.answer != nullptr) == 1;
}));
constexpr Route page_route{.path = "", .at_once = page};

bool leads_to(const HttpHeader& header, const Route& route) {
  const std::string_view path = path_of(header);
  if (!route.path.ends_with('/')) return path == route.path;
  return path.substr(0, path.rfind('/') + 1) == route.path && path != route.path;
}
bool allows(const Route& route, const HttpHeader& header) {
  if (route.methods == reading)
    return header.method() == http::verb::get || header.method() == http::verb::head;
  return header.method_string() == route.methods;
}

const Route* find_route(const HttpHeader& header) {
  for (const Route& route : routes)
    if (leads_to(header, route) && allows(route, header)) return &route;
  const bool is_page = allows(page_route, header) && find_page_file(path_of(header)) != nullptr;
  return is_page ? &page_route : nullptr;
}

// "GET, HEAD, POST": of the path, by any method. Empty: there is no such path.
std::string methods_of(const HttpHeader& header) {
  std::string methods;
  for (const Route& route : routes)
    if (leads_to(header, route)) (methods += methods.empty() ? "" : ", ") += route.methods;
  if (find_page_file(path_of(header)) != nullptr) methods = reading;
  return methods;
}

}  // namespace

HttpResponse http_error(const HttpHeader& header, http::status status, std::string_view sentence,
                        std::string_view code) {
  const std::string_view path = path_of(header);
  if (path == "/api/xml") {
    std::string document;
    append_results(document, Request{.error = std::string(sentence)}, {}, {}, false);
    return respond(header, status, xml_type, std::move(document));
  }
  if (path.starts_with("/api/"))
    return respond(header, status, json_type,
                   error_json(sentence, code.empty() ? code_of_status(status) : code));
  return respond(header, status, text_type, std::string(sentence) + "\n");
}

bool HttpRoutes::is_websocket(const HttpHeader& header) { return path_of(header) == "/ws"; }

bool HttpRoutes::is_market_data(const HttpHeader& header) {
  return path_of(header).starts_with("/api/") && header.method() != http::verb::post &&
         header.method() != http::verb::patch && header.method() != http::verb::delete_;
}

std::optional<HttpResponse> HttpRoutes::refuse(const HttpHeader& header) const {
  if (find_route(header) == nullptr) {
    const std::string methods = methods_of(header);
    if (methods.empty())
      return http_error(header, not_found, "there is no such path; docs/http-api.md lists them");
    HttpResponse response =
        http_error(header, http::status::method_not_allowed, "this path takes " + methods);
    response.set(http::field::allow, methods);
    return response;
  }
  // A page of another site must not trade or listen through a browser that can reach this server.
  const std::string_view origin = field_of(header, http::field::origin),
                         host = field_of(header, http::field::host);
  if (header.count(http::field::origin) > 0 && !is_own_origin(origin, host, certificate != nullptr))
    return http_error(header, http::status::forbidden,
                      "requests from pages of other sites are refused: the page is of " +
                          std::string(printable(origin)) + ", the request is for " +
                          std::string(printable(host)));
  return {};
}

std::size_t HttpRoutes::body_bytes_max(const HttpHeader& header) const {
  return find_route(header)->takes_body() ? protocol.frame_bytes_max : limits.body_bytes_max;
}

std::optional<HttpResponse> HttpRoutes::answer_at_once(const HttpHeader& header) {
  const Route& route = *find_route(header);
  if (route.at_once == nullptr) return {};
  return route.at_once(*this, header);
}

asio::awaitable<HttpResponse> HttpRoutes::answer(HttpRequest request, PeerAddress peer) {
  const Route& route = *find_route(request);
  if (route.of_market == nullptr) co_return co_await route.answer(*this, request, peer);
  const std::string reason = co_await stale(*this);
  if (!reason.empty()) co_return http_error(request, unavailable, reason);
  const AddressTurns::Turn turn = co_await turns.take(peer);
  const Bursts::Work work(bursts, spread);
  co_return route.of_market(*this, request);
}

}  // namespace exchange
