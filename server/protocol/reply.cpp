#include "protocol/reply.hpp"

#include <charconv>

namespace exchange {
namespace {

void append_number(std::string& out, std::int64_t number) {
  char digits[24];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

void append_id(std::string& out, OrderId order) {
  out += " id=\"";
  append_number(out, std::int64_t(order));
  out += '"';
}

// `raw` is well-formed attribute text that may have stood between apostrophes.
void append_raw_attribute(std::string& out, std::string_view name, std::string_view raw) {
  if (raw.data() == nullptr) return;
  out += ' ';
  out += name;
  out += "=\"";
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

void append_new_terms(std::string& out, const RequestElement& replace) {
  append_raw_attribute(out, "ref", replace.echo[1]);
  append_raw_attribute(out, "amount", replace.echo[2]);
  append_raw_attribute(out, "limit", replace.echo[3]);
}

void append_echo(std::string& out, const RequestElement& element) {
  switch (element.kind) {
    case RequestElement::Kind::account: return append_raw_attribute(out, "id", element.echo[0]);
    case RequestElement::Kind::query:
    case RequestElement::Kind::cancel:
      append_raw_attribute(out, "id", element.echo[0]);
      return append_raw_attribute(out, "ref", element.echo[1]);
    case RequestElement::Kind::symbol:
    case RequestElement::Kind::cancel_all: return append_raw_attribute(out, "sym", element.echo[0]);
    case RequestElement::Kind::placement:
      append_raw_attribute(out, "sym", element.echo[0]);
      return append_raw_attribute(out, "id", element.echo[1]);
    case RequestElement::Kind::order:
      append_raw_attribute(out, "sym", element.echo[0]);
      append_raw_attribute(out, "amount", element.echo[1]);
      return append_raw_attribute(out, "limit", element.echo[2]);
    case RequestElement::Kind::replace:
      append_raw_attribute(out, "id", element.echo[0]);
      return append_new_terms(out, element);
    case RequestElement::Kind::unknown: return;
  }
}

// What an order may have beside the attributes of the course protocol.
void append_terms(std::string& out, const RequestElement& order) {
  append_raw_attribute(out, "ref", order.echo[3]);
  append_raw_attribute(out, "tif", order.echo[4]);
  append_raw_attribute(out, "post", order.echo[5]);
  append_raw_attribute(out, "type", order.echo[6]);
  append_raw_attribute(out, "stp", order.echo[7]);
}

// `code`: empty if the client has not asked for it.
void append_error(std::string& out, const RequestElement& element, std::string_view code,
                  std::string_view sentence) {
  out += "<error";
  append_echo(out, element);
  if (element.kind == RequestElement::Kind::order) append_terms(out, element);
  if (!code.empty()) append_raw_attribute(out, "code", code);
  out += '>';
  append_sentence(out, sentence);
  out += "</error>";
}

void append_status(std::string& out, std::string_view element, const RequestElement& request,
                   const Status& status) {
  out += '<';
  out += element;
  append_id(out, status.order);
  append_raw_attribute(out, "ref", request.echo[1]);
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
    // A long history is allocated once: doubling would take three times its memory for a moment.
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
    const std::string_view code = codes ? code_of(rejected.reason) : "";
    if (rejected.number != 0)
      append_error(out, element, code,
                   std::string(describe(rejected.reason)) + " " + std::to_string(rejected.number));
    else
      append_error(out, element, code, describe(rejected.reason));
  }
  void operator()(const Created&) const {
    out += "<created";
    append_echo(out, element);
    out += "/>";
  }
  void operator()(const Opened& opened) const { append_opened(opened.order); }
  void operator()(const OpenedBefore& opened) const { append_opened(opened.order); }
  void operator()(const Status& status) const { append_status(out, "status", element, status); }
  void operator()(const Canceled& canceled) const {
    append_status(out, "canceled", element, canceled.status);
  }
  void operator()(const CanceledAll& canceled) const {
    for (const Status& status : canceled.orders) append_status(out, "canceled", element, status);
  }
  void operator()(const Replaced& replaced) const {
    out += "<replaced";
    append_id(out, replaced.order);
    append_new_terms(out, element);
    out += "/>";
  }
  void append_opened(OrderId order) const {
    out += "<opened";
    append_echo(out, element);
    append_id(out, order);
    append_terms(out, element);
    out += "/>";
  }
  void operator()(const NotInMemory&) const {
    ENSURE(false && "resolved before a reply is written");
  }
};

}  // namespace

std::size_t append_results(std::string& out, const Request& request,
                           std::span<const RequestElement> elements,
                           std::span<const Outcome> outcomes, bool length_first) {
  const std::size_t start = out.size();
  std::size_t used = 0;
  out += "<results>";
  const auto code = [&](ErrorCode error) { return request.codes ? code_of(error) : ""; };
  if (!request.error.empty())
    append_error(out, {.kind = RequestElement::Kind::unknown}, code(request.code), request.error);
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
