#pragma once
// Checks that every client can read a stream of replies: one <results> document after another, each
// exactly well-formed XML. Independent of the tested code: it has a grammar of its own, and pugixml
// as a second opinion.

#include <pugixml.hpp>
#include <string>
#include <string_view>

namespace exchange {

class ReplyScanner {
 public:
  explicit ReplyScanner(std::string_view text) : rest_(text) {}

  // Takes one document and its newline. Returns false if it is not a document; problem() has the
  // reason.
  bool take_document() {
    const std::string_view start = rest_;
    if (!take("<results>")) return fail("no <results>");
    while (!take("</results>\n"))
      if (!take_element(1)) return false;
    pugi::xml_document document;
    const std::size_t size = start.size() - rest_.size();
    if (const auto parsed = document.load_buffer(start.data(), size); !parsed)
      return fail(parsed.description());
    return true;
  }
  bool at_end() const { return rest_.empty(); }
  const std::string& problem() const { return problem_; }

 private:
  bool fail(std::string_view why) {
    if (problem_.empty()) problem_ = std::string(why) + " at: " + std::string(rest_.substr(0, 60));
    return false;
  }
  bool take(std::string_view text) {
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }
  std::string_view take_name() {
    std::size_t size = 0;
    while (size < rest_.size() && rest_[size] >= 'a' && rest_[size] <= 'z') ++size;
    const std::string_view name = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return name;
  }
  bool take_element(int depth) {
    if (depth > 2) return fail("deeper than any reply");
    if (!take("<")) return fail("no element");
    const std::string_view name = take_name();
    if (name.empty()) return fail("no element name");
    std::string seen = " ";
    while (take(" ")) {
      const std::string attribute(take_name());
      if (attribute.empty()) return fail("no attribute name");
      if (seen.find(" " + attribute + " ") != std::string::npos) return fail("repeated attribute");
      seen += attribute + " ";
      if (!take("=\"") || !take_text('"') || !take("\"")) return fail("bad attribute");
    }
    if (take("/>")) return true;
    if (!take(">")) return fail("unclosed tag");
    while (!rest_.starts_with("</")) {
      if (rest_.starts_with("<") ? !take_element(depth + 1) : !take_text('<'))
        return fail("bad content");
    }
    return (take("</") && take(name) && take(">")) || fail("wrong end tag");
  }
  // Takes one or more characters up to `end`; an attribute may be empty.
  bool take_text(char end) {
    while (!rest_.empty() && rest_[0] != end) {
      // an attribute may hold "]]>"
      if (rest_[0] == '<' || (end == '<' && rest_.starts_with("]]>")))
        return fail("markup in text");
      if (!(rest_[0] == '&' ? take_reference() : take_character())) return fail("bad character");
    }
    return !rest_.empty();
  }
  static bool is_char(unsigned long c) {
    return c == 9 || c == 10 || c == 13 || (c >= 0x20 && c < 0xD800) ||
           (c > 0xDFFF && c < 0xFFFE) || (c > 0xFFFF && c < 0x110000);
  }
  bool take_reference() {
    for (const std::string_view named : {"&lt;", "&gt;", "&amp;", "&apos;", "&quot;"})
      if (take(named)) return true;
    if (!take("&#")) return false;
    const bool hex = take("x");
    unsigned long c = 0;
    std::size_t digits = 0;
    for (; !rest_.empty() && rest_[0] != ';'; ++digits, rest_.remove_prefix(1)) {
      const std::size_t digit = std::string_view("0123456789abcdefABCDEF").find(rest_[0]);
      if (digit == std::string_view::npos || (!hex && digit > 9)) return false;
      c = c * (hex ? 16 : 10) + (digit > 15 ? digit - 6 : digit);
      if (c > 0x10FFFF) return false;
    }
    return digits > 0 && is_char(c) && take(";");
  }
  bool take_character() {
    const auto byte = [&](std::size_t i) {
      return i < rest_.size() ? static_cast<unsigned char>(rest_[i]) : 0u;
    };
    const unsigned first = byte(0);
    const std::size_t size = first < 0x80   ? 1
                             : first < 0xC0 ? 0
                             : first < 0xE0 ? 2
                             : first < 0xF0 ? 3
                             : first < 0xF8 ? 4
                                            : 0;
    if (size == 0) return false;
    unsigned long c = size == 1 ? first : first & (0x7Fu >> size);
    for (std::size_t i = 1; i < size; ++i) {
      if (byte(i) >> 6 != 2) return false;
      c = c << 6 | (byte(i) & 0x3F);
    }
    constexpr unsigned long least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (c < least[size] || !is_char(c)) return false;
    rest_.remove_prefix(size);
    return true;
  }

  std::string_view rest_;
  std::string problem_;
};

// Returns an empty string if `replies` is a sequence of well-formed documents; otherwise the
// problem and its place.
inline std::string replies_problem(std::string_view replies) {
  ReplyScanner scanner(replies);
  while (!scanner.at_end())
    if (!scanner.take_document()) return scanner.problem();
  return {};
}

}  // namespace exchange
