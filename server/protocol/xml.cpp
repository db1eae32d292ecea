#include "protocol/xml.hpp"

#include <charconv>
#include <cstdint>
#include <cstring>

namespace exchange {
namespace {

// XML 1.0, production 2 (Char).
bool is_xml_char(std::uint32_t c) {
  return c == 0x9 || c == 0xA || c == 0xD || (c >= 0x20 && c <= 0xD7FF) || (c >= 0xE000 && c <= 0xFFFD) ||
         (c >= 0x10000 && c <= 0x10FFFF);
}

// Bytes of the UTF-8 sequence at `at` when it is a well-formed one (Unicode, table 3-7) of an XML Char; else 0.
std::size_t utf8_char(const unsigned char* at, std::size_t left) {
  const auto continuation = [&](std::size_t i) { return i < left && (at[i] & 0xC0) == 0x80; };
  const unsigned char first = at[0];
  if (first < 0x80) return is_xml_char(first) ? 1 : 0;
  if (first >= 0xC2 && first <= 0xDF) return continuation(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    if (!continuation(1) || !continuation(2)) return 0;
    const std::uint32_t c = std::uint32_t(first & 0x0F) << 12 | std::uint32_t(at[1] & 0x3F) << 6 | (at[2] & 0x3F);
    return c >= 0x800 && is_xml_char(c) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    if (!continuation(1) || !continuation(2) || !continuation(3)) return 0;
    const std::uint32_t c = std::uint32_t(first & 0x07) << 18 | std::uint32_t(at[1] & 0x3F) << 12 |
                            std::uint32_t(at[2] & 0x3F) << 6 | (at[3] & 0x3F);
    return c >= 0x10000 && is_xml_char(c) ? 4 : 0;
  }
  return 0;
}

bool all_xml_chars(const char* text, std::size_t size) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(text);
  unsigned unusual = 0;  // one pass without branches: nearly every request is plain ASCII
  for (std::size_t i = 0; i < size; ++i) unusual |= unsigned(bytes[i] < 0x20) | unsigned(bytes[i] >= 0x80);
  if (!unusual) return true;
  for (std::size_t i = 0; i < size;) {
    const std::size_t length = utf8_char(bytes + i, size - i);
    if (length == 0) return false;
    i += length;
  }
  return true;
}

void append_utf8(std::string& out, std::uint32_t c) {
  if (c < 0x80) {
    out += char(c);
  } else if (c < 0x800) {
    out += char(0xC0 | c >> 6);
    out += char(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    out += char(0xE0 | c >> 12);
    out += char(0x80 | (c >> 6 & 0x3F));
    out += char(0x80 | (c & 0x3F));
  } else {
    out += char(0xF0 | c >> 18);
    out += char(0x80 | (c >> 12 & 0x3F));
    out += char(0x80 | (c >> 6 & 0x3F));
    out += char(0x80 | (c & 0x3F));
  }
}

// The character that `name` in "&name;" stands for; 0 where there is none.
std::uint32_t reference_char(std::string_view name) {
  if (name == "lt") return '<';
  if (name == "gt") return '>';
  if (name == "amp") return '&';
  if (name == "apos") return '\'';
  if (name == "quot") return '"';
  if (name.size() < 2 || name[0] != '#') return 0;
  const bool hex = name[1] == 'x';
  const std::string_view digits = name.substr(hex ? 2 : 1);
  std::uint32_t c = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), c, hex ? 16 : 10);
  if (error != std::errc() || end != digits.data() + digits.size() || digits.front() == '-' || !is_xml_char(c)) return 0;
  return c;
}

// Calls on_text and on_char for the parts of `raw`; false where a reference is bad.
template <class OnText, class OnChar>
bool scan_references(std::string_view raw, OnText on_text, OnChar on_char) {
  while (true) {
    const std::size_t ampersand = raw.find('&');
    on_text(raw.substr(0, ampersand));
    if (ampersand == std::string_view::npos) return true;
    const std::size_t semicolon = raw.find(';', ampersand);
    if (semicolon == std::string_view::npos) return false;
    const std::uint32_t c = reference_char(raw.substr(ampersand + 1, semicolon - ampersand - 1));
    if (c == 0) return false;
    on_char(c);
    raw.remove_prefix(semicolon + 1);
  }
}

const char* text_problem(std::string_view raw) {
  if (raw.find('&') != std::string_view::npos &&
      !scan_references(raw, [](std::string_view) {}, [](std::uint32_t) {}))
    return "bad reference after '&'";
  return nullptr;
}

const char* attributes_problem(const pugi::xml_node& element, const ProtocolLimits& limits) {
  std::size_t count = 0;
  for (auto attribute = element.first_attribute(); attribute; attribute = attribute.next_attribute()) {
    if (++count > limits.xml_attributes_max) return "too many attributes on one element";
    for (auto earlier = element.first_attribute(); earlier != attribute; earlier = earlier.next_attribute())
      if (std::strcmp(earlier.name(), attribute.name()) == 0) return "repeated attribute";
    const std::string_view value = attribute.value();
    if (value.find('<') != std::string_view::npos) return "'<' in an attribute value";
    if (const char* problem = text_problem(value)) return problem;
  }
  return nullptr;
}

