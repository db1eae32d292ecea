#pragma once
// A strict layer over pugixml. pugixml alone lets through invalid UTF-8, repeated attributes, a
// second root, text beside the root and references to what does not exist; XML 1.0 does not, nor do
// we. Refused by choice: document types (entity bombs), encodings other than UTF-8, deep nesting.
// Pure.

#include <pugixml.hpp>
#include <string>
#include <string_view>

#include "protocol/limits.hpp"

namespace exchange {

class XmlDocument {
 public:
  // Parses `text` in place: it is changed, and views into it stay good while it lives. The byte
  // behind it, text[size], must be there too; it is as before afterwards. Returns an empty string,
  // or why this is not a document we take.
  std::string parse(char* text, std::size_t size, const ProtocolLimits& limits);
  // Of the last parse, if it failed: words for its error where another length line stands before
  // the root element, or behind it; else nothing.
  const std::string& length_hint() const { return length_hint_; }
  // Gives its memory back; there is no root then.
  void release() { document_.reset(); }
  // The one root element of the last good parse.
  pugi::xml_node root() const { return document_.document_element(); }

 private:
  pugi::xml_document document_;
  std::string length_hint_;
};

// An attribute's value as written, references not resolved; data() is null where it is absent.
std::string_view raw_attribute(const pugi::xml_node& element, const char* name);
// `raw` with its references resolved, in `scratch` where it has any.
std::string_view resolve_references(std::string_view raw, std::string& scratch);
// All text directly inside the element, references resolved, white space trimmed from both ends.
std::string element_text(const pugi::xml_node& element);
// Character data that is white space as written, such as stands between elements.
bool is_white_space(const pugi::xml_node& text);
bool has_child_elements(const pugi::xml_node& element);

}  // namespace exchange
