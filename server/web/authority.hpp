#pragma once
// Parses hosts and origins of HTTP: pure functions over text. Any thread.

#include <cstdint>
#include <optional>
#include <string_view>

namespace exchange {

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
