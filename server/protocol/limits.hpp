#pragma once
// Limits of requests and replies. The command line sets them (options.hpp).

#include <cstddef>

#include "base/option.hpp"
#include "engine/commands.hpp"

namespace exchange {

struct ProtocolLimits {
  // a request with a larger length is refused unread
  std::size_t frame_bytes_max = 1u << 20;
  // a newline must come within these bytes (docs/protocol.md, F6)
  std::size_t length_line_bytes_max = 20;
  // elements in one request; bounds memory per frame byte
  std::size_t elements_max = 16'384;
  // orders that end with one connection (about 64 bytes each); more are refused
  std::size_t tied_orders_max = 100'000;
  std::size_t xml_depth_max = 16;  // protocol documents are 3 deep
  // per element; keeps the search for duplicate attributes short
  std::size_t xml_attributes_max = 16;
  // per value; replies repeat values, so this bounds the growth of replies
  std::size_t xml_attribute_bytes_max = 256;
  std::size_t read_buffer_bytes_min = 4096;  // per connection at rest: 10,000 idle ones cost 40 MB
  std::size_t read_buffer_bytes_max = 65'536;  // of a busy pipeline; one frame may need more
  bool keys = false;                           // accounts have keys (AuthLimits)
  bool lenient_framing = false;
  bool length_before_reply = false;
  bool close_after_reply = false;
  bool open_queries = false;
  bool refuse_unknown_symbols = false;
  DoorPolicy policy() const { return {refuse_unknown_symbols, open_queries}; }
};
template <class Add>
void add_options(ProtocolLimits& limits, Add add) {
  add("--request-framing", limits.lenient_framing,
      "length: a length line before every request; lenient: also documents without one, and "
      "lengths that are one byte too large (docs/protocol.md#framing, F24 and F25)",
      Words{"length", "lenient"});
  add("--reply-framing", limits.length_before_reply,
      "length: a length line before every reply; bare: none", Words{"bare", "length"});
  add("--close-after-reply", limits.close_after_reply,
      "close a connection once all its requests are answered, for clients that read to the end of "
      "the stream");
  add("--open-queries", limits.open_queries,
      "any account may query any order; only its own account may cancel it");
  add("--refuse-unknown-symbols", limits.refuse_unknown_symbols,
      "refuse orders for a symbol that does not exist; otherwise a buy creates it");
  add("--frame-bytes-max", limits.frame_bytes_max, "maximum bytes of XML in one request",
      Range{64, 1 << 30});
}

}  // namespace exchange
