#pragma once
// What can be wrong with a request before the engine sees it, as a word for programs that never
// changes. The engine's own refusals have codes too (Reason). docs/protocol.md lists all (R14).

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

inline std::string_view code_of(ErrorCode code) { return name_of(code); }

}  // namespace exchange
