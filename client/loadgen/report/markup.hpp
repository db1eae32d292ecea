#pragma once
// Text and numbers as the reports show them to people.

#include <string>
#include <string_view>

namespace exchange::loadgen {

// For the content of an element or a quoted attribute, of HTML and of XML. Bytes that are not
// UTF-8, and control characters but tab and newline, become U+FFFD: a server's words may be
// anything.
std::string escaped(std::string_view text);

// About three significant figures, or the whole number from 100 on: "0.0123", "3.21", "41,230"; a
// dash where not finite.
std::string number_text(double value);
// All of it, without trailing zeros: "0.05", "1,000", "1,234.5".
std::string exact_text(double value);

}  // namespace exchange::loadgen
