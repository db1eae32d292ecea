#include "client/loadgen/driver.hpp"

#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "client/connection/framing.hpp"
#include "client/connection/stream.hpp"
#include "client/loadgen/json_orders.hpp"

namespace exchange::loadgen {
namespace {

constexpr std::int64_t millisecond = 1'000'000;
constexpr std::int64_t sweep_interval = 100 * millisecond;  // checks timeouts and `stop`
constexpr int events_max = 256;                             // taken from epoll at once
constexpr std::size_t reply_shown_max = 300;                // bytes, in the report

std::vector<Stage> with_warmup(const LoadOptions& load) {
  std::vector<Stage> stages = load.stages;
  if (!stages.empty() && load.warmup_s > 0)
    stages.insert(stages.begin(), {load.warmup_s, stages.front().requests_per_s});
  return stages;
}

std::uint64_t quota_of(const LoadOptions& load, unsigned client) {
  if (load.open_loop() || load.duration_s) return UINT64_MAX;
  return load.requests / load.clients + (client < load.requests % load.clients ? 1 : 0);
}

// Returns the number of clients that have begun at this time: client 0 at once, then one every
// 1/ramp_up_per_s.
unsigned begun_at(const LoadOptions& load, std::int64_t time) {
  if (!load.ramp_up_per_s) return load.clients;
  return unsigned(std::min<double>(load.clients, double(time) / 1e9 * *load.ramp_up_per_s + 1));
}

// Opens connections, at most connecting_max at once, and calls take(i, socket) for each open one.
// Throws Unreachable, Interrupted.
template <class Take>
void open_and_wait(const client::Address& address, std::size_t count, double timeout_s,
                   const client::StopFlag& stop, Take take) {
  const auto unreachable = [&](const std::string& why) {
    throw client::Unreachable("cannot connect to " + address.text + ": " + why);
  };
  std::vector<client::Descriptor> sockets;
  for (std::size_t first = 0; first < count; first += sockets.size()) {
    sockets.clear();
    while (sockets.size() < std::min<std::size_t>(connecting_max, count - first)) {
      client::Connecting connecting = client::start_connect(address);
      if (!connecting.socket) unreachable(std::strerror(connecting.error));
      sockets.push_back(std::move(connecting.socket));
    }
    for (std::size_t i = 0; i < sockets.size(); ++i) {
      const int socket = sockets[i].number();
      if (!client::wait_for(socket, POLLOUT, timeout_s, stop)) unreachable("timeout");
      if (const int error = client::connect_result(socket)) unreachable(std::strerror(error));
      take(first + i, std::move(sockets[i]));
    }
  }
}

}  // namespace

Driver::Client::Client(const Workload& workload, unsigned number_, const LoadOptions& load)
    : number(number_),
      script(workload, number_),
      quota(quota_of(load, number_)),
      in_flight(load.pipeline),
      actions(std::size_t(load.pipeline) * workload.actions_max()),
      frames(load.retry ? load.pipeline : 0) {}

Driver::Driver(const LoadOptions& load, const Workload& workload, client::Servers& servers,
               unsigned worker)
    : load_(load),
      workload_(workload),
      servers_(servers),
      worker_(worker),
      timeout_ns_(std::int64_t(load.timeout_s * 1e9)),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      pacer_(with_warmup(load), load.arrivals, workload.options().seed),
      read_buffer_(read_bytes_max) {
  if (!epoll_) throw std::system_error(errno, std::generic_category(), "epoll_create1");
  reply_check_.lenient = load.lenient();
  clients_.reserve(load.clients / load.workers + 1);
  for (unsigned number = worker; number < load.clients; number += load.workers)
    clients_.emplace_back(workload, number, load);
  idle_.resize(load.idle_connections / load.workers +
               (worker < load.idle_connections % load.workers ? 1 : 0));
}

void Driver::open_connections(const client::StopFlag& stop) {
  const client::Address& address = servers_.current();
  open_and_wait(
      address, idle_.size(), load_.timeout_s, stop, [&](std::size_t i, client::Descriptor socket) {
        idle_[i] = std::move(socket);
        watch(EPOLL_CTL_ADD, idle_[i].number(), std::uint32_t(clients_.size() + i), EPOLLIN);
      });
  if (load_.connection == ConnectionUse::per_request || load_.ramp_up_per_s) return;
  open_and_wait(address, clients_.size(), load_.timeout_s, stop,
                [&](std::size_t i, client::Descriptor socket) {
                  clients_[i].socket = std::move(socket);
                  clients_[i].server = &address;
                  clients_[i].connection = next_connection();
                  watch(EPOLL_CTL_ADD, clients_[i], EPOLLIN);
                });
}

void Driver::await_accepted(std::string_view document, const client::StopFlag& stop) {
  client::Descriptor& last = clients_.back().socket;
  if (!last || load_.protocol != Protocol::xml) return;
  try {
    client::ask_once(client::Stream(client::Descriptor(::dup(last.number())), servers_.text(),
                                    load_.timeout_s, stop),
                     document);
  } catch (const client::BadReply&) {  // the server replies: the run itself checks what
  } catch (const client::ConnectionEnded&) {
    throw;
  } catch (const client::NoReply&) {
    last.close();
  }
}

void Driver::run(const Ticks& ticks, const client::StopFlag& stop, const Publish& publish) {
  ::prctl(PR_SET_TIMERSLACK, 1'000UL);  // ns; the default of 50 us would blur the plan
  ticks_ = &ticks;
  interval_ = std::make_unique<Interval>();
  measuring_ = !ticks.is_warmup(0);
  unfinished_ = std::size_t(std::count_if(clients_.begin(), clients_.end(),
                                          [](const Client& client) { return client.quota > 0; }));
  if (load_.open_loop()) next_arrival_ = pacer_.next();

  epoll_event events[events_max];
  std::int64_t now = ticks.now();
  while (!finished(now) && !stop) {
    tick(now, publish);
    begin_clients(now);
    release_arrivals(now, true);
    if (refused_connections_ > 0 && now >= next_retry_) retry_connections(now);
    if (now >= next_sweep_) {
      sweep_timeouts(now);
      if (gave_up_) break;
    }
    const int count =
        wait(events, std::clamp<std::int64_t>(next_event(now) - ticks.now(), 0, sweep_interval));
    for (int i = 0; i < count; ++i) handle(events[i].data.u32, events[i].events);
    now = ticks.now();
  }
  tick(now, publish);
  // counts requests that became due while this thread slept past the end
  release_arrivals(std::min(now, ticks.end()), false);
  give_up_backlog(std::min(now, ticks.end()));
  interval_->in_flight = in_flight_;
  recorder_.history().unanswered += in_flight_;
  publish(std::move(interval_));
}

int Driver::wait(epoll_event* events, std::int64_t nanoseconds) {
  int count = -1;
  if (precise_waits_) {
    const timespec timeout{.tv_sec = 0, .tv_nsec = nanoseconds};
    count = ::epoll_pwait2(epoll_.number(), events, events_max, &timeout, nullptr);
    // older kernels, and containers that do not know the call
    precise_waits_ = count >= 0 || (errno != ENOSYS && errno != EPERM);
  }
  if (!precise_waits_)
    count = ::epoll_wait(epoll_.number(), events, events_max,
                         int((nanoseconds + millisecond - 1) / millisecond));
  if (count < 0 && errno != EINTR)
    throw std::system_error(errno, std::generic_category(), "epoll_wait");
  return count;
}

bool Driver::finished(std::int64_t now) const {
  if (sending(now) && (load_.open_loop() || load_.duration_s)) return false;
  return in_flight_ == 0 && (!sending(now) || unfinished_ == 0);
}

bool Driver::has_work(const Client& client, std::int64_t now) const {
  if (!sending(now)) return false;
  return load_.open_loop() ? client.backlog_at < client.backlog.size() : client.quota > 0;
}

void Driver::begin_clients(std::int64_t now) {
  for (; begun_ < clients_.size() && clients_[begun_].number < begun_at(load_, now); ++begun_) {
    Client& client = clients_[begun_];
    client.state = client.socket ? State::open : State::closed;
    client.free_since = now;
    go_on(client, now);
  }
}

// Gives each planned request whose time has come to its client. Every worker walks the whole plan
// and takes its share.
void Driver::release_arrivals(std::int64_t now, bool send) {
  for (; next_arrival_ && *next_arrival_ <= now; ++arrivals_, next_arrival_ = pacer_.next()) {
    const auto number = unsigned(arrivals_ % begun_at(load_, *next_arrival_));
    if (number % load_.workers != worker_) continue;
    Client& client = clients_[number / load_.workers];
    if (*next_arrival_ >= ticks_->warmup_end()) {
      ++interval_->planned;
      interval_->lateness_ns.record(std::uint64_t(now - *next_arrival_));
    }
    client.backlog.push_back(*next_arrival_);
    if (send) go_on(client, now);
  }
}

std::int64_t Driver::next_event(std::int64_t now) const {
  std::int64_t next = std::min(ticks_->end_of(tick_), next_sweep_);
  if (now < ticks_->end()) next = std::min(next, ticks_->end());
  if (refused_connections_ > 0) next = std::min(next, next_retry_);
  if (load_.open_loop() && next_arrival_) next = std::min(next, *next_arrival_);
  if (begun_ < clients_.size())
    next =
        std::min(next, std::int64_t(double(clients_[begun_].number) / *load_.ramp_up_per_s * 1e9));
  return next;
}

// Sends the client's next requests, if there are any.
void Driver::go_on(Client& client, std::int64_t now) {
  if (client.to_send_again == 0 && !has_work(client, now)) return;
  if (client.state == State::open) return fill(client, now);
  if (client.state == State::closed) open(client, now);
}

void Driver::open(Client& client, std::int64_t now) {
  client.server = &servers_.current();
  client.answered = false;
  client::Connecting connecting = client::start_connect(*client.server);
  if (!connecting.socket) return refused_connection(client, connecting.error, now);
  client.socket = std::move(connecting.socket);
  client.connection = next_connection();
  if (connecting.error == 0) {
    watch(EPOLL_CTL_ADD, client, EPOLLIN);
    client.state = State::open;
    return fill(client, now);
  }
  client.state = State::connecting;
  client.connecting_since = now;
  watch(EPOLL_CTL_ADD, client, EPOLLOUT);
}

void Driver::fill(Client& client, std::int64_t now) {
  if (!client.unsent.empty()) return;  // until the socket takes more
  if (!client.greeted) return greet(client, now);
  frames_.clear();
  while (client.to_send_again > 0) write_again(client, now);
  while (client.count < load_.pipeline && has_work(client, now)) write_request(client, now);
  if (frames_.empty()) return;
  const ssize_t sent = ::send(client.socket.number(), frames_.data(), frames_.size(), MSG_NOSIGNAL);
  if (sent == ssize_t(frames_.size())) return;
  // reading will show that the connection is broken
  client.unsent = frames_.substr(sent < 0 ? 0 : std::size_t(sent));
  watch(EPOLL_CTL_MOD, client, EPOLLIN | EPOLLOUT);
}

// A client sends nothing behind the greeting before it has the reply.
void Driver::greet(Client& client, std::int64_t now) {
  client.greeted = true;
  const std::string_view text = greeting(load_.protocol);
  if (text.empty()) return fill(client, now);
  client.state = State::greeting;
  client.connecting_since = now;
  ::send(client.socket.number(), text.data(), text.size(),
         MSG_NOSIGNAL);  // an empty buffer takes all
}

void Driver::take_welcome(Client& client, std::int64_t now) {
  constexpr std::string_view end = "\r\n\r\n";
  if (!client.received.ends_with(end)) return;
  if (!is_welcome(client.received))
    return wrong_answer(client, ErrorClass::protocol, "not a WebSocket", client.received, now);
  client.received.clear();
  client.state = State::open;
  fill(client, now);
}

void Driver::write_request(Client& client, std::int64_t now) {
  const std::size_t frame = frames_.size();
  if (load_.protocol == Protocol::xml) {
    client.script.next(frames_);
  } else {
    client.script.draw();
    write_json_request(load_.protocol, workload_, client.script.request(), frames_);
  }
  const ScriptedRequest request = client.script.request();
  const std::size_t place = (client.oldest + client.count) % load_.pipeline;
  std::int64_t planned = client.free_since;
  bool measured = measuring_;
  if (load_.open_loop()) {
    planned = client.backlog[client.backlog_at++];
    measured = planned >= ticks_->warmup_end();
    if (client.backlog_at == client.backlog.size()) {
      client.backlog.clear();
      client.backlog_at = 0;
    }
  } else if (measuring_) {
    ++interval_->planned;
    if (client.quota != UINT64_MAX) --client.quota;
  }
  Transcript::Entry entry = 0;
  if (load_.transcript)
    entry = transcript_.asked(client.number, client.connection, monotonic(now),
                              std::string_view(frames_).substr(frames_.find('\n', frame) + 1));
  client.in_flight[place] = {
      planned, now, now, request.account, std::uint32_t(request.actions.size()), measured, entry};
  if (load_.retry) client.frames[place].assign(frames_, frame);
  std::copy(request.actions.begin(), request.actions.end(),
            client.actions.begin() + std::ptrdiff_t(place * workload_.actions_max()));
  ++client.count;
  ++in_flight_;
}

// Writes the next request that was in flight on a connection that ended. Its times count from the
// first sending.
void Driver::write_again(Client& client, std::int64_t now) {
  const std::size_t place =
      (client.oldest + client.count - client.to_send_again--) % load_.pipeline;
  const std::string& frame = client.frames[place];
  frames_ += frame;
  client.in_flight[place].sent_last = now;
  ++interval_->sent_again;
  if (load_.transcript)
    client.in_flight[place].entry =
        transcript_.asked(client.number, client.connection, monotonic(now),
                          std::string_view(frame).substr(frame.find('\n') + 1));
}

// Orders have references, and a query changes nothing, so both may be sent again. A second reply to
// a cancel or a creation does not show the result of the first.
bool Driver::may_be_sent_again(const Client& client, std::size_t place) const {
  const Action* const actions = client.actions.data() + place * workload_.actions_max();
  return std::all_of(actions, actions + client.in_flight[place].actions, [](const Action& action) {
    return action.kind == Action::Kind::order || action.kind == Action::Kind::query;
  });
}

// Keeps those requests in flight on an ended connection that may be sent again, and counts the
// others as errors.
void Driver::keep_in_flight(Client& client, ErrorClass error) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < client.count; ++i) {
    const std::size_t from = (client.oldest + i) % load_.pipeline;
    if (!may_be_sent_again(client, from)) {
      ++interval_->errors[std::size_t(error)];
      ++recorder_.history().unanswered;
      --in_flight_;
      continue;
    }
    const std::size_t to = (client.oldest + kept++) % load_.pipeline;
    if (to == from) continue;
    const std::size_t size = workload_.actions_max();
    std::copy_n(client.actions.begin() + std::ptrdiff_t(from * size), size,
                client.actions.begin() + std::ptrdiff_t(to * size));
    client.in_flight[to] = client.in_flight[from];
    client.frames[to].swap(client.frames[from]);
  }
  if (client.count > 0 && kept == 0 && client.quota == 0) --unfinished_;
  close(client);
  client.count = client.to_send_again = kept;
}

