#include "protocol/xml.hpp"

#include <algorithm>
#include <boost/algorithm/string/trim.hpp>
#include <boost/nowide/utf/utf.hpp>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <utility>

#include "base/text.hpp"
#include "protocol/framing.hpp"

namespace exchange {
namespace {

// XML 1.0, production 2 (Char).
bool is_xml_char(std::uint32_t c) {
  return c == 0x9 || c == 0xA || c == 0xD || (c >= 0x20 && c <= 0xD7FF) ||
         (c >= 0xE000 && c <= 0xFFFD) || (c >= 0x10000 && c <= 0x10FFFF);
}

// XML 1.0, productions 4 and 4a, beyond ASCII; pugixml has checked the ASCII characters.
bool is_name_char(std::uint32_t c, bool first) {
  const auto in = [c](std::uint32_t low, std::uint32_t high) { return c >= low && c <= high; };
  if (c < 0x80 || (in(0xC0, 0x2FF) && c != 0xD7 && c != 0xF7) || in(0x370, 0x37D) ||
      in(0x37F, 0x1FFF) || in(0x200C, 0x200D) || in(0x2070, 0x218F) || in(0x2C00, 0x2FEF) ||
      in(0x3001, 0xD7FF) || in(0xF900, 0xFDCF) || in(0xFDF0, 0xFFFD) || in(0x10000, 0xEFFFF))
    return true;
  return !first && (c == 0xB7 || in(0x300, 0x36F) || in(0x203F, 0x2040));
}

bool is_ascii(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) { return (c & 0x80) != 0; });
}

// Requires: well-formed UTF-8.
bool is_name(std::string_view text) {
  if (is_ascii(text)) return true;
  for (bool first = true; !text.empty(); first = false)
    if (!is_name_char(*take_character(text), first)) return false;
  return true;
}

bool all_xml_chars(std::string_view text) {
  constexpr std::uint64_t blanks = 0x2020202020202020, high_bits = 0x8080808080808080;
  while (!text.empty()) {
    // Nearly all bytes are from 0x20 to 0x7F, so check eight at once: the subtraction sets the high
    // bit of the lowest byte below 0x20.
    if (std::uint64_t word; text.size() >= sizeof word) {
      std::memcpy(&word, text.data(), sizeof word);
      if (((word | (word - blanks)) & high_bits) == 0) {
        text.remove_prefix(sizeof word);
        continue;
      }
    }
    if (text.front() >= ' ' && text.front() < 0x7F) {
      text.remove_prefix(1);
      continue;
    }
    const auto character = take_character(text);
    if (!character || !is_xml_char(*character)) return false;
  }
  return true;
}

// Returns the character that `name` in "&name;" stands for; 0 if the name is not valid.
std::uint32_t reference_char(std::string_view name) {
  if (name == "lt") return '<';
  if (name == "gt") return '>';
  if (name == "amp") return '&';
  if (name == "apos") return '\'';
  if (name == "quot") return '"';
  if (name.size() < 2 || name[0] != '#') return 0;
  const bool hex = name[1] == 'x';
  const std::string_view digits = name.substr(hex ? 2 : 1);
  const auto c = parse_number<std::uint32_t>(digits, hex ? 16 : 10);
  return c && is_xml_char(*c) ? *c : 0;
}

// Calls on_text and on_char for the parts of `raw`; returns false if a reference is not valid.
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
      !scan_references(
          raw, [](std::string_view) {}, [](std::uint32_t) {}))
    return "bad reference after '&'";
  return nullptr;
}

const char* attributes_problem(const pugi::xml_node& element, const ProtocolLimits& limits) {
  std::size_t count = 0;
  for (auto attribute = element.first_attribute(); attribute;
       attribute = attribute.next_attribute()) {
    if (++count > limits.xml_attributes_max) return "too many attributes on one element";
    if (!is_name(attribute.name())) return "bad name";
    for (auto earlier = element.first_attribute(); earlier != attribute;
         earlier = earlier.next_attribute())
      if (std::strcmp(earlier.name(), attribute.name()) == 0) return "repeated attribute";
    const std::string_view value = attribute.value();
    if (value.size() > limits.xml_attribute_bytes_max) return "attribute value too long";
    if (value.find('<') != std::string_view::npos) return "'<' in an attribute value";
    if (const char* problem = text_problem(value)) return problem;
  }
  return nullptr;
}

