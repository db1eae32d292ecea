#include "course/conformance/talk.hpp"

#include <cstdlib>

#include "base/text.hpp"
#include "client/connection/framing.hpp"
#include "engine/decimal.hpp"

namespace exchange::conformance {
namespace {

constexpr std::size_t quoted_bytes_max = 2'000, named_bytes_max = 120;

std::string excerpt(std::string_view bytes) {
  std::string text = with_visible_mark(shortened(bytes, quoted_bytes_max));
  if (bytes.size() > quoted_bytes_max) text += " (" + std::to_string(bytes.size()) + " bytes)";
  return text;
}

}  // namespace

void broken(const std::string& sentence) { throw Broken(sentence); }

std::string plain(std::int64_t units) { return to_string(Shares::from_units(units)); }

std::string shortened(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return std::string(text);
  std::size_t end = bytes_max;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return std::string(text.substr(0, end)) + "…";
}

std::string price(Quarters quarters) { return plain(quarters * units_per_quarter); }

std::int64_t OrderState::executed() const {
  std::int64_t sum = 0;
  for (const Fill& fill : fills) sum += fill.shares;
  return sum;
}

std::string Source::padded(std::uint64_t number, std::size_t digits) {
  const std::string text = std::to_string(number);
  return text.size() < digits ? std::string(digits - text.size(), '0') + text : text;
}

// --- asking ---

Link& Talk::link() {
  if (!link_) link_ = target_.connect();
  return *link_;
}

void Talk::send(const std::string& bytes) {
  conversation_.push_back({excerpt(bytes), {}});
  link().send(bytes);
}

std::vector<Element> Talk::receive() try {
  const std::string document = link().receive();
  if (conversation_.empty()) conversation_.emplace_back();
  std::string& got = conversation_.back().got;
  got += (got.empty() ? "" : "\n") + excerpt(document);
  const auto wrong = [&](const std::string& why) {
    misread_ = excerpt(document);
    if (wrong_reply_.empty()) wrong_reply_ = why + ": " + misread_;
  };
  misread_.clear();
  try {
    Reply answer = read_reply(document);
    if (answer.problem.empty())
      note_form(document);
    else
      wrong(answer.problem);
    return std::move(answer.elements);
  } catch (const BadReply& error) {
    wrong(error.what());
    throw Unreadable(error.what());
  }
} catch (const NotAReply& error) {
  if (wrong_reply_.empty()) wrong_reply_ = error.what();
  link_.reset();
  throw Unreadable(error.what());
} catch (const NoReply& error) {
  no_answer(error);
}

// Adds the request to the error.
void Talk::no_answer(const NoReply& error) {
  link_.reset();
  std::string sent;
  if (!conversation_.empty()) {
    sent = shortened(conversation_.back().sent, named_bytes_max);
    for (char& c : sent)
      if (c == '\n' || c == '\r') c = ' ';
  }
  broken(error.what() + (sent.empty() ? "" : "; what was sent: " + sent));
}

std::vector<Element> Talk::ask(const std::string& document) try {
  if (target_.style().per_request) link_.reset();
  conversation_.push_back({excerpt(document), {}});
  link().send(target_.framed(document));
  if (target_.style().wants_end) link().end_sending();
  return receive();
} catch (const NoReply& error) {
  no_answer(error);
}

void Talk::note_form(const std::string& document) {
  if (!other_form_.empty()) return;
  if (link_ && link_->before().find(byte_order_mark) != std::string::npos) {
    other_form_ = "a byte order mark (EF BB BF) stands before the reply " + excerpt(document);
    return;
  }
  const std::string right = canonical(document);
  if (document != right && document != right + "\n") {
    other_form_ =
        "written as " + excerpt(document) + " where docs/protocol.md has " + excerpt(right);
    return;
  }
  if (link_ && document == right && link_->after().substr(0, 1) != "\n")
    other_form_ = "no newline follows the reply " + excerpt(document);
}

std::vector<Element> Talk::ask_several(const std::string& document, std::size_t elements) {
  std::vector<Element> answers = ask(document);
  expect_elements(answers, elements);
  return answers;
}

void Talk::expect_elements(const std::vector<Element>& answers, std::size_t count) {
  expect(answers.size() == count, "the reply should have " + std::to_string(count) +
                                      (count == 1 ? " element, has " : " elements, has ") +
                                      std::to_string(answers.size()));
}

Element Talk::ask_one(const std::string& document) {
  return std::move(ask_several(document, 1).front());
}

Element Talk::expect_error(const std::string& document, const std::string& why) {
  const std::vector<Element> answers = ask(document);
  expect(!answers.empty(), why + ": an error was expected, the reply is empty");
  for (const Element& answer : answers)
    expect(answer.name == "error", why + ": an error was expected, got " + answer.print());
  return answers.front();
}

void Talk::need_persistent() const {
  if (target_.style().per_request)
    throw Blocked("the server closes the connection after each reply", "R6");
}

// --- preparing ---

std::string Talk::given_account(const std::string& balance) {
  return given("C6", [&] {
    const std::string id = source_.account();
    const Element answer =
        ask_one("<create><account id=\"" + id + "\" balance=\"" + balance + "\"/></create>");
    expect(answer.name == "created", "an account was to be created, got " + answer.print());
    return id;
  });
}

std::string Talk::given_account(Quarters cash) { return given_account(price(cash)); }

void Talk::given_shares(const std::string& symbol, const std::string& account,
                        std::int64_t shares) {
  given("C9", [&] {
    const Element answer =
        ask_one("<create><symbol sym=\"" + symbol + "\"><account id=\"" + account + "\">" +
                std::to_string(shares) + "</account></symbol></create>");
    expect(answer.name == "created", "shares were to be placed, got " + answer.print());
  });
}

std::string Talk::given_symbol(const std::vector<std::pair<std::string, std::int64_t>>& placed) {
  const std::string symbol = source_.symbol();
  for (const auto& [account, shares] : placed) given_shares(symbol, account, shares);
  return symbol;
}

std::string Talk::given_order(const std::string& account, const std::string& symbol,
                              std::int64_t amount, Quarters limit) {
  return given("T4", [&] {
    const Element answer =
        ask_one(transactions(account, order(symbol, std::to_string(amount), price(limit))));
    expect(answer.name == "opened", "an order: <opened> was expected, got " + answer.print());
    const std::string id = answer.attribute("id");
    expect(!id.empty(), "an order: <opened> has no id");
    return id;
  });
}

OrderState Talk::given_status(const std::string& account, const std::string& id) {
  return given("T9", [&] { return status(account, id); });
}

OrderState Talk::given_executed(const std::string& account, const std::string& id) {
  OrderState state = given_status(account, id);
  if (state.fills.empty()) throw Blocked("the orders were not executed", "M3");
  return state;
}

void Talk::given_canceled(const std::string& account, const std::string& id) {
  given("T10", [&] {
    cancel(account, id);
    expect(!status(account, id).open, "a canceled order is still open");
  });
}

Element Talk::given_error(const std::string& document, const char* rule) {
  return given(rule, [&] { return expect_error(document, "as a control"); });
}

Refusal Talk::given_refusal() {
  for (const Refusal& kind :
       {Refusal{.limit = "100000"}, {.sells = true, .limit = "1.25"}, {.limit = "0"}}) {
    Refusal refusal = kind;
    refusal.account = given_account(4'000);
    refusal.symbol = given_symbol({{refusal.account, 1}});
    given_order(refusal.account, refusal.symbol, 1, 5);
    const Element answer =
        given("R3", [&] { return ask_one(transactions(refusal.account, refusal.order(2))); });
    if (answer.name == "error") return refusal;
  }
  throw Blocked("an order for more cash, or shares, than the account has is not refused", "M2");
}

// --- testing ---

std::string Talk::order(const std::string& symbol, const std::string& amount,
                        const std::string& limit, const std::string& more) {
  return "<order sym=\"" + symbol + "\" amount=\"" + amount + "\" limit=\"" + limit + "\"" + more +
         "/>";
}

std::string Refusal::order(std::int64_t shares) const {
  return Talk::order(symbol, amount(shares), limit);
}

std::string Talk::transactions(const std::string& account, const std::string& inside,
                               const std::string& more) {
  return "<transactions id=\"" + account + "\"" + more + ">" + inside + "</transactions>";
}

namespace {

// Reads the content of a <status> or <canceled>, as `name` says.
OrderState read_state(const Element& element, const char* name) {
  expect(element.name == name, std::string("<") + name + "> was expected, got " + element.print());
  OrderState state;
  double shares = 0, cost = 0;  // of all executions; the cases compute exact values in 64 bits
  const auto number = [&](const Element& part, const char* attribute) {
    const std::string* const text = part.find(attribute);
    const auto units = text ? units_of(*text) : std::nullopt;
    expect(units.has_value(),
           "attribute '" + std::string(attribute) + "' is not a number in " + part.print());
    return std::abs(*units);  // other cases test R10
  };
  for (const Element& part : element.children) {
    if (part.name == "open" && number(part, "shares") != 0)
      state.open = number(part, "shares");
    else if (part.name == "canceled" && number(part, "shares") != 0)
      state.canceled = number(part, "shares");
    else if (part.name == "executed") {
      const Fill& fill =
          state.fills.emplace_back(Fill{number(part, "shares"), number(part, "price"),
                                        std::strtoll(part.attribute("time").c_str(), nullptr, 10)});
      shares += double(fill.shares);
      cost += double(fill.shares) / units_per_share * double(fill.price) / units_per_quarter;
      expect(shares < 9e18 && cost < 9e18, "more shares than an order can have: " + part.print());
    } else
      expect(part.name == "open" || part.name == "canceled",
             "unknown element in a reply: " + part.print());
  }
  return state;
}

}  // namespace

OrderState Talk::status(const std::string& account, const std::string& id) {
  return read_state(ask_one(transactions(account, "<query id=\"" + id + "\"/>")), "status");
}

OrderState Talk::cancel(const std::string& account, const std::string& id) {
  return read_state(ask_one(transactions(account, "<cancel id=\"" + id + "\"/>")), "canceled");
}

}  // namespace exchange::conformance
