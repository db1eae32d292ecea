#include "web/request_head.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <boost/beast/core/string.hpp>
#include <string>

#include "base/text.hpp"

namespace exchange {
namespace {

bool is_host_character(char c) {  // RFC 3986: unreserved, sub-delims, '%' of pct-encoded
  return is_letter(c) || is_digit(c) ||
         std::string_view("-._~!$&'()*+,;=%").find(c) != std::string_view::npos;
}

bool is_ipv6(const std::string& text) {
  in6_addr ignored{};
  return inet_pton(AF_INET6, text.c_str(), &ignored) == 1;
}

// Returns the part after "scheme://".
std::optional<std::string_view> behind_scheme(std::string_view url, std::string_view scheme) {
  if (!boost::istarts_with(url, scheme)) return {};
  return url.substr(scheme.size());
}

struct HttpStatus {
  static constexpr unsigned bad_request = 400, too_large = 413, header_too_large = 431,
                            not_implemented = 501, version_not_supported = 505;
};

struct Refusal {
  unsigned status = 0;  // 0: none
  std::string_view problem;
};

bool is_token_character(char c) {  // RFC 9110 5.6.2
  return is_letter(c) || is_digit(c) ||
         std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}
bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_token_character);
}
bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

// Removes the text up to `end`, and `end`, from `text`; returns it. Takes all if `end` is missing.
std::string_view take_until(std::string_view& text, std::string_view end) {
  const std::size_t at = text.find(end);
  const std::string_view taken = text.substr(0, at);
  text.remove_prefix(at == text.npos ? text.size() : at + end.size());
  return taken;
}

std::string_view trimmed(std::string_view text) {  // RFC 9110 5.6.3: OWS
  constexpr std::string_view blanks = " \t";
  text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
  return text.substr(0, text.find_last_not_of(blanks) + 1);
}

// Checks bytes that may still be incomplete. Later bytes cannot correct the errors that it finds.
Refusal check_bytes(std::string_view bytes) {
  if (!bytes.empty() && !is_token_character(bytes[0]))
    return {HttpStatus::bad_request, "the request line does not begin with a method"};
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const bool after_cr = i > 0 && bytes[i - 1] == '\r';
    if ((bytes[i] == '\n') != after_cr)  // RFC 9112 2.2
      return {HttpStatus::bad_request, "a line does not end with CR LF, or a CR is not at its end"};
    if (is_control(bytes[i]) && bytes[i] != '\r' && bytes[i] != '\n' && bytes[i] != '\t')
      return {HttpStatus::bad_request, "a control character in the header"};  // RFC 9110 5.5
  }
  return {};
}

// `version`: 10 or 11.
Refusal check_request_line(std::string_view line, std::string_view& target, unsigned& version) {
  constexpr Refusal malformed{HttpStatus::bad_request,
                              "the request line is not METHOD TARGET HTTP/1.1"};
  const std::string_view method = take_until(line, " ");
  target = take_until(line, " ");
  if (!is_token(method) || target.empty() || line.find_first_of(" \t") != line.npos ||
      target.find('\t') != target.npos)
    return malformed;
  if (line.size() != 8 || !line.starts_with("HTTP/") || !is_digit(line[5]) || line[6] != '.' ||
      !is_digit(line[7]))
    return malformed;
  if (line != "HTTP/1.1" && line != "HTTP/1.0")
    return {HttpStatus::version_not_supported, "the server speaks HTTP/1.1"};
  version = line.ends_with('1') ? 11 : 10;
  if (target.starts_with('/') || target == "*" || method == "CONNECT") return {};
  const auto absolute = parse_absolute(target);  // RFC 9112 3.2.2
  const auto authority = absolute ? parse_authority(absolute->authority) : std::nullopt;
  if (!authority || authority->host.empty())  // RFC 9110 4.2.1: an empty host is invalid
    return {HttpStatus::bad_request, "the target is neither a path nor the URL of a host"};
  return {};
}

// The fields that determine where a request ends and which host it is for.
struct Framing {
  struct Field {
    unsigned count = 0;
    std::string_view value;  // of the last
  };
  Field host, length, encoding;

  void add(std::string_view name, std::string_view value) {
    Field* const field = boost::beast::iequals(name, "host")                ? &host
                         : boost::beast::iequals(name, "content-length")    ? &length
                         : boost::beast::iequals(name, "transfer-encoding") ? &encoding
                                                                            : nullptr;
    if (field != nullptr) *field = {field->count + 1, value};
  }
};

Refusal check_field(std::string_view line, Framing& framing) {
  if (line.starts_with(' ') || line.starts_with('\t'))  // RFC 9112 5.2
    return {HttpStatus::bad_request, "a field is continued on a second line"};
  const std::size_t colon = line.find(':');
  if (colon == line.npos || !is_token(line.substr(0, colon)))  // RFC 9112 5.1: no space before it
    return {HttpStatus::bad_request, "a line of the header is not NAME: VALUE"};
  framing.add(line.substr(0, colon), trimmed(line.substr(colon + 1)));
  return {};
}

