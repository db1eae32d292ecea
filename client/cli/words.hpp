#pragma once
// Words of a line. Pure.

#include <string>
#include <vector>

namespace exchange::cli {

// The text in words; quotes hold blanks together, # begins a comment. Throws UsageError if a
// quote does not end.
std::vector<std::string> split_words(const std::string& text);

// Letters to insert, remove, replace or swap with the next.
std::size_t edit_distance(const std::string& from, const std::string& to);

}  // namespace exchange::cli