void Driver::watch(int operation, int socket, std::uint32_t index, std::uint32_t events) {
  epoll_event event{.events = events, .data = {.u32 = index}};
  if (::epoll_ctl(epoll_.number(), operation, socket, &event) != 0)
    throw std::system_error(errno, std::generic_category(), "epoll_ctl");
}

void Driver::send_rest(Client& client) {
  const ssize_t sent =
      ::send(client.socket.number(), client.unsent.data(), client.unsent.size(), MSG_NOSIGNAL);
  if (sent > 0) client.unsent.erase(0, std::size_t(sent));
  if (!client.unsent.empty()) return;
  watch(EPOLL_CTL_MOD, client, EPOLLIN);
  go_on(client, ticks_->now());
}

void Driver::handle(std::uint32_t index, std::uint32_t events) {
  if (index >= clients_.size()) return handle_idle(index - std::uint32_t(clients_.size()));
  Client& client = clients_[index];
  if (client.state == State::connecting) return connected(client);
  if ((events & EPOLLOUT) && !client.unsent.empty()) send_rest(client);
  if ((events & (EPOLLIN | EPOLLERR | EPOLLHUP)) && client.socket) receive(client);
}

// Counts an error: an idle connection must neither receive anything nor be closed.
void Driver::handle_idle(std::uint32_t index) {
  char bytes[512];
  const ssize_t received = ::recv(idle_[index].number(), bytes, sizeof bytes, 0);
  if (received < 0 && (errno == EAGAIN || errno == EINTR)) return;
  ++interval_->errors[std::size_t(received > 0 ? ErrorClass::protocol : ErrorClass::reset)];
  idle_[index].close();
}

