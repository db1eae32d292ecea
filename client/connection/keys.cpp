#include "client/connection/keys.hpp"

#include <algorithm>

namespace exchange::client {

std::string create_tag(std::string_view operator_key) {
  if (operator_key.empty()) return "<create>";
  std::string tag = "<create key=\"";
  for (const char c : operator_key) switch (c) {
      case '&': tag += "&amp;"; break;
      case '<': tag += "&lt;"; break;
      case '"': tag += "&quot;"; break;
      default: tag += c;
    }
  return tag + "\">";
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
