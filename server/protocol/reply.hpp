#pragma once
// Writes reply documents directly as bytes. Pure.

#include <span>
#include <string>

#include "protocol/request.hpp"

namespace exchange {

// Appends one <results> document for a request. `elements` are its elements; `outcomes` begins with
// those of the elements without an error, in order. If `length_first` is set, writes a length line
// before the document. Returns the number of outcomes used.
std::size_t append_results(std::string& out, const Request& request,
                           std::span<const RequestElement> elements,
                           std::span<const Outcome> outcomes, bool length_first);

// Appends the reply to one element, an outcome or an error, without a code.
void append_outcome(std::string& out, const RequestElement& element, const Outcome& outcome);
void append_error(std::string& out, const RequestElement& element, std::string_view sentence);

}  // namespace exchange