const char* misc_problem(const pugi::xml_node& node) {
  const std::string_view value = node.value();
  if (node.type() == pugi::node_doctype) return "document types are not accepted";
  if (node.type() == pugi::node_declaration) return "XML declaration not at the start";
  if (node.type() == pugi::node_comment && (value.find("--") != std::string_view::npos || value.ends_with('-')))
    return "'--' in a comment";
  return nullptr;
}

const char* content_problem(const pugi::xml_node& element, std::size_t depth, const ProtocolLimits& limits) {
  if (depth > limits.xml_depth_max) return "elements nested too deep";
  if (const char* problem = attributes_problem(element, limits)) return problem;
  for (auto child = element.first_child(); child; child = child.next_sibling()) {
    const char* problem = nullptr;
    if (child.type() == pugi::node_element) {
      problem = content_problem(child, depth + 1, limits);
    } else if (child.type() == pugi::node_pcdata) {
      const std::string_view text = child.value();
      problem = text.find("]]>") != std::string_view::npos ? "']]>' in text" : text_problem(text);
    } else {
      problem = misc_problem(child);
    }
    if (problem != nullptr) return problem;
  }
  return nullptr;
}

bool equal_ignoring_case(std::string_view a, std::string_view lower) {
  if (a.size() != lower.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if ((a[i] >= 'A' && a[i] <= 'Z' ? a[i] + 32 : a[i]) != lower[i]) return false;
  return true;
}

const char* declaration_problem(const pugi::xml_node& declaration) {
  const std::string_view version = declaration.attribute("version").value();
  if (version != "1.0" && version != "1.1") return "unknown XML version";
  const auto encoding = declaration.attribute("encoding");
  if (encoding && !equal_ignoring_case(encoding.value(), "utf-8") && !equal_ignoring_case(encoding.value(), "us-ascii"))
    return "encodings other than UTF-8 are not accepted";
  return nullptr;
}

const char* document_problem(const pugi::xml_document& document, bool declaration_first, const ProtocolLimits& limits) {
  bool root_seen = false;
  for (auto node = document.first_child(); node; node = node.next_sibling()) {
    const char* problem = nullptr;
    if (node.type() == pugi::node_element) {
      if (root_seen) return "more than one root element";
      root_seen = true;
      problem = content_problem(node, 1, limits);
    } else if (node.type() == pugi::node_pcdata || node.type() == pugi::node_cdata) {
      return "text outside the root element";
    } else if (node.type() == pugi::node_declaration && declaration_first && !node.previous_sibling()) {
      problem = declaration_problem(node);
    } else {
      problem = misc_problem(node);
    }
    if (problem != nullptr) return problem;
  }
  return root_seen ? nullptr : "no root element";
}

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

}  // namespace

std::string XmlDocument::parse(char* text, std::size_t size, const ProtocolLimits& limits) {
  if (size >= 3 && std::memcmp(text, "\xEF\xBB\xBF", 3) == 0) {  // a byte order mark is no content
    text += 3;
    size -= 3;
  }
  if (!all_xml_chars(text, size)) return "malformed XML: not UTF-8, or a character that XML does not allow";
  const bool declaration_first = size >= 5 && std::memcmp(text, "<?xml", 5) == 0;

  // References stay as written: unresolved, "&foo;" and "&amp;foo;" can still be told apart, and values
  // can be repeated to the client as it wrote them. White space alone outside leaves is dropped.
  constexpr unsigned flags = pugi::parse_cdata | pugi::parse_comments | pugi::parse_pi | pugi::parse_declaration |
                             pugi::parse_doctype | pugi::parse_fragment;
  const auto result = document_.load_buffer_inplace(text, size, flags, pugi::encoding_utf8);
  if (!result) return std::string("malformed XML: ") + result.description();
  if (const char* problem = document_problem(document_, declaration_first, limits))
    return std::string("malformed XML: ") + problem;
  return {};
}

std::string_view raw_attribute(const pugi::xml_node& element, const char* name) {
  const auto attribute = element.attribute(name);
  return attribute ? std::string_view(attribute.value()) : std::string_view();
}

std::string_view resolve_references(std::string_view raw, std::string& scratch) {
  if (raw.find('&') == std::string_view::npos) return raw;
  scratch.clear();
  scan_references(
      raw, [&](std::string_view text) { scratch += text; }, [&](std::uint32_t c) { append_utf8(scratch, c); });
  return scratch;
}

std::string element_text(const pugi::xml_node& element) {
  std::string text, scratch;
  for (auto child = element.first_child(); child; child = child.next_sibling()) {
    if (child.type() == pugi::node_pcdata) text += resolve_references(child.value(), scratch);
    if (child.type() == pugi::node_cdata) text += child.value();
  }
  while (!text.empty() && is_blank(text.back())) text.pop_back();
  std::size_t first = 0;
  while (first < text.size() && is_blank(text[first])) ++first;
  return text.substr(first);
}

bool has_child_elements(const pugi::xml_node& element) {
  for (auto child = element.first_child(); child; child = child.next_sibling())
    if (child.type() == pugi::node_element) return true;
  return false;
}

}  // namespace exchange