void Driver::connected(Client& client) {
  const std::int64_t now = ticks_->now();
  if (const int error = client::connect_result(client.socket.number())) {
    close(client);
    return refused_connection(client, error, now);
  }
  watch(EPOLL_CTL_MOD, client, EPOLLIN);
  client.state = State::open;
  client.tries = 0;
  fill(client, now);
}

void Driver::receive(Client& client) {
  const ssize_t received =
      ::recv(client.socket.number(), read_buffer_.data(), read_buffer_.size(), 0);
  if (received < 0 && (errno == EAGAIN || errno == EINTR)) return;
  const std::int64_t now = ticks_->now();
  std::string_view bytes(read_buffer_.data(), received > 0 ? std::size_t(received) : 0);
  if (bytes.empty()) {
    // no request is in flight: the server may close
    if (client.count == 0 && client.state == State::open) return close(client);
    return fail(client, ErrorClass::reset, now);
  }
  const bool whole = client.received.empty();
  if (!whole) {
    client.received += bytes;
    bytes = client.received;
  }
  if (client.state == State::greeting) {
    client.received = bytes;
    return take_welcome(client, now);
  }
  const std::optional<std::size_t> taken = take(client, bytes, now);
  if (!taken) return;
  if (!whole)
    client.received.erase(0, *taken);
  else
    client.received = bytes.substr(*taken);
  go_on(client, now);
}

