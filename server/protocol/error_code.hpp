#pragma once
// What can be wrong with a request before the engine sees it, as a word for programs that never
// changes. The engine's own refusals have codes too (Reason). docs/protocol.md lists all (R14).

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/ensure.hpp"

namespace exchange {

enum class ErrorCode : std::uint8_t {
  bad_framing,
  malformed_xml,
  unknown_element,
  too_many_elements,
  missing_attribute,
  conflicting_attributes,
  unexpected_content,
  unknown_value,
  malformed_id,
  malformed_symbol,
  malformed_reference,
  malformed_key,
  malformed_number,
  number_out_of_range,
  no_cancel_on_disconnect,
  no_memory,
};
inline constexpr std::size_t error_codes = std::size_t(ErrorCode::no_memory) + 1;

inline std::string_view code_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::bad_framing: return "bad_framing";
    case ErrorCode::malformed_xml: return "malformed_xml";
    case ErrorCode::unknown_element: return "unknown_element";
    case ErrorCode::too_many_elements: return "too_many_elements";
    case ErrorCode::missing_attribute: return "missing_attribute";
    case ErrorCode::conflicting_attributes: return "conflicting_attributes";
    case ErrorCode::unexpected_content: return "unexpected_content";
    case ErrorCode::unknown_value: return "unknown_value";
    case ErrorCode::malformed_id: return "malformed_id";
    case ErrorCode::malformed_symbol: return "malformed_symbol";
    case ErrorCode::malformed_reference: return "malformed_reference";
    case ErrorCode::malformed_key: return "malformed_key";
    case ErrorCode::malformed_number: return "malformed_number";
    case ErrorCode::number_out_of_range: return "number_out_of_range";
    case ErrorCode::no_cancel_on_disconnect: return "no_cancel_on_disconnect";
    case ErrorCode::no_memory: return "no_memory";
  }
  ENSURE(false);
}

}  // namespace exchange
