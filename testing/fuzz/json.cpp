// A message of the WebSocket, or the body of a request over HTTP, through the reader of requests in
// JSON, the engine and the responses.
// - A text that is JSON for another library is JSON here, except if a member stands twice, or if it
//   has more than 256 levels or too many values.
// - A refused request has a sentence, and appends no command.
// - A command is whole: it stays the same if it is written as XML and read again, and if it is
//   journaled. So JSON cannot bring in anything that XML would refuse.
// - The response is one line of JSON in UTF-8, with its error as a sentence and a code.
// Input: the message.

#include <algorithm>

#include "engine/exchange.hpp"
#include "fuzz/fuzz.hpp"
#include "fuzz/written_command.hpp"
#include "journal/journal_record.hpp"
#include "web/json_orders.hpp"
#include "websocket/messages.hpp"
#include "websocket/order_entry.hpp"

namespace exchange::fuzz {
namespace {

const ProtocolLimits limits;
constexpr Timestamp now{1'700'000'000'000'000};

// Returns a market of two accounts with cash and shares, so that some orders are executed.
Exchange make_market() {
  Exchange exchange;
  for (const char* id : {"1", "2"}) {
    exchange.apply(CreateAccount{AccountId(id), Cash::whole(1'000)}, now);
    exchange.apply(PlaceShares{SymbolName("SPY"), AccountId(id), Shares::whole(100)}, now);
  }
  return exchange;
}

void check_command(const Command& command) {
  const std::string written = write_document(command);
  HOLDS(read_back(written, limits) == command, written);
  if (!is_journaled(command)) return;
  JournalWriter writer;
  writer.begin(now);
  writer.add(command);
  const JournalRecord record = decode_journal_record(writer.finish({}));
  HOLDS(record.commands.size() == 1 && record.commands[0] == command, written);
}

void check_response(const JsonReply& response) {
  const std::string text = json_text(response.json);
  HOLDS(std::count(text.begin(), text.end(), '\n') == 1 && text.ends_with('\n'), text);
  const Json read = Json::parse(text, nullptr, false);  // refuses text that is not UTF-8
  HOLDS(read.is_object(), text);
  const bool refused = unsigned(response.status) >= 400;
  HOLDS(refused == read.contains("error") && refused == read.contains("code"), text);
}

void check_request(CommandKind kind, const JsonInput& members,
                   const std::optional<AccountId>& usual, const char* tie_problem) {
  std::vector<Command> commands{CreateSymbol{SymbolName("BEFORE")}};
  const JsonRequest request =
      read_json_request(kind, members, usual, limits, tie_problem, commands);
  HOLDS(commands.size() == 1 + request.commands, members.dump());
  commands.erase(commands.begin());
  HOLDS(!request.problem || (commands.empty() && !request.problem.sentence.empty()),
        request.problem.sentence);
  HOLDS(request.problem || request.problems_of_list || !commands.empty(), members.dump());
  Exchange exchange = make_market();
  std::vector<Outcome> outcomes;
  for (const Command& command : commands) {
    check_command(command);
    Outcome outcome = exchange.apply(command, now);
    // as the order reader answers if the order is not in memory
    if (std::holds_alternative<NotInMemory>(outcome)) outcome = Rejected{Reason::unknown_order};
    outcomes.push_back(std::move(outcome));
  }
  HOLDS(exchange.check_invariants().empty(), exchange.check_invariants());
  check_response(request.response(outcomes));
}

}  // namespace
}  // namespace exchange::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace exchange;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  ReadJson read = read_json(text);
  JsonInput& json = read.value;
  const bool is_refused = !read.is_json || read.problem;
  const bool is_dense = std::ranges::count(text, ',') > 1'000;
  const bool is_deep =
      std::ranges::count_if(text, [](char c) { return c == '[' || c == '{'; }) > 256;
  HOLDS(read.is_json == !nlohmann::json::parse(text, nullptr, false).is_discarded() ||
            read.problem.code == ErrorCode::malformed_number || is_deep || is_dense,
        std::string(text));
  HttpRequest http;
  http.body() = text;
  http.target("/api/orders/ref:mine?account=1");
  for (const CommandPath& path : {CommandPath{command_kind<PlaceOrder>, "", true},
                                  CommandPath{command_kind<ReplaceOrder>, "order", true},
                                  CommandPath{command_kind<CreateAccount>, "", true}}) {
    const HttpJsonRequest asked = read_http_json(http, path, fuzz::limits);
    HOLDS(asked.commands.size() == asked.request.commands, std::string(text));
    if (is_refused) HOLDS(asked.request.problem, std::string(text));
  }
  if (is_refused) return 0;
  const SubscriberRequest subscription = read_subscriber_request(json);
  if (std::optional<OrderMessage> message = read_order_message(json)) {
    HOLDS(subscription.kind == SubscriberRequest::Kind::unknown, std::string(text));
    HOLDS(message->problem || !message->id.is(JsonInput::Kind::null), std::string(text));
    if (!message->problem && message->kind) {
      fuzz::check_request(*message->kind, message->members, AccountId("1"), nullptr);
      fuzz::check_request(*message->kind, message->members, {}, "no connection");
    }
  }
  return 0;
}