client::ReplyEnd Driver::find_reply(Client& client, std::string_view bytes) const {
  return load_.protocol == Protocol::xml ? client::find_reply(bytes, client.scanned)
                                         : find_json_reply(load_.protocol, bytes);
}

// Returns true if a client that waits for nothing may receive these bytes.
bool Driver::is_padding(std::string_view bytes) const {
  return bytes.size() == (load_.protocol == Protocol::xml ? client::skip_padding(bytes)
                                                          : skip_pings(load_.protocol, bytes));
}

// Takes all complete replies in `bytes`, which hold what was received so far: nearly always the
// read buffer, else client.received. Returns the number of bytes taken; nothing if the connection
// was closed, even if it is already open again.
std::optional<std::size_t> Driver::take(Client& client, std::string_view bytes, std::int64_t now) {
  std::size_t taken = 0;
  while (taken < bytes.size()) {
    const std::string_view rest = bytes.substr(taken);
    if (client.count == 0) {
      if (is_padding(rest)) return bytes.size();
      wrong_answer(client, ErrorClass::wrong_answer, "a reply to nothing", rest, now);
      return std::nullopt;
    }
    const client::ReplyEnd reply = find_reply(client, rest);
    if (reply.state == client::ReplyEnd::State::incomplete) break;
    if (reply.state == client::ReplyEnd::State::bad) {
      wrong_answer(client, ErrorClass::protocol, "not a reply", rest, now);
      return std::nullopt;
    }
    client.scanned = 0;
    taken += reply.end;
    if (!take_reply(client, rest.substr(0, reply.end).substr(reply.begin), now))
      return std::nullopt;
    if (load_.connection == ConnectionUse::per_request &&
        client::skip_padding(bytes, taken) == bytes.size()) {
      close(client);
      go_on(client, now);
      return std::nullopt;
    }
  }
  return taken;
}

