#include "client/classroom/unicode.hpp"

#include <utf8proc.h>

#include <cstdlib>
#include <memory>
#include <stdexcept>

namespace exchange::classroom {
namespace {

void append(std::string& text, utf8proc_int32_t character) {
  utf8proc_uint8_t bytes[4];
  const utf8proc_ssize_t size = utf8proc_encode_char(character, bytes);
  text.append(reinterpret_cast<const char*>(bytes), std::size_t(size));
}

std::string from_utf16(std::string_view bytes, bool big_endian) {
  constexpr utf8proc_int32_t replacement = 0xfffd;
  const auto unit = [&](std::size_t at) {
    const auto first = static_cast<unsigned char>(bytes[at]),
               second = static_cast<unsigned char>(bytes[at + 1]);
    return utf8proc_int32_t(big_endian ? first << 8 | second : second << 8 | first);
  };
  std::string text;
  for (std::size_t at = 0; at + 1 < bytes.size(); at += 2) {
    const utf8proc_int32_t high = unit(at);
    if (high < 0xd800 || high > 0xdfff) {
      append(text, high);
      continue;
    }
    const utf8proc_int32_t low = high < 0xdc00 && at + 3 < bytes.size() ? unit(at + 2) : 0;
    const bool is_pair = low >= 0xdc00 && low <= 0xdfff;
    append(text, is_pair ? 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00) : replacement);
    if (is_pair) at += 2;
  }
  return text;
}

// Removes blanks at the ends, and makes others single.
std::string squeezed(std::string_view text) {
  std::string out;
  for (const char one : text)
    if (one != ' ' && one != '\t' && one != '\n' && one != '\r')
      out += one;
    else if (!out.empty() && out.back() != ' ')
      out += ' ';
  if (out.ends_with(' ')) out.pop_back();
  return out;
}

bool is_shown(utf8proc_int32_t character) {
  constexpr utf8proc_int32_t non_joiner = 0x200c, joiner = 0x200d;  // parts of words and of emoji
  if (character == non_joiner || character == joiner) return true;
  switch (utf8proc_category(character)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP: return false;
    default: return true;
  }
}

}  // namespace

std::string to_utf8(std::string bytes) {
  if (bytes.starts_with("\xff\xfe"))
    return std::string(utf8_mark) + from_utf16(std::string_view(bytes).substr(2), false);
  if (bytes.starts_with("\xfe\xff"))
    return std::string(utf8_mark) + from_utf16(std::string_view(bytes).substr(2), true);
  if (bytes.find('\0') != std::string::npos)
    throw std::invalid_argument("it is not text: save it as \"CSV UTF-8\"");
  return bytes;
}

std::string folded(const std::string& text) {
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> mapped(
      utf8proc_NFKC_Casefold(reinterpret_cast<const utf8proc_uint8_t*>(text.c_str())), &std::free);
  // The text is not valid UTF-8.
  if (!mapped) return squeezed(text);
  return squeezed(reinterpret_cast<const char*>(mapped.get()));
}

std::string visible(const std::string& name) {
  std::string shown;
  bool any = false;
  for (std::size_t at = 0; at < name.size();) {
    utf8proc_int32_t character = 0;
    const utf8proc_ssize_t size =
        utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(name.data()) + at,
                         utf8proc_ssize_t(name.size() - at), &character);
    if (size < 1) return name;
    const bool is_blank = character == '\t' || character == '\n' || character == '\r' ||
                          utf8proc_category(character) == UTF8PROC_CATEGORY_ZS;
    if (is_blank)
      shown += ' ';
    else if (is_shown(character))
      shown.append(name, at, std::size_t(size));
    any |= !is_blank && is_shown(character) && utf8proc_charwidth(character) > 0;
    at += std::size_t(size);
  }
  return any ? squeezed(shown) : "";
}

}  // namespace exchange::classroom
