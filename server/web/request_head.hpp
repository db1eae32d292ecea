#pragma once
// Checks the head of an HTTP request, request line and fields, before Beast parses it: what RFC
// 9112 lets a server refuse is refused here, so that no proxy in front of the server finds other
// requests in the same bytes than the server does (request smuggling). Pure. Any thread.

#include <cstddef>
#include <string_view>

namespace exchange {

struct RequestHead {
  std::size_t skipped = 0;   // bytes of empty lines before it (RFC 9112 2.2)
  bool complete = false;     // with the empty line that ends it; else more bytes are needed
  unsigned status = 0;       // refuse it with this status, and close the connection; 0: accepted
  std::string_view problem;  // why, as a sentence
  std::string_view target;   // of the request line, once it is known
};

// `received`: the bytes received since the request before. `bytes_max`: of the head.
RequestHead check_request_head(std::string_view received, std::size_t bytes_max);

}  // namespace exchange
