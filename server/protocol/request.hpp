#pragma once
// Reads one request document as elements. Each element gives one reply element and is either a
// command for the engine or an error that is already known. Views point into the document's text.
// Pure.

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "auth/credentials.hpp"
#include "protocol/description.hpp"
#include "protocol/xml.hpp"

namespace exchange {

struct RequestElement {
  // The command that the element is read into; unknown if it is not one of the known elements.
  CommandKind kind = unknown;
  // The attributes as the client wrote them, with unresolved character references, at their places
  // in the table (description.hpp). The data() of an absent attribute is null.
  std::array<std::string_view, attributes_max> values{};
  std::string error;  // a sentence; empty if a command was added for this element
  ErrorCode code{};   // of the error, if there is one

  static constexpr CommandKind unknown = command_kinds;
  bool has(std::size_t place) const { return values[place].data() != nullptr; }
};

struct Request {
  std::string error;           // not empty: the whole request is refused with this one sentence
  std::uint32_t elements = 0;  // otherwise: number of elements that were added
  bool ties_orders = false;    // cancel-on-disconnect: its orders end with the connection
  bool codes = false;          // replies to its errors contain their codes (R14)
  ErrorCode code{};            // of the error, if there is one
};

// Reads a document. Adds its elements to `elements` and their commands, in the same order, to
// `commands`. Adds the keys of accounts to `credentials`; they are required if
// ProtocolLimits::keys is set. If `credentials` is null, accounts have no keys. Changes `text`;
// text[size] must be accessible (XmlDocument::parse). `elements` then has views into `text`.
// `tie_problem`, if not null, is the error for orders that are to end with their connection.
Request read_request(char* text, std::size_t size, const ProtocolLimits& limits,
                     XmlDocument& document, std::vector<RequestElement>& elements,
                     std::vector<Command>& commands, std::vector<Credential>* credentials = nullptr,
                     const char* tie_problem = nullptr);

}  // namespace exchange
