#pragma once
// Writes commands as the XML of one request, and reads the results of its reply as answers. Pure.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "client/bots/market.hpp"

namespace exchange::bots {

// For an exchange whose accounts have keys; empty for one without.
struct Keys {
  std::string of_operator, of_accounts;
};
// Returns the document of one request: all creations, or all transactions of one account.
std::string write_document(std::span<const Command> commands, const Keys& keys = {});

// Returns one answer to each command. None of the commands may be a CancelAll, whose reply has an
// element for each order. Throws client::BadReply if the reply does not match them.
std::vector<Answer> read_answers(std::string_view reply, std::span<const Command> commands);

}  // namespace exchange::bots
