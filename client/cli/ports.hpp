#pragma once
// The two ports of a server as the terminal client asks them, one question at a time. Thread: the caller's.
// All throw loadgen::Unreachable, with the address and what to do in its sentence, and loadgen::Interrupted once `stop` is set.

#include <memory>
#include <optional>
#include <string>

#include "client/socket.hpp"

namespace exchange::cli {

// Connects to the first address of HOST:PORT that answers. `option` names the port, for the sentence: "--connect" or "--http".
loadgen::Descriptor connect_any(const std::string& host_and_port, const char* option, double timeout_s, const loadgen::StopFlag& stop);

// What changes something is sent on a connection opened for it: one that was left open may have been closed by the server meanwhile,
// and then nobody could tell whether it was still read. A question may be asked again.
class XmlPort {
 public:
  enum class Kind { change, question };
  XmlPort(std::string address, double timeout_s, const loadgen::StopFlag& stop) : address_(std::move(address)), timeout_s_(timeout_s), stop_(stop) {}
  // The reply's document. NoReply: whether the request was executed is not known. Throws NotUnderstood too.
  std::string ask(std::string_view document, Kind kind);
  void connect();

 private:
  std::string ask_on_connection(std::string_view document);

  const std::string address_;
  const double timeout_s_;
  const loadgen::StopFlag& stop_;
  loadgen::Descriptor socket_;
};

struct HttpAnswer {
  unsigned status = 0;
  std::string body;
};
HttpAnswer http_get(const std::string& address, const std::string& target, double timeout_s, const loadgen::StopFlag& stop);

// A WebSocket to /ws, its messages one by one.
class Feed {
 public:
  Feed(const std::string& address, double timeout_s, const loadgen::StopFlag& stop);
  ~Feed();
  void send(const std::string& text);
  // The next message; nothing where none comes for so long. Throws Unreachable once the server is gone.
  std::optional<std::string> next(double wait_s);

 private:
  struct Stream;
  std::unique_ptr<Stream> stream_;
};

}  // namespace exchange::cli
