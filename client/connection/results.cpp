#include "client/connection/results.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

#include "protocol/description.hpp"
#include "protocol/xml.hpp"

namespace exchange::client {
namespace {

constexpr std::size_t shown_max = 200;  // bytes of a bad reply that a message quotes

// The name ends at a blank, '/' or the end of the tag.
std::size_t name_bytes(std::string_view tag) {
  std::size_t bytes = 0;
  while (bytes < tag.size() && !is_blank(tag[bytes]) && tag[bytes] != '/') ++bytes;
  return bytes;
}

// True also for a CDATA section, which counts as one tag.
bool is_comment(std::string_view tag) { return tag.front() == '!'; }

bool is_quote(char c) { return c == '"' || c == '\''; }

// Returns the value without quotes at the beginning of `tag`: it ends at a blank or at '>'.
std::string_view bare_value(std::string_view tag) {
  std::size_t bytes = 0;
  while (bytes < tag.size() && !is_blank(tag[bytes]) && tag[bytes] != '>') ++bytes;
  const bool ends_tag = bytes == tag.size() || tag[bytes] == '>';
  if (ends_tag && bytes > 0 && tag[bytes - 1] == '/') --bytes;
  return tag.substr(0, bytes);
}

Parsed<Price> parse_exact_price(std::string_view text) { return parse_price(text); }
Parsed<Shares> parse_exact_shares(std::string_view text) { return parse_shares(text); }

// Reads the number in an attribute. False if it is not a number above zero.
template <class Number>
bool read_positive(const ReplyElement& element, const char* name,
                   Parsed<Number> (*parse)(std::string_view), Number& number) {
  const Parsed<Number> parsed = parse(element.attribute(name));
  number = parsed.value;
  return parsed && number > Number();
}

bool read_time(const ReplyElement& element, Timestamp& time) {
  constexpr std::int64_t us_per_s = 1'000'000;
  const std::string_view text = element.attribute("time");
  std::int64_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || end != text.data() + text.size() || seconds < 0 ||
      seconds > std::numeric_limits<std::int64_t>::max() / us_per_s)
    return false;
  time = {seconds * us_per_s};
  return true;
}

std::string text_of(std::string_view raw) {
  std::string scratch;
  return std::string(resolve_references(raw, scratch));
}

[[noreturn]] void bad(const ReplyElement& element, std::string_view problem) {
  throw BadReply("<" + std::string(element.name) + ">: " + std::string(problem));
}

Status status_of(const ReplyElement& element) {
  Status status;
  status.order = parse_order_id(element.attribute("id")).value_or(0);
  if (const std::string_view problem = read_status(element, status); !problem.empty())
    bad(element, problem);
  return status;
}

template <class AnyOutcome>
constexpr bool is_flat = requires {
  std::size(outcome_attributes<AnyOutcome>);
};
// Reads an outcome that consists of attributes only; nothing if the element lacks one of them.
template <class AnyOutcome>
std::optional<ReplyOutcome> read_flat(const ReplyElement& element) {
  if (element.name != reply_element<AnyOutcome>) return {};
  AnyOutcome outcome{};
  bool has_all = true;
  for_each_outcome_attribute<AnyOutcome>([&](auto place) {
    constexpr auto& attribute = outcome_attributes<AnyOutcome>[place];
    has_all = has_all && attribute.read(element.attribute(attribute.name), outcome);
  });
  return has_all ? std::optional<ReplyOutcome>(outcome) : std::nullopt;
}
// Returns the first of the other outcomes that the element matches.
std::optional<ReplyOutcome> read_any_but_auction(const ReplyElement& element) {
  std::optional<ReplyOutcome> result;
  boost::mp11::mp_for_each<boost::mp11::mp_transform<boost::mp11::mp_identity, ReplyOutcome>>(
      [&](auto type) {
        using Any = typename decltype(type)::type;
        if constexpr (is_flat<Any> && !std::is_same_v<Any, Uncrossed>)
          if (!result) result = read_flat<Any>(element);
      });
  return result;
}

ReplyOutcome read_outcome(const ReplyElement& element) {
  if (element.name == reply_element<Rejected>) return ErrorElement{text_of(element.content)};
  if (element.name == reply_element<Status>) return status_of(element);
  if (element.name == reply_element<Canceled>) return Canceled{status_of(element)};
  // A <created> with only some of the attributes of an auction does not match any outcome.
  const bool has_price =
      !element.attribute("price").empty() || !element.attribute("volume").empty();
  const auto result = has_price ? read_flat<Uncrossed>(element) : read_any_but_auction(element);
  if (result) return *result;
  bad(element, "an unknown element, or one without an attribute that it needs");
}

}  // namespace

std::string_view ReplyElement::attribute(std::string_view wanted) const {
  std::string_view rest = attributes;
  while (true) {
    rest.remove_prefix(skip_blanks(rest, 0));
    const std::size_t equals = rest.find('=');
    if (equals == std::string_view::npos || equals + 1 >= rest.size()) return {};
    const char quote = rest[equals + 1];
    const std::size_t begin = equals + 1 + is_quote(quote);
    const std::size_t end =
        is_quote(quote) ? rest.find(quote, begin) : begin + bare_value(rest.substr(begin)).size();
    if (end == std::string_view::npos) return {};
    if (rest.substr(0, equals) == wanted) return rest.substr(begin, end - begin);
    rest.remove_prefix(end + is_quote(quote));
  }
}

