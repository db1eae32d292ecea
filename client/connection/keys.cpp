#include "client/connection/keys.hpp"

#include <algorithm>

namespace exchange::client {

std::string key_attribute(std::string_view key) {
  if (key.empty()) return {};
  std::string text = " key=\"";
  for (const char c : key) switch (c) {
      case '&': text += "&amp;"; break;
      case '<': text += "&lt;"; break;
      case '"': text += "&quot;"; break;
      default: text += c;
    }
  return text + '"';
}

std::string create_tag(std::string_view operator_key) {
  return "<create" + key_attribute(operator_key) + ">";
}

// A quote in a value is escaped, so that nothing else reads like a key.
std::string without_keys(std::string document) {
  constexpr std::string_view start = " key=\"";
  for (std::size_t at = 0; (at = document.find(start, at)) != std::string::npos;) {
    at += start.size();
    document.replace(at, std::min(document.find('"', at), document.size()) - at, "…");
  }
  return document;
}

}  // namespace exchange::client
