#include "protocol/reply.hpp"

#include <charconv>

#include "base/ensure.hpp"

namespace exchange {
namespace {

void append_number(std::string& out, std::int64_t number) {
  char digits[24];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

void append_id(std::string& out, OrderId order) {
  constexpr std::string_view opening = " id=\"";
  char text[opening.size() + 21];
  char* end = std::copy(opening.begin(), opening.end(), text);
  end = std::to_chars(end, std::end(text) - 1, order).ptr;
  *end++ = '"';
  out.append(text, end);
}

// `opening` is the name, as in ` id="`. `raw` is well-formed attribute text; the client may have
// enclosed it in apostrophes.
void append_raw_attribute(std::string& out, std::string_view opening, std::string_view raw) {
  if (raw.data() == nullptr) return;
  out += opening;
  for (std::size_t quote; (quote = raw.find('"')) != std::string_view::npos;
       raw.remove_prefix(quote + 1)) {
    out += raw.substr(0, quote);
    out += "&quot;";
  }
  out += raw;
  out += '"';
}

void append_sentence(std::string& out, std::string_view sentence) {
  for (const char c : sentence) {
    if (c == '<')
      out += "&lt;";
    else if (c == '&')
      out += "&amp;";
    else if (c == '>')
      out += "&gt;";
    else
      out += c;
  }
}

// ` name="` for the attribute at this place.
template <class AnyCommand, std::size_t place>
constexpr auto opening_of = [] {
  constexpr std::string_view name = attributes_of<AnyCommand>[place].name;
  std::array<char, name.size() + 3> text{' '};
  *std::copy(name.begin(), name.end(), text.begin() + 1) = '=';
  text.back() = '"';
  return text;
}();

template <class AnyCommand, Repeated repeated>
void append_repeated(std::string& out, const RequestElement& element) {
  for_each_attribute<AnyCommand>([&](auto place) {
    constexpr auto& opening = opening_of<AnyCommand, place>;
    if constexpr (attributes_of<AnyCommand>[place].repeated == repeated)
      append_raw_attribute(out, {opening.data(), opening.size()}, element.values[place]);
  });
}

// `order`: the number of the order, or 0 if the reply has none.
void append_attributes(std::string& out, const RequestElement& element, Repeated first,
                       OrderId order) {
  if (element.kind == RequestElement::unknown) return;
  boost::mp11::mp_with_index<RequestElement::unknown>(element.kind, [&](auto kind) {
    using Asked = boost::mp11::mp_at<Command, decltype(kind)>;
    if (first == Repeated::in_errors) append_repeated<Asked, Repeated::in_errors>(out, element);
    append_repeated<Asked, Repeated::before_id>(out, element);
    if (order != 0) append_id(out, order);
    append_repeated<Asked, Repeated::after_id>(out, element);
  });
}

// `code` is empty if the client has not asked for codes.
void append_error(std::string& out, const RequestElement& element, std::string_view code,
                  std::string_view sentence) {
  out += "<error";
  append_attributes(out, element, Repeated::in_errors, 0);
  if (!code.empty()) append_raw_attribute(out, " code=\"", code);
  out += '>';
  append_sentence(out, sentence);
  out += "</error>";
}

void append_status(std::string& out, std::string_view element, const RequestElement& request,
                   const Status& status) {
  out += '<';
  out += element;
  append_attributes(out, request, Repeated::before_id, status.order);
  if (status.next != 0) {
    out += " next=\"";
    append_number(out, std::int64_t(status.next));
    out += '"';
  }
  out += '>';
  if (status.open > Shares()) {
    out += "<open shares=\"";
    append_decimal(out, status.open);
    out += "\"/>";
  } else if (status.canceled > Shares()) {
    out += "<canceled shares=\"";
    append_decimal(out, status.canceled);
    out += "\" time=\"";
    append_number(out, status.canceled_at.seconds());
    out += "\"/>";
  }
  const std::size_t start = out.size();
  for (const Execution& execution : status.executions) {
    out += "<executed shares=\"";
    append_decimal(out, execution.shares);
    out += "\" price=\"";
    append_decimal(out, execution.price);
    out += "\" time=\"";
    append_number(out, execution.time.seconds());
    out += "\"/>";
    // Allocate a long history once: doubling would take three times its memory for a moment.
    if (&execution == status.executions.data())
      out.reserve(start + status.executions.size() * (out.size() - start + 4));
  }
  out += "</";
  out += element;
  out += '>';
}

struct OutcomeWriter {
  std::string& out;
  const RequestElement& element;
  bool codes;
  void operator()(const Rejected& rejected) const {
    const std::string_view code = codes ? to_code(rejected.reason) : "";
    if (rejected.number != 0)
      append_error(out, element, code, sentence_of(rejected));
    else
      append_error(out, element, code, describe(rejected.reason));
  }
  void operator()(const Status& status) const { append_status(out, "status", element, status); }
  void operator()(const Canceled& canceled) const {
    append_status(out, "canceled", element, canceled.status);
  }
  void operator()(const CanceledAll& canceled) const {
    for (const Status& status : canceled.orders) append_status(out, "canceled", element, status);
  }
  void operator()(const NotInMemory&) const {
    ENSURE(false && "resolved before a reply is written");
  }
  // Writes an outcome that consists of attributes only.
  template <class AnyOutcome>
  void operator()(const AnyOutcome& outcome) const {
    out += '<';
    out += reply_element<AnyOutcome>;
    if constexpr (requires { outcome.order; })
      append_attributes(out, element, Repeated::before_id, outcome.order);
    else
      append_attributes(out, element, Repeated::before_id, 0);
    for_each_outcome_attribute<AnyOutcome>([&](auto place) {
      constexpr auto& attribute = outcome_attributes<AnyOutcome>[place];
      if constexpr (!attribute.name.empty() && attribute.name != "id") {
        const std::size_t before = out.size();
        out += ' ';
        out += attribute.name;
        out += "=\"";
        if (attribute.write(outcome, out))
          out += '"';
        else
          out.resize(before);
      }
    });
    out += "/>";
  }
};

}  // namespace

void append_outcome(std::string& out, const RequestElement& element, const Outcome& outcome) {
  std::visit(OutcomeWriter{out, element, false}, outcome);
}

void append_error(std::string& out, const RequestElement& element, std::string_view sentence) {
  append_error(out, element, "", sentence);
}

std::size_t append_results(std::string& out, const Request& request,
                           std::span<const RequestElement> elements,
                           std::span<const Outcome> outcomes, bool length_first) {
  const std::size_t start = out.size();
  std::size_t used = 0;
  out += "<results>";
  const auto code = [&](ErrorCode error) { return request.codes ? to_code(error) : ""; };
  if (!request.error.empty()) append_error(out, {}, code(request.code), request.error);
  for (const RequestElement& element : elements) {
    if (element.error.empty())
      std::visit(OutcomeWriter{out, element, request.codes}, outcomes[used++]);
    else
      append_error(out, element, code(element.code), element.error);
  }
  out += "</results>\n";
  if (length_first) out.insert(start, std::to_string(out.size() - start) + "\n");
  return used;
}

}  // namespace exchange
