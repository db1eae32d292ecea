#include "web/authority.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <boost/algorithm/string/predicate.hpp>
#include <charconv>
#include <string>

#include "base/ascii.hpp"

namespace exchange {
namespace {

bool is_host_character(char c) {  // RFC 3986: unreserved, sub-delims, '%' of pct-encoded
  return is_letter(c) || is_digit(c) ||
         (c != '\0' && std::string_view("-._~!$&'()*+,;=%").find(c) != std::string_view::npos);
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
  std::uint16_t number = 0;
  const auto [end, problem] = std::from_chars(port.data(), port.data() + port.size(), number);
  if (problem != std::errc() || end != port.data() + port.size()) return {};
  authority.port = number;
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
  return of_page && own && !own->host.empty() && boost::iequals(of_page->host, own->host) &&
         of_page->port.value_or(scheme_port) == own->port.value_or(scheme_port);
}

}  // namespace exchange
