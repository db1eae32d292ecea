#include "auth/credentials.hpp"

#include <boost/algorithm/string/predicate.hpp>
#include <boost/beast/core/detail/base64.hpp>

namespace exchange {

std::optional<Credential> read_basic_credentials(std::string_view authorization) {
  constexpr std::string_view scheme = "Basic ";
  if (!boost::algorithm::istarts_with(authorization, scheme)) return {};
  authorization.remove_prefix(scheme.size());
  while (authorization.ends_with('=')) authorization.remove_suffix(1);
  namespace base64 = boost::beast::detail::base64;
  std::string text(base64::decoded_size(authorization.size()) + 3, '\0');
  const auto [written, read] =
      base64::decode(text.data(), authorization.data(), authorization.size());
  if (read != authorization.size()) return {};
  text.resize(written);
  const std::size_t colon = text.find(':');
  const auto account = parse_account_id(std::string_view(text).substr(0, colon));
  if (colon == std::string::npos || !account) return {};
  std::string key = text.substr(colon + 1);
  if (!is_key(key)) return {};
  return Credential{Credential::Use::login, *account, std::move(key)};
}

}  // namespace exchange
