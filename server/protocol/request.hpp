#pragma once
// One request document as leaves: each leaf gives one reply element, and is either a command for
// the engine or a mistake already known. Views point into the document's text.

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "engine/commands.hpp"
#include "protocol/credentials.hpp"
#include "protocol/xml.hpp"

namespace exchange {

struct Leaf {
  enum class Kind : std::uint8_t { account, symbol, placement, order, query, cancel, unknown };
  Kind kind;
  // As the client wrote them, references not resolved; null where absent. What they are follows
  // from the kind: account id / sym, id / sym, amount, limit / id.
  std::array<std::string_view, 3> echo{};
  std::string mistake;  // a sentence; empty where a command was added for this leaf
};

struct Request {
  std::string mistake;       // not empty: the whole request is refused with this one sentence
  std::uint32_t leaves = 0;  // else: so many leaves were added
};

// Reads a document, adding its leaves to `leaves` and their commands, in the same order, to
// `commands`. Where accounts have keys (ProtocolLimits::keys) `credentials` gets who says what;
// else it may be null and nothing is asked of it. `text` is changed, and text[size] must be there
// (XmlDocument::parse); views into it end up in `leaves`.
Request read_request(char* text, std::size_t size, const ProtocolLimits& limits,
                     XmlDocument& document, std::vector<Leaf>& leaves,
                     std::vector<Command>& commands, Credentials* credentials = nullptr);

}  // namespace exchange