const char* misc_problem(const pugi::xml_node& node) {
  const std::string_view value = node.value();
  if (node.type() == pugi::node_doctype) return "document types are not accepted";
  if (node.type() == pugi::node_declaration) return "XML declaration not at the start";
  if (node.type() == pugi::node_comment &&
      (value.find("--") != std::string_view::npos || value.ends_with('-')))
    return "'--' in a comment";
  if (node.type() == pugi::node_pi && !is_name(node.name())) return "bad name";
  return nullptr;
}

const char* content_problem(const pugi::xml_node& element, std::size_t depth,
                            const ProtocolLimits& limits) {
  if (depth > limits.xml_depth_max) return "elements nested too deep";
  if (!is_name(element.name())) return "bad name";
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

// Whether `name` is one of `names`, which have lower-case letters and hyphens. Ignores the case and
// accepts underscores for hyphens.
bool is_any_of(std::string_view name, std::initializer_list<std::string_view> names) {
  const auto equal = [](char c, char known) {
    return (c >= 'A' && c <= 'Z' ? c + 32 : c == '_' ? '-' : c) == known;
  };
  return std::any_of(names.begin(), names.end(), [&](std::string_view known) {
    return std::equal(name.begin(), name.end(), known.begin(), known.end(), equal);
  });
}

bool is_utf8(std::string_view encoding) { return is_any_of(encoding, {"utf-8", "utf8"}); }
// Python writes the last name in the locale "C".
bool is_us_ascii(std::string_view encoding) {
  return is_any_of(encoding, {"us-ascii", "ascii", "ansi-x3.4-1968"});
}

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

// Removes the next ` name = "value"` from the front of `rest`; returns false if it does not begin
// with one.
bool take_pseudo_attribute(std::string_view& rest, std::string_view& name,
                           std::string_view& value) {
  std::string_view text = rest;
  const auto skip_blank = [&] {
    const std::size_t before = text.size();
    while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
    return text.size() < before;
  };
  if (!skip_blank()) return false;
  const std::size_t name_end = text.find_first_of("= \t\r\n");
  name = text.substr(0, name_end);
  text.remove_prefix(name.size());
  skip_blank();
  if (text.empty() || text.front() != '=') return false;
  text.remove_prefix(1);
  skip_blank();
  if (text.empty() || (text.front() != '"' && text.front() != '\'')) return false;
  const std::size_t close = text.find(text.front(), 1);
  if (close == std::string_view::npos) return false;
  value = text.substr(1, close - 1);
  rest = text.substr(close + 1);
  return true;
}

// Checks `text`, which stands between "<?xml" and "?>" of this document (XML 1.0, production 23).
// pugixml would accept nearly anything there.
const char* declaration_problem(std::string_view text, std::string_view document) {
  std::string_view name, value;
  bool more = take_pseudo_attribute(text, name, value);
  if (!more || name != "version" || (value != "1.0" && value != "1.1"))
    return "unknown XML version";
  more = take_pseudo_attribute(text, name, value);
  if (more && name == "encoding") {
    if (!is_utf8(value) && !is_us_ascii(value))
      return "encodings other than UTF-8 are not accepted";
    if (is_us_ascii(value) && !is_ascii(document))
      return "a character that is not of the declared encoding";
    more = take_pseudo_attribute(text, name, value);
  }
  if (more && name == "standalone" && (value == "yes" || value == "no"))
    more = take_pseudo_attribute(text, name, value);
  const bool rest_blank = text.find_first_not_of(" \t\r\n") == std::string_view::npos;
  return more || !rest_blank ? "bad XML declaration" : nullptr;
}

const char* document_problem(const pugi::xml_document& document, const ProtocolLimits& limits) {
  bool root_seen = false;
  for (auto node = document.first_child(); node; node = node.next_sibling()) {
    const char* problem = nullptr;
    if (node.type() == pugi::node_element) {
      if (root_seen) return "more than one root element";
      root_seen = true;
      problem = content_problem(node, 1, limits);
    } else if (node.type() == pugi::node_pcdata || node.type() == pugi::node_cdata) {
      if (!is_white_space(node)) return "text outside the root element";
    } else {
      problem = misc_problem(node);
    }
    if (problem != nullptr) return problem;
  }
  return root_seen ? nullptr : "no root element";
}

// Whether the node is text with digits alone in their line and only white space before them.
bool is_length_line(const pugi::xml_node& node) {
  if (node.type() != pugi::node_pcdata) return false;
  const std::string_view text = node.value();
  const std::size_t digits = std::min(text.find_first_not_of(" \t\r\n"), text.size());
  const std::size_t end = std::min(text.find_first_not_of("0123456789", digits), text.size());
  return digits < end && text.substr(end).find_first_not_of("\r\n") == std::string_view::npos;
}

// Returns the length hint for a document that is not well-formed; its text begins at `begin`.
std::string length_hint_of(const pugi::xml_document& document, const char* begin) {
  if (is_length_line(document.first_child()) && document.first_child().next_sibling())
    return "; a second length line stands before the document";
  for (auto node = document.first_child(); node; node = node.next_sibling())
    if (const auto next = node.next_sibling();
        node.type() == pugi::node_element && is_length_line(next))
      return "; a second length line follows after " + std::to_string(next.value() - begin) +
             " bytes: is the length right?";
  return {};
}

}  // namespace

