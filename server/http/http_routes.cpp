#include "http/http_routes.hpp"

#include <algorithm>
#include <boost/algorithm/string/case_conv.hpp>
#include <charconv>
#include <memory>

#include "auth/basic_credentials.hpp"
#include "base/embedded_file.hpp"
#include "http/api.hpp"
#include "http/authority.hpp"
#include "protocol/reply.hpp"
#include "protocol/request.hpp"

namespace exchange {

namespace asio = boost::asio;
namespace http = boost::beast::http;

namespace {

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

// The last segment of a path that begins with `prefix`; null if it has another form.
std::string_view last_segment(const HttpHeader& header, std::string_view prefix) {
  const std::string_view path = path_of(header);
  if (!path.starts_with(prefix) || path.size() == prefix.size() ||
      path.find('/', prefix.size()) != path.npos)
    return {};
  return path.substr(prefix.size());
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

std::string count_error(std::string_view name, std::size_t max) {
  return std::string(name) + " is a whole number from 1 to " + std::to_string(max);
}

// "not_found".
std::string code_of_status(http::status status) {
  std::string code;
  for (const char c : http::obsolete_reason(status)) code += c == ' ' ? '_' : c;
  return boost::to_lower_copy(code);
}

HttpResponse unknown_symbol(const HttpHeader& header, std::string_view symbol) {
  return HttpRoutes::error(header, http::status::not_found,
                           "unknown symbol '" + std::string(symbol) + "'",
                           code_of(Reason::unknown_symbol));
}

constexpr std::string_view reading = "GET, HEAD", posting = "POST";

// The burst and rest of making a response: a large one takes some 5 ms of CPU time, over 20 ms.
constexpr auto spread = std::chrono::milliseconds(20);

}  // namespace

// Where a request goes. A path that ends with a slash is followed by one more segment.
struct HttpRoutes::Route {
  std::string_view path;
  std::string_view methods;
  HttpResponse (HttpRoutes::*at_once)(const HttpHeader&) = nullptr;
  Answer (HttpRoutes::*answer)(HttpRequest&, PeerAddress) = nullptr;  // neither: the WebSocket
};

const HttpRoutes::Route* HttpRoutes::find_route(const HttpHeader& header) {
  static constexpr Route routes[] = {
      {"/healthz", reading, &HttpRoutes::liveness},
      {"/readyz", reading, &HttpRoutes::readiness},
      {"/metrics", reading, nullptr, &HttpRoutes::metrics},
      {"/api/symbols", reading, nullptr, &HttpRoutes::market_data},
      {"/api/books/", reading, nullptr, &HttpRoutes::market_data},
      {"/api/trades", reading, nullptr, &HttpRoutes::market_data},
      {"/api/accounts/", reading, nullptr, &HttpRoutes::account},
      {"/api/orders/", reading, nullptr, &HttpRoutes::order},
      {"/api/xml", posting, nullptr, &HttpRoutes::execute},
      {"/ws", reading},
  };
  static constexpr Route page{"", reading, &HttpRoutes::page};
  const std::string_view path = path_of(header);
  for (const Route& route : routes)
    if (route.path.ends_with('/') ? !last_segment(header, route.path).empty() : path == route.path)
      return &route;
  return find_page_file(path) == nullptr ? nullptr : &page;
}

bool HttpRoutes::is_websocket(const HttpHeader& header) { return path_of(header) == "/ws"; }

bool HttpRoutes::is_market_data(const HttpHeader& header) {
  return path_of(header).starts_with("/api/") && path_of(header) != "/api/xml";
}

HttpResponse HttpRoutes::error(const HttpHeader& header, http::status status,
                               std::string_view sentence, std::string_view code) {
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

HttpResponse HttpRoutes::refusal(const HttpHeader& header, http::status status, Reason reason) {
  return error(header, status, describe(reason), code_of(reason));
}

std::optional<HttpResponse> HttpRoutes::refuse(const HttpHeader& header) const {
  const Route* const route = find_route(header);
  if (route == nullptr)
    return error(header, http::status::not_found,
                 "there is no such path; docs/http-api.md lists them");
  const bool reads = header.method() == http::verb::get || header.method() == http::verb::head;
  if (route->methods == posting ? header.method() != http::verb::post : !reads) {
    HttpResponse response = error(header, http::status::method_not_allowed,
                                  "this path takes " + std::string(route->methods));
    response.set(http::field::allow, {route->methods.data(), route->methods.size()});
    return response;
  }
  // A page of another site must not trade or listen through a browser that can reach this server.
  const std::string_view origin = field_of(header, http::field::origin),
                         host = field_of(header, http::field::host);
  if (header.count(http::field::origin) > 0 &&
      !is_own_origin(origin, host, certificate_ != nullptr))
    return error(header, http::status::forbidden,
                 "requests from pages of other sites are refused: the page is of " +
                     std::string(printable(origin)) + ", the request is for " +
                     std::string(printable(host)));
  return {};
}

std::size_t HttpRoutes::body_bytes_max(const HttpHeader& header) const {
  return path_of(header) == "/api/xml" ? protocol_.frame_bytes_max : limits_.body_bytes_max;
}

std::optional<HttpResponse> HttpRoutes::answer_at_once(const HttpHeader& header) {
  const Route& route = *find_route(header);
  if (route.at_once == nullptr) return {};
  return (this->*route.at_once)(header);
}

asio::awaitable<HttpResponse> HttpRoutes::answer(HttpRequest request, PeerAddress peer) {
  const Route& route = *find_route(request);
  co_return co_await (this->*route.answer)(request, peer);
}

HttpResponse HttpRoutes::liveness(const HttpHeader& header) {
  const std::string reason = readiness_.not_alive(monotonic_ns());
  return reason.empty() ? respond(header, http::status::ok, text_type, "alive\n")
                        : error(header, http::status::service_unavailable, reason);
}

// Kubernetes asks a standby with ?standby: to it, a server that can take over is ready.
HttpResponse HttpRoutes::readiness(const HttpHeader& header) {
  const bool standby = parameter(header, "standby").data() != nullptr;
  const std::int64_t now_ns = monotonic_ns();
  const std::string reason = standby ? readiness_.not_able(now_ns) : readiness_.not_ready(now_ns);
  if (!reason.empty()) return error(header, http::status::service_unavailable, reason);
  const bool active = readiness_.role() == Readiness::Role::active;
  return respond(header, http::status::ok, text_type, active ? "ready\n" : "standby\n");
}

HttpResponse HttpRoutes::page(const HttpHeader& header) {
  const EmbeddedFile& file = *find_page_file(path_of(header));
  HttpResponse response =
      respond(header, http::status::ok, content_type(file.name), std::string(file.content));
  response.set("Content-Security-Policy", "default-src 'self'; frame-ancestors 'none'");
  response.set("Referrer-Policy", "no-referrer");
  return response;
}

asio::awaitable<std::string> HttpRoutes::stale() {
  std::string reason;
  if (readiness_.role() != Readiness::Role::active) {
    reason = readiness_.stale(monotonic_ns());
  } else {
    const bool active =
        co_await core_.is_active(std::chrono::milliseconds(limits_.store_answer_ms));
    if (!active)
      reason = "this server cannot know now whether it is still the active one; ask again later";
  }
  co_return reason;
}

asio::awaitable<HttpResponse> HttpRoutes::metrics(HttpRequest& request, PeerAddress peer) {
  const bool active = co_await core_.is_active(std::chrono::milliseconds(limits_.store_answer_ms));
  const AddressTurns::Turn turn = co_await turns_.take(peer);
  std::string text =
      prometheus_text(metrics_, core_.health(), store_.status(),
                      certificate_ == nullptr ? 0 : certificate_->expires_s(), active);
  co_return respond(request, http::status::ok, "text/plain; version=0.0.4; charset=utf-8",
                    std::move(text));
}

HttpResponse HttpRoutes::symbols(const HttpHeader& header) const {
  const std::size_t count =
      count_parameter(header, "limit", limits_.symbols_max, limits_.symbols_max);
  if (count == 0)
    return error(header, http::status::bad_request, count_error("limit", limits_.symbols_max));
  const std::string_view after = parameter(header, "after");
  std::size_t first = 0;
  if (after.data() != nullptr) {
    const auto name = parse_symbol_name(after);
    const auto number = name ? view_->symbol_number(*name) : std::nullopt;
    if (!number) return unknown_symbol(header, after);
    first = *number + std::size_t(1);
  }
  return json(header, symbols_json(*view_, first, count));
}

HttpResponse HttpRoutes::book_or_trades(const HttpHeader& header) const {
  const bool trades = path_of(header) == "/api/trades";
  const std::string_view text =
      trades ? parameter(header, "sym") : last_segment(header, "/api/books/");
  if (trades && text.empty())
    return error(header, http::status::bad_request,
                 "the parameter sym is missing: /api/trades?sym=SPY");
  const auto name = parse_symbol_name(text);
  const MarketView::Symbol* symbol = name ? view_->find_symbol(*name) : nullptr;
  if (symbol == nullptr) return unknown_symbol(header, text);
  const char* const count_name = trades ? "limit" : "levels";
  const std::size_t max = trades ? limits_.trades_kept_max : limits_.book_levels_max;
  const std::size_t count = count_parameter(header, count_name, trades ? 50 : 20, max);
  if (count == 0) return error(header, http::status::bad_request, count_error(count_name, max));
  return json(header, trades ? trades_json(*symbol, count) : book_json(*symbol, count));
}

asio::awaitable<HttpResponse> HttpRoutes::market_data(HttpRequest& request, PeerAddress peer) {
  const std::string reason = co_await stale();
  if (!reason.empty()) co_return error(request, http::status::service_unavailable, reason);
  const AddressTurns::Turn turn = co_await turns_.take(peer);
  const Bursts::Work work(bursts_, spread);
  co_return path_of(request) == "/api/symbols" ? symbols(request) : book_or_trades(request);
}

// If accounts have keys, the request must carry that of `account`. Always takes one hash, so that
// the time of a refusal reveals nothing.
asio::awaitable<std::optional<bool>> HttpRoutes::may_see(const HttpHeader& header,
                                                         const AccountId& account,
                                                         PeerAddress peer) {
  if (!core_.has_keys()) co_return true;
  auto given = read_basic_credentials(field_of(header, http::field::authorization));
  std::string key = given && given->account == account ? std::move(given->key) : "";
  co_return co_await core_.may_see(account, std::move(key), peer);
}

asio::awaitable<HttpResponse> HttpRoutes::account(HttpRequest& request, PeerAddress peer) {
  const auto id = parse_account_id(last_segment(request, "/api/accounts/"));
  if (!id)
    co_return error(request, http::status::bad_request, "an account id is 1 to 64 digits",
                    code_of(ErrorCode::malformed_id));
  // First: a server that shows nothing hashes nothing. What is read later is as new at least.
  const std::string reason = co_await stale();
  if (!reason.empty()) co_return error(request, http::status::service_unavailable, reason);
  const std::optional<bool> allowed = co_await may_see(request, *id, peer);
  if (!allowed)
    co_return refusal(request, http::status::service_unavailable, Reason::key_unchecked);
  const AddressTurns::Turn turn = co_await turns_.take(peer);
  const MarketView::Account* found = view_->find_account(*id);
  if (found == nullptr || !*allowed)
    co_return refusal(request, http::status::not_found, Reason::unknown_account);

  AccountPage page{limits_.positions_max, limits_.account_orders_max};
  if (const auto after = parameter(request, "positions_after"); after.data() != nullptr) {
    const auto name = parse_symbol_name(after);
    const auto symbol = name ? view_->symbol_number(*name) : std::nullopt;
    const auto position = symbol ? view_->find_position(*found, *symbol) : std::nullopt;
    if (!position)
      co_return error(request, http::status::not_found, "this account has no such position");
    page.first_position = *position + 1;
  }
  if (const auto after = parameter(request, "orders_after"); after.data() != nullptr) {
    page.orders_after = parse_order_id(after);
    if (!page.orders_after || !view_->has_open_order(*found, *page.orders_after))
      co_return error(request, http::status::not_found,
                      "this account has no such open order; begin with the first page");
  }
  const Bursts::Work work(bursts_, spread);
  co_return json(request, account_json(*view_, *id, *found, page));
}

// The key is checked after the order's row is read, which names the account, but before its
// executions are. The tables are ahead of the view by a moment: what is not in both is not shown
// yet.
asio::awaitable<HttpResponse> HttpRoutes::order(HttpRequest& request, PeerAddress peer) {
  const auto refuse = [&](std::string_view sentence) {
    return error(request, http::status::service_unavailable, sentence);
  };
  const auto unknown = [&] {
    return error(request, http::status::not_found, "no such order", code_of(Reason::unknown_order));
  };
  const auto id = parse_order_id(last_segment(request, "/api/orders/"));
  if (!id)
    co_return error(request, http::status::bad_request, "an order id is a whole number from 1",
                    code_of(ErrorCode::malformed_id));
  ExecutionRange range;
  range.count =
      count_parameter(request, "limit", limits_.order_executions_max, limits_.order_executions_max);
  if (range.count == 0)
    co_return error(request, http::status::bad_request,
                    count_error("limit", limits_.order_executions_max));
  range.before = count_parameter(request, "before", INT64_MAX, INT64_MAX);
  if (range.before == 0)
    co_return error(request, http::status::bad_request, "before is a whole number from 1");

  const auto reading = std::make_shared<const AddressQuota::Share>(order_reads_.take(peer));
  if (!*reading) {
    // in turn, as an answer would come: a client that asks again at once gets no faster
    const AddressTurns::Turn turn = co_await turns_.take(peer);
    co_return refuse("too many orders are being read");
  }
  const std::chrono::milliseconds time(limits_.store_answer_ms);
  const auto read = [&](const ExecutionRange& executions) {
    return core_.read_order(*id, executions, reading, time, limits_.order_reads_max);
  };
  CoreClient::Read found;
  if (core_.has_keys()) {
    found = co_await read({.count = 0});
    if (!found.problem.empty()) co_return refuse(found.problem);
    AccountId owner("");  // no account: no key is right
    if (is_known(found.order)) owner = view_->account_id(found.order->row.account);
    const std::optional<bool> allowed = co_await may_see(request, owner, peer);
    if (!allowed)
      co_return refusal(request, http::status::service_unavailable, Reason::key_unchecked);
    if (!*allowed) co_return unknown();
  }
  found = co_await read(range);
  if (!found.problem.empty()) co_return refuse(found.problem);
  if (!is_known(found.order)) co_return unknown();
  const std::string reason = co_await stale();
  if (!reason.empty()) co_return refuse(reason);
  const AddressTurns::Turn turn = co_await turns_.take(peer);
  const Bursts::Work work(bursts_, spread);
  co_return json(request, order_json(*view_, *found.order, range));
}

bool HttpRoutes::is_known(const std::optional<StoredOrder>& order) const {
  return order && view_ && order->row.account < view_->accounts() &&
         order->row.symbol < view_->symbols().size();
}

asio::awaitable<HttpResponse> HttpRoutes::execute(HttpRequest& request, PeerAddress peer) {
  AddressTurns::Turn parsing = co_await turns_.take(peer);
  StageStamps stamps;
  stamps.begin();
  std::string& body = request.body();
  const std::size_t bytes = body.size();
  Metrics::add(metrics_.requests);
  if (bytes == 0) {
    Metrics::add(metrics_.client_errors);
    co_return error(request, http::status::bad_request,
                    "the body is empty; it must be the XML of a request, without the length line");
  }
  body.push_back('\0');  // parsing needs a byte behind the document
  XmlDocument document;
  std::vector<RequestElement> elements;
  std::vector<Command> commands;
  std::vector<Credential> credentials;
  const Request parsed = read_request(body.data(), bytes, protocol_, document, elements, commands,
                                      protocol_.keys ? &credentials : nullptr,
                                      "cancel-on-disconnect needs a connection to the XML port");
  Metrics::add(metrics_.client_errors,
               (parsed.error.empty() ? 0 : 1) + elements.size() - commands.size());

  PendingRequest pending(context_, peer);
  pending.commands = commands;
  pending.keys.begin_batch(credentials, commands);
  pending.stamps = stamps;
  pending.stamps.end(Stage::parse);
  parsing.end();  // the core may have to wait for its store
  if (!commands.empty()) {
    // Requests that wait for the store would take the connections that ask for its state.
    std::string_view refusal = "the store is unavailable";
    if (core_.health().store_available()) refusal = co_await core_.execute(pending);
    if (!refusal.empty()) co_return error(request, http::status::service_unavailable, refusal);
    pending.stamps.end(Stage::deliver);
  }
  const AddressTurns::Turn replying = co_await turns_.take(peer);
  const http::status status = parsed.error.empty() ? http::status::ok : http::status::bad_request;
  HttpResponse response = respond(request, status, xml_type, "");
  append_results(response.body(), parsed, elements, pending.outcomes, false);
  pending.forget_outcomes();
  pending.stamps.end(Stage::write);  // but for the socket
  if (!commands.empty()) metrics_.stage_times.record(pending.stamps);
  co_return response;
}

}  // namespace exchange
