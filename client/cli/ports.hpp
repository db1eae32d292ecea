#pragma once
// The two ports of a server, for one request at a time. Thread: the caller's. All functions throw
// client::Unreachable, whose text contains the address and advice, and client::Interrupted once
// `stop` is set.

#include <memory>
#include <optional>
#include <string>

#include "client/cli/command.hpp"
#include "client/connection/http.hpp"

namespace exchange::cli {

// Connects to the first of these servers (HOST:PORT, separated by commas) that accepts, with TLS if
// `security` requires it. `option` names the port in messages: "--connect" or "--http".
client::Stream connect(const std::string& servers, const char* option, double timeout_s,
                       const client::StopFlag& stop, const client::Security& security);

// A change is sent on a new connection: the server may have closed one that was left open, and then
// it is not known whether the server still read the request. A question may be sent again.
class XmlPort {
 public:
  enum class Kind { change, question };
  // `servers`: HOST:PORT, or several separated by commas, of which one is active. A question is
  // sent again for up to `retry_s`; an order with a reference may be sent as a question.
  XmlPort(std::string servers, double timeout_s, double retry_s, const client::StopFlag& stop,
          client::Security security = {});
  // Returns the document of the reply. Throws NoReply if it is not known whether the request was
  // executed, and BadReply.
  std::string ask(std::string_view document, Kind kind);
  void connect();

 private:
  std::string ask_on_connection(std::string_view document);

  const std::string servers_;
  const client::Security security_;
  const double timeout_s_, retry_s_;
  const client::StopFlag& stop_;
  std::optional<client::Stream> stream_;
};

using client::HttpReply;
// The credentials and the security of a question: the account and its key, if the exchange requires
// keys, or the operator's key without an account; and how the connection is secured.
struct Access {
  std::string account, key;
  client::Security security;
};
HttpReply http_get(const std::string& address, const std::string& target, double timeout_s,
                   const client::StopFlag& stop, const Access& access = {});

// Sends a POST as the operator. Throws NoReply if it is not known whether it was executed.
HttpReply http_post(const std::string& address, const std::string& target, const std::string& json,
                    const std::string& operator_key, double timeout_s, const client::StopFlag& stop,
                    const client::Security& security);

// A WebSocket to /ws that returns text messages one by one. It pings a silent server.
class Feed {
 public:
  Feed(const std::string& address, double timeout_s, const client::StopFlag& stop,
       const client::Security& security = {});
  ~Feed();
  void send(const std::string& text);
  // Returns the next message; nothing if none arrives within `wait_s`. Throws Unreachable if the
  // server is unavailable, BadReply if the data is not a message.
  std::optional<std::string> next(double wait_s);

 private:
  struct Socket;
  [[noreturn]] void lost(const boost::system::error_code& error) const;

  const double timeout_s_;
  client::Stream stream_;
  std::unique_ptr<Socket> socket_;
};

}  // namespace exchange::cli
