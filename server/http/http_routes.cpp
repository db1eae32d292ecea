#include "http/http_routes.hpp"

#include <algorithm>
#include <boost/algorithm/string/case_conv.hpp>
#include <charconv>

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

// The value of a query parameter; null if it is absent. No value that is valid here needs
// percent-encoding.
std::string_view parameter(const HttpHeader& header, std::string_view name) {
  std::string_view query = target_of(header);
  query.remove_prefix(std::min(path_of(header).size() + 1, query.size()));
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(pair.size() + 1, query.size()));
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

// The methods of a path; empty if there is no such path.
std::string_view methods_of(const HttpHeader& header) {
  const std::string_view path = path_of(header);
  if (path == "/api/xml") return "POST";
  const bool known = path == "/ws" || path == "/healthz" || path == "/readyz" ||
                     path == "/metrics" || path == "/api/symbols" || path == "/api/trades" ||
                     !last_segment(header, "/api/books/").empty() ||
                     !last_segment(header, "/api/accounts/").empty() ||
                     !last_segment(header, "/api/orders/").empty() ||
                     find_page_file(path) != nullptr;
  return known ? "GET, HEAD" : "";
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

HttpResponse page(const HttpHeader& header, const EmbeddedFile& file) {
  HttpResponse response =
      respond(header, http::status::ok, content_type(file.name), std::string(file.content));
  response.set("Content-Security-Policy", "default-src 'self'; frame-ancestors 'none'");
  response.set("Referrer-Policy", "no-referrer");
  return response;
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

std::string unknown_symbol(std::string_view symbol) {
  return "unknown symbol '" + std::string(symbol) + "'";
}

}  // namespace

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
  const std::string_view methods = methods_of(header);
  if (methods.empty())
    return error(header, http::status::not_found,
                 "there is no such path; docs/http-api.md lists them");
  const bool reading = header.method() == http::verb::get || header.method() == http::verb::head;
  if (methods == "POST" ? header.method() != http::verb::post : !reading) {
    HttpResponse response =
        error(header, http::status::method_not_allowed, "this path takes " + std::string(methods));
    response.set(http::field::allow, {methods.data(), methods.size()});
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

asio::awaitable<HttpResponse> HttpRoutes::answer(HttpRequest request, PeerAddress peer) {
  const std::string_view path = path_of(request);
  if (path == "/api/xml") co_return co_await execute(std::move(request), peer);
  if (path.starts_with("/api/accounts/")) co_return co_await account(request, peer);
  if (path.starts_with("/api/orders/")) co_return co_await order(request, peer);
  if (path.starts_with("/api/")) co_return market_data(request);
  if (path == "/healthz") co_return respond(request, http::status::ok, text_type, "alive\n");
  if (path == "/readyz") co_return co_await readiness(request);
  if (path == "/metrics") co_return metrics(request);
  co_return page(request, *find_page_file(path));
}

HttpResponse HttpRoutes::metrics(const HttpHeader& header) const {
  std::string text = prometheus_text(metrics_, core_.health(), store_.status(), info_,
                                     certificate_ == nullptr ? 0 : certificate_->expires_s());
  return respond(header, http::status::ok, "text/plain; version=0.0.4; charset=utf-8",
                 std::move(text));
}

HttpResponse HttpRoutes::market_data(const HttpHeader& header) const {
  const std::string_view path = path_of(header);
  if (path == "/api/symbols") return json(header, symbols_json(view_));

  const bool trades = path == "/api/trades";
  const std::string_view text =
      trades ? parameter(header, "sym") : last_segment(header, "/api/books/");
  if (trades && text.empty())
    return error(header, http::status::bad_request,
                 "the parameter sym is missing: /api/trades?sym=SPY");
  const auto name = parse_symbol_name(text);
  const MarketView::Symbol* symbol = name ? view_.find_symbol(*name) : nullptr;
  if (symbol == nullptr)
    return error(header, http::status::not_found, unknown_symbol(text),
                 code_of(Reason::unknown_symbol));
  const char* const count_name = trades ? "limit" : "levels";
  const std::size_t max = trades ? limits_.trades_kept_max : limits_.book_levels_max;
  const std::size_t count = count_parameter(header, count_name, trades ? 50 : 20, max);
  if (count == 0) return error(header, http::status::bad_request, count_error(count_name, max));
  return json(header, trades ? trades_json(*symbol, count) : book_json(*symbol, count));
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

asio::awaitable<HttpResponse> HttpRoutes::account(const HttpHeader& header, PeerAddress peer) {
  const auto id = parse_account_id(last_segment(header, "/api/accounts/"));
  if (!id)
    co_return error(header, http::status::bad_request, "an account id is 1 to 64 digits",
                    code_of(ErrorCode::malformed_id));
  const std::optional<bool> allowed = co_await may_see(header, *id, peer);
  if (!allowed) co_return refusal(header, http::status::service_unavailable, Reason::key_unchecked);
  const MarketView::Account* found = view_.find_account(*id);
  if (found == nullptr || !*allowed)
    co_return refusal(header, http::status::not_found, Reason::unknown_account);
  co_return json(header, account_json(view_, *id, *found, limits_.account_orders_max));
}

asio::awaitable<HttpResponse> HttpRoutes::order(const HttpHeader& header, PeerAddress peer) {
  const auto id = parse_order_id(last_segment(header, "/api/orders/"));
  if (!id)
    co_return error(header, http::status::bad_request, "an order id is a whole number from 1",
                    code_of(ErrorCode::malformed_id));
  const CoreClient::Read read = co_await core_.read_order(
      *id, std::chrono::milliseconds(limits_.store_answer_ms), limits_.order_reads_max);
  if (!read.problem.empty())
    co_return error(header, http::status::service_unavailable, read.problem);
  // The tables are ahead of the view by a moment: what is not in both is not shown yet.
  const bool known = read.order && read.order->row.account < view_.accounts() &&
                     read.order->row.symbol < view_.symbols().size();
  AccountId owner("");  // no account: no key is right
  if (known) owner = view_.account_id(read.order->row.account);
  const std::optional<bool> allowed = co_await may_see(header, owner, peer);
  if (!allowed) co_return refusal(header, http::status::service_unavailable, Reason::key_unchecked);
  if (!known || !*allowed)
    co_return error(header, http::status::not_found, "no such order",
                    code_of(Reason::unknown_order));
  co_return json(header, order_json(view_, *read.order, limits_.order_executions_max));
}

asio::awaitable<HttpResponse> HttpRoutes::readiness(const HttpHeader& header) {
  const auto unready = [&](std::string_view sentence) {
    return error(header, http::status::service_unavailable, sentence);
  };
  if (!core_.attached()) co_return unready("standby");
  if (!core_.health().store_available()) co_return unready("the store is unavailable");
  const std::int64_t batch_ns = core_.health().batch_age_ns(monotonic_ns());
  if (batch_ns > limits_.journal_stall_ms * std::int64_t(1'000'000))
    co_return unready("the journal has not moved for " + std::to_string(batch_ns / 1'000'000'000) +
                      " s");
  constexpr OrderId no_order = 0;
  constexpr std::size_t spare = 64;  // also while as many orders as may be are being read
  const CoreClient::Read read =
      co_await core_.read_order(no_order, std::chrono::milliseconds(limits_.store_answer_ms),
                                limits_.order_reads_max + spare);
  co_return read.problem.empty() ? respond(header, http::status::ok, text_type, "ready\n")
                                 : unready(read.problem);
}

asio::awaitable<HttpResponse> HttpRoutes::execute(HttpRequest request, PeerAddress peer) {
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
  if (!commands.empty()) {
    // Requests that wait for the store would take the connections that ask for its state.
    std::string_view refusal = "the store is unavailable";
    if (core_.health().store_available()) refusal = co_await core_.execute(pending);
    if (!refusal.empty()) co_return error(request, http::status::service_unavailable, refusal);
    pending.stamps.end(Stage::deliver);
  }
  const http::status status = parsed.error.empty() ? http::status::ok : http::status::bad_request;
  HttpResponse response = respond(request, status, xml_type, "");
  append_results(response.body(), parsed, elements, pending.outcomes, false);
  pending.forget_outcomes();
  pending.stamps.end(Stage::write);  // but for the socket
  if (!commands.empty()) metrics_.stage_times.record(pending.stamps);
  co_return response;
}

}  // namespace exchange
