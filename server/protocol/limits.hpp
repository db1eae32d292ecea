#pragma once
// Limits of requests and replies. Set from the command line (options.hpp).

#include <cstddef>

namespace exchange {

struct ProtocolLimits {
  // bytes of XML in one request; a larger length is refused unread
  std::size_t frame_bytes_max = 1u << 20;
  // a newline must come within so many bytes (docs/protocol.md, F6)
  std::size_t length_line_bytes_max = 20;
  // elements answered in one request; bounds memory per frame byte
  std::size_t elements_max = 16'384;
  // orders that end with one connection (some 64 bytes each); a request for more is refused
  std::size_t tied_orders_max = 100'000;
  std::size_t xml_depth_max = 16;  // protocol documents are 3 deep
  // per element; keeps the search for repeated ones short
  std::size_t xml_attributes_max = 16;
  // of a value; replies repeat them, so this bounds how replies grow
  std::size_t xml_attribute_bytes_max = 256;
  std::size_t read_buffer_bytes_min = 4096;  // per connection at rest: 10,000 idle ones cost 40 MB
  std::size_t read_buffer_bytes_max = 65'536;  // grown to by a busy pipeline; a frame may need more
  bool keys = false;                           // --auth: accounts have keys
  bool open_queries = false;                   // --open-queries: any account may query any order
  bool lenient_framing = false;                // --request-framing lenient
  bool refuse_unknown_symbols = false;         // --refuse-unknown-symbols: orders create none
  bool length_before_reply = false;            // --reply-framing length
  bool close_after_reply = false;              // --close-after-reply
};

}  // namespace exchange
