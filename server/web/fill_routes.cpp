// Makes the responses with fills of an account (docs/http-api.md, "Fills of an account").

#include <algorithm>

#include "json/api.hpp"
#include "web/http_routes.hpp"

namespace exchange {

namespace asio = boost::asio;
namespace http = boost::beast::http;

namespace {

// The question of a request: the fills after `after`, oldest first, or those before `before`,
// newest first.
struct Question {
  ExecutionId after = 0;
  std::optional<ExecutionId> before;
  std::size_t executions_max = 0;
};

// Reads the question. Returns the sentence that refuses the request; empty if it is valid.
std::string read_question(const HttpHeader& header, const HttpLimits& limits, Question& question) {
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
class Search {
 public:
  Search(const HttpLimits& limits, AccountNumber account, const Question& question,
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

asio::awaitable<HttpResponse> fills(HttpRoutes& at, HttpRequest& request, Peer peer) {
  const auto id = parse_account_id(HttpRoutes::segment(request));
  if (!id) co_return malformed_account(request);
  Question question;
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
  Search search(at.limits, at.view->number_of(*account), question, newest);
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

}  // namespace exchange
