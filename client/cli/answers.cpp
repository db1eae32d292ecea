#include "client/cli/answers.hpp"

#include <charconv>

#include "client/cli/text.hpp"
#include "client/connection/reply.hpp"
#include "protocol/xml.hpp"

namespace exchange::cli {
namespace {

using loadgen::ReplyElement;
using loadgen::ReplyElements;

constexpr std::size_t prices_told_max = 4;

std::string plain(std::string_view raw) {
  std::string scratch;
  return printable(resolve_references(raw, scratch));
}

std::string attribute(const ReplyElement& element, const char* name) {
  const std::string_view raw = element.attribute(name);
  if (raw.data() == nullptr)
    throw NotUnderstood("a <" + printable(element.name) + "> without " + name);
  return plain(raw);
}

template <class Number>
Number number(const ReplyElement& element, const char* name,
              Parsed<Number> (*parse)(std::string_view)) {
  const std::string text = attribute(element, name);
  const auto parsed = parse(text);
  if (!parsed || parsed.value <= Number())
    throw NotUnderstood("a number '" + text + "' in <" + printable(element.name) + ">");
  return parsed.value;
}

std::int64_t seconds(const ReplyElement& element) {
  const std::string text = attribute(element, "time");
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0 ||
      value > INT64_MAX / 1'000'000)
    throw NotUnderstood("a time '" + text + "' in <" + printable(element.name) + ">");
  return value;
}

Shares sum(Shares one, Shares other) {
  std::int64_t units = 0;
  if (__builtin_add_overflow(one.units(), other.units(), &units))
    throw NotUnderstood("more shares than there can be");
  return Shares::from_units(units);
}

OrderState read_order(const ReplyElement& parent) {
  OrderState state;
  ReplyElements elements = ReplyElements::within(parent);
  for (ReplyElement element; elements.next(element);) {
    if (element.name == "open") {
      state.open = number(element, "shares", parse_shares);
    } else if (element.name == "canceled") {
      state.canceled = number(element, "shares", parse_shares);
      state.canceled_at_s = seconds(element);
    } else if (element.name == "executed") {
      state.executions.push_back({number(element, "shares", parse_shares),
                                  number(element, "price", parse_price),
                                  {seconds(element) * 1'000'000}});
      state.executed = sum(state.executed, state.executions.back().shares);
    } else {
      throw NotUnderstood("a <" + printable(element.name) + "> in <" + printable(parent.name) +
                          ">");
    }
  }
  if (!elements.complete()) throw NotUnderstood("a broken <" + printable(parent.name) + ">");
  return state;
}

Answer read_answer(const ReplyElement& element) {
  Answer answer{.element = std::string(element.name)};
  if (element.name == "error")
    answer.error = plain(element.content);
  else if (element.name == "opened")
    answer.id = attribute(element, "id");
  else if (element.name == "status" || element.name == "canceled")
    answer.order = read_order(element);
  else if (element.name != "created")
    throw NotUnderstood("a <" + printable(element.name) + ">");
  return answer;
}

// "@ 145.67", or "for 14568.7 (40 @ 145.67, 60 @ 145.7)" where prices differ.
std::string at_prices(const OrderState& state) {
  std::vector<Execution> by_price;  // one after another at one price are one
  std::optional<Int128> paid = 0;
  for (const Execution& execution : state.executions) {
    if (Int128 all; !paid || __builtin_add_overflow(
                                 *paid, cost(execution.shares, execution.price).units(), &all))
      paid.reset();
    else
      paid = all;
    if (!by_price.empty() && by_price.back().price == execution.price)
      by_price.back().shares = sum(by_price.back().shares, execution.shares);
    else
      by_price.push_back(execution);
  }
  if (by_price.size() == 1) return "@ " + to_string(by_price.front().price);
  const std::string total = paid ? "for " + to_string(Cash::from_units(*paid)) + " " : "";
  if (by_price.size() > prices_told_max) {
    Price least = by_price.front().price, most = least;
    for (const Execution& one : by_price) {
      least = std::min(least, one.price);
      most = std::max(most, one.price);
    }
    return total + "(@ " + to_string(least) + " to " + to_string(most) + ")";
  }
  std::string list;
  for (const Execution& one : by_price)
    list += (list.empty() ? "" : ", ") + to_string(one.shares) + " @ " + to_string(one.price);
  return total + "(" + list + ")";
}

}  // namespace

std::vector<Answer> read_answers(std::string_view document, std::size_t asked) {
  std::vector<Answer> answers;
  ReplyElements elements(document);
  bool of_all = true;  // an <error> without attributes may be one to all of the request
  for (ReplyElement element; elements.next(element);) {
    answers.push_back(read_answer(element));
    of_all &= element.attributes.empty();
  }
  if (!elements.complete())
    throw NotUnderstood("no <results> document: " + printable(document.substr(0, 200)));
  if (answers.size() == 1 && of_all && answers.front().element == "error")
    answers.resize(asked, Answer(answers.front()));
  if (answers.size() != asked)
    throw NotUnderstood(std::to_string(answers.size()) + " answers to " + std::to_string(asked) +
                        " questions");
  return answers;
}

std::string sentence(const std::string& id, const OrderState& state, const NewOrder* terms) {
  const bool buy = terms != nullptr && terms->side == Side::buy;
  std::string text = "order " + id + ": ", rest;
  if (state.open > Shares()) rest = to_string(state.open);
  if (state.canceled > Shares()) rest = to_string(state.canceled);
  const bool any = !state.executions.empty();
  if (any) {
    text += terms == nullptr
                ? "executed " + to_string(state.executed)
                : (buy ? "bought " : "sold ") + to_string(state.executed) + " " + terms->symbol;
    text += " " + at_prices(state);
    if (!rest.empty()) text += ", ";
  } else if (terms != nullptr && !rest.empty()) {
    rest += " " + terms->symbol;
  }
  if (state.open > Shares()) {
    text += rest + (any ? " still open" : " open");
    if (terms != nullptr)
      text += (any   ? " at limit "
               : buy ? ", to buy at limit "
                     : ", to sell at limit ") +
              terms->limit;
  } else if (state.canceled > Shares()) {
    text += rest + " canceled";
  } else if (!any) {
    text += "nothing open";
  }
  return text;
}

std::string execution_lines(const OrderState& state) {
  std::string lines;
  for (const Execution& execution : state.executions)
    lines += "  " + local_time(execution.time.seconds()) + "  " + to_string(execution.shares) +
             " @ " + to_string(execution.price) + "\n";
  if (state.canceled > Shares())
    lines +=
        "  " + local_time(state.canceled_at_s) + "  " + to_string(state.canceled) + " canceled\n";
  return lines;
}

}  // namespace exchange::cli
