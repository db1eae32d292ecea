#pragma once
// Orders in JSON (docs/http-api.md), over REST or on a WebSocket: how a request is written, where a
// reply ends and what it says. A request contains one order. Pure.

#include <string>
#include <string_view>

#include "client/connection/framing.hpp"
#include "client/loadgen/options.hpp"
#include "client/loadgen/reply_check.hpp"
#include "client/loadgen/workload.hpp"

namespace exchange::loadgen {

// Returns what a client sends first on a connection; empty: nothing. Its reply is a head of HTTP.
std::string_view greeting(Protocol protocol);
// Returns true if the server accepted the greeting.
bool is_welcome(std::string_view head);

// Appends the request, which contains one order, as POST /api/orders or as a message.
void write_json_request(Protocol protocol, const Workload& workload, const ScriptedRequest& request,
                        std::string& out);

// Returns the number of bytes at the beginning that are pings of a WebSocket. A client that sends
// requests need not answer them.
std::size_t skip_pings(Protocol protocol, std::string_view buffer);
// Finds the first reply in `buffer`, behind pings: a response of HTTP, or the JSON of a message.
client::ReplyEnd find_json_reply(Protocol protocol, std::string_view buffer);

// Fills `check`. A right reply opens the order or refuses it.
void check_json_reply(Protocol protocol, const ScriptedRequest& request, std::string_view reply,
                      ReplyCheck& check);

}  // namespace exchange::loadgen
