#include "course/conformance/target.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <thread>

#include "base/text.hpp"
#include "client/connection/command_line.hpp"
#include "client/connection/framing.hpp"

namespace exchange::conformance {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_until(Clock::time_point time) {
  return std::chrono::duration<double>(time - Clock::now()).count();
}
Clock::time_point in(double seconds) {
  return Clock::now() +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

constexpr double newline_wait_s = 0.1;
constexpr double refused_wait_s = 3;  // for a server that will listen soon
constexpr std::size_t received_bytes_max = client::reply_bytes_max + 65'536;

void pause() {
  if (client::stop_flag()) throw client::Interrupted();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
}

// Runs in the child, between fork and exec. Processes that it starts in the background outlive this
// program and Ctrl-C, and must not inherit ignored or handled signals.
[[noreturn]] void become_shell(const char* command) {
  ::setpgid(0, 0);
  for (const int signal : {SIGPIPE, SIGXFSZ, SIGINT, SIGTERM, SIGHUP}) std::signal(signal, SIG_DFL);
  const int nothing = ::open("/dev/null", O_RDWR);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(nothing, STDOUT_FILENO);
  if (nothing > STDERR_FILENO) ::close(nothing);
  ::execl("/bin/sh", "sh", "-c", command, nullptr);
  ::_exit(127);
}

}  // namespace

int run_command(const std::string& command, double limit_s) {
  const pid_t shell = ::fork();
  if (shell < 0) throw TestError("'" + command + "' cannot be run");
  if (shell == 0) become_shell(command.c_str());
  ::setpgid(shell, shell);  // parent and child both call it: either may run first
  int status = 0;
  const auto kill = [&] {
    ::kill(-shell, SIGKILL);
    ::waitpid(shell, &status, 0);
  };
  const Clock::time_point give_up = in(limit_s);
  while (::waitpid(shell, &status, WNOHANG) == 0) try {
      pause();
      if (seconds_until(give_up) > 0) continue;
      kill();
      throw NoReply("'" + command + "' does not end");
    } catch (const client::Interrupted&) {
      kill();
      throw;
    }
  return status;
}

Link::Link(const client::Address& address, double timeout_s) try
    : socket_(client::connect_to(address, timeout_s, client::stop_flag())), timeout_s_(timeout_s) {
} catch (const client::Unreachable& error) {
  throw Silence(error.what());
}

void Link::send(std::string_view bytes) {
  const Clock::time_point give_up = in(timeout_s_);
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      bytes.remove_prefix(std::size_t(sent));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (!client::wait_for(socket_.number(), POLLOUT, seconds_until(give_up), client::stop_flag()))
        throw NoReply("the server does not read the request");
    } else if (errno != EINTR) {
      return;  // the server has closed: its earlier bytes can still be read
    }
  }
}

void Link::end_sending() { ::shutdown(socket_.number(), SHUT_WR); }

// Returns false at the end of the stream, or if nothing came in time.
bool Link::read(double timeout_s) {
  if (ended_) return false;
  if (timeout_s <= 0 || !client::wait_for(socket_.number(), POLLIN, timeout_s, client::stop_flag()))
    return false;
  char buffer[65536];
  const ssize_t got = ::recv(socket_.number(), buffer, sizeof buffer, 0);
  if (got > 0)
    received_.append(buffer, std::size_t(got));
  else if (got == 0 || (errno != EAGAIN && errno != EINTR))
    ended_ = true;
  return !ended_;
}

std::string Link::receive() {
  const Clock::time_point give_up = in(timeout_s_);
  std::size_t scanned = 0;
  for (;;) {
    const client::ReplyEnd reply = client::find_reply(received_, scanned);
    if (reply.state == client::ReplyEnd::State::bad)
      throw NotAReply("what came is not a reply: " + with_visible_mark(received_.substr(0, 200)));
    if (reply.state == client::ReplyEnd::State::complete) {
      before_ = received_.substr(0, reply.begin);
      std::string document = received_.substr(reply.begin, reply.end - reply.begin);
      received_.erase(0, reply.end);
      return document;
    }
    if (received_.size() > received_bytes_max) throw NoReply("the reply does not end");
    if (read(seconds_until(give_up))) continue;
    if (!ended_ && seconds_until(give_up) > 0) continue;
    const std::string why =
        ended_ ? "the server closed the connection without a reply"
               : "no reply within " + std::to_string(int(timeout_s_ * 1000)) + " ms";
    if (received_.empty()) throw Silence(why);
    throw NoReply(why +
                  ", after an incomplete reply: " + with_visible_mark(received_.substr(0, 200)));
  }
}

