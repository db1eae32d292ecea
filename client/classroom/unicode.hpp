#pragma once
// Text of rosters, whose encoding and spelling depend on the program that wrote them. Pure.

#include <string>
#include <string_view>

namespace exchange::classroom {

inline constexpr std::string_view utf8_mark = "\xef\xbb\xbf";

// UTF-16 with a byte order mark becomes UTF-8 with one; other text stays as it is. Throws
// std::invalid_argument if it has zero bytes, as UTF-16 without a mark and spreadsheets' own files.
std::string to_utf8(std::string bytes);

// Equal for texts that readers take for the same: without regard to case, blanks at the ends, the
// number of blanks in between, invisible characters, and whether é is one character or e and a
// combining accent (NFKC_Casefold of Unicode).
std::string folded(const std::string& text);

// What of a name can be shown in one line: without characters that control it (new lines, writing
// direction) or are invisible, and without blanks at its ends. Text that is not UTF-8 stays as it
// is.
std::string visible(const std::string& name);

}  // namespace exchange::classroom