// Returns false if the reply was not a right answer and the connection was closed.
bool Driver::take_reply(Client& client, std::string_view document, std::int64_t now) {
  const InFlight request = client.in_flight[client.oldest];
  const std::span<const Action> actions(
      client.actions.data() + client.oldest * workload_.actions_max(), request.actions);
  if (load_.transcript) transcript_.answered(request.entry, monotonic(now), document);
  if (load_.check_replies()) {
    const std::string_view problem = check(client, request, actions, document, now);
    if (!problem.empty()) {
      wrong_answer(client, reply_check_.malformed ? ErrorClass::protocol : ErrorClass::wrong_answer,
                   problem, document, now);
      return false;
    }
  }
  client.oldest = (client.oldest + 1) % load_.pipeline;
  client.answered = true;
  --client.count;
  --in_flight_;
  if (client.count == 0 && client.quota == 0) --unfinished_;
  client.free_since = now;
  last_answer_ = answered_or_calm_ = now;
  if (request.measured == measuring_) {  // false: planned during the warm-up
    ++interval_->answered;
    interval_->elements += request.actions;
    if (load_.check_replies())
      for (const CheckedElement& answer : reply_check_.elements)
        interval_->rejected[std::size_t(asked_of(actions[answer.action].kind))] += answer.rejected;
    interval_->response_ns.record(std::uint64_t(now - request.planned));
    interval_->service_ns.record(std::uint64_t(now - request.sent));
  }
  return true;
}

