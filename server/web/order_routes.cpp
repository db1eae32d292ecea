// Makes the responses about one order, about the fills of an account, and to requests in XML.

#include <algorithm>
#include <memory>

#include "json/view_json.hpp"
#include "protocol/reply.hpp"
#include "protocol/request.hpp"
#include "web/http_routes.hpp"
#include "web/json_orders.hpp"

namespace exchange {

namespace asio = boost::asio;
namespace http = boost::beast::http;

namespace {

// Returns the number of the order that has this reference of the account; or 0 and the response
// that refuses the request.
asio::awaitable<std::pair<OrderId, std::optional<HttpResponse>>> find_reference(
    HttpRoutes& at, const HttpRequest& request, Peer peer) {
  HttpJsonRequest asked = read_http_json(request, {command_kind<QueryOrder>, "order"}, at.protocol);
  if (!asked.request.problem)  // only the number of the order is needed
    std::get<QueryOrder>(asked.commands[0]).from = listed_executions_max;
  HttpResponse response = co_await execute_http_json(at.core, request, peer, std::move(asked));
  if (response.result() != http::status::ok) co_return std::pair(0, std::move(response));
  co_return std::pair(Json::parse(response.body())["order"].get<OrderId>(), std::nullopt);
}

// Whether the view has the account and the symbol of the order.
bool is_known(const HttpRoutes& at, const std::optional<StoredOrder>& order) {
  return order && at.view && order->row.account < at.view->accounts() &&
         order->row.symbol < at.view->symbols().size();
}

// The fills after `after`, oldest first, or those before `before`, newest first.
struct FillQuestion {
  ExecutionId after = 0;
  std::optional<ExecutionId> before;
  std::size_t executions_max = 0;
};

// Reads the question. Returns the sentence that refuses the request; empty if it is valid.
std::string read_question(const HttpHeader& header, const HttpLimits& limits,
                          FillQuestion& question) {
  const std::string_view after = parameter(header, "after"), before = parameter(header, "before");
  if (after.data() != nullptr) {
    const auto id = number_parameter(header, "after");
    if (!id) return "after is a whole number from 0, of an execution";
    question.after = *id;
  }
  if (before.data() != nullptr) {
    if (after.data() != nullptr) return "give after or before, not both";
    question.before =
        before == "newest" ? INT64_MAX : number_parameter(header, "before").value_or(0);
    if (*question.before == 0) return "before is a whole number from 1, of an execution, or newest";
  }
  question.executions_max = count_parameter(header, "limit", limits.fills_max, limits.fills_max);
  if (question.executions_max == 0)
    return "limit is a whole number from 1 to " + std::to_string(limits.fills_max);
  return {};
}

// Searches the executions in pieces, so that other reads of the tables can run between them.
class FillSearch {
 public:
  FillSearch(const HttpLimits& limits, AccountNumber account, const FillQuestion& question,
             ExecutionId newest)
      : limits_(limits),
        account_(account),
        executions_max_(question.executions_max),
        newest_first_(question.before.has_value()),
        above_(std::min(question.after, newest)),
        up_to_(newest_first_ ? std::min(*question.before - 1, newest) : newest) {}

  // Whether to read next_range().
  bool goes_on() const {
    return above_ < up_to_ && executions_ < executions_max_ && looked_at_ < limits_.fills_reach;
  }
  FillRange next_range() const {
    const ExecutionId count = std::min<ExecutionId>(up_to_ - above_, limits_.fills_read_max);
    FillRange range{account_, above_, above_ + count, executions_max_ - executions_, newest_first_};
    if (newest_first_) range.after = up_to_ - count, range.through = up_to_;
    return range;
  }
  void take(const FillRange& range, std::vector<Fill> found) {
    looked_at_ += range.through - range.after;
    (newest_first_ ? up_to_ : above_) = newest_first_ ? range.after : range.through;
    if (found.empty()) return;
    ExecutionId last = 0;
    for (const Fill& fill : found)
      if (std::exchange(last, fill.execution) != fill.execution) ++executions_;
    if (executions_ == executions_max_)  // the range may contain more
      (newest_first_ ? up_to_ : above_) = newest_first_ ? last - 1 : last;
    fills_.insert(fills_.end(), found.begin(), found.end());
  }
  const std::vector<Fill>& fills() const { return fills_; }
  // Returns the execution after which the next page begins, or before which it ends; nothing if
  // this page is the last.
  std::optional<ExecutionId> next() const {
    if (above_ == up_to_) return {};
    return newest_first_ ? up_to_ + 1 : above_;
  }

