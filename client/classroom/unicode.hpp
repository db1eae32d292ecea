#pragma once
// Text of rosters. Its encoding and spelling depend on the program that wrote it. Pure.

#include <string>
#include <string_view>

namespace exchange::classroom {

inline constexpr std::string_view utf8_mark = "\xef\xbb\xbf";

// Converts UTF-16 with a byte order mark to UTF-8 with one; leaves other text unchanged. Throws
// std::invalid_argument if the text has zero bytes, as UTF-16 without a mark and spreadsheets' own
// files do.
std::string to_utf8(std::string bytes);

// Returns the same result for texts that readers regard as the same: ignores case, blanks at the
// ends, the number of blanks in between, invisible characters, and whether é is one character or e
// and a combining accent (NFKC_Casefold of Unicode).
std::string folded(const std::string& text);

// Returns the part of a name that can be shown in one line: removes characters that control the
// line (new lines, writing direction) or are invisible, and blanks at the ends. Leaves text that is
// not UTF-8 unchanged.
std::string visible(const std::string& name);

}  // namespace exchange::classroom
