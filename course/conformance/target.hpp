#pragma once
// The server under test: how it frames its replies and treats connections (detected at the start),
// and connections to it. Thread: one.

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "client/connection/socket.hpp"

namespace exchange::conformance {

// No right reply came in time.
struct NoReply : std::runtime_error {
  using runtime_error::runtime_error;
};
// Bytes came that are not a reply.
struct NotAReply : NoReply {
  using NoReply::NoReply;
};
// No byte came: the server may still be starting, or wait for more.
struct Silence : NoReply {
  using NoReply::NoReply;
};

// This program failed: the failure shows nothing about the server.
struct TestError : std::runtime_error {
  using runtime_error::runtime_error;
};

struct Style {
  bool length_lines = false;   // before replies
  bool per_request = false;    // the server closes after each reply
  bool wants_newline = false;  // at the end of each request
  bool wants_end = false;      // of the stream, after each request
};

struct TargetOptions {
  std::string address;              // HOST:PORT
  double timeout_s = 5;             // of one reply
  std::string connection = "auto";  // persistent, per-request
  std::string restart;              // shell command that starts the server again
  double restart_s = 600;           // the longest time for that command
  double start_s = 30;              // the longest time until a started server answers
};

// A connection. Closed by its destructor.
class Link {
 public:
  // Throws Silence, NoReply, client::Interrupted, as the other functions do.
  Link(const client::Address& address, double timeout_s);

  void send(std::string_view bytes);
  void end_sending();
  // Returns the document of the next reply.
  std::string receive();
  // Whether the server ends the connection in time, without sending anything before.
  bool closed_in_time();
  // The bytes before the document that receive() returned last.
  const std::string& before() const { return before_; }
  // Waits a moment for white space after the last reply.
  std::string after();

 private:
  bool read(double timeout_s);

  client::Descriptor socket_;
  double timeout_s_;
  std::string received_, before_;
  bool ended_ = false;
};

class Target {
 public:
  // `new_request` returns a request that any server answers, a different one each time. Throws
  // client::Unreachable if the name has no address.
  Target(const TargetOptions& options, std::function<std::string()> new_request);

  // Throws client::Unreachable if no server can be reached, NoReply if no reply comes,
  // client::Interrupted. Neither this function nor later ones open a connection without a request,
  // or a second one while one is open: a server may have only one thread, or a thread for each
  // connection.
  void find_style();
  const Style& style() const { return style_; }
  // Returns HOST:PORT of the address that accepts connections, in digits.
  std::string address() const;
  double timeout_s() const { return options_.timeout_s; }
  std::unique_ptr<Link> connect() const;
  // Returns a request in the form that this server needs.
  std::string framed(std::string_view document) const;

  // Whether the server accepts a connection and answers a request.
  bool answers() const;
  // Runs the command of the options. Throws NoReply if there is no command, if it fails, or if the
  // server does not answer then.
  void restart();
  unsigned restarts() const { return restarts_; }

 private:
  std::unique_ptr<Link> first_reply();
  std::unique_ptr<Link> reach();
  std::unique_ptr<Link> ask_in_all_styles(std::unique_ptr<Link> link);

  const TargetOptions options_;
  const std::function<std::string()> new_request_;
  const std::vector<client::Address> addresses_;  // of the server's name
  client::Address address_;                       // the one that accepts connections
  bool reached_ = false;
  Style style_;
  unsigned restarts_ = 0;
};

// Runs a shell command and returns its status, as waitpid(2) gives it. Processes that it starts in
// the background continue. Throws NoReply if it does not end in time, TestError if it cannot be
// started, client::Interrupted.
int run_command(const std::string& command, double limit_s);

// Shows a byte order mark, which a terminal does not display, as the text "\xEF\xBB\xBF".
std::string with_visible_mark(std::string_view text);

}  // namespace exchange::conformance
