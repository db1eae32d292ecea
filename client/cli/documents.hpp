#pragma once
// The XML of requests. Each is parsed as the server will parse it, so that an invalid one is
// reported with the server's own sentence and never sent. Pure.

#include "client/cli/parser.hpp"

namespace exchange::cli {

// All throw UsageError. Accounts, symbols and numbers are as typed.
// `key`: of the account, `operator_key` the operator's; empty if the exchange requires none.
std::string document_of(const NewAccount& account, const std::string& key = {},
                        const std::string& operator_key = {});
std::string document_of(const NewSymbol& symbol, const std::string& operator_key = {});
std::string document_of(const SetRules& rules, const std::string& operator_key = {});
// `text`: a <create> document, as in the file of a scenario.
std::string document_of_scenario(const std::string& text, const std::string& operator_key);
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
