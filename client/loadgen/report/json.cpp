#include "client/loadgen/report/json.hpp"

#include <cmath>
#include <cstdio>

namespace exchange::loadgen {
namespace {

// Inserts commas into the whole part of a number.
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

std::string number_text(double value) {
  if (!std::isfinite(value)) return "-";
  const double size = std::abs(value);
  if (size == 0) return "0";
  const int decimals = size >= 99.95    ? 0
                       : size >= 9.995  ? 1
                       : size >= 0.9995 ? 2
                                        : std::min(9, 2 - int(std::floor(std::log10(size))));
  return fixed(value, decimals);
}

std::string exact_text(double value) {
  if (!std::isfinite(value)) return "-";
  std::string text = fixed(value, 9);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

}  // namespace exchange::loadgen
