#pragma once
// Checks the head of an HTTP request, request line and fields, before Beast parses it. Refuses
// everything that RFC 9112 allows a server to refuse, so that a proxy in front of the server finds
// the same requests in the bytes as the server (no request smuggling). Pure. Any thread.

#include <cstddef>
#include <string_view>

namespace exchange {

struct RequestHead {
  std::size_t skipped = 0;   // bytes of empty lines before it (RFC 9112 2.2)
  bool complete = false;     // it has the empty line at its end; otherwise needs more bytes
  unsigned status = 0;       // refuse it with this status, and close the connection; 0: accepted
  std::string_view problem;  // the reason, as a sentence
  std::string_view target;   // of the request line, once it is known
};

// `received` are the bytes received after the previous request. `bytes_max` limits the head.
RequestHead check_request_head(std::string_view received, std::size_t bytes_max);

}  // namespace exchange
