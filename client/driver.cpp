#include "client/driver.hpp"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <numeric>
#include <system_error>

#include "client/answer.hpp"
#include "client/reply.hpp"

namespace exchange::loadgen {
namespace {

constexpr auto look_interval = std::chrono::seconds(1);
constexpr auto retry_interval = std::chrono::milliseconds(reconnect_pause_ms);
constexpr std::size_t events_max = 256;          // taken from epoll at once
constexpr std::size_t reply_shown_max = 300;     // bytes of the first wrong answer in the report

std::uint64_t nanoseconds(std::chrono::steady_clock::duration duration) {
  return std::uint64_t(std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count());
}

double seconds(std::chrono::steady_clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

template <class Counts>
std::uint64_t sum(const Counts& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t(0));
}

}  // namespace

const char* name_of(ErrorClass error) {
  switch (error) {
    case ErrorClass::connect: return "not connected";
    case ErrorClass::closed: return "connection lost";
    case ErrorClass::timeout: return "timeout";
    case ErrorClass::wrong_answer: return "wrong answer";
  }
  return "";
}

std::uint64_t Tally::refused_in_all() const { return sum(refused); }
std::uint64_t Tally::errors_in_all() const { return sum(errors); }

Driver::Driver(const LoadOptions& load, const WorkloadOptions& workload, Address address)
    : load_(load), address_(std::move(address)), epoll_(::epoll_create1(EPOLL_CLOEXEC)), read_buffer_(read_bytes_max) {
  if (!epoll_) throw std::system_error(errno, std::generic_category(), "epoll_create1");
  clients_.reserve(load.clients);
  for (unsigned i = 0; i < load.clients; ++i) clients_.emplace_back(workload, i);
}

void Driver::open_connections(const StopFlag& stop) {
  if (load_.connection == ConnectionUse::per_request) {
    round_trip(address_, {}, load_.timeout_s, stop, {});
    return;
  }
  for (std::size_t first = 0; first < clients_.size(); first += connecting_max) {
    const std::size_t end = std::min<std::size_t>(clients_.size(), first + connecting_max);
    for (std::size_t i = first; i < end; ++i) {
      Connecting connecting = start_connect(address_);
      if (!connecting.socket) throw Unreachable(std::string("cannot connect to ") + address_.text + ": " + std::strerror(connecting.error));
      clients_[i].socket = std::move(connecting.socket);
    }
    for (std::size_t i = first; i < end; ++i) {
      Client& client = clients_[i];
      if (!wait_for(client.socket.number(), POLLOUT, load_.timeout_s, stop)) throw Unreachable("cannot connect to " + address_.text + ": timeout");
      if (const int error = connect_result(client.socket.number()))
        throw Unreachable(std::string("cannot connect to ") + address_.text + ": " + std::strerror(error));
      watch(client, EPOLL_CTL_ADD, EPOLLIN);
      client.state = State::idle;
    }
  }
}

void Driver::run(const StopFlag& stop, const Look& look) {
  start_ = last_answer_ = last_look_ = Clock::now();
  end_ = load_.duration_s ? start_ + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(*load_.duration_s))
                          : Clock::time_point::max();
  next_retry_ = start_ + retry_interval;
  for (Client& client : clients_) go_on(client, Clock::now());

  epoll_event events[events_max];
  Clock::time_point now = start_;
  while (in_flight_ > 0 || more_to_send(now)) {
    const int wait_ms = refused_connections_ > 0 || load_.duration_s ? int(reconnect_pause_ms) : 1'000;
    const int count = ::epoll_wait(epoll_.number(), events, events_max, wait_ms);
    for (int i = 0; i < count; ++i) handle(clients_[events[i].data.u32], events[i].events);
    now = Clock::now();
    if (refused_connections_ > 0 && now >= next_retry_) retry_connections(now);
    if (stop || (now - last_look_ >= look_interval && !look_up(now, look))) {
      tally_.stopped = true;
      break;
    }
  }
  tally_.latency_ns.merge(recent_ns_);
  tally_.seconds = seconds(last_answer_ - start_);
}

