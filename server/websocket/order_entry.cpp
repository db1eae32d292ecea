#include "websocket/order_entry.hpp"

#include <algorithm>

#include "base/event.hpp"

namespace exchange {

namespace asio = boost::asio;
namespace http = boost::beast::http;

namespace {

constexpr std::string_view login = "login";

std::optional<CommandKind> find_kind(std::string_view message) {
  for (CommandKind kind = 0; kind < command_kinds; ++kind)
    if (const auto& named = describe_element(kind).message; !named.empty() && message == named)
      return kind;
  return {};
}

bool is_id(const JsonInput& id) {
  constexpr std::size_t bytes_max = 64;
  return id.is(JsonInput::Kind::integer) ||
         (id.is_text() && !id.text().empty() && id.text().size() <= bytes_max);
}

std::string expected() {
  std::string sentence = "expected \"id\", and one of \"login\"";
  for (CommandKind kind = 0; kind < command_kinds; ++kind)
    if (const auto& message = describe_element(kind).message; !message.empty())
      sentence += ", \"" + std::string(message) + "\"";
  return sentence;
}

// The response to a login without the right key.
JsonReply refused_login(bool is_operator) {
  return outcome_response(Rejected{is_operator ? Reason::operator_key : Reason::unknown_account});
}

}  // namespace

std::optional<OrderMessage> read_order_message(JsonInput& message) {
  if (!message.is_object()) return {};
  OrderMessage read;
  bool asks = false;
  for (auto& [name, value] : message.members()) {
    const auto kind = find_kind(name);
    if (name != login && !kind) continue;
    asks = true;
    read.kind = kind;
    read.members = std::move(value);
  }
  JsonInput* const id = message.find("id");
  if (!asks && id == nullptr) return {};
  if (id == nullptr || !is_id(*id)) {
    read.problem = {ErrorCode::malformed_id,
                    "id must be a whole number, or a string of 1 to 64 bytes"};
    return read;
  }
  read.id = std::move(*id);
  if (!asks || message.members().size() != 2)
    read.problem = {ErrorCode::unexpected_content, expected()};
  else if (!read.members.is_object())
    read.problem = {ErrorCode::unexpected_content, "expected an object"};
  if (read.problem) read.members = JsonInput();
  return read;
}

asio::awaitable<void> OrderEntry::has_room() {
  while ((waiting_.size() >= waiting_max_ || waiting_bytes_ >= waiting_bytes_max_) && !over_)
    co_await changed_.async_wait(use_tuple);
}

void OrderEntry::take(OrderMessage message) {
  if (over_) return;
  waiting_bytes_ += message.bytes;
  waiting_.push_back(std::move(message));
  changed_.cancel();
}

void OrderEntry::end() {
  over_ = true;
  changed_.cancel();
}

asio::awaitable<void> OrderEntry::ended() {
  while (!ended_) co_await changed_.async_wait(use_tuple);
}

asio::awaitable<void> OrderEntry::run(Send send) {
  const auto finish = [](OrderEntry* entry) {
    entry->ended_ = true;
    entry->end();
    entry->permit_ = {};
  };
  const std::unique_ptr<OrderEntry, decltype(finish)> at_end(this, finish);
  std::exception_ptr problem;
  try {
    co_await execute_all(std::move(send));
  } catch (...) {  // no memory
    problem = std::current_exception();
  }
  co_await core_.cancel_tied_orders(pending_, permit_);
  if (problem) std::rethrow_exception(problem);
}

asio::awaitable<void> OrderEntry::execute_all(Send send) {
  while (!over_ || !waiting_.empty()) {
    if (waiting_.empty()) {
      co_await changed_.async_wait(use_tuple);
      continue;
    }
    read_batch();
    changed_.cancel();  // there is room
    co_await execute();
    note_tied();
    std::vector<std::string> texts = responses();
    session_.forget_outcomes();
    co_await send(std::move(texts));
    if (refusal_.empty()) session_.replied();  // without the time of the socket
  }
}

void OrderEntry::read_batch() {
  batch_.clear();
  commands_.clear();
  credentials_.clear();
  session_.begin_reading();
  for (bool alone = false; !alone && !waiting_.empty();) {
    alone = waiting_.front().is_alone();
    if (alone && !batch_.empty()) break;
    read(waiting_.front());
    waiting_bytes_ -= waiting_.front().bytes;
    waiting_.pop_front();
  }
  session_.count_requests(
      batch_.size(), std::size_t(std::ranges::count_if(
                         batch_, [](const Read& read) { return bool(read.request.problem); })));
}

void OrderEntry::read(OrderMessage& message) {
  Read& read = batch_.emplace_back();
  read.id = std::move(message.id);
  if (message.problem)
    read.request.problem = std::move(message.problem);
  else if (!message.kind)
    read_login(message.members, read);
  if (!message.kind || read.request.problem) return;
  const std::size_t first = commands_.size();
  const bool names_any_account = *message.kind == command_kind<SetKey> && session_.is_operator();
  read.request =
      read_json_request(*message.kind, message.members, names_any_account ? std::nullopt : account_,
                        limits_, session_.tie_problem(limits_.tied_orders_max), commands_);
  if (limits_.keys && read.request.commands > 0) add_credentials(read.request, first);
}

void OrderEntry::read_login(const JsonInput& members, Read& into) {
  Problem& problem = into.request.problem;
  const auto text = [&](std::string_view name) -> std::optional<std::string> {
    const JsonInput* const found = members.find(name);
    if (found == nullptr) return {};
    return found->is_text() ? found->text() : std::string();
  };
  const std::size_t count = members.members().size();
  const bool is_operator = members.find("operator_key") != nullptr;
  const JsonInput* const key_member = members.find(is_operator ? "operator_key" : "key");
  if (count > (is_operator ? 1 : 2) || (key_member != nullptr && !key_member->is_text())) {
    problem = {ErrorCode::unexpected_content, "expected account and key, or operator_key"};
    return;
  }
  into.login = is_operator ? Credential::Use::operate : Credential::Use::login;
  AccountId account = operator_id;
  std::optional<std::string> key = text(is_operator ? "operator_key" : "key");
  if (!is_operator) {
    const auto id = text("account");
    if (!id)
      problem = {ErrorCode::missing_attribute, "missing member 'account'"};
    else if (!members.find("account")->is_text())
      problem = {ErrorCode::malformed_id, "account must be a string"};
    else if (!key && count == 2)
      problem = {ErrorCode::unexpected_content, "expected account and key, or operator_key"};
    else
      problem = read_value(*id, account, "account");
    if (problem) return;
    account_ = account;
  }
  into.request.account = account;
  // An empty key would refer to the previous login.
  if (limits_.keys && key && is_key(*key))
    credentials_.push_back(
        {*into.login, account, std::move(*key), std::uint32_t(commands_.size()), 0});
  else if (limits_.keys)
    into.response = refused_login(is_operator);
}

// Adds credentials without a key: they require that the previous login was successful.
void OrderEntry::add_credentials(JsonRequest& request, std::size_t first) {
  const auto count = std::uint32_t(request.commands);
  const bool by_account = request.account.has_value();
  const AccountId account = by_account               ? *request.account
                            : session_.is_operator() ? operator_id
                                                     : account_.value_or(operator_id);
  if (by_account && !credentials_.empty() && credentials_.back().account == account)
    credentials_.back().commands += count;
  else
    credentials_.push_back({by_account ? Credential::Use::login : Credential::Use::operate,
                            account,
                            {},
                            std::uint32_t(first),
                            count});
  if (!request.key.empty())
    credentials_.push_back(
        {Credential::Use::create, {}, std::move(request.key), std::uint32_t(first), 1});
}

asio::awaitable<void> OrderEntry::execute() {
  refusal_ = {};
  if (commands_.empty() && credentials_.empty()) co_return;
  refusal_ = co_await core_.execute(pending_, commands_, credentials_, permit_);
}

void OrderEntry::note_tied() {
  if (!refusal_.empty()) return;
  for (const Read& read : batch_)
    if (read.request.commands > 0)
      session_.note_request(read.request.commands, read.request.ties_orders);
}

std::vector<std::string> OrderEntry::responses() const {
  std::vector<std::string> texts;
  std::size_t first = 0;
  for (const Read& read : batch_) {
    const std::size_t count = read.request.commands;
    std::span<const Outcome> outcomes;
    if (refusal_.empty() && count > 0) outcomes = session_.outcomes().subspan(first, count);
    first += count;
    const JsonReply response = this->response(read, outcomes);
    const std::string members = json_text(response.json);  // an object
    std::string& text = texts.emplace_back(R"({"type":"response","id":)");
    text += read.id.dump();
    text += R"(,"status":)" + std::to_string(unsigned(response.status));
    text += response.json.empty() ? "" : ",";
    text.append(members, 1);
  }
  return texts;
}

JsonReply OrderEntry::response(const Read& read, std::span<const Outcome> outcomes) const {
  if (read.response) return *read.response;
  if (read.request.problem) return problem_response(read.request.problem);
  if (!refusal_.empty())
    return {http::status::service_unavailable, error_object(refusal_, "service_unavailable")};
  if (!read.login) return read.request.response(outcomes);
  const AccountId& account = *read.request.account;
  const bool is_operator = *read.login == Credential::Use::operate;
  if (session_.keys_unchecked()) return outcome_response(Rejected{Reason::key_unchecked});
  if (session_.has_keys() && !session_.is_logged_in(account)) return refused_login(is_operator);
  Json json = Json::object();
  if (!is_operator) json["account"] = account.view();
  return {http::status::ok, std::move(json)};
}

}  // namespace exchange
