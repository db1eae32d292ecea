#include "course/conformance/reply.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <pugixml.hpp>
#include <sstream>

#include "client/connection/framing.hpp"
#include "client/loadgen/audit/deviations.hpp"
#include "engine/decimal.hpp"
#include "protocol/description.hpp"

namespace exchange::conformance {
namespace {

constexpr unsigned depth_max = 16;  // the deepest reply of the protocol has 3 levels

Element read(const pugi::xml_node& node, unsigned depth = 0) {
  if (depth == depth_max) throw BadReply("the elements of the reply nest too deeply");
  Element element{.name = node.name()};
  for (const pugi::xml_attribute& attribute : node.attributes())
    element.attributes.emplace_back(attribute.name(), attribute.value());
  for (const pugi::xml_node& child : node.children())
    if (child.type() == pugi::node_element)
      element.children.push_back(read(child, depth + 1));
    else
      element.text += child.value();
  const std::size_t begin = client::skip_blanks(element.text);
  element.text.erase(0, begin);
  while (!element.text.empty() && client::is_blank(element.text.back())) element.text.pop_back();
  return element;
}

bool is_reply_element(std::string_view name) {
  bool is = false;
  boost::mp11::mp_for_each<boost::mp11::mp_transform<boost::mp11::mp_identity, Outcome>>(
      [&](auto type) { is = is || name == reply_element<typename decltype(type)::type>; });
  return is && !name.empty();
}

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

// Repairs three faults: a '<' that does not begin a tag, such as "0 < 1" in an error; values
// without quotes; and attributes without a blank between them. The result is well-formed if the
// document has no other fault.
std::string mended(std::string_view document) {
  std::string out;
  bool in_tag = false;
  char quote = 0;  // inside a value: the quote that ends it
  for (std::size_t i = 0; i < document.size(); ++i) {
    const char c = document[i], next = i + 1 < document.size() ? document[i + 1] : ' ';
    if (!in_tag) {
      const bool stray = c == '<' && !is_letter(next) && next != '/' && next != '!' && next != '?';
      in_tag = c == '<' && is_letter(next);
      out += stray ? "&lt;" : std::string(1, c);
      continue;
    }
    out += c;
    if (quote != 0) {
      if (c != quote) continue;
      quote = 0;
      if (is_letter(next)) out += ' ';
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '>') {
      in_tag = false;
    } else if (c == '=') {
      const std::size_t begin = client::skip_blanks(document, i + 1);
      if (begin == document.size() || document[begin] == '"' || document[begin] == '\'') continue;
      std::size_t end = begin;
      while (end < document.size() && !client::is_blank(document[end]) && document[end] != '>' &&
             !document.substr(end).starts_with("/>"))
        ++end;
      out += '"' + std::string(document.substr(begin, end - begin)) + '"';
      i = end - 1;
    }
  }
  return out;
}

Reply read_with(std::string_view document, unsigned options) {
  pugi::xml_document parsed;
  const pugi::xml_parse_result result =
      parsed.load_buffer(document.data(), document.size(), options);
  if (!result) {
    const std::string again = mended(document);
    parsed.load_buffer(again.data(), again.size(), options);
  }
  Reply answer;
  const pugi::xml_node root = parsed.document_element();
  const std::string_view name = root.name();
  if (!result)
    answer.problem = std::string("the reply is not well-formed XML: ") + result.description();
  else if (name != "results")
    answer.problem = "the root of the reply is <" + std::string(name) + ">, not <results>";
  if (!root) throw BadReply(answer.problem);
  Element all = read(root);
  if (is_reply_element(name))
    answer.elements.push_back(std::move(all));
  else
    answer.elements = std::move(all.children);
  return answer;
}

constexpr std::array<std::string_view, 9> attribute_order{
    "sym", "amount", "limit", "shares", "price", "time", "id", "ref", "key"};
// The order for an element without a symbol: in a reply to a replace, the order comes first.
constexpr std::array<std::string_view, 9> order_without_symbol{
    "id", "ref", "amount", "limit", "shares", "price", "time", "sym", "key"};

void write_canonical(const Element& element, bool computed, std::string& out) {
  out += "<" + element.name;
  const auto write = [&](const std::string& name, const std::string& value) {
    out += " " + name + "=\"";
    const auto units = computed && name != "time" ? units_of(value) : std::nullopt;
    out += units ? to_string(Shares::from_units(*units)) : value;
    out += "\"";
  };
  const auto& order = element.find("sym") != nullptr ? attribute_order : order_without_symbol;
  for (const std::string_view known : order)
    if (const std::string* value = element.find(known)) write(std::string(known), *value);
  for (const auto& [name, value] : element.attributes) {
    bool known = false;
    for (const std::string_view other : order) known |= name == other;
    if (!known) write(name, value);
  }
  if (element.children.empty() && element.text.empty()) {
    out += "/>";
    return;
  }
  out += ">" + element.text;
  for (const Element& child : element.children) write_canonical(child, true, out);
  out += "</" + element.name + ">";
}

}  // namespace

const std::string* Element::find(std::string_view attribute) const {
  for (const auto& [name_, value] : attributes)
    if (name_ == attribute) return &value;
  return nullptr;
}

std::string Element::attribute(std::string_view attribute_name) const {
  const std::string* const value = find(attribute_name);
  return value ? *value : std::string();
}

std::string Element::print() const {
  std::string out = "<" + name;
  for (const auto& [attribute_name, value] : attributes)
    out += " " + attribute_name + "=\"" + value + "\"";
  if (children.empty() && text.empty()) return out + "/>";
  out += ">" + text;
  for (const Element& child : children) out += child.print();
  return out + "</" + name + ">";
}

Reply read_reply(std::string_view document) { return read_with(document, pugi::parse_default); }

std::optional<std::int64_t> units_of(std::string_view text) {
  return run_audit::lenient_units(text);
}

bool same_value(const std::string& a, const std::string& b) {
  const auto units = units_of(a);
  return a == b || (units && units == units_of(b));
}

std::string canonical(std::string_view document) {
  std::string out = "<results>";
  for (const Element& element : read_with(document, pugi::parse_cdata).elements)
    write_canonical(element, false, out);
  return out + "</results>";
}

}  // namespace exchange::conformance
