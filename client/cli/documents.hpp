#pragma once
// The XML of requests. Each document is parsed as the server will parse it, so that an invalid one
// is reported with the server's own sentence and never sent. Pure.

#include "client/cli/command.hpp"

namespace exchange::cli {

// All functions throw UsageError. Accounts, symbols and numbers are as typed.
// A SetKey without an id changes the key of the sender.
std::string write_document(const Change& change, const Sender& by);
std::string write_document(const NewSymbol& symbol, const Sender& by);
std::string write_document(const NewOrder& order, const Sender& by);
std::string write_document(const Replacement& replacement, const Sender& by);
std::string write_document(const NamedOrders& named, const Sender& by);
std::string write_document(const CancelAllOrders& cancel, const Sender& by);
// `text`: a <create> document, as in the file of a scenario.
std::string write_scenario(const std::string& text, const std::string& operator_key);

// Returns the value of an attribute; null if it was not typed.
const std::string* find_typed(const Change& change, std::string_view name);

// Check names that go into paths and messages. Throw UsageError.
const std::string& checked_symbol(const std::string& symbol);
const std::string& checked_account(const std::string& account);

}  // namespace exchange::cli
