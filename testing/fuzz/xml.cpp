// A document through the strict XML layer, the request reader and the replies, with libxml2 as an
// independent judge.
// - An accepted document is well-formed and means the same to both; a refused one is not
//   well-formed, or is refused by choice (server/protocol/xml.hpp).
// - Replies are well-formed, have one element for each element, and repeat what the client wrote.
// - Commands that are written out and read again stay the same.
// Input: the document.

#include <algorithm>
#include <regex>

#include "engine/exchange.hpp"
#include "fuzz/fuzz.hpp"
#include "fuzz/written_command.hpp"
#include "fuzz/xml_judge.hpp"
#include "protocol/reply.hpp"
#include "protocol/request.hpp"

namespace exchange::fuzz {
namespace {

const ProtocolLimits limits;
constexpr Timestamp now{1'700'000'000'000'000};

// Returns what our layer sees, in the judge's form.
Element read(const pugi::xml_node& node) {
  Element element{.name = node.name()};
  std::string scratch;
  for (auto attribute = node.first_attribute(); attribute; attribute = attribute.next_attribute())
    element.attributes[attribute.name()] =
        plain_space(resolve_references(attribute.value(), scratch));
  for (auto child = node.first_child(); child; child = child.next_sibling())
    if (child.type() == pugi::node_element) element.children.push_back(read(child));
  element.text = plain_space(element_text(node));
  return element;
}

// Ignores the wording of text beside elements; only whether there is any matters.
void forget_mixed_text(Element& element) {
  if (!element.children.empty() && !element.text.empty()) element.text = "text";
  for (Element& child : element.children) forget_mixed_text(child);
}

std::string in_lower_case(std::string text) {
  for (char& c : text) c = char(c >= 'A' && c <= 'Z' ? c + 32 : c);
  return text;
}

// Writes the usual name of the encoding: libxml2 does not know all names.
std::string with_usual_encoding(std::string_view text) {
  const std::string before = R"re(^([^<]{0,3}<\?xml[^?>]*encoding[^?>"']*["']))re",
                    ascii_names = "(?:us[-_]ascii|ansi[-_]x3\\.4[-_]1968)(?=[\"'])";
  static const std::regex utf8(before + "utf[-_]?8(?=[\"'])", std::regex::icase),
      ascii(before + ascii_names, std::regex::icase);
  constexpr std::size_t declaration_max = 200;
  const std::string start(text.substr(0, declaration_max));
  return std::regex_replace(std::regex_replace(start, utf8, "$1UTF-8"), ascii, "$1US-ASCII") +
         std::string(text.substr(start.size()));
}

// UTF-8 is judged with the document. In US-ASCII libxml2 overlooks a foreign byte behind the root.
bool is_as_declared(std::string encoding, std::string_view text) {
  encoding = in_lower_case(std::move(encoding));
  const bool ascii = std::all_of(text.begin(), text.end(), [](char c) { return (c & 0x80) == 0; });
  return encoding.empty() || encoding == "utf-8" || (encoding.ends_with("ascii") && ascii);
}

bool is_accepted_encoding(std::string encoding) {
  encoding = in_lower_case(std::move(encoding));
  return encoding == "utf-8" || encoding == "us-ascii" || encoding == "ascii";
}

// Returns whether `problem` is a refusal by choice, and this well-formed document really has that
// property.
bool refused_by_choice(const std::string& problem, const Judgement& judgement,
                       std::string_view text) {
  if (problem.ends_with("document types are not accepted")) return judgement.has_document_type;
  if (problem.ends_with("elements nested too deep")) return judgement.depth > limits.xml_depth_max;
  if (problem.ends_with("too many attributes on one element"))
    return judgement.attributes_max > limits.xml_attributes_max;
  // the limit counts references as written: "&#x3c;"
  if (problem.ends_with("attribute value too long"))
    return judgement.attribute_bytes_max * 8 > limits.xml_attribute_bytes_max;
  // In a declaration, libxml2 overlooks a missing space after the encoding.
  if (problem.ends_with("bad XML declaration"))
    return text.find("'standalone") != text.npos || text.find("\"standalone") != text.npos;
  if (problem.ends_with("encodings other than UTF-8 are not accepted"))
    return !judgement.encoding.empty() && !is_accepted_encoding(judgement.encoding);
  if (problem.ends_with("unknown XML version"))
    return judgement.version != "1.0" && judgement.version != "1.1";
  if (problem.ends_with("not UTF-8, or a character that XML does not allow"))
    return !is_as_declared(judgement.encoding, text) || looks_wide(text);
  return false;
}

void check_document(std::string_view text, const Judgement& judgement, const XmlDocument& document,
                    const std::string& problem) {
  const auto details = [&] { return problem + "\n" + std::string(text); };
  if (problem.empty()) {
    HOLDS(judgement.well_formed ||
              XmlJudge::judge(with_short_references(with_usual_encoding(text))).well_formed,
          details());
    if (!judgement.names_are_qualified) return;
    Element ours = read(document.root()), theirs = judgement.root;
    forget_mixed_text(ours);
    forget_mixed_text(theirs);
    HOLDS(ours == theirs, print(ours) + "\nbut libxml2 sees\n" + print(theirs));
  } else {
    HOLDS(problem.starts_with("malformed XML: "), details());
    HOLDS(!judgement.well_formed || refused_by_choice(problem, judgement, text), details());
  }
}