// RFC 9112 6.1, 6.3.
Refusal check_encoding(const Framing& framing, unsigned version) {
  if (version == 10) return {HttpStatus::bad_request, "HTTP/1.0 has no Transfer-Encoding"};
  if (framing.length.count > 0)
    return {HttpStatus::bad_request, "the request has both Transfer-Encoding and Content-Length"};
  if (framing.encoding.count > 1)
    return {HttpStatus::bad_request, "the request has two Transfer-Encoding fields"};
  const std::string_view all = framing.encoding.value;
  if (boost::beast::iequals(all, "chunked")) return {};
  const std::size_t comma = all.rfind(',');
  const std::string_view others = all.substr(0, comma == all.npos ? 0 : comma);
  if (others.empty() || !boost::beast::iequals(trimmed(all.substr(comma + 1)), "chunked") ||
      boost::icontains(others, "chunked"))
    return {HttpStatus::bad_request,
            "the last transfer coding is not chunked, or chunked is there twice"};
  return {HttpStatus::not_implemented, "the only transfer coding that the server knows is chunked"};
}

Refusal check_framing(const Framing& framing, unsigned version) {
  if (framing.host.count > 1)
    return {HttpStatus::bad_request, "the request has two Host fields"};  // RFC 9112 3.2
  if (framing.host.count == 0 && version == 11)
    return {HttpStatus::bad_request, "the request has no Host field"};
  if (!parse_authority(framing.host.value))
    return {HttpStatus::bad_request, "the Host field is invalid"};
  if (framing.encoding.count > 0) return check_encoding(framing, version);
  if (framing.length.count > 1)
    return {HttpStatus::bad_request, "the request has two Content-Length fields"};
  const std::string_view length = framing.length.value;
  if (framing.length.count > 0 &&
      (length.empty() || !std::all_of(length.begin(), length.end(), is_digit)))
    return {HttpStatus::bad_request, "the Content-Length is not a number"};
  constexpr std::size_t digits_max = 18;  // below 2^63
  if (length.size() - std::min(length.find_first_not_of('0'), length.size()) > digits_max)
    return {HttpStatus::too_large, "the body is too large"};
  return {};
}

Refusal check_lines(std::string_view lines, std::string_view& target) {
  unsigned version = 11;
  Refusal refusal = check_request_line(take_until(lines, "\r\n"), target, version);
  Framing framing;
  while (refusal.status == 0 && !lines.empty())
    refusal = check_field(take_until(lines, "\r\n"), framing);
  return refusal.status == 0 ? check_framing(framing, version) : refusal;
}

}  // namespace

std::optional<Authority> parse_authority(std::string_view text) {
  const std::size_t bracket = text.starts_with('[') ? text.find(']') : 0;
  if (bracket == text.npos) return {};
  const std::size_t colon = std::min(text.find(':', bracket), text.size());
  Authority authority{text.substr(0, colon), {}};
  const bool valid =
      bracket == 0 ? std::all_of(authority.host.begin(), authority.host.end(), is_host_character)
                   : bracket + 1 == colon && is_ipv6(std::string(text.substr(1, bracket - 1)));
  if (!valid) return {};
  const std::string_view port = text.substr(std::min(colon + 1, text.size()));
  if (port.empty()) return authority;
  authority.port = parse_number<std::uint16_t>(port);
  if (!authority.port) return {};
  return authority;
}

std::optional<AbsoluteTarget> parse_absolute(std::string_view target) {
  auto rest = behind_scheme(target, "http://");
  if (!rest) rest = behind_scheme(target, "https://");
  if (!rest) return {};
  const std::size_t end = std::min(rest->find_first_of("/?"), rest->size());
  const std::string_view path = rest->substr(end);
  // "http://ex.com?levels=1" has no path: the query is dropped, because "/" has no parameters
  return AbsoluteTarget{rest->substr(0, end), path.starts_with('/') ? path : "/"};
}

bool is_own_origin(std::string_view origin, std::string_view host, bool secure) {
  std::uint16_t scheme_port = 443;
  auto text = behind_scheme(origin, "https://");
  if (!text && !secure) {
    scheme_port = 80;
    text = behind_scheme(origin, "http://");
  }
  if (!text) return false;
  const auto of_page = parse_authority(*text), own = parse_authority(host);
  return of_page && own && !own->host.empty() && boost::beast::iequals(of_page->host, own->host) &&
         of_page->port.value_or(scheme_port) == own->port.value_or(scheme_port);
}

RequestHead check_request_head(std::string_view received, std::size_t bytes_max) {
  RequestHead head;
  while (received.substr(head.skipped).starts_with("\r\n")) head.skipped += 2;
  received.remove_prefix(head.skipped);
  if (received == "\r") return head;  // the beginning of another empty line
  const std::size_t end = received.find("\r\n\r\n");
  head.complete = end != received.npos;
  const std::size_t bytes = head.complete ? end + 4 : received.size();
  Refusal refusal = check_bytes(received.substr(0, std::min(bytes, bytes_max)));
  if (refusal.status == 0 && bytes > bytes_max)
    refusal = {HttpStatus::header_too_large, "the header is too large"};
  if (refusal.status == 0 && head.complete)
    refusal = check_lines(received.substr(0, end + 2), head.target);
  head.status = refusal.status;
  head.problem = refusal.problem;
  return head;
}

}  // namespace exchange
