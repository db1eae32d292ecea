#include "tools/conformance/answer.hpp"

#include <array>
#include <cmath>
#include <cstdlib>
#include <pugixml.hpp>
#include <sstream>

#include "client/connection/framing.hpp"
#include "client/loadgen/deviations.hpp"
#include "engine/decimal.hpp"

namespace exchange::conformance {
namespace {

constexpr unsigned depth_max = 16;  // the deepest reply of the protocol has 3

Element read(const pugi::xml_node& node, unsigned depth = 0) {
  if (depth == depth_max) throw BadAnswer("the elements of the reply nest too deeply");
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

std::vector<Element> read_with(std::string_view document, unsigned options) {
  pugi::xml_document parsed;
  const pugi::xml_parse_result result =
      parsed.load_buffer(document.data(), document.size(), options);
  if (!result)
    throw BadAnswer("the reply is not well-formed XML: " + std::string(result.description()));
  const pugi::xml_node root = parsed.document_element();
  if (std::string_view(root.name()) != "results")
    throw BadAnswer("the root of the reply is <" + std::string(root.name()) + ">, not <results>");
  Element all = read(root);
  return std::move(all.children);
}

constexpr std::array<std::string_view, 9> attribute_order{
    "sym", "amount", "limit", "shares", "price", "time", "id", "ref", "key"};
// Of an element without a symbol: in a reply to a replace, the order comes first.
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

std::vector<Element> read_answer(std::string_view document) {
  return read_with(document, pugi::parse_default);
}

std::optional<std::int64_t> units_of(std::string_view text) {
  if (const auto units = loadgen::lenient_units(text)) return units;
  const std::string copy(text);
  char* end = nullptr;
  const double number = std::strtod(copy.c_str(), &end);
  if (end == copy.c_str() || *end != '\0' || !(std::abs(number) < 9e10)) return std::nullopt;
  return std::llround(number * 1e8);
}

bool same_value(const std::string& a, const std::string& b) {
  const auto units = units_of(a);
  return a == b || (units && units == units_of(b));
}

std::string canonical(std::string_view document) {
  std::string out = "<results>";
  for (const Element& element : read_with(document, pugi::parse_cdata))
    write_canonical(element, false, out);
  return out + "</results>";
}

}  // namespace exchange::conformance
