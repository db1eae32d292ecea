#include "client/loadgen/report/markup.hpp"

#include <cmath>
#include <cstdio>

namespace exchange::loadgen {
namespace {

// Bytes of the UTF-8 character that starts the text; 0 where none does.
std::size_t character_bytes(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  const std::size_t bytes = first < 0x80   ? 1
                            : first < 0xC2 ? 0
                            : first < 0xE0 ? 2
                            : first < 0xF0 ? 3
                            : first < 0xF5 ? 4
                                           : 0;
  if (bytes > text.size()) return 0;
  for (std::size_t i = 1; i < bytes; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  const bool overlong = (first == 0xE0 && byte(1) < 0xA0) || (first == 0xF0 && byte(1) < 0x90);
  const bool surrogate = first == 0xED && byte(1) >= 0xA0;
  const bool beyond = first == 0xF4 && byte(1) >= 0x90;
  const bool no_character = first == 0xEF && byte(1) == 0xBF && byte(2) >= 0xBE;  // not in XML
  return overlong || surrogate || beyond || no_character ? 0 : bytes;
}

// Puts commas into the whole part of a number in digits.
std::string with_separators(std::string digits) {
  const std::size_t first = digits[0] == '-' ? 1 : 0;
  std::size_t point = digits.find('.');
  if (point == std::string::npos) point = digits.size();
  for (std::size_t at = point; at > first + 3; at -= 3) digits.insert(at - 3, 1, ',');
  return digits;
}

std::string fixed(double value, int decimals) {
  char text[400];
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  return with_separators(text);
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t bytes = character_bytes(text);
    const char c = text[0];
    const bool control =
        bytes == 1 && (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) && c != '\n' && c != '\t';
    if (bytes == 0 || control)
      out += "\xEF\xBF\xBD";
    else if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else if (c == '\'')
      out += "&#39;";
    else
      out += text.substr(0, bytes);
    text.remove_prefix(bytes == 0 ? 1 : bytes);
  }
  return out;
}

std::string number_text(double value) {
  if (!std::isfinite(value)) return "–";
  const double size = std::abs(value);
  if (size == 0) return "0";
  const int decimals = size >= 99.95    ? 0
                       : size >= 9.995  ? 1
                       : size >= 0.9995 ? 2
                                        : std::min(9, 2 - int(std::floor(std::log10(size))));
  return fixed(value, decimals);
}

std::string exact_text(double value) {
  if (!std::isfinite(value)) return "–";
  std::string text = fixed(value, 9);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

}  // namespace exchange::loadgen