bool Driver::more_to_send(Clock::time_point now) const {
  return load_.duration_s ? now < end_ : sent_ < load_.requests;
}

// The client's next request, if there is one to send, on an open connection.
void Driver::go_on(Client& client, Clock::time_point now) {
  if (!more_to_send(now)) return;
  client.since = now;
  if (client.state == State::idle)
    send_next(client);
  else
    open(client, now);
}

void Driver::open(Client& client, Clock::time_point now) {
  Connecting connecting = start_connect(address_);
  if (!connecting.socket) return refused_connection(client, connecting.error, now);
  client.socket = std::move(connecting.socket);
  client.since = now;
  if (connecting.error == 0) {
    watch(client, EPOLL_CTL_ADD, EPOLLIN);
    return connected(client, now);
  }
  client.state = State::connecting;
  watch(client, EPOLL_CTL_ADD, EPOLLOUT);
}

void Driver::connected(Client& client, Clock::time_point now) {
  client.state = State::idle;
  if (more_to_send(now)) send_next(client);
}

void Driver::watch(Client& client, int operation, std::uint32_t events) {
  epoll_event event{.events = events, .data = {.u32 = std::uint32_t(&client - clients_.data())}};
  if (::epoll_ctl(epoll_.number(), operation, client.socket.number(), &event) != 0)
    throw std::system_error(errno, std::generic_category(), "epoll_ctl");
}

void Driver::send_next(Client& client) {
  const std::string_view frame = client.script.next(frame_);
  ++sent_;
  ++in_flight_;
  client.state = State::awaiting_reply;
  const ssize_t sent = ::send(client.socket.number(), frame.data(), frame.size(), MSG_NOSIGNAL);
  if (sent == ssize_t(frame.size())) return;
  client.unsent = frame.substr(sent < 0 ? 0 : std::size_t(sent));  // a broken connection shows when reading
  watch(client, EPOLL_CTL_MOD, EPOLLIN | EPOLLOUT);
}

void Driver::send_rest(Client& client) {
  const ssize_t sent = ::send(client.socket.number(), client.unsent.data(), client.unsent.size(), MSG_NOSIGNAL);
  if (sent > 0) client.unsent.erase(0, std::size_t(sent));
  if (client.unsent.empty()) watch(client, EPOLL_CTL_MOD, EPOLLIN);
}

void Driver::handle(Client& client, std::uint32_t events) {
  if (client.state == State::connecting) {
    const Clock::time_point now = Clock::now();
    if (const int error = connect_result(client.socket.number())) {
      close(client);
      return refused_connection(client, error, now);
    }
    watch(client, EPOLL_CTL_MOD, EPOLLIN);
    return connected(client, now);
  }
  if ((events & EPOLLOUT) && !client.unsent.empty()) send_rest(client);
  if (events & (EPOLLIN | EPOLLERR | EPOLLHUP)) receive(client);
}

void Driver::receive(Client& client) {
  const ssize_t received = ::recv(client.socket.number(), read_buffer_.data(), read_buffer_.size(), 0);
  if (received < 0 && (errno == EAGAIN || errno == EINTR)) return;
  const Clock::time_point now = Clock::now();
  const std::string_view bytes(read_buffer_.data(), received > 0 ? std::size_t(received) : 0);
  if (client.state != State::awaiting_reply) {  // all is done: the server may close
    if (bytes.find_first_not_of(" \r\n") != std::string_view::npos) return wrong_answer(client, "a reply to nothing", bytes, now);
    if (bytes.empty()) close(client);
    return;
  }
  if (bytes.empty()) return fail(client, ErrorClass::closed, now);
  if (client.received.empty()) return take(client, bytes, now);
  client.received += bytes;
  take(client, client.received, now);
}