using Echo = std::map<std::string, std::string>;

// Returns the attributes of the element that the tables of the description repeat.
Echo echo_of(const Element& element, CommandKind kind) {
  Echo echo;
  with_kind(kind, [&](auto type) {
    for (const auto& attribute : attributes_of<typename decltype(type)::type>)
      if (attribute.repeated != Repeated::never)
        if (const std::string* value = element.attribute(std::string(attribute.name).c_str()))
          echo[std::string(attribute.name)] = *value;
  });
  return echo;
}

// A cancel with any other attribute means one order (docs/protocol.md, E17).
bool is_cancel_of_all(const Element& element) {
  return element.name == "cancel" && !element.attributes.empty() &&
         std::all_of(element.attributes.begin(), element.attributes.end(),
                     [](const auto& one) { return one.first == "all" || one.first == "sym"; });
}

Echo echo_of(const Element& element, Root root) {
  if (is_cancel_of_all(element) && root == Root::transactions)
    return echo_of(element, command_kind<CancelAll>);
  for (CommandKind kind = 0; kind < command_kinds; ++kind)
    if (const auto& described = describe_element(kind);
        described.name == element.name &&
        (described.root == root || (kind == command_kind<SetKey> && root == Root::transactions)))
      return echo_of(element, kind);
  return {};
}

// Returns the attributes that each element of the reply repeats.
std::vector<Echo> what_is_repeated(const Element& root) {
  std::vector<Echo> asked;
  const Root kind = root.name == "create" ? Root::create : Root::transactions;
  for (const Element& child : root.children) {
    const bool has_placements =
        kind == Root::create && child.name == "symbol" && !child.children.empty();
    if (!has_placements) asked.push_back(echo_of(child, kind));
    if (!has_placements) continue;
    for (const Element& placement : child.children) {
      Echo echo;
      if (placement.name == "account") {
        echo = echo_of(child, command_kind<CreateSymbol>);
        echo.merge(echo_of(placement, command_kind<PlaceShares>));
      }
      asked.push_back(std::move(echo));
    }
  }
  return asked;
}

void check_reply(const std::string& reply, const Judgement& judgement, const Request& request) {
  // clients read up to the end tag (docs/protocol.md, R2)
  HOLDS(reply.find("</results>") == reply.rfind("</results>\n"), reply);
  const Judgement answer = XmlJudge::judge(with_short_references(reply));
  HOLDS(answer.well_formed && answer.root.name == "results", reply);
  const std::vector<Element>& elements = answer.root.children;
  if (!request.error.empty()) {
    HOLDS(elements.size() == 1 && elements[0].name == "error" && elements[0].attributes.empty(),
          reply);
    HOLDS(elements[0].text == plain_space(request.error), reply);
    return;
  }
  if (!judgement.names_are_qualified) return;
  const std::vector<Echo> asked = what_is_repeated(judgement.root);
  HOLDS(elements.size() == asked.size(), reply);
  for (std::size_t i = 0; i < asked.size(); ++i) {
    auto attributes = elements[i].attributes;
    if (elements[i].name == "opened") HOLDS(attributes.erase("id") == 1, reply);
    if (elements[i].name == "status" || elements[i].name == "canceled") {
      // The reply repeats the number, not its spelling: "007" is order 7.
      if (const auto id = asked[i].find("id"); id != asked[i].end())
        HOLDS(attributes.at("id") ==
                  id->second.substr(std::min(id->second.find_first_not_of('0'), id->second.size())),
              reply);
      else
        HOLDS(attributes.count("id") == 1 && attributes.at("ref") == asked[i].at("ref"), reply);
      continue;
    }
    HOLDS(attributes == asked[i], reply);
  }
}

// --- commands as documents ---

void check_round_trip(const Command& command) {
  const std::string written = write_document(command);
  const Command again = read_back(written, limits);
  HOLDS(again.index() == command.index() && write_document(again) == written, written);
}

}  // namespace
}  // namespace exchange::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace exchange;
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const fuzz::Judgement judgement = fuzz::XmlJudge::judge(fuzz::with_usual_encoding(text));

  // The buffer is exactly as long as promised, so that a sanitizer sees an access one byte too far;
  // the byte after the document must be restored.
  const std::unique_ptr<char[]> buffer(new char[size + 1]);
  XmlDocument document;
  std::copy(text.begin(), text.end(), buffer.get());
  buffer[size] = '7';
  fuzz::check_document(text, judgement, document, document.parse(buffer.get(), size, fuzz::limits));
  HOLDS(buffer[size] == '7', "the byte behind the document was changed");

  std::copy(text.begin(), text.end(), buffer.get());
  std::vector<RequestElement> elements;
  std::vector<Command> commands;
  const Request request =
      read_request(buffer.get(), size, fuzz::limits, document, elements, commands);
  HOLDS(elements.size() == request.elements && commands.size() <= elements.size(),
        std::string(text));
  Exchange exchange;
  std::vector<Outcome> outcomes;
  for (const Command& command : commands) {
    outcomes.push_back(exchange.apply(command, fuzz::now));
    fuzz::check_round_trip(command);
  }
  std::string reply;
  HOLDS(append_results(reply, request, elements, outcomes, false) == outcomes.size(), reply);
  fuzz::check_reply(reply, judgement, request);
  return 0;
}
