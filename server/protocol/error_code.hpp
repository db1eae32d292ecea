#pragma once
// Codes of the errors that the server finds in a request before the engine sees it: words for
// programs, which never change. Refusals by the engine have codes too (Reason). docs/protocol.md
// lists all codes (R14).

#include <cstdint>
#include <string_view>

#include "base/described.hpp"

namespace exchange {

BOOST_DEFINE_FIXED_ENUM_CLASS(ErrorCode, std::uint8_t, bad_framing, malformed_xml, unknown_element,
                              too_many_elements, missing_attribute, conflicting_attributes,
                              unexpected_content, unknown_value, malformed_id, malformed_symbol,
                              malformed_reference, malformed_key, malformed_number,
                              number_out_of_range, no_cancel_on_disconnect, no_memory,
                              malformed_json, no_keys, malformed_name)

inline std::string_view to_code(ErrorCode code) { return to_string(code); }

}  // namespace exchange
