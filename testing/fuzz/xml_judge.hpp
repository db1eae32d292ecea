#pragma once
// An independent judge of XML: libxml2. Reports whether a document is well-formed and what it
// contains, in a form without the choices of a parser: the order of attributes, kinds and amounts
// of white space.

#include <libxml/parser.h>
#include <libxml/tree.h>

#include <algorithm>
#include <boost/algorithm/string/replace.hpp>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace exchange::fuzz {

// Removes white space at the ends, and makes any other run of it one blank.
inline std::string plain_space(std::string_view text) {
  std::string plain;
  bool blank = false;
  for (const char c : text) {
    if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
      blank = !plain.empty();
      continue;
    }
    if (blank) plain += ' ';
    blank = false;
    plain += c;
  }
  return plain;
}

// Returns whether a parser that guesses takes the text for a wide encoding: UTF-16 and -32 by their
// marks or by the zeros of their first character, or EBCDIC.
inline bool looks_wide(std::string_view text) {
  const std::string_view first = text.substr(0, 4);
  return first.starts_with("\xFE\xFF") || first.starts_with("\xFF\xFE") ||
         first.find('\0') != first.npos || first.starts_with('\x4C');
}

// Returns a document that is as well-formed as this one, with hexadecimal references as short as
// possible: libxml2 refuses a letter as the eleventh digit of a reference in text.
inline std::string with_short_references(std::string_view document) {
  std::string text(document);
  for (std::size_t at = text.find("&#x"); at != text.npos; at = text.find("&#x", at + 3))
    while (text.compare(at + 3, 1, "0") == 0 &&
           text.find_first_of("0123456789abcdefABCDEF", at + 4) == at + 4)
      text.erase(at + 3, 1);
  return text;
}

struct Element {
  std::string name;
  std::map<std::string, std::string> attributes;
  std::vector<Element> children;
  std::string text;  // all text directly inside
  bool operator==(const Element&) const = default;

  const std::string* attribute(const std::string& name_wanted) const {
    const auto found = attributes.find(name_wanted);
    return found == attributes.end() ? nullptr : &found->second;
  }
};

inline std::string print(const Element& element) {
  std::string text = "<" + element.name;
  for (const auto& [name, value] : element.attributes) text += " " + name + "=[" + value + "]";
  text += ">" + element.text;
  for (const Element& child : element.children) text += print(child);
  return text + "</>";
}

struct Judgement {
  bool well_formed = false;
  // colons stand only where namespaces have them; otherwise `root` is not filled in
  bool names_are_qualified = false;
  bool has_document_type = false;
  std::string encoding;  // declared or detected; may be empty
  std::string version;
  std::size_t depth = 0, attributes_max = 0;
  std::size_t attribute_bytes_max = 0;  // of a value, resolved
  Element root;
};

class XmlJudge {
 public:
  static Judgement judge(std::string_view document) {
    static const bool initialized = (xmlInitParser(), true);
    (void)initialized;
    const std::unique_ptr<xmlParserCtxt, void (*)(xmlParserCtxtPtr)> context(xmlNewParserCtxt(),
                                                                             xmlFreeParserCtxt);
    constexpr int options =
        XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING | XML_PARSE_HUGE;
    const std::unique_ptr<xmlDoc, void (*)(xmlDocPtr)> tree(
        xmlCtxtReadMemory(context.get(), document.data(), int(document.size()), nullptr, nullptr,
                          options),
        xmlFreeDoc);
    Judgement judgement;
    judgement.well_formed = context->wellFormed == 1 && tree != nullptr;
    // libxml2 takes a zero after the root for the end of the document.
    if (!looks_wide(document) && document.find('\0') != document.npos)
      judgement.well_formed = false;
    if (!judgement.well_formed) return judgement;
    judgement.names_are_qualified = context->nsWellFormed == 1;
    judgement.has_document_type = tree->intSubset != nullptr;
    judgement.encoding = text_of(tree->encoding);
    judgement.version = text_of(tree->version);
    const xmlNode* root = xmlDocGetRootElement(tree.get());
    measure(judgement, root, 1);
    if (judgement.names_are_qualified && judgement.depth <= depth_read_max)
      judgement.root = read(root);
    return judgement;
  }

 private:
  static constexpr std::size_t depth_read_max = 64;

  static std::string text_of(const xmlChar* text) {
    return text == nullptr ? "" : reinterpret_cast<const char*>(text);
  }
  static std::string value_of(const xmlAttr* attribute) {
    const std::unique_ptr<xmlChar, decltype(xmlFree)> value(
        xmlNodeListGetString(attribute->doc, attribute->children, 1), xmlFree);
    return text_of(value.get());
  }
  // libxml2 leaves each ampersand of a namespace as a reference.
  static std::string value_of(const xmlNs* space) {
    return boost::algorithm::replace_all_copy(text_of(space->href), "&#38;", "&");
  }
  static std::string qualified(const xmlNs* space, const xmlChar* name) {
    return (space != nullptr && space->prefix != nullptr ? text_of(space->prefix) + ":" : "") +
           text_of(name);
  }

  static void measure(Judgement& judgement, const xmlNode* root, std::size_t depth) {
    std::vector<std::pair<const xmlNode*, std::size_t>> left{{root, depth}};
    while (!left.empty()) {
      const auto [element, at] = left.back();
      left.pop_back();
      judgement.depth = std::max(judgement.depth, at);
      std::size_t attributes = 0;
      for (const xmlAttr* attribute = element->properties; attribute != nullptr;
           attribute = attribute->next, ++attributes)
        judgement.attribute_bytes_max =
            std::max(judgement.attribute_bytes_max, value_of(attribute).size());
      for (const xmlNs* space = element->nsDef; space != nullptr; space = space->next, ++attributes)
        judgement.attribute_bytes_max =
            std::max(judgement.attribute_bytes_max, value_of(space).size());
      judgement.attributes_max = std::max(judgement.attributes_max, attributes);
      for (const xmlNode* child = element->children; child != nullptr; child = child->next)
        if (child->type == XML_ELEMENT_NODE) left.push_back({child, at + 1});
    }
  }

  static Element read(const xmlNode* node) {
    Element element{.name = qualified(node->ns, node->name)};
    for (const xmlAttr* attribute = node->properties; attribute != nullptr;
         attribute = attribute->next)
      element.attributes[qualified(attribute->ns, attribute->name)] =
          plain_space(value_of(attribute));
    for (const xmlNs* space = node->nsDef; space != nullptr; space = space->next)
      element.attributes[space->prefix == nullptr ? "xmlns" : "xmlns:" + text_of(space->prefix)] =
          plain_space(value_of(space));
    std::string text;
    for (const xmlNode* child = node->children; child != nullptr; child = child->next) {
      if (child->type == XML_ELEMENT_NODE) element.children.push_back(read(child));
      if (child->type == XML_TEXT_NODE || child->type == XML_CDATA_SECTION_NODE)
        text += text_of(child->content);
    }
    element.text = plain_space(text);
    return element;
  }
};

}  // namespace exchange::fuzz
