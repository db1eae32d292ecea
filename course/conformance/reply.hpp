#pragma once
// Reads the meaning of replies: attribute order, quotes, white space and the forms of numbers do
// not matter. Pure.

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace exchange::conformance {

// The document cannot be read at all.
struct BadReply : std::runtime_error {
  using runtime_error::runtime_error;
};

struct Element {
  std::string name;
  std::vector<std::pair<std::string, std::string>> attributes;
  std::string text;  // without white space around it
  std::vector<Element> children;

  const std::string* find(std::string_view attribute) const;
  // Returns "" if it is absent.
  std::string attribute(std::string_view name) const;
  // Returns "<error id="5">…</error>", for messages.
  std::string print() const;
};

struct Reply {
  std::vector<Element> elements;  // inside <results>
  std::string problem;            // why it breaks R1, although it could be read; else empty
};
// If the root is not <results>, returns the elements inside the root, or the root itself if it is
// an <error> or the like. If the document is not well-formed, returns all elements if their meaning
// is clear (values without quotes, no blank between attributes, a '<' in a text), else those before
// the fault. Throws BadReply.
Reply read_reply(std::string_view document);

// Returns the number in units of 1e-8. Accepts a currency sign, an exponent, and the rounding noise
// of a double after the eighth decimal. Returns nothing if the text is not a number.
std::optional<std::int64_t> units_of(std::string_view text);

// Whether both are the same text or the same number.
bool same_value(const std::string& a, const std::string& b);

// Writes the document as docs/protocol.md does: order of attributes, double quotes, no white space
// between elements, shortest numbers.
std::string canonical(std::string_view document);

}  // namespace exchange::conformance
