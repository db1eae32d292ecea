#pragma once
// The server that is tested: how it frames its replies and treats connections (found out at the
// start), and connections to it. Thread: one.

#include <memory>
#include <string>
#include <string_view>

#include "client/connection/socket.hpp"

namespace exchange::conformance {

// No reply came in time, or the connection ended, or bytes came that are no reply.
struct NoAnswer : std::runtime_error {
  using runtime_error::runtime_error;
};

struct Style {
  bool length_lines = false;   // before replies
  bool per_request = false;    // it closes after each reply
  bool wants_newline = false;  // at the end of each request
  bool wants_end = false;      // of the stream, behind each request
};

struct TargetOptions {
  std::string address;              // HOST:PORT
  double timeout_s = 5;             // of one reply
  std::string connection = "auto";  // persistent, per-request
  std::string restart;              // shell command that starts the server again
  double start_s = 30;              // how long a restarted server may take to accept connections
};

// A connection. Closed by its destructor.
class Link {
 public:
  // Throws NoAnswer, client::Interrupted, as do the others.
  Link(const client::Address& address, double timeout_s);

  void send(std::string_view bytes);
  void end_sending();
  // The next reply's document.
  std::string receive() { return receive(timeout_s_); }
  std::string receive(double timeout_s);
  // Whether the server ends the connection in time, and sends nothing before.
  bool closed_in_time();
  // What stood before and behind the document that receive() returned last.
  const std::string& before() const { return before_; }
  // Waits a moment for white space behind the last reply.
  std::string behind();

 private:
  bool read(double timeout_s);

  client::Descriptor socket_;
  double timeout_s_;
  std::string received_, before_;
  bool ended_ = false;
};

class Target {
 public:
  // Throws client::Unreachable if no server is there.
  explicit Target(const TargetOptions& options);

  // Creates accounts of these ids. Throws NoAnswer if that does not
  // get two replies.
  void find_style(const std::string& first, const std::string& second);
  const Style& style() const { return style_; }
  const std::string& address() const { return options_.address; }
  double timeout_s() const { return options_.timeout_s; }
  std::unique_ptr<Link> connect() const;
  // A request as this server wants it on the wire.
  std::string framed(std::string_view document) const;

  // It accepts a connection, and answers an empty request.
  bool answers() const;
  // Runs the command of the options; false if there is none, or the server does not answer then.
  bool restart();
  unsigned restarts() const { return restarts_; }

 private:
  const TargetOptions options_;
  const client::Address address_;
  Style style_;
  unsigned restarts_ = 0;
};

}  // namespace exchange::conformance