bool Link::closed_in_time() {
  const Clock::time_point give_up = in(timeout_s_);
  while (client::skip_padding(received_) == received_.size()) {
    if (ended_ || seconds_until(give_up) <= 0) return ended_;
    received_.clear();
    read(seconds_until(give_up));
  }
  return false;
}

std::string Link::after() {
  if (received_.empty()) read(newline_wait_s);
  return received_.substr(0, client::skip_padding(received_));
}

Target::Target(const TargetOptions& options, std::function<std::string()> new_request)
    : options_(options),
      new_request_(std::move(new_request)),
      addresses_(client::resolve_all(options.address)),
      address_(addresses_.front()) {}

std::string Target::address() const {
  char host[NI_MAXHOST], port[NI_MAXSERV];
  if (::getnameinfo(reinterpret_cast<const sockaddr*>(&address_.storage), address_.bytes, host,
                    sizeof host, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return options_.address;
  const bool v6 = address_.storage.ss_family == AF_INET6;
  return (v6 ? "[" + std::string(host) + "]" : host) + ":" + port;
}

std::unique_ptr<Link> Target::connect() const {
  return std::make_unique<Link>(address_, options_.timeout_s);
}

std::string Target::framed(std::string_view document) const {
  return client::framed(std::string(document) + (style_.wants_newline ? "\n" : ""));
}

// Connects to the first address that accepts: a name may have several.
std::unique_ptr<Link> Target::reach() {
  for (const Clock::time_point give_up = in(refused_wait_s);; pause())
    for (const client::Address& address : addresses_) try {
        auto link = std::make_unique<Link>(address, options_.timeout_s);
        address_ = address;
        reached_ = true;
        return link;
      } catch (const Silence& error) {
        if (&address != &addresses_.back() || seconds_until(give_up) > 0) continue;
        if (reached_) throw;
        throw client::Unreachable(error.what());
      }
}

// Sends what the server may be waiting for, one step after another, until a reply comes.
std::unique_ptr<Link> Target::ask_in_all_styles(std::unique_ptr<Link> link) {
  link->send(client::framed(new_request_()));
  std::string why;
  for (const Style& style :
       {Style(), Style{.wants_newline = true}, Style{.per_request = true, .wants_end = true}}) {
    style_ = style;
    if (style.wants_newline) link->send("\n");
    if (style.wants_end) link->end_sending();
    try {
      link->receive();
      return link;
    } catch (const Silence& error) {
      if (why.empty()) why = error.what();
    }
  }
  style_ = {};
  throw Silence(why);
}

// Waits for the first reply: a server may listen before it can answer.
std::unique_ptr<Link> Target::first_reply() {
  for (const Clock::time_point give_up = in(options_.start_s);; pause()) try {
      return ask_in_all_styles(reach());
    } catch (const Silence&) {
      if (seconds_until(give_up) <= 0) throw;
    }
}

void Target::find_style() {
  std::unique_ptr<Link> link = first_reply();
  // a slow start looks the same as a wait for more bytes: asks again
  if (style_.wants_newline || style_.wants_end) {
    link.reset();
    link = ask_in_all_styles(connect());
  }
  std::string_view before = link->before();
  before.remove_prefix(client::skip_padding(before));
  if (before.starts_with(byte_order_mark)) before.remove_prefix(byte_order_mark.size());
  style_.length_lines = !before.empty() && std::isdigit(static_cast<unsigned char>(before[0]));
  if (style_.wants_end || options_.connection == "persistent") return;
  style_.per_request = options_.connection == "per-request";
  if (style_.per_request) return;
  try {
    link->send(framed(new_request_()));
    link->receive();
  } catch (const NoReply& error) {
    link.reset();
    style_.per_request = true;
    if (!answers())
      throw NoReply(std::string("to a second request: ") + error.what() +
                    ", and no reply on another connection");
  }
}

bool Target::answers() const try {
  const std::unique_ptr<Link> link = connect();
  link->send(framed(new_request_()));
  if (style_.wants_end) link->end_sending();
  link->receive();
  return true;
} catch (const NoReply&) {
  return false;
}

void Target::restart() {
  if (options_.restart.empty()) throw NoReply("there is no restart command");
  ++restarts_;
  if (run_command(options_.restart, options_.restart_s) != 0)
    throw NoReply("the restart command failed");
  for (const Clock::time_point give_up = in(options_.start_s); seconds_until(give_up) > 0; pause())
    if (answers()) return;
  throw NoReply("it does not answer after the restart command");
}

std::string with_visible_mark(std::string_view text) {
  std::string out(text);
  for (std::size_t at = 0; (at = out.find(byte_order_mark, at)) != std::string::npos;)
    out.replace(at, byte_order_mark.size(), "\\xEF\\xBB\\xBF");
  return out;
}

}  // namespace exchange::conformance
