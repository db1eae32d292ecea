#pragma once
// The two ports of a server as the terminal client asks them, one question at a time. Thread: the
// caller's. All throw loadgen::Unreachable, with the address and what to do in its sentence, and
// loadgen::Interrupted once `stop` is set.

#include <memory>
#include <optional>
#include <string>

#include "client/cli/options.hpp"
#include "client/connection/socket.hpp"

namespace exchange::cli {

// Connects to the first address of HOST:PORT that answers. `option` names the port, for the
// sentence: "--connect" or "--http".
loadgen::Descriptor connect_any(const std::string& host_and_port, const char* option,
                                double timeout_s, const loadgen::StopFlag& stop);

// What changes something is sent on a connection opened for it: one that was left open may have
// been closed by the server meanwhile, and then nobody could tell whether it was still read. A
// question may be asked again.
class XmlPort {
 public:
  enum class Kind { change, question };
  XmlPort(std::string address, double timeout_s, const loadgen::StopFlag& stop,
          Security security = {});
  ~XmlPort();
  // The reply's document. NoReply: whether the request was executed is not known. Throws
  // NotUnderstood too.
  std::string ask(std::string_view document, Kind kind);
  void connect();

 private:
  struct Secure;
  std::string ask_on_connection(std::string_view document);
  bool connected() const { return bool(socket_) || secure_; }
  void close();

  const std::string address_;
  const Security security_;
  const double timeout_s_;
  const loadgen::StopFlag& stop_;
  loadgen::Descriptor socket_;      // without TLS
  std::unique_ptr<Secure> secure_;  // with
};

struct HttpAnswer {
  unsigned status = 0;
  std::string body;
};
// What goes with a question: whose it is, where the exchange wants keys, and how the connection is
// secured.
struct Access {
  std::string account, key;
  Security security;
};
HttpAnswer http_get(const std::string& address, const std::string& target, double timeout_s,
                    const loadgen::StopFlag& stop, const Access& access = {});

// A WebSocket to /ws, its messages one by one.
class Feed {
 public:
  Feed(const std::string& address, double timeout_s, const loadgen::StopFlag& stop,
       const Security& security = {});
  ~Feed();
  void send(const std::string& text);
  // The next message; nothing where none comes for so long. Throws Unreachable once the server is
  // gone.
  std::optional<std::string> next(double wait_s);

 private:
  struct Connection;
  std::unique_ptr<Connection> stream_;
};

}  // namespace exchange::cli
