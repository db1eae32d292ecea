#pragma once
// The XML of requests. Each is read as the server will read it before it is handed out, so that
// errors are told with the server's sentences and never sent. Pure.

#include "client/cli/options.hpp"

namespace exchange::cli {

// All throw ListError. Accounts, symbols and numbers are as typed.
// `key`: of the account; empty where the exchange wants none.
std::string document_of(const NewAccount& account, const std::string& key = {});
std::string document_of(const NewSymbol& symbol);
std::string document_of(const NewOrder& order, const std::string& account,
                        const std::string& key = {});
std::string document_of(const CancelOrders& cancel, const std::string& account,
                        const std::string& key = {});
std::string document_of(const ShowOrders& query, const std::string& account,
                        const std::string& key = {});

// The document as it may be shown: without the key.
std::string without_key(const std::string& document);

// Of names that go into paths and messages. Throw ListError.
const std::string& checked_symbol(const std::string& symbol);
const std::string& checked_account(const std::string& account);

}  // namespace exchange::cli
