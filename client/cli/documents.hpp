#pragma once
// The XML of requests. Each is parsed as the server will parse it, so that an invalid one is
// reported with the server's own sentence and never sent. Pure.

#include "client/cli/parser.hpp"
#include "engine/commands.hpp"

namespace exchange::cli {

// The sender of the operator's commands: without an account the operator itself, else an account
// that may be one. Its key is empty if the exchange requires none.
struct Sender {
  std::string key = {}, account = {};
};

// All throw UsageError. Accounts, symbols and numbers are as typed.
// `key`: of the account; empty if the exchange requires none.
std::string document_of(const NewAccount& account, const std::string& key = {},
                        const Sender& by = {});
std::string document_of(const NewSymbol& symbol, const Sender& by = {});
std::string document_of(const SetRules& rules, const Sender& by = {});
// `key`: the new one. Where the command names no account, it is the sender's own.
std::string document_of(const NewKey& change, const std::string& key, const Sender& by);
std::string document_of(const RevokedKey& revoked, const Sender& by = {});
std::string document_of(const AccountChange& change, const Sender& by = {});
std::string document_of(const NewRound& round, const Sender& by = {});
std::string document_of(const Adjustment& adjustment, const Sender& by = {});
// `text`: a <create> document, as in the file of a scenario.
std::string document_of_scenario(const std::string& text, const std::string& operator_key);
// What a document asks of the engine. Throws UsageError with the first error of it.
std::vector<exchange::Command> commands_of(const std::string& document);
// The document of one element of an account, with its attributes as typed.
std::string document_of(CommandKind kind, const std::vector<Rule>& typed,
                        const std::string& account, const std::string& key = {});
std::string document_of(const NewOrder& order, const std::string& account,
                        const std::string& key = {});
std::string document_of(const Replacement& replacement, const std::string& account,
                        const std::string& key = {});
std::string document_of(const CancelOrders& cancel, const std::string& account,
                        const std::string& key = {});
std::string document_of(const CancelAllOrders& cancel, const std::string& account,
                        const std::string& key = {});
std::string document_of(const ShowOrders& query, const std::string& account,
                        const std::string& key = {});

// Of names that go into paths and messages. Throw UsageError.
const std::string& checked_symbol(const std::string& symbol);
const std::string& checked_account(const std::string& account);

}  // namespace exchange::cli
