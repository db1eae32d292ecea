#include "tools/conformance/target.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

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

constexpr double newline_wait_s = 0.1, style_wait_s = 2;

}  // namespace

Link::Link(const client::Address& address, double timeout_s) try
    : socket_(client::connect_to(address, timeout_s, client::stop_flag())), timeout_s_(timeout_s) {
} catch (const client::Unreachable& error) {
  throw NoAnswer(error.what());
}

void Link::send(std::string_view bytes) {
  const Clock::time_point give_up = in(timeout_s_);
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      bytes.remove_prefix(std::size_t(sent));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (!client::wait_for(socket_.number(), POLLOUT, seconds_until(give_up), client::stop_flag()))
        throw NoAnswer("the server does not read the request");
    } else if (errno != EINTR) {
      return;  // the server has closed: what it sent before can still be read
    }
  }
}

void Link::end_sending() { ::shutdown(socket_.number(), SHUT_WR); }

// False at the end of the stream, or in time nothing came.
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

std::string Link::receive(double timeout_s) {
  const Clock::time_point give_up = in(timeout_s);
  std::size_t scanned = 0;
  for (;;) {
    const client::ReplyEnd reply = client::find_reply(received_, scanned);
    if (reply.state == client::ReplyEnd::State::bad)
      throw NoAnswer("what came is no reply: " + received_.substr(0, 200));
    if (reply.state == client::ReplyEnd::State::complete) {
      before_ = received_.substr(0, reply.begin);
      std::string document = received_.substr(reply.begin, reply.end - reply.begin);
      received_.erase(0, reply.end);
      return document;
    }
    if (read(seconds_until(give_up))) continue;
    const std::string rest =
        received_.empty() ? "" : ", after an incomplete reply: " + received_.substr(0, 200);
    if (ended_) throw NoAnswer("the server closed the connection without a reply" + rest);
    if (seconds_until(give_up) <= 0)
      throw NoAnswer("no reply within " + std::to_string(int(timeout_s * 1000)) + " ms" + rest);
  }
}

bool Link::closed_in_time() {
  const Clock::time_point give_up = in(timeout_s_);
  while (!ended_ && seconds_until(give_up) > 0) read(seconds_until(give_up));
  return ended_ && client::skip_padding(received_) == received_.size();
}

std::string Link::behind() {
  if (received_.empty()) read(newline_wait_s);
  return received_.substr(0, client::skip_padding(received_));
}

Target::Target(const TargetOptions& options)
    : options_(options), address_(client::resolve(options.address)) {
  client::connect_to(address_, options.timeout_s, client::stop_flag());
}

std::unique_ptr<Link> Target::connect() const {
  return std::make_unique<Link>(address_, options_.timeout_s);
}

std::string Target::framed(std::string_view document) const {
  return client::framed(std::string(document) + (style_.wants_newline ? "\n" : ""));
}

void Target::find_style(const std::string& first, const std::string& second) {
  const auto request = [](const std::string& id) {
    return client::framed("<create><account id=\"" + id + "\" balance=\"1\"/></create>");
  };
  std::unique_ptr<Link> link = connect();
  link->send(request(first));
  try {
    link->receive(std::min(style_wait_s, options_.timeout_s));
  } catch (const NoAnswer&) {
    link->send("\n");
    style_.wants_newline = true;
    try {
      link->receive(std::min(style_wait_s, options_.timeout_s));
    } catch (const NoAnswer&) {
      link->end_sending();
      link->receive();
      style_ = {.per_request = true, .wants_end = true};
    }
  }
  style_.length_lines = !link->before().empty() && link->before().front() != '\n';
  if (style_.wants_end || options_.connection == "persistent") return;
  style_.per_request = options_.connection == "per-request";
  if (style_.per_request) return;
  try {
    link->send(framed("<create><account id=\"" + second + "\" balance=\"1\"/></create>"));
    link->receive();
  } catch (const NoAnswer&) {
    style_.per_request = true;
    connect();  // it is still there
  }
}

bool Target::answers() const try {
  Link link(address_, options_.timeout_s);
  link.send(framed("<create></create>"));
  if (style_.wants_end) link.end_sending();
  link.receive();
  return true;
} catch (const NoAnswer&) {
  // a server may have no reply to that: see whether it is there
  try {
    Link link(address_, options_.timeout_s);
    link.send(framed("<create><account id=\"1\" balance=\"1\"/></create>"));
    if (style_.wants_end) link.end_sending();
    link.receive();
    return true;
  } catch (const NoAnswer&) {
    return false;
  }
}

bool Target::restart() {
  if (options_.restart.empty()) return false;
  ++restarts_;
  if (std::system(options_.restart.c_str()) != 0) return false;
  for (const Clock::time_point give_up = in(options_.start_s); seconds_until(give_up) > 0;) {
    if (client::stop_flag()) throw client::Interrupted();
    if (answers()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return false;
}

}  // namespace exchange::conformance