// Returns the error in a wrong answer; empty if the answer is right.
std::string_view Driver::check(Client& client, const InFlight& request,
                               std::span<const Action> actions, std::string_view document,
                               std::int64_t now) {
  if (load_.protocol == Protocol::xml)
    check_reply(workload_, client.number, {request.account, actions}, document, reply_check_);
  else
    check_json_reply(load_.protocol, {request.account, actions}, document, reply_check_);
  if (!reply_check_.problem.empty()) return reply_check_.problem;
  recorder_.begin_reply();
  for (const CheckedElement& answer : reply_check_.elements) {
    const Action& action = actions[answer.action];
    if (answer.rejected) {
      if (examples_.rejection.empty()) examples_.rejection = answer.element.content;
    } else if (answer.opened != 0) {
      if (!opened_ids_.insert(answer.opened)) return "a transaction id that another order has";
      client.script.opened(answer.opened, request.account, action);
    }
    if (!load_.audit) continue;
    const std::string_view problem =
        recorder_.record({client.number, request.account, request.sent, now}, action, answer,
                         reply_check_.deviations);
    if (!problem.empty()) return problem;
  }
  return {};
}

void Driver::wrong_answer(Client& client, ErrorClass error, std::string_view problem,
                          std::string_view reply, std::int64_t now) {
  if (examples_.wrong_answer.empty()) {
    reply = reply.substr(0, std::min(reply_shown_max, reply.find_last_not_of(" \r\n") + 1));
    examples_.wrong_answer = std::string(problem);
    if (client.count > 0) {
      const Action& asked = client.actions[client.oldest * workload_.actions_max()];
      examples_.wrong_answer += "; asked for: " + std::string(to_string(asked_of(asked.kind)));
    }
    examples_.wrong_answer += ", got: " + std::string(reply);
  }
  fail(client, error, now);
}

