#pragma once
// Commands as the XML of requests. Pure.

#include <string>
#include <string_view>

#include "engine/commands.hpp"

namespace exchange::client {

// An order is named by its reference if there is one, else by its id. `key`: of a new account;
// empty if the exchange requires none.
std::string element_of(const Command& command, std::string_view key = {});
std::string creations(std::string_view elements, std::string_view operator_key);
std::string transactions(std::string_view account, std::string_view elements,
                         std::string_view key = {});

}  // namespace exchange::client
