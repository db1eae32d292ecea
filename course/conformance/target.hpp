#pragma once
// The server that is tested: how it frames its replies and treats connections (found out at the
// start), and connections to it. Thread: one.

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "client/connection/socket.hpp"

namespace exchange::conformance {

// No right reply came in time.
struct NoAnswer : std::runtime_error {
  using runtime_error::runtime_error;
};
// Bytes came that are no reply.
struct NotAReply : NoAnswer {
  using NoAnswer::NoAnswer;
};
// Not a byte came: the server may still be starting, or wait for more.
struct Silence : NoAnswer {
  using NoAnswer::NoAnswer;
};

// What this program could not do: it says nothing of the server.
struct TestError : std::runtime_error {
  using runtime_error::runtime_error;
};

struct Style {
  bool length_lines = false;   // before replies
  bool per_request = false;    // it closes after each reply
  bool wants_newline = false;  // at the end of each request
  bool wants_end = false;      // of the stream, after each request
};

struct TargetOptions {
  std::string address;              // HOST:PORT
  double timeout_s = 5;             // of one reply
  std::string connection = "auto";  // persistent, per-request
  std::string restart;              // shell command that starts the server again
  double restart_s = 600;           // how long that command may take
  double start_s = 30;              // how long a server that was just started may take to answer
};

// A connection. Closed by its destructor.
class Link {
 public:
  // Throws Silence, NoAnswer, client::Interrupted, as do the others.
  Link(const client::Address& address, double timeout_s);

  void send(std::string_view bytes);
  void end_sending();
  // The next reply's document.
  std::string receive();
  // Whether the server ends the connection in time, and sends nothing before.
  bool closed_in_time();
  // What stood before the document that receive() returned last.
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
  // `new_request` gives a request that any server answers, another one each time. Throws
  // client::Unreachable if the name has no address.
  Target(const TargetOptions& options, std::function<std::string()> new_request);

  // Throws client::Unreachable if no server is there, NoAnswer if no reply comes,
  // client::Interrupted. Here as later no connection is opened without a request, nor a second one
  // while one is open: a server may have one thread, and a thread for each connection.
  void find_style();
  const Style& style() const { return style_; }
  // HOST:PORT of the address that accepts connections, in digits.
  std::string address() const;
  double timeout_s() const { return options_.timeout_s; }
  std::unique_ptr<Link> connect() const;
  // A request as this server wants it on the wire.
  std::string framed(std::string_view document) const;

  // It accepts a connection, and answers a request.
  bool answers() const;
  // Runs the command of the options. Throws NoAnswer if there is none, it fails, or the server does
  // not answer then.
  void restart();
  unsigned restarts() const { return restarts_; }

 private:
  std::unique_ptr<Link> first_reply();
  std::unique_ptr<Link> reach();
  std::unique_ptr<Link> ask_in_all_styles(std::unique_ptr<Link> link);

  const TargetOptions options_;
  const std::function<std::string()> new_request_;
  const std::vector<client::Address> addresses_;  // of its name
  client::Address address_;                       // of these: that accepts connections
  bool reached_ = false;
  Style style_;
  unsigned restarts_ = 0;
};

// Runs a command of the shell and returns its status, as waitpid(2) gives it. What it starts in the
// background goes on. Throws NoAnswer if it does not end in time, TestError if it cannot be
// started, client::Interrupted.
int run_command(const std::string& command, double limit_s);

// A byte order mark, which no terminal shows, becomes "\xEF\xBB\xBF" in words.
std::string with_visible_mark(std::string_view text);

}  // namespace exchange::conformance
