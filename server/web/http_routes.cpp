#include "web/http_routes.hpp"

#include <algorithm>
#include <boost/algorithm/string/predicate.hpp>
#include <charconv>
#include <span>

#include "base/embedded_file.hpp"
#include "base/ensure.hpp"
#include "base/log.hpp"
#include "json/view_json.hpp"
#include "web/json_orders.hpp"
#include "web/prometheus.hpp"
#include "web/request_head.hpp"

namespace exchange {

namespace asio = boost::asio;
namespace http = boost::beast::http;

namespace {

using Reply = asio::awaitable<HttpResponse>;

const EmbeddedFile* find_file(std::span<const EmbeddedFile> files, std::string_view name) {
  const auto found = std::ranges::find(files, name, &EmbeddedFile::name);
  return found == files.end() ? nullptr : &*found;
}
const EmbeddedFile* find_page_file(std::string_view path) {
  if (!path.starts_with('/') || path.ends_with(".html")) return nullptr;
  return find_file(dashboard_files(), path == "/"              ? "index.html"
                                      : path == "/leaderboard" ? "leaderboard.html"
                                                               : path.substr(1));
}

const char* content_type(std::string_view name) {
  if (name.ends_with(".html")) return "text/html; charset=utf-8";
  if (name.ends_with(".css")) return "text/css; charset=utf-8";
  if (name.ends_with(".svg")) return "image/svg+xml";
  return "text/javascript; charset=utf-8";
}

// Returns text that an error in XML or JSON may contain.
std::string_view printable(std::string_view value) {
  const bool plain =
      std::all_of(value.begin(), value.end(), [](char c) { return c >= ' ' && c <= '~'; });
  return plain ? value : "(not ASCII)";
}

HttpResponse json(const HttpHeader& header, std::string body) {
  return respond(header, http::status::ok, json_type, std::move(body));
}

// --- at once ---

HttpResponse liveness(HttpRoutes& at, const HttpHeader& header) {
  const std::string reason = at.readiness.not_alive(monotonic_ns());
  return reason.empty() ? respond(header, http::status::ok, text_type, "alive\n")
                        : http_error(header, unavailable, reason);
}

// Kubernetes adds ?standby if it checks a standby: then a server that can take over is ready.
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

// Returns the descriptions for tools (docs/http-api.md, "Descriptions for tools").
HttpResponse description(HttpRoutes&, const HttpHeader& header) {
  const EmbeddedFile& file = *find_file(description_files(), last_segment(header));
  return json(header, std::string(file.content));
}

// Answers a request without a WebSocket handshake; HttpServer answers the handshake.
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

// `parameter_name` is the parameter with the number of levels or trades of the symbol.
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

// Returns the number of the round; 0 stands for all rounds. "newest" is the current round, or all
// rounds if no round has begun. Returns nothing if the parameter is invalid.
std::optional<std::size_t> round_parameter(const HttpHeader& header, const Leaderboard& board) {
  const std::string_view text = parameter(header, "round");
  if (text.data() == nullptr) return 0;
  if (text == "newest") return board.rounds().size();
  const std::size_t round = count_parameter(header, "round", 0, SIZE_MAX);
  return round > 0 ? std::optional(round) : std::nullopt;
}

// The part of the leaderboard that a request asks for, or the response that refuses it.
struct BoardQuestion {
  std::size_t round = 0, count = 0;
  std::optional<HttpResponse> refusal = {};
};
BoardQuestion read_board_question(const HttpRoutes& at, const HttpHeader& header) {
  const Leaderboard& board = at.view->leaderboard();
  const auto round = round_parameter(header, board);
  if (!round)
    return {.refusal =
                http_error(header, bad_request, "round is a whole number from 1, or newest")};
  const std::size_t max = at.limits.standings_max,
                    count = count_parameter(header, "limit", max, max);
  if (count == 0) return {.refusal = count_error(header, "limit", max)};
  if (!board.has(*round))
    return {.refusal =
                http_error(header, not_found, "there is no such round, or it is no longer kept")};
  return {*round, count};
}

HttpResponse leaderboard_of(const HttpRoutes& at, const HttpHeader& header,
                            const BoardQuestion& asked, bool with_ids) {
  auto standings = at.view->leaderboard().standings(asked.round);
  standings->resize(std::min(asked.count, standings->size()));
  if (path_of(header) == "/api/leaderboard")
    return json(header, leaderboard_json(*at.view, asked.round, *standings, with_ids));
  return respond(header, http::status::ok, "text/csv; charset=utf-8",
                 standings_csv(*standings, [&](AccountNumber number) {
                   return shown_account(*at.view, number, with_ids);
                 }));
}

// Returns the age of "Cache-Control: max-age=1" (RFC 9111, 5.2.1.1); 0 without this field.
std::int64_t age_max_ns(const HttpHeader& header) {
  constexpr std::string_view name = "max-age=";
  std::string_view field = field_of(header, http::field::cache_control);
  if (!field.starts_with(name)) return 0;
  field.remove_prefix(name.size());
  std::uint32_t seconds = 0;
  std::from_chars(field.data(), field.data() + field.size(), seconds);
  return std::int64_t(seconds) * 1'000'000'000;
}

// Viewers send a request every second, each with the tag of the leaderboard that it has, and accept
// one that is a second old. So the server makes a leaderboard once a second, for any number of
// viewers.
HttpResponse shared_leaderboard(HttpRoutes& at, const HttpHeader& header, bool with_ids) {
  BoardQuestion asked = read_board_question(at, header);
  if (asked.refusal) return std::move(*asked.refusal);
  constexpr std::size_t kept_max = 16;  // one for each path with its parameters
  const std::int64_t now_ns = monotonic_ns(), age_ns = age_max_ns(header);
  const std::string newest = "W/\"" + at.run + '-' + std::to_string(at.view->board_batch()) + '"',
                    target(header.target());
  const auto kept = at.leaderboards.find(target);
  const bool is_young = !has_tag(header, newest) && kept != at.leaderboards.end() &&
                        now_ns - kept->second.made_ns < age_ns;
  const std::string tag = is_young ? kept->second.tag : newest;
  HttpResponse response;
  if (has_tag(header, tag)) {
    response = respond(header, http::status::not_modified, json_type, "");
    response.erase(http::field::content_type);  // the client has it, with the content
  } else if (is_young) {
    response = kept->second.response;
    response.version(header.version());
  } else {
    response = leaderboard_of(at, header, asked, with_ids);
    if (at.leaderboards.size() == kept_max) at.leaderboards.clear();
    if (age_ns > 0) at.leaderboards[target] = {tag, now_ns, response};
  }
  response.set(http::field::etag, tag);
  return response;
}

// --- what may wait ---

Reply metrics(HttpRoutes& at, HttpRequest& request, Peer peer) {
  const bool active =
      co_await at.core.is_active(std::chrono::milliseconds(at.limits.store_answer_ms));
  const AddressTurns::Turn turn = co_await at.turns.take(peer);
  std::string text =
      prometheus_text(at.metrics, at.core.health(), at.store.status(),
                      at.certificate == nullptr ? 0 : at.certificate->expires_s(), active);
  co_return respond(request, http::status::ok, "text/plain; version=0.0.4; charset=utf-8",
                    std::move(text));
}

// Only the operator may see the ids of accounts that have a name.
Reply leaderboard(HttpRoutes& at, HttpRequest& request, Peer peer) {
  const std::string_view ids = parameter(request, "ids");
  const bool with_ids = ids == "true";
  if (ids.data() != nullptr && !with_ids)
    co_return http_error(request, bad_request, "ids is true, or is left out");
  const std::string reason = co_await at.stale();
  if (!reason.empty()) co_return http_error(request, unavailable, reason);
  if (with_ids && at.core.has_keys()) {
    const std::optional<bool> allowed = co_await at.core.is_good(operator_login(request), peer);
    if (!allowed) co_return refusal(request, unavailable, Reason::key_unchecked);
    if (!*allowed) co_return refusal(request, http::status::forbidden, Reason::operator_key);
  }
  const AddressTurns::Turn turn = co_await at.turns.take(peer);
  const Bursts::Work work(at.bursts, HttpRoutes::spread);
  co_return shared_leaderboard(at, request, with_ids);
}

Reply account(HttpRoutes& at, HttpRequest& request, Peer peer) {
  const auto id = parse_account_id(last_segment(request));
  if (!id) co_return malformed_account(request);
  // This check is first, so that a server that shows nothing hashes no keys. The state that is read
  // later is at least as new.
  const std::string reason = co_await at.not_current();
  if (!reason.empty()) co_return ask_again(request, reason);
  const std::optional<bool> allowed = co_await at.may_see(request, *id, peer);
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
  const Bursts::Work work(at.bursts, HttpRoutes::spread);
  co_return json(request, account_json(*at.view, *id, *found, page));
}

// Requests to close the store as a day, or returns the state of that: the client repeats the
// request until the day is closed.
Reply new_day(HttpRoutes& at, HttpRequest& request, Peer peer) {
  if (!at.core.has_keys())
    co_return http_error(request, http::status::forbidden,
                         "this server has no operator: start it with --auth and "
                         "--operator-key-file");
  Credential login = operator_login(request);
  if (!(login.account == operator_id))
    co_return http_error(request, http::status::forbidden,
                         "a new day needs the operator's key itself: accounts end with the day",
                         to_code(Reason::operator_key));
  std::string reason = co_await at.stale();
  if (reason.empty() && at.readiness.role() != Readiness::Role::active)
    reason = "this server is not the active one";
  if (!reason.empty()) co_return http_error(request, unavailable, reason);
  const std::optional<bool> allowed = co_await at.core.is_good(std::move(login), peer);
  if (!allowed) co_return refusal(request, unavailable, Reason::key_unchecked);
  if (!*allowed) co_return refusal(request, http::status::forbidden, Reason::operator_key);

  const ReadJson body = read_json(request.body());
  if (const Problem& problem = body.problem; problem)
    co_return http_error(request, bad_request, problem.sentence, to_code(problem.code));
  const JsonInput* const name = body.value.find("day");
  if (name == nullptr || !name->is_text() || body.value.members().size() != 1)
    co_return http_error(request, bad_request, "the body is {\"day\": NAME}");
  if (!is_day_name(name->text()))
    co_return http_error(request, bad_request,
                         "a name is 1 to 32 lower-case letters, digits, and hyphens between these");
  const std::string& day = name->text();
  if (!at.close_day) co_return http_error(request, http::status::conflict, "no day can be closed");
  const NewDay::Reply answer = at.close_day(day);
  switch (answer.state) {
    case NewDay::Reply::State::closed:
      co_return json(request, json_text({{"day", day}, {"closed", true}, {"store", answer.text}}));
    case NewDay::Reply::State::closing:
      co_return respond(request, http::status::accepted, json_type,
                        json_text({{"day", day}, {"closed", false}}));
    case NewDay::Reply::State::unavailable:
      log_warning("the day {} is not closed yet: {}", day, answer.text);
      co_return http_error(request, unavailable, "the store is unavailable");
    case NewDay::Reply::State::refused: break;
  }
  co_return http_error(request, http::status::conflict, answer.text);
}

// --- the table ---

constexpr std::string_view reading = "GET, HEAD", posting = "POST", deleting = "DELETE",
                           patching = "PATCH";

// A row of the table of paths. After a path that ends with a slash follows one more segment; if
// that is empty, the route refuses it like any other invalid name. Exactly one of the functions and
// `json` is set. A path has a row for each group of methods.
struct Route {
  std::string_view path;
  std::string_view methods = reading;
  HttpResponse (*at_once)(HttpRoutes&, const HttpHeader&) = nullptr;
  // Makes the response from a view that is up to date; the caller has the turn. Pure.
  HttpResponse (*of_market)(const HttpRoutes&, const HttpHeader&) = nullptr;
  Reply (*answer)(HttpRoutes&, HttpRequest&, Peer) = nullptr;
  std::optional<CommandKind> json = {};
  std::string_view parameters = {};  // of the query, with a space between them
  std::string_view rest = {};        // of the path, after that segment
  std::string_view member = {};      // of `json`: the member that the segment gives
  bool takes_body() const { return methods == posting || methods == patching; }
  CommandPath command() const { return {*json, member, takes_body()}; }
};

constexpr Route routes[] = {
    {.path = "/healthz", .at_once = liveness},
    {.path = "/readyz", .at_once = readiness, .parameters = "standby"},
    {.path = "/metrics", .answer = metrics},
    {.path = "/api/openapi.json", .at_once = description},
    {.path = "/api/asyncapi.json", .at_once = description},
    {.path = "/api/symbols", .of_market = symbols, .parameters = "limit after"},
    {.path = "/api/symbols", .methods = posting, .json = command_kind<CreateSymbol>},
    {.path = "/api/symbols", .methods = patching, .json = command_kind<SetInstrument>},
    {.path = "/api/symbols/",
     .methods = patching,
     .json = command_kind<SetInstrument>,
     .member = "symbol"},
    {.path = "/api/books/", .of_market = book, .parameters = "levels"},
    {.path = "/api/trades", .of_market = trades, .parameters = "sym limit"},
    {.path = "/api/days", .answer = closed_days},
    {.path = "/api/days/", .answer = closed_day, .parameters = "sym"},
    {.path = "/api/moments", .answer = moments, .parameters = "day sym from at limit account"},
    {.path = "/api/leaderboard", .answer = leaderboard, .parameters = "round limit ids"},
    {.path = "/api/leaderboard.csv", .answer = leaderboard, .parameters = "round limit ids"},
    {.path = "/api/rounds", .methods = posting, .json = command_kind<BeginRound>},
    {.path = "/api/accounts", .methods = posting, .json = command_kind<CreateAccount>},
    {.path = "/api/accounts/", .answer = account, .parameters = "positions_after orders_after"},
    {.path = "/api/accounts/",
     .answer = fills,
     .parameters = "after before limit",
     .rest = "/fills"},
    {.path = "/api/accounts/",
     .methods = patching,
     .json = command_kind<SetAccount>,
     .member = "account"},
    {.path = "/api/keys", .methods = posting, .json = command_kind<SetKey>},
    {.path = "/api/adjustments/cash", .methods = posting, .json = command_kind<AdjustCash>},
    {.path = "/api/adjustments/shares", .methods = posting, .json = command_kind<AdjustShares>},
    {.path = "/api/orders",
     .methods = posting,
     .json = command_kind<PlaceOrder>,
     .parameters = "account"},
    {.path = "/api/orders",
     .methods = deleting,
     .json = command_kind<CancelAll>,
     .parameters = "account sym"},
    {.path = "/api/orders/", .answer = order, .parameters = "account limit before"},
    {.path = "/api/orders/",
     .methods = deleting,
     .json = command_kind<CancelOrder>,
     .parameters = "account",
     .member = "order"},
    {.path = "/api/orders/",
     .methods = patching,
     .json = command_kind<ReplaceOrder>,
     .parameters = "account",
     .member = "order"},
    {.path = "/api/xml", .methods = posting, .answer = execute},
    {.path = "/api/admin/new-day", .methods = posting, .answer = new_day},
    {.path = "/ws", .at_once = websocket},
};
// Checked once, at the start of the process: with UBSan the address of a function is not a
// constant.
[[maybe_unused]] const bool each_has_one_way = [] {
  ENSURE(std::ranges::all_of(routes, [](const Route& route) {
    return (route.at_once != nullptr) + (route.of_market != nullptr) + (route.answer != nullptr) +
               route.json.has_value() ==
           1;
  }));
  return true;
}();
constexpr Route page_route{.path = "", .at_once = page};

bool leads_to(std::string_view path, const Route& route) {
  if (!route.path.ends_with('/')) return path == route.path;
  return path.starts_with(route.path) &&
         path.substr(std::min(path.find('/', route.path.size()), path.size())) == route.rest;
}
bool allows(const Route& route, const HttpHeader& header) {
  if (route.methods == reading)
    return header.method() == http::verb::get || header.method() == http::verb::head;
  return header.method_string() == route.methods;
}

const Route* find_route(const HttpHeader& header) {
  const std::string_view path = path_of(header);
  for (const Route& route : routes)
    if (allows(route, header) && leads_to(path, route)) return &route;
  const bool is_page = allows(page_route, header) && find_page_file(path) != nullptr;
  return is_page ? &page_route : nullptr;
}

// Returns all methods of the path, such as "GET, HEAD, POST"; empty if the path does not exist.
std::string methods_of(const HttpHeader& header) {
  std::string methods;
  for (const Route& route : routes)
    if (leads_to(path_of(header), route)) (methods += methods.empty() ? "" : ", ") += route.methods;
  if (find_page_file(path_of(header)) != nullptr) methods = reading;
  return methods;
}

}  // namespace

std::vector<HttpRoutes::Path> HttpRoutes::paths() {
  std::vector<Path> paths;
  for (const Route& route : routes)
    paths.push_back({route.path, route.methods, route.parameters, route.rest});
  return paths;
}

std::string_view HttpRoutes::segment(const HttpHeader& header) {
  const std::string_view path = path_of(header),
                         behind_path = path.substr(find_route(header)->path.size());
  return behind_path.substr(0, behind_path.find('/'));
}

bool HttpRoutes::is_websocket(const HttpHeader& header) { return path_of(header) == "/ws"; }

bool HttpRoutes::is_market_data(const HttpHeader& header) {
  return path_of(header).starts_with("/api/") && !executes(header);
}

bool HttpRoutes::executes(const HttpHeader& header) {
  return header.method() != http::verb::get && header.method() != http::verb::head;
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
  for (const http::field name : {http::field::authorization, http::field::origin})
    if (header.count(name) > 1)
      return http_error(header, bad_request,
                        "the request has two " + std::string(http::to_string(name)) + " fields");
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

// A misspelled parameter must not do more than the client intended, such as cancel all orders.
// Paths outside /api change nothing, and health checks and browsers may add their own parameters.
std::optional<HttpResponse> HttpRoutes::refuse_content(const HttpRequest& request) const {
  const Route& route = *find_route(request);
  if (!path_of(request).starts_with("/api/")) return {};
  if (const Problem problem = query_problem(request, route.parameters))
    return http_error(request, bad_request, problem.sentence, to_code(problem.code));
  if (!route.takes_body() && !request.body().empty())
    return http_error(request, bad_request,
                      "this request takes no body; its members are parameters of the path",
                      to_code(ErrorCode::unexpected_content));
  const auto codings = request.equal_range(http::field::content_encoding);
  for (auto field = codings.first; field != codings.second; ++field)
    if (!boost::iequals(field->value(), "identity")) {
      HttpResponse response =
          http_error(request, http::status::unsupported_media_type,
                     "the body must be sent as it is, without a Content-Encoding");
      response.set(http::field::accept_encoding, "identity");  // RFC 9110 15.5.16
      return response;
    }
  return {};
}

// A client that opened an order must find it with any request that follows.
asio::awaitable<std::string> HttpRoutes::not_current() {
  std::string reason = co_await stale();
  if (reason.empty() &&
      !co_await core.catch_up(view, changes, std::chrono::milliseconds(limits.stale_ms)))
    reason = behind;
  co_return reason;
}

asio::awaitable<HttpRoutes::ReadShare> HttpRoutes::begin_reading(Peer peer) {
  ReadShare share = std::make_shared<const AddressQuota::Share>(order_reads.take(peer));
  if (!*share) {
    // wait for a turn, as for an answer: a client that repeats its request gains no time
    const AddressTurns::Turn turn = co_await turns.take(peer);
  }
  co_return share;
}

asio::awaitable<std::optional<bool>> HttpRoutes::may_see(const HttpHeader& header,
                                                         const AccountId& account, Peer peer) {
  if (!core.has_keys()) co_return true;
  Credential login = operator_login(header);
  if (login.account == account) login.use = Credential::Use::login;
  co_return co_await core.is_good(std::move(login), peer);
}

std::size_t HttpRoutes::body_bytes_max(const HttpHeader& header) const {
  return find_route(header)->takes_body() ? protocol.frame_bytes_max : limits.body_bytes_max;
}

std::optional<HttpResponse> HttpRoutes::answer_at_once(const HttpHeader& header) {
  const Route& route = *find_route(header);
  if (route.at_once == nullptr) return {};
  return route.at_once(*this, header);
}

bool HttpRoutes::executes_at_once(const HttpRequest& request) const {
  constexpr std::size_t small_bytes_max = 16'384;  // takes about 0.1 ms to parse
  return find_route(request)->json && request.body().size() <= small_bytes_max;
}

asio::awaitable<HttpResponse> HttpRoutes::execute_at_once(HttpRequest request, Peer peer) {
  HttpJsonRequest asked = read_http_json(request, find_route(request)->command(), protocol);
  co_return co_await execute_http_json(entry, request, peer, std::move(asked));
}

asio::awaitable<HttpResponse> HttpRoutes::answer(HttpRequest request, Peer peer) {
  const Route& route = *find_route(request);
  if (route.json) {
    AddressTurns::Turn parsing = co_await turns.take(peer);
    HttpJsonRequest asked = read_http_json(request, route.command(), protocol);
    parsing.end();  // the core may have to wait for its store
    co_return co_await execute_http_json(core, request, peer, std::move(asked));
  }
  if (route.of_market == nullptr) co_return co_await route.answer(*this, request, peer);
  const std::string reason = co_await stale();
  if (!reason.empty()) co_return http_error(request, unavailable, reason);
  std::optional<HttpResponse> response;
  const auto make = [&]() -> asio::awaitable<void> {
    const AddressTurns::Turn turn = co_await turns.take(peer);
    const Bursts::Work work(bursts, spread);
    response = route.of_market(*this, request);
  };
  co_await make();
  // The symbol may have been created just now. Requests for existing symbols never wait.
  if (response->result() == not_found) {
    if (!co_await core.catch_up(view, changes, std::chrono::milliseconds(limits.stale_ms)))
      co_return ask_again(request, behind);
    co_await make();
  }
  co_return std::move(*response);
}

}  // namespace exchange
