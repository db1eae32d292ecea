#pragma once
// Checks the head of an HTTP request, request line and fields, before Beast parses it, and parses
// its hosts and origins. Refuses everything that RFC 9112 allows a server to refuse, so that a
// proxy in front of the server finds the same requests in the bytes as the server (no request
// smuggling). Pure functions over text. Any thread.

#include <cstddef>
#include <cstdint>
#include <optional>
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

// The value of a Host field, or the authority of a URL: `ex.com:443`, `[::1]`.
struct Authority {
  std::string_view host;              // with the brackets of an IPv6 address; may be empty
  std::optional<std::uint16_t> port;  // empty: that of the scheme
};
// Returns nothing if the authority is invalid (RFC 3986 3.2.2, 3.2.3); an authority with a user
// name is invalid (RFC 9110 4.2.4).
std::optional<Authority> parse_authority(std::string_view text);

// A target in absolute form (RFC 9112 3.2.2): `http://ex.com/path?query`.
struct AbsoluteTarget {
  std::string_view authority;
  std::string_view target;  // path and query; "/" if the path is empty
};
// Returns nothing if the target has another form, or its scheme is not http or https.
std::optional<AbsoluteTarget> parse_absolute(std::string_view target);

// Whether a page of this origin (RFC 6454 7) is a page of this server, which the browser reached as
// `host`: scheme, name and port are the same. `secure`: the server speaks TLS. If it does not, the
// scheme of the browser may also be https, if a proxy ends TLS.
bool is_own_origin(std::string_view origin, std::string_view host, bool secure);

}  // namespace exchange
