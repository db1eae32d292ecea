#pragma once
// A strict layer over pugixml. pugixml alone accepts invalid UTF-8, duplicate attributes, a second
// root, text outside the root and references to undefined entities; XML 1.0 forbids them, and the
// server refuses them. By choice it also refuses document types (entity bombs), encodings other
// than UTF-8 and deep nesting. Pure.

#include <pugixml.hpp>
#include <string>
#include <string_view>

#include "protocol/limits.hpp"

namespace exchange {

class XmlDocument {
 public:
  // Parses `text` in place: changes it, and views into it stay valid while it lives. The byte after
  // it, text[size], must be accessible; parse() restores its value. Returns an empty string, or the
  // reason why the server does not accept the document.
  std::string parse(char* text, std::size_t size, const ProtocolLimits& limits);
  // Returns words for the error of the last parse, if it failed and another length line stands
  // before the root element or after it; otherwise an empty string.
  const std::string& length_hint() const { return length_hint_; }
  // Releases the memory; root() is then empty.
  void release() { document_.reset(); }
  // Returns the one root element of the last successful parse.
  pugi::xml_node root() const { return document_.document_element(); }

 private:
  pugi::xml_document document_;
  std::string length_hint_;
};

// Returns the value of an attribute as written, with unresolved references; data() is null if the
// attribute is absent.
std::string_view raw_attribute(const pugi::xml_node& element, const char* name);
// Returns `raw` with its references resolved. The result is in `scratch` if `raw` has references.
std::string_view resolve_references(std::string_view raw, std::string& scratch);
// Returns all text directly inside the element, with references resolved and white space trimmed
// from both ends.
std::string element_text(const pugi::xml_node& element);
// Whether the character data is white space as written, such as that between elements.
bool is_white_space(const pugi::xml_node& text);
bool has_child_elements(const pugi::xml_node& element);

}  // namespace exchange