 private:
  const HttpLimits& limits_;
  const AccountNumber account_;
  const std::size_t executions_max_;
  const bool newest_first_;
  ExecutionId above_, up_to_;  // the range that is left to search
  std::size_t executions_ = 0;
  std::uint64_t looked_at_ = 0;
  std::vector<Fill> fills_;
};

}  // namespace

// Checks the key after it has read the row of the order, which names the account, but before it
// reads the executions. The tables are slightly ahead of the view: an order is shown only if both
// have its data, but an order that was opened before the request is in both.
asio::awaitable<HttpResponse> order(HttpRoutes& at, HttpRequest& request, Peer peer) {
  const auto refuse = [&](std::string_view sentence) {
    return http_error(request, unavailable, sentence);
  };
  const auto unknown = [&] {
    return http_error(request, not_found, "no such order", to_code(Reason::unknown_order));
  };
  OrderName name;
  if (read_order_name(last_segment(request), name))
    co_return http_error(request, bad_request, "an order id is a whole number from 1, or ref:REF",
                         to_code(ErrorCode::malformed_id));
  // This check is first: a server that may have been replaced does not know which orders exist. The
  // state that is read later is at least as new.
  const std::string reason = co_await at.stale();
  if (!reason.empty()) co_return refuse(reason);
  if (name.reference) {
    auto [found, refused] = co_await find_reference(at, request, peer);
    if (refused) co_return std::move(*refused);
    name.id = found;
  }
  if (const std::string late = co_await at.not_current(); !late.empty())
    co_return ask_again(request, late);
  if (const auto whose = parameter(request, "account");
      whose.data() != nullptr && !parse_account_id(whose))
    co_return malformed_account(request);
  ExecutionRange range;
  range.count = count_parameter(request, "limit", at.limits.order_executions_max,
                                at.limits.order_executions_max);
  if (range.count == 0) co_return count_error(request, "limit", at.limits.order_executions_max);
  range.before = count_parameter(request, "before", INT64_MAX, INT64_MAX);
  if (range.before == 0)
    co_return http_error(request, bad_request, "before is a whole number from 1");

  const HttpRoutes::ReadShare reading = co_await at.begin_reading(peer);
  if (!*reading) co_return refuse(CoreClient::too_many_reads);
  const std::chrono::milliseconds time(at.limits.store_answer_ms);
  const auto read = [&](const ExecutionRange& executions) {
    return at.core.read_order(name.id, executions, reading, time, at.limits.order_reads_max);
  };
  CoreClient::Read found;
  if (at.core.has_keys()) {
    found = co_await read({.count = 0});
    if (!found.problem.empty()) co_return refuse(found.problem);
    AccountId owner("");  // not an account, so no key is right
    if (is_known(at, found.order)) owner = at.view->account_id(found.order->row.account);
    const std::optional<bool> allowed = co_await at.may_see(request, owner, peer);
    if (!allowed) co_return refusal(request, unavailable, Reason::key_unchecked);
    if (!*allowed) co_return unknown();
  }
  found = co_await read(range);
  if (!found.problem.empty()) co_return refuse(found.problem);
  if (!is_known(at, found.order)) co_return unknown();
  const AddressTurns::Turn turn = co_await at.turns.take(peer);
  const Bursts::Work work(at.bursts, HttpRoutes::spread);
  co_return respond(request, http::status::ok, json_type,
                    order_json(*at.view, *found.order, range));
}

asio::awaitable<HttpResponse> fills(HttpRoutes& at, HttpRequest& request, Peer peer) {
  const auto id = parse_account_id(HttpRoutes::segment(request));
  if (!id) co_return malformed_account(request);
  FillQuestion question;
  if (const std::string problem = read_question(request, at.limits, question); !problem.empty())
    co_return http_error(request, http::status::bad_request, problem);
  if (const std::string reason = co_await at.not_current(); !reason.empty())
    co_return ask_again(request, reason);
  const std::optional<bool> allowed = co_await at.may_see(request, *id, peer);
  if (!allowed) co_return ask_again(request, describe(Reason::key_unchecked));
  const MarketView::Account* const account = at.view->find_account(*id);
  if (account == nullptr || !*allowed)
    co_return refusal(request, http::status::not_found, Reason::unknown_account);

  const HttpRoutes::ReadShare reading = co_await at.begin_reading(peer);
  if (!*reading) co_return ask_again(request, CoreClient::too_many_reads);
  const ExecutionId newest = at.view->newest_execution();
  FillSearch search(at.limits, at.view->number_of(*account), question, newest);
  while (search.goes_on()) {
    const FillRange range = search.next_range();
    auto [problem, found] = co_await at.core.read_fills(
        range, reading, std::chrono::milliseconds(at.limits.store_answer_ms),
        at.limits.order_reads_max);
    if (!problem.empty()) co_return ask_again(request, problem);
    if (found.newest < range.through) co_return ask_again(request, HttpRoutes::behind);
    search.take(range, std::move(found.list));
  }
  const AddressTurns::Turn turn = co_await at.turns.take(peer);
  const Bursts::Work work(at.bursts, HttpRoutes::spread);
  co_return respond(request, http::status::ok, json_type,
                    fills_json(*at.view, *id, search.fills(), newest, search.next()));
}

asio::awaitable<HttpResponse> execute(HttpRoutes& at, HttpRequest& request, Peer peer) {
  AddressTurns::Turn parsing = co_await at.turns.take(peer);
  PendingRequest pending = at.core.pending(peer);
  ClientSession& session = pending.session;
  session.begin_reading();
  std::string& body = request.body();
  const std::size_t bytes = body.size();
  if (bytes == 0) {
    session.count_requests(1, 1);
    co_return http_error(
        request, bad_request,
        "the body is empty; it must be the XML of a request, without the length line");
  }
  body.push_back('\0');  // parsing needs a byte after the document
  XmlDocument document;
  std::vector<RequestElement> elements;
  std::vector<Command> commands;
  std::vector<Credential> credentials;
  const Request parsed = read_request(body.data(), bytes, at.protocol, document, elements, commands,
                                      at.protocol.keys ? &credentials : nullptr,
                                      "cancel-on-disconnect needs a connection to the XML port");
  session.count_requests(1, (parsed.error.empty() ? 0 : 1) + elements.size() - commands.size());
  parsing.end();  // the core may have to wait for its store
  if (!commands.empty()) {
    const std::string_view refusal = co_await at.core.execute(pending, commands, credentials);
    if (!refusal.empty()) co_return http_error(request, unavailable, refusal);
  }
  const AddressTurns::Turn replying = co_await at.turns.take(peer);
  const http::status status = parsed.error.empty() ? http::status::ok : bad_request;
  HttpResponse response = respond(request, status, xml_type, "");
  append_results(response.body(), parsed, elements, pending.outcomes, false);
  session.forget_outcomes();
  session.replied();  // without the time of the socket
  co_return response;
}

}  // namespace exchange
