#pragma once
// One request document as elements: each element gives one reply element, and is either a command
// for the engine or an error already known. Views point into the document's text. Pure.

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "auth/credentials.hpp"
#include "protocol/description.hpp"
#include "protocol/xml.hpp"

namespace exchange {

struct RequestElement {
  // What it is read into; unknown if it is not one of the known elements.
  CommandKind kind = unknown;
  // The attributes as the client wrote them, character references not resolved, at their places in
  // the table (description.hpp); null where absent.
  std::array<std::string_view, attributes_max> values{};
  std::string error;  // a sentence; empty where a command was added for this element
  ErrorCode code{};   // of the error, if there is one

  static constexpr CommandKind unknown = command_kinds;
  bool has(std::size_t place) const { return values[place].data() != nullptr; }
};

struct Request {
  std::string error;           // not empty: the whole request is refused with this one sentence
  std::uint32_t elements = 0;  // else: number of elements that were added
  bool ties_orders = false;    // cancel-on-disconnect: its orders end with the connection
  bool codes = false;          // its errors are answered with their codes (R14)
  ErrorCode code{};            // of the error, if there is one
};

// Reads a document, adding its elements to `elements` and their commands, in the same order, to
// `commands`. `credentials` gets the keys of accounts, which are required if
// ProtocolLimits::keys is set. If it is null, accounts have no keys. `text` is changed, and
// text[size] must be there (XmlDocument::parse); views into it end up in `elements`. `tie_problem`,
// if not null, is the error of orders that are to end with their connection.
Request read_request(char* text, std::size_t size, const ProtocolLimits& limits,
                     XmlDocument& document, std::vector<RequestElement>& elements,
                     std::vector<Command>& commands, std::vector<Credential>* credentials = nullptr,
                     const char* tie_problem = nullptr);

}  // namespace exchange
