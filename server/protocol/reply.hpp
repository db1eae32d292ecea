#pragma once
// Reply documents, written straight to bytes. Pure.

#include <span>
#include <string>

#include "protocol/request.hpp"

namespace exchange {

// Appends one <results> document for a request: `elements` are its elements, `outcomes` those of
// the elements without an error, in order. `length_first` puts a length line before it. Returns how
// many outcomes were used.
std::size_t append_results(std::string& out, const Request& request,
                           std::span<const RequestElement> elements,
                           std::span<const Outcome> outcomes, bool length_first);

// Appends the reply to one element, without a code: an outcome, or an error.
void append_outcome(std::string& out, const RequestElement& element, const Outcome& outcome);
void append_error(std::string& out, const RequestElement& element, std::string_view sentence);

}  // namespace exchange
