#pragma once
// Reply documents, written straight to bytes.

#include <span>
#include <string>

#include "protocol/request.hpp"

namespace exchange {

// Appends one <results> document for a request: `leaves` are its leaves, `outcomes` those of the
// leaves without a mistake, in order. `length_first` puts a length line before it.
// Returns how many outcomes were used.
std::size_t append_results(std::string& out, const Request& request, std::span<const Leaf> leaves,
                           std::span<const Outcome> outcomes, bool length_first);

}  // namespace exchange
