#pragma once
// Sends one document to an exchange and finds its reply: the way of everybody here who asks one
// thing at a time. Thread: the caller's.

#include "client/connection/socket.hpp"

namespace exchange::loadgen {

// Something answered that is no exchange.
struct NotAReply : std::runtime_error {
  using runtime_error::runtime_error;
};

// On an open connection; returns the reply's document. `peer` is HOST:PORT, for messages. Throws
// NoReply, NotAReply, Interrupted.
std::string ask(int socket, const std::string& peer, std::string_view document, double timeout_s,
                const StopFlag& stop);
// On a connection that somebody else speaks: send(request, is_complete) returns the bytes that came
// once is_complete says so of them.
using Converse =
    std::function<std::string(std::string_view, const std::function<bool(std::string_view)>&)>;
std::string ask(std::string_view document, const Converse& send);
// On a connection of its own. Throws Unreachable, NotAReply, Interrupted.
std::string ask(const Address& address, std::string_view document, double timeout_s,
                const StopFlag& stop);

}  // namespace exchange::loadgen