// All that came of the reply so far: in the read buffer nearly always, else in client.received.
void Driver::take(Client& client, std::string_view bytes, Clock::time_point now) {
  const ReplyEnd reply = find_reply(bytes, client.scanned);
  if (reply.state == ReplyEnd::State::bad) return wrong_answer(client, "not a reply", bytes, now);
  if (reply.state == ReplyEnd::State::incomplete) {
    if (client.received.empty()) client.received = bytes;
    return;
  }
  if (load_.check_replies) {
    const std::string_view document = bytes.substr(0, reply.end).substr(reply.begin);
    const std::string_view problem = reply.end < bytes.size() ? "bytes after the reply" : check(client, document);
    if (!problem.empty()) return wrong_answer(client, problem, bytes, now);
  }
  client.scanned = 0;
  client.received.clear();
  recent_ns_.record(nanoseconds(now - client.since));
  ++tally_.answered;
  --in_flight_;
  last_answer_ = now;
  client.state = State::idle;
  if (load_.connection == ConnectionUse::per_request) close(client);
  go_on(client, now);
}

// Returns the problem of a wrong answer.
std::string_view Driver::check(Client& client, std::string_view document) {
  const Answer answer = check_reply(client.script, document);
  if (!answer.problem.empty()) return answer.problem;
  if (answer.refused) {
    ++tally_.refused[std::size_t(client.script.request().kind)];
    if (tally_.first_refusal.empty()) tally_.first_refusal = answer.refusal;
  } else if (answer.opened != 0) {
    if (!opened_ids_.insert(answer.opened)) return "a transaction id that another order has";
    client.script.opened(answer.opened);
  }
  return {};
}

void Driver::wrong_answer(Client& client, std::string_view problem, std::string_view reply, Clock::time_point now) {
  if (tally_.first_wrong_answer.empty()) {
    reply = reply.substr(0, std::min(reply_shown_max, reply.find_last_not_of(" \r\n") + 1));
    tally_.first_wrong_answer =
        std::string(problem) + "; asked for: " + name_of(client.script.request().kind) + ", got: " + std::string(reply);
  }
  fail(client, ErrorClass::wrong_answer, now);
}

void Driver::fail(Client& client, ErrorClass error, Clock::time_point now) {
  ++tally_.errors[std::size_t(error)];
  if (client.state == State::awaiting_reply) --in_flight_;
  close(client);
  go_on(client, now);
}

// No request was sent: it is tried again after a pause.
void Driver::refused_connection(Client& client, int error, Clock::time_point now) {
  ++tally_.errors[std::size_t(ErrorClass::connect)];
  tally_.last_connect_error = std::strerror(error);
  client.state = State::closed;
  if (refused_connections_++ == 0) next_retry_ = now + retry_interval;
}

void Driver::close(Client& client) {
  if (client.socket) reset_on_close(client.socket.number());
  client.socket.close();
  client.state = State::closed;
  client.unsent.clear();
  client.received.clear();
  client.scanned = 0;
}

void Driver::retry_connections(Clock::time_point now) {
  refused_connections_ = 0;
  for (Client& client : clients_)
    if (client.state == State::closed) go_on(client, now);
}

void Driver::sweep_timeouts(Clock::time_point now) {
  const auto timeout = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(load_.timeout_s));
  for (Client& client : clients_)
    if ((client.state == State::awaiting_reply || client.state == State::connecting) && now - client.since > timeout)
      fail(client, ErrorClass::timeout, now);
}

// Once a second: lost requests, and a report. False: end the run.
bool Driver::look_up(Clock::time_point now, const Look& look) {
  sweep_timeouts(now);
  const double elapsed = seconds(now - start_);
  const Snapshot snapshot{
      .elapsed_s = elapsed,
      .share_done = load_.duration_s ? std::min(1.0, elapsed / *load_.duration_s) : double(sent_ - in_flight_) / double(load_.requests),
      .requests_per_s = double(recent_ns_.count()) / seconds(now - last_look_),
      .p50_ns = recent_ns_.quantile(0.5),
      .p99_ns = recent_ns_.quantile(0.99),
      .in_flight = in_flight_,
      .answered = tally_.answered,
      .errors = tally_.errors_in_all()};
  tally_.latency_ns.merge(recent_ns_);
  recent_ns_ = {};
  last_look_ = now;
  if (!look(snapshot)) return false;
  // A server that has not answered anybody for so long will not.
  return seconds(now - last_answer_) <= load_.timeout_s + 2;
}

}  // namespace exchange::loadgen
