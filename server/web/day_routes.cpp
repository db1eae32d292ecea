// Makes the responses about closed days (docs/http-api.md, "Replays of closed days"). A server that
// may have been replaced refuses them: it does not know the days that its successor has closed.

#include "store/store.hpp"
#include "web/http_routes.hpp"
#include "web/json_orders.hpp"

namespace exchange {

namespace asio = boost::asio;
namespace http = boost::beast::http;

namespace {

HttpResponse response_to(const HttpHeader& header, const DayReply& answer) {
  if (answer.status == http::status::ok)
    return respond(header, answer.status, json_type, answer.text);
  if (answer.status == http::status::service_unavailable) return ask_again(header, answer.text);
  return http_error(header, answer.status, answer.text, answer.code);
}

HttpResponse unknown_day(const HttpHeader& header, std::string_view day) {
  return http_error(header, http::status::not_found,
                    "there is no closed day '" + std::string(day) + "'");
}

bool is_given(const HttpHeader& header, std::string_view name) {
  return parameter(header, name).data() != nullptr;
}

// Reads the question, except its symbol and account. Returns the sentence that refuses the request;
// empty if it is valid.
std::string read_question(const HttpHeader& header, const HttpLimits& limits,
                          MomentQuestion& question) {
  question.day = parameter(header, "day");
  const bool has_position = is_given(header, "from"), has_time = is_given(header, "at");
  const auto position = number_parameter(header, "from"), time = number_parameter(header, "at");
  if (has_position && !position) return "from is a whole number from 0, of a command of the day";
  if (has_time && !time) return "at is a time, in microseconds since the Unix epoch";
  if (position) question.position = *position;
  if (time && !position) question.time = Timestamp{std::int64_t(*time)};
  question.changes = count_parameter(header, "limit", 100, limits.moments_max);
  if (question.changes == 0)
    return "limit is a whole number from 1 to " + std::to_string(limits.moments_max);
  return {};
}

// Refuses the request unless it may see the account of the question. It needs the key that the
// account had at the end of that day, because today the id may belong to another client, or the key
// of an operator of today. Returns nothing if the account may be shown.
asio::awaitable<std::optional<HttpResponse>> refuse(HttpRoutes& at, const HttpHeader& header,
                                                    const MomentQuestion& question, Peer peer) {
  if (!question.account || !at.core.has_keys()) co_return std::nullopt;
  Credential login = operator_login(header);
  KeyHash key;
  if (login.account == *question.account) {
    login.use = Credential::Use::login;
    login.hash = &key;
    const auto found = std::make_shared<KeyHash>();  // the question may run after this returns
    Replayer::Question ask = [day = question.day, account = login.account, found](DayDesk& desk) {
      auto [of_day, answer] = desk.key_of(day, account);
      *found = of_day;
      return answer;
    };
    const DayReply answer = co_await at.replayer.ask(at.context, std::move(ask), peer);
    if (answer.status != http::status::ok) co_return response_to(header, answer);
    key = *found;
  }
  const std::optional<bool> allowed = co_await at.core.is_good(
      std::move(login), Peer{.address = peer.address, .socket = peer.socket});  // logins of today
  if (allowed && *allowed) co_return std::nullopt;
  if (!allowed) co_return refusal(header, http::status::service_unavailable, Reason::key_unchecked);
  co_return refusal(header, http::status::not_found, Reason::unknown_account);
}

}  // namespace

asio::awaitable<HttpResponse> closed_days(HttpRoutes& at, HttpRequest& request, Peer peer) {
  const std::string reason = co_await at.stale();
  if (!reason.empty()) co_return http_error(request, unavailable, reason);
  Replayer::Question question = [](DayDesk& desk) { return desk.list(); };
  co_return response_to(request, co_await at.replayer.ask(at.context, std::move(question), peer));
}

asio::awaitable<HttpResponse> closed_day(HttpRoutes& at, HttpRequest& request, Peer peer) {
  const std::string reason = co_await at.stale();
  if (!reason.empty()) co_return http_error(request, unavailable, reason);
  const std::string day(last_segment(request));
  if (!is_day_name(day)) co_return unknown_day(request, day);
  const std::string_view text = parameter(request, "sym");
  std::optional<SymbolName> symbol;
  if (text.data() != nullptr) {
    symbol = parse_symbol_name(text);
    if (!symbol) co_return unknown_symbol(request, text);
  }
  Replayer::Question question = [day, symbol](DayDesk& desk) { return desk.summary(day, symbol); };
  co_return response_to(request, co_await at.replayer.ask(at.context, std::move(question), peer));
}

asio::awaitable<HttpResponse> moments(HttpRoutes& at, HttpRequest& request, Peer peer) {
  MomentQuestion asked;
  const std::string problem = read_question(request, at.limits, asked);
  if (!problem.empty()) co_return http_error(request, bad_request, problem);
  const std::string reason = co_await at.stale();
  if (!reason.empty()) co_return http_error(request, unavailable, reason);
  for (const char* name : {"day", "sym"})
    if (parameter(request, name).empty())
      co_return http_error(request, bad_request,
                           "a parameter is missing: /api/moments?day=2026-11-26&sym=SPY");
  if (!is_day_name(asked.day)) co_return unknown_day(request, asked.day);
  const auto symbol = parse_symbol_name(parameter(request, "sym"));
  if (!symbol) co_return unknown_symbol(request, parameter(request, "sym"));
  asked.symbol = *symbol;
  if (is_given(request, "account")) {
    asked.account = parse_account_id(parameter(request, "account"));
    if (!asked.account) co_return malformed_account(request);
    std::optional<HttpResponse> refused = co_await refuse(at, request, asked, peer);
    if (refused) co_return std::move(*refused);
  }
  Replayer::Question question = [asked](DayDesk& desk) { return desk.moments(asked); };
  co_return response_to(request, co_await at.replayer.ask(at.context, std::move(question), peer));
}

}  // namespace exchange
