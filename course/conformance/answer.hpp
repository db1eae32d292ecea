#pragma once
// Reads replies for their meaning: attribute order, quotes, white space and the forms of numbers do
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
struct BadAnswer : std::runtime_error {
  using runtime_error::runtime_error;
};

struct Element {
  std::string name;
  std::vector<std::pair<std::string, std::string>> attributes;
  std::string text;  // without white space around it
  std::vector<Element> children;

  const std::string* find(std::string_view attribute) const;
  // "" if it is absent
  std::string attribute(std::string_view name) const;
  // "<error id="5">…</error>", for messages
  std::string print() const;
};

struct Answer {
  std::vector<Element> elements;  // inside <results>
  std::string problem;            // why it is no reply by R1, though it could be read; else empty
};
// Of a document with another root: what is inside that, or an <error> or the like that is the root.
// Of one that is not well-formed: all of it where what it means is plain (values without quotes, no
// blank between attributes, a '<' in a text), else what stands before the fault. Throws BadAnswer.
Answer read_answer(std::string_view document);

// In units of 1e-8; also with a currency sign, an exponent, or the noise of a double after the
// eighth decimal. Nothing if it is no number.
std::optional<std::int64_t> units_of(std::string_view text);

// The same text, or the same number.
bool same_value(const std::string& a, const std::string& b);

// The document as docs/protocol.md writes it: order of attributes, double quotes, no white space
// between elements, shortest numbers.
std::string canonical(std::string_view document);

}  // namespace exchange::conformance