// The connection cannot be used any more. The requests in flight on it are lost; with --retry some
// of them are kept and sent again.
void Driver::fail(Client& client, ErrorClass error, std::int64_t now) {
  const bool only_the_first = error == ErrorClass::wrong_answer || error == ErrorClass::protocol;
  // Another server may be active by now. After a reset, the client changes servers only if this one
  // refuses a new connection.
  if (error == ErrorClass::timeout) servers_.leave(*client.server);
  if (load_.retry && !only_the_first) {
    keep_in_flight(client, error);
    client.free_since = now;
    // Otherwise something accepts and closes at once, such as a proxy without a server behind it.
    if (client.answered || error == ErrorClass::timeout) return go_on(client, now);
    return refused_connection(client, ECONNRESET, now);
  }
  interval_->errors[std::size_t(error)] +=
      only_the_first ? 1 : std::max<std::size_t>(client.count, 1);
  if (only_the_first && client.count > 1)
    interval_->errors[std::size_t(ErrorClass::reset)] += client.count - 1;
  in_flight_ -= client.count;
  const std::size_t wrong = only_the_first && client.count > 0 ? 1 : 0;
  recorder_.history().wrongly_answered += wrong;
  recorder_.history().unanswered += client.count - wrong;
  if (client.count > 0 && client.quota == 0) --unfinished_;
  client.free_since = now;
  client.count = 0;
  close(client);
  go_on(client, now);
}

// No request was sent: the client tries again after a pause, or with the next planned request.
void Driver::refused_connection(Client& client, int error, std::int64_t now) {
  if (!load_.retry) ++interval_->errors[std::size_t(ErrorClass::refused)];
  if (examples_.connect_error.empty()) examples_.connect_error = std::strerror(error);
  client.state = State::closed;
  servers_.leave(*client.server);
  if (++client.tries % servers_.count() != 0) return go_on(client, now);
  const unsigned pause_ms = servers_.count() > 1 ? reconnect_soon_ms : reconnect_pause_ms;
  if (refused_connections_++ == 0) next_retry_ = now + pause_ms * millisecond;
}

void Driver::close(Client& client) {
  if (client.socket) client::reset_on_close(client.socket.number());
  client.socket.close();
  client.state = State::closed;
  client.greeted = false;
  client.unsent.clear();
  client.received.clear();
  client.scanned = 0;
}

void Driver::retry_connections(std::int64_t now) {
  refused_connections_ = 0;
  for (Client& client : clients_)
    if (client.state == State::closed) go_on(client, now);
}

void Driver::sweep_timeouts(std::int64_t now) {
  next_sweep_ = now + sweep_interval;
  bool asking = in_flight_ > 0 || refused_connections_ > 0;
  for (Client& client : clients_) {
    const bool connecting = client.state == State::connecting || client.state == State::greeting;
    asking |= connecting || client.to_send_again > 0;
    const bool lost = connecting
                          ? now - client.connecting_since > timeout_ns_
                          : client.count > client.to_send_again &&
                                now - client.in_flight[client.oldest].sent_last > timeout_ns_;
    if (lost) fail(client, ErrorClass::timeout, now);
  }
  // A server that has not answered any request for this long is assumed to have failed.
  if (!asking) answered_or_calm_ = now;
  gave_up_ = now - answered_or_calm_ > timeout_ns_ + 2 * Ticks::second;
}

// Requests that were planned but not sent, since no client was free, count in the response time
// with their present age: less than their real response time would have been.
void Driver::give_up_backlog(std::int64_t now) {
  for (Client& client : clients_)
    for (; client.backlog_at < client.backlog.size(); ++client.backlog_at) {
      const std::int64_t planned = client.backlog[client.backlog_at];
      if (planned < ticks_->warmup_end()) continue;
      ++unsent_;
      interval_->response_ns.record(std::uint64_t(std::max<std::int64_t>(0, now - planned)));
    }
}

void Driver::tick(std::int64_t now, const Publish& publish) {
  for (; now >= ticks_->end_of(tick_); ++tick_) {
    interval_->in_flight = in_flight_;
    publish(std::exchange(interval_, std::make_unique<Interval>()));
    measuring_ = !ticks_->is_warmup(tick_ + 1);
  }
}

}  // namespace exchange::loadgen