std::string_view first_bare_value(std::string_view document) {
  for (std::size_t at = 0; (at = document.find('=', at)) != std::string_view::npos;) {
    const std::size_t value = skip_blanks(document, at + 1);
    if (value == document.size()) break;
    if (const char quote = document[value]; is_quote(quote)) {
      at = document.find(quote, value + 1);
      if (at == std::string_view::npos) break;
      continue;
    }
    const std::size_t open = document.rfind('<', at);
    const bool in_tag = open != std::string_view::npos && document.find('>', open) > at &&
                        name_bytes(document.substr(open + 1)) > 0;
    if (in_tag) return bare_value(document.substr(value));
    at = value;
  }
  return {};
}

ReplyElements::ReplyElements(std::string_view document) : rest_(document) {
  std::string_view tag;
  do {
    if (!take_tag(tag)) return;
  } while (tag.starts_with('?') || tag.starts_with('!'));
  root_ = tag.substr(0, name_bytes(tag));
  if (root_.empty())
    state_ = State::bad;
  else if (tag.ends_with('/'))
    state_ = State::complete;
}

ReplyElements ReplyElements::within(const ReplyElement& element) {
  ReplyElements elements;
  elements.rest_ = element.content;
  return elements;
}

bool ReplyElements::stop(State state) {
  state_ = state;
  return false;
}

// Takes the next "<…>", without its brackets. Skips the text before it, including a '<' that
// another server did not escape: "0 < 1".
bool ReplyElements::take_tag(std::string_view& tag) {
  std::size_t open = rest_.find('<');
  const auto is_text = [](char c) { return is_blank(c) || c == '='; };
  while (open != std::string_view::npos && open + 1 < rest_.size() && is_text(rest_[open + 1]))
    open = rest_.find('<', open + 1);
  const std::size_t close = open == std::string_view::npos ? open : rest_.find('>', open);
  if (close == std::string_view::npos) return stop(State::bad);
  tag = rest_.substr(open + 1, close - open - 1);
  rest_.remove_prefix(close + 1);
  return tag.empty() ? stop(State::bad) : true;
}

bool ReplyElements::next(ReplyElement& element) {
  if (state_ != State::inside) return false;
  std::string_view tag;
  do {
    rest_.remove_prefix(skip_blanks(rest_, 0));
    if (rest_.empty() && root_.empty()) return stop(State::complete);
    if (!rest_.starts_with('<')) return stop(State::bad);
    if (!take_tag(tag)) return false;
  } while (is_comment(tag));
  if (tag.front() == '/')
    return stop(!root_.empty() && tag.substr(1) == root_ ? State::complete : State::bad);

  const std::size_t name = name_bytes(tag);
  element = {.name = tag.substr(0, name), .attributes = tag.substr(name), .content = {}};
  if (tag.back() == '/') return true;
  const char* const content = rest_.data();
  for (unsigned depth = 1; depth > 0;) {
    std::string_view inner;
    if (!take_tag(inner)) return false;
    if (inner.front() == '/')
      --depth;
    else if (inner.back() != '/' && !is_comment(inner))
      ++depth;
    element.content = {content, std::size_t(inner.data() - 1 - content)};
  }
  return true;
}

std::string_view read_status(const ReplyElement& element, Status& status) {
  status.open = status.canceled = Shares();
  status.canceled_at = {};
  status.executions.clear();
  std::int64_t executed = 0;
  ReplyElements parts = ReplyElements::within(element);
  ReplyElement part;
  for (bool first = true; parts.next(part); first = false) {
    if (part.name == "executed") {
      Execution& execution = status.executions.emplace_back();
      if (!read_positive(part, "shares", parse_exact_shares, execution.shares))
        return "<executed> without a positive number of shares";
      if (!read_positive(part, "price", parse_exact_price, execution.price))
        return "<executed> without a positive price";
      if (!read_time(part, execution.time)) return "<executed> without a time";
      if (__builtin_add_overflow(executed, execution.shares.units(), &executed))
        return "more shares executed than there can be";
    } else if (!first) {
      return "an element that may only stand first, or not at all";
    } else if (part.name == "open") {
      if (!read_positive(part, "shares", parse_exact_shares, status.open))
        return "<open> without a positive number of shares";
    } else if (part.name == "canceled") {
      if (!read_positive(part, "shares", parse_exact_shares, status.canceled))
        return "<canceled> without a positive number of shares";
      if (!read_time(part, status.canceled_at)) return "<canceled> without a time";
    } else {
      return "an element that is not a state of an order";
    }
  }
  return parts.complete() ? "" : "content that cannot be read";
}

std::vector<ReplyOutcome> read_outcomes(std::string_view document, std::size_t asked) {
  std::vector<ReplyOutcome> results;
  ReplyElements elements(document);
  bool of_all = true;  // true: an <error> without attributes answers the whole request
  for (ReplyElement element; elements.next(element);) {
    results.push_back(read_outcome(element));
    of_all &= element.attributes.empty();
  }
  if (!elements.complete() || (results.empty() && elements.root() != "results"))
    throw BadReply("not a <results> document: " + std::string(document.substr(0, shown_max)));
  if (asked == any_number) asked = std::max<std::size_t>(1, results.size());
  if (results.size() == 1 && of_all && std::holds_alternative<ErrorElement>(results.front()))
    results.resize(asked, ReplyOutcome(results.front()));
  if (results.size() != asked)
    throw BadReply(std::to_string(results.size()) + " reply elements to " + std::to_string(asked) +
                   " request elements");
  return results;
}

}  // namespace exchange::client
