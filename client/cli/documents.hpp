#pragma once
// The XML of requests. Each document is parsed as the server will parse it, so that an invalid one
// is reported with the server's own sentence and never sent. Pure.

#include "client/cli/parser.hpp"
#include "engine/commands.hpp"

namespace exchange::cli {

// The sender of the operator's commands: the operator if there is no account, else an account with
// operator rights. The key is empty if the exchange requires none.
struct Sender {
  std::string key = {}, account = {};
};

// All functions throw UsageError. Accounts, symbols and numbers are as typed.
// `key` is that of the account; empty if the exchange requires none.
std::string write_document(const NewAccount& account, const std::string& key = {},
                           const Sender& by = {});
std::string write_document(const NewSymbol& symbol, const Sender& by = {});
std::string write_document(const SetRules& rules, const Sender& by = {});
// `key`: the new one. If the command has no account, it changes the key of the sender.
std::string write_document(const NewKey& change, const std::string& key, const Sender& by);
std::string write_document(const RevokedKey& revoked, const Sender& by = {});
std::string write_document(const AccountChange& change, const Sender& by = {});
std::string write_document(const NewRound& round, const Sender& by = {});
std::string write_document(const Adjustment& adjustment, const Sender& by = {});
// `text`: a <create> document, as in the file of a scenario.
std::string write_scenario(const std::string& text, const std::string& operator_key);
// Returns the document with one element of an account. Attributes are as typed.
std::string write_document(CommandKind kind, const std::vector<Rule>& typed,
                           const std::string& account, const std::string& key = {});
std::string write_document(const NewOrder& order, const std::string& account,
                           const std::string& key = {});
std::string write_document(const Replacement& replacement, const std::string& account,
                           const std::string& key = {});
std::string write_document(const CancelOrders& cancel, const std::string& account,
                           const std::string& key = {});
std::string write_document(const CancelAllOrders& cancel, const std::string& account,
                           const std::string& key = {});
std::string write_document(const ShowOrders& query, const std::string& account,
                           const std::string& key = {});

// Check names that go into paths and messages. Throw UsageError.
const std::string& checked_symbol(const std::string& symbol);
const std::string& checked_account(const std::string& account);

}  // namespace exchange::cli
