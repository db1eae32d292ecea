#pragma once
// The two ports of a server, for one request at a time. Thread: the caller's. All functions throw
// client::Unreachable, whose text contains the address and advice, and client::Interrupted once
// `stop` is set.

#include <memory>
#include <optional>
#include <string>

#include "client/cli/command.hpp"

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
  // With --retry a question is sent again for up to --timeout; an order with a reference may be
  // sent as a question.
  XmlPort(const Settings& settings, const client::StopFlag& stop)
      : settings_(settings), stop_(stop) {}
  // Returns the document of the reply. Throws NoReply if it is not known whether the request was
  // executed, and BadReply.
  std::string ask(std::string_view document, Kind kind);
  void connect();

 private:
  std::string ask_on_connection(std::string_view document);

  const Settings& settings_;
  const client::StopFlag& stop_;
  std::optional<client::Stream> stream_;
};

struct HttpReply {
  unsigned status = 0;
  std::string body;
};
// Sends a GET to the HTTP port of `settings`, or a POST of JSON if `json` is not empty. The request
// has the credentials of `by` if there is a key. Throws NoReply if it is not known whether a POST
// was executed, and BadReply if the response is not HTTP.
HttpReply ask_http(const Settings& settings, const std::string& target, const Sender& by,
                   double timeout_s, const client::StopFlag& stop, const std::string& json = {});

// A WebSocket to /ws that returns text messages one by one. It pings a silent server.
class Feed {
 public:
  Feed(const std::string& address, double timeout_s, const client::StopFlag& stop,
       const client::Security& security);
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