std::string XmlDocument::parse(char* text, std::size_t size, const ProtocolLimits& limits) {
  length_hint_.clear();
  const char* const begin = text;
  const auto malformed = [](const char* problem) {
    return std::string("malformed XML: ") + problem;
  };
  char* const end = text + size;
  constexpr std::string_view declaration = "<?xml";
  const bool marked = std::string_view(text, size).starts_with(byte_order_mark);
  if (marked) text += byte_order_mark.size();
  const std::string_view all(text, std::size_t(end - text));
  if (!all_xml_chars(all)) return malformed("not UTF-8, or a character that XML does not allow");
  if (all.starts_with(declaration) && all.size() > declaration.size() &&
      (is_blank(all[declaration.size()]) || all[declaration.size()] == '?')) {
    const std::size_t close = all.find("?>");
    if (close == std::string_view::npos) return malformed("XML declaration not closed");
    if (const char* problem =
            declaration_problem(all.substr(declaration.size(), close - declaration.size()), all))
      return malformed(problem);
    text += close + 2;
  }
  // pugixml would skip a byte order mark here.
  if (std::string_view(text, std::size_t(end - text)).starts_with(byte_order_mark))
    return malformed("a byte order mark not at the start");
  // pugixml would not see a '<' after the root element and white space.
  if (all.ends_with('<')) return malformed("ends with '<'");

  // References stay unresolved: "&foo;" and "&amp;foo;" remain different, and replies can repeat
  // values as the client wrote them. Text of white space only is kept: "1<!-- --> <!-- -->0" is not
  // 10.
  constexpr unsigned flags = pugi::parse_cdata | pugi::parse_comments | pugi::parse_pi |
                             pugi::parse_declaration | pugi::parse_doctype | pugi::parse_fragment |
                             pugi::parse_ws_pcdata;
  // pugixml ends its text by overwriting the last character and may lose that character, so append
  // a blank.
  const char behind = std::exchange(*end, ' ');
  const auto result =
      document_.load_buffer_inplace(text, std::size_t(end - text) + 1, flags, pugi::encoding_utf8);
  const char* problem = result ? document_problem(document_, limits) : result.description();
  if (problem != nullptr) length_hint_ = length_hint_of(document_, begin);
  *end = behind;
  return problem != nullptr ? malformed(problem) : std::string();
}

std::string_view raw_attribute(const pugi::xml_node& element, const char* name) {
  const auto attribute = element.attribute(name);
  return attribute ? std::string_view(attribute.value()) : std::string_view();
}

std::string_view resolve_references(std::string_view raw, std::string& scratch) {
  if (raw.find('&') == std::string_view::npos) return raw;
  scratch.clear();
  scan_references(
      raw, [&](std::string_view text) { scratch += text; },
      [&](std::uint32_t c) {
        boost::nowide::utf::utf_traits<char>::encode(c, std::back_inserter(scratch));
      });
  return scratch;
}

std::string element_text(const pugi::xml_node& element) {
  std::string text, scratch;
  for (auto child = element.first_child(); child; child = child.next_sibling()) {
    if (child.type() == pugi::node_pcdata) text += resolve_references(child.value(), scratch);
    if (child.type() == pugi::node_cdata) text += child.value();
  }
  boost::trim_if(text, is_blank);
  return text;
}

bool is_white_space(const pugi::xml_node& text) {
  return text.type() == pugi::node_pcdata &&
         std::string_view(text.value()).find_first_not_of(" \t\r\n") == std::string_view::npos;
}

bool has_child_elements(const pugi::xml_node& element) {
  for (auto child = element.first_child(); child; child = child.next_sibling())
    if (child.type() == pugi::node_element) return true;
  return false;
}

}  // namespace exchange
