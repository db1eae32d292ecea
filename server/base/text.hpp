#pragma once
// Reads text, whatever the locale is: classes of ASCII characters, whole numbers, and characters of
// UTF-8. Pure; any thread.

#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

namespace exchange {

inline constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";  // of UTF-8

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Returns the number that the whole text stands for; nothing if it has another form or does not
// fit. Only signed numbers may begin with a minus, none with a plus or a blank.
template <std::integral Number>
std::optional<Number> parse_number(std::string_view text, int base = 10) {
  Number number = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number, base);
  if (error != std::errc() || at != end) return {};
  return number;
}

// Removes the first character from `text` and returns it; returns nothing if it is not well-formed
// UTF-8 (RFC 3629). Requires: not empty.
inline std::optional<char32_t> take_character(std::string_view& text) {
  const auto byte = [&](std::size_t at) { return char32_t(std::uint8_t(text[at])); };
  const char32_t first = byte(0);
  const std::size_t size = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  if ((first >= 0x80 && first < 0xC2) || first > 0xF4 || size > text.size()) return {};
  char32_t character = size == 1 ? first : first & (0x7Fu >> size);
  for (std::size_t at = 1; at < size; ++at) {
    if ((byte(at) & 0xC0) != 0x80) return {};
    character = character << 6 | (byte(at) & 0x3F);
  }
  constexpr char32_t shortest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = character >= 0xD800 && character < 0xE000;
  if (character < shortest[size] || character > 0x10FFFF || surrogate) return {};
  text.remove_prefix(size);
  return character;
}

}  // namespace exchange
