#pragma once
// Commands as the XML of one request, and its reply as answers. Pure.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "client/bots/market.hpp"

namespace exchange::bots {

// The document of one request: all creations, or all transactions of one account.
std::string document_of(std::span<const Command> commands);

// One answer to each command. Nothing where the reply does not fit them, which a server of this
// protocol never does.
std::optional<std::vector<Answer>> read_answers(std::string_view reply,
                                                std::span<const Command> commands);

}  // namespace exchange::bots
