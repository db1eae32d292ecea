#include "web/json_orders.hpp"

#include <boost/algorithm/string/predicate.hpp>

#include "auth/credentials.hpp"

namespace exchange {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using Kind = JsonInput::Kind;

namespace {

// Stores the parameter in the member, unless it is absent. If the body also has the member, both
// must be equal.
Problem take_parameter(const HttpHeader& header, std::string_view name, const char* member,
                       JsonInput& members) {
  const std::string_view text = parameter(header, name);
  if (text.data() == nullptr) return {};
  const JsonInput* const given = members.find(member);
  if (given == nullptr)
    members.members().emplace_back(member, JsonInput(Kind::text, std::string(text)));
  if (given == nullptr || (given->is_text() && given->text() == text)) return {};
  return {ErrorCode::conflicting_attributes,
          "the parameter " + std::string(name) + " is not the member of the body"};
}

}  // namespace

Credential operator_login(const HttpHeader& header) {
  constexpr std::string_view bearer = "Bearer ";
  const std::string_view field = field_of(header, http::field::authorization);
  Credential login{Credential::Use::operate, operator_id, {}};
  if (boost::algorithm::istarts_with(field, bearer)) {
    login.key = field.substr(bearer.size());
  } else if (auto basic = read_basic_credentials(field)) {
    login.account = basic->account;
    login.key = std::move(basic->key);
  }
  return login;
}

HttpJsonRequest read_http_json(const HttpRequest& request, const CommandPath& path,
                               const ProtocolLimits& limits) {
  HttpJsonRequest asked;
  ReadJson body{JsonInput(Kind::object)};
  if (path.has_body) body = read_json(request.body());
  JsonInput& members = body.value;
  if (body.problem) {
    asked.request.problem = std::move(body.problem);
    return asked;
  }
  if (!members.is_object()) {
    asked.request.problem = {ErrorCode::malformed_json, "the body is no JSON object"};
    return asked;
  }
  if (const std::string member(path.member); !member.empty()) {
    if (members.find(member) != nullptr) {
      asked.request.problem = {ErrorCode::conflicting_attributes, "the path names the " + member};
      return asked;
    }
    members.members().emplace_back(member,
                                   JsonInput(Kind::text, std::string(last_segment(request))));
  }
  Problem& problem = asked.request.problem;
  if (describe_element(path.kind).root == Root::transactions)
    problem = take_parameter(request, "account", "account", members);
  if (!problem && path.kind == command_kind<CancelAll>)
    problem = take_parameter(request, "sym", "symbol", members);
  if (problem) return asked;
  auto given = read_basic_credentials(field_of(request, http::field::authorization));
  std::optional<AccountId> usual;
  if (given) usual = given->account;
  asked.request =
      read_json_request(path.kind, members, usual, limits,
                        "cancel_on_disconnect needs a WebSocket, or the XML port", asked.commands);
  JsonRequest& read = asked.request;
  if (!read.problem && read.account && usual && !(*read.account == *usual)) {
    read.problem = {ErrorCode::conflicting_attributes,
                    "the account is not that of the Authorization field"};
    asked.commands.clear();
  }
  if (!limits.keys || asked.commands.empty()) return asked;
  Credential login = operator_login(request);
  if (read.account)
    login = {Credential::Use::login, *read.account, given ? std::move(given->key) : ""};
  login.commands = std::uint32_t(asked.commands.size());
  asked.credentials.push_back(std::move(login));
  if (!read.key.empty())
    asked.credentials.push_back({Credential::Use::create, {}, std::move(read.key), 0, 1});
  return asked;
}

asio::awaitable<HttpResponse> execute_http_json(CoreClient& core, const HttpHeader& header,
                                                Peer peer, HttpJsonRequest asked) {
  PendingRequest pending = core.pending(peer);
  pending.session.begin_reading();
  pending.session.count_requests(1, asked.request.problem ? 1 : 0);
  if (!asked.commands.empty()) {
    const std::string_view refusal =
        co_await core.execute(pending, asked.commands, asked.credentials);
    if (!refusal.empty()) co_return http_error(header, http::status::service_unavailable, refusal);
  }
  const JsonReply reply = asked.request.response(pending.outcomes);
  HttpResponse response = respond(header, reply.status, json_type, json_text(reply.json));
  pending.session.forget_outcomes();
  pending.session.replied();  // without the time of the socket
  co_return response;
}

}  // namespace exchange
