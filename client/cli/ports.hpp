#pragma once
// The two ports of a server, for one question at a time. Thread: the caller's. All throw
// client::Unreachable, with the address and what to do in its sentence, and client::Interrupted
// once `stop` is set.

#include <memory>
#include <optional>
#include <string>

#include "client/cli/command.hpp"
#include "client/connection/http.hpp"

namespace exchange::cli {

// Connects to the first of these servers (HOST:PORT, with commas between) that answers, with TLS as
// `security` says. `option` names the port, for the sentence: "--connect" or "--http".
client::Stream connect(const std::string& servers, const char* option, double timeout_s,
                       const client::StopFlag& stop, const client::Security& security);

// A change is sent on a connection opened for it: the server may have closed one that was left
// open, and then it is not known whether it still read the request. A question may be asked again.
class XmlPort {
 public:
  // A change goes over a connection of its own; a following one over that of the request before it,
  // which is logged in, so that it need not wait for a check of keys.
  enum class Kind { change, following_change, question };
  // `servers`: HOST:PORT, or several with a comma between, of which one is active. A question is
  // asked again for up to `retry_s`; an order with a reference may pass for one.
  XmlPort(std::string servers, double timeout_s, double retry_s, const client::StopFlag& stop,
          client::Security security = {});
  // The reply's document. NoReply: whether the request was executed is not known. Throws BadReply
  // too.
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
// Sent with a question: the account, if the exchange requires keys, or the operator's key without
// an account, and how the connection is secured.
struct Access {
  std::string account, key;
  client::Security security;
};
HttpReply http_get(const std::string& address, const std::string& target, double timeout_s,
                   const client::StopFlag& stop, const Access& access = {});

// A POST of the operator. NoReply: whether it was executed is not known.
HttpReply http_post(const std::string& address, const std::string& target, const std::string& json,
                    const std::string& operator_key, double timeout_s, const client::StopFlag& stop,
                    const client::Security& security);

// A WebSocket to /ws, its text messages one by one. Pings a silent server.
class Feed {
 public:
  Feed(const std::string& address, double timeout_s, const client::StopFlag& stop,
       const client::Security& security = {});
  ~Feed();
  void send(const std::string& text);
  // The next message; nothing if none arrives for so long. Throws Unreachable once the server is
  // gone, BadReply for what is no message.
  std::optional<std::string> next(double wait_s);

 private:
  struct Socket;
  [[noreturn]] void lost(const boost::system::error_code& error) const;

  const double timeout_s_;
  client::Stream stream_;
  std::unique_ptr<Socket> socket_;
};

}  // namespace exchange::cli
