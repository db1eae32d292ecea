#include "transport/listener.hpp"

#include <pthread.h>
#include <sched.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>

#include <chrono>

#include "transport/transport.hpp"

namespace exchange {

namespace asio = boost::asio;

tcp::acceptor listen(asio::io_context& context, const std::string& address, std::uint16_t port, Sharing sharing, int backlog) {
  const std::string where = address + ":" + std::to_string(port);
  boost::system::error_code error;
  const auto ip = asio::ip::make_address(address, error);
  if (error) throw std::system_error(error, "cannot listen on " + where + ": not an IP address");
  const tcp::endpoint endpoint(ip, port);
  tcp::acceptor acceptor(context);
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  using reuse_port = asio::detail::socket_option::boolean<SOL_SOCKET, SO_REUSEPORT>;
  if (!error && sharing == Sharing::one_of_many) acceptor.set_option(reuse_port(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(backlog, error);
  if (error) throw std::system_error(error, "cannot listen on " + where);
  return acceptor;
}

bool is_shortage(const boost::system::error_code& error) {
  return error == boost::system::errc::too_many_files_open || error == boost::system::errc::too_many_files_open_in_system ||
         error == boost::system::errc::no_buffer_space || error == boost::system::errc::not_enough_memory;
}

unsigned usable_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return unsigned(std::max(1, CPU_COUNT(&set)));
}

ConnectionRegistry::ConnectionRegistry(const TransportLimits& limits, Metrics& metrics, bool secure)
    : limits_(limits), metrics_(metrics), secure_(secure) {
  sweeper_ = std::thread([this] {
    pthread_setname_np(pthread_self(), "sweeper");
    sweep();
  });
}

ConnectionRegistry::~ConnectionRegistry() {
  connections_.with([](Connections& connections) { connections.sweeping = false; });
  connections_.notify();
  sweeper_.join();
}

bool ConnectionRegistry::add(tcp::socket& socket) {
  boost::system::error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  const bool added = connections_.with([&](Connections& connections) {
    if (connections.stopping || connections.deadlines.size() >= limits_.connections_max) return false;
    connections.deadlines[socket.native_handle()] = Time::max();
    return true;
  });
  if (!added) {
    Metrics::add(metrics_.connections_refused);
    constexpr std::string_view sorry = "<results><error>the server takes no more connections now</error></results>\n";
    if (!secure_) ::send(socket.native_handle(), sorry.data(), sorry.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    return false;
  }
  Metrics::add(metrics_.connections_accepted);
  Metrics::add(metrics_.connections);
  return true;
}

void ConnectionRegistry::remove(tcp::socket& socket) {
  const bool last = connections_.with([&](Connections& connections) {
    connections.deadlines.erase(socket.native_handle());
    return connections.deadlines.empty();
  });
  metrics_.connections.fetch_sub(1, std::memory_order_relaxed);
  if (last) connections_.notify();
}

bool ConnectionRegistry::stopping() {
  return connections_.with([](Connections& connections) { return connections.stopping; });
}

void ConnectionRegistry::linger(tcp::socket& socket) {
  boost::system::error_code ignored;
  socket.shutdown(tcp::socket::shutdown_send, ignored);
  expect_end(socket);
}

void ConnectionRegistry::expect_end(tcp::socket& socket) {
  keep(socket);
  set_deadline(socket, std::chrono::steady_clock::now() + std::chrono::milliseconds(limits_.linger_ms));
}

void ConnectionRegistry::expect_progress(tcp::socket& socket) {
  set_deadline(socket, std::chrono::steady_clock::now() + std::chrono::milliseconds(limits_.stall_ms));
}

void ConnectionRegistry::keep(tcp::socket& socket) {
  connections_.with([&](Connections& connections) { connections.deadlines[socket.native_handle()] = Time::max(); });
}

// The earlier one stands.
void ConnectionRegistry::set_deadline(tcp::socket& socket, Time deadline) {
  connections_.with([&](Connections& connections) {
    Time& current = connections.deadlines[socket.native_handle()];
    current = std::min(current, deadline);
  });
}

void ConnectionRegistry::begin_stop() {
  connections_.with([](Connections& connections) { connections.stopping = true; });
  shut_down_all(SHUT_RD);
}

void ConnectionRegistry::wait_until_empty() {
  const auto empty = [](const Connections& connections) { return connections.deadlines.empty(); };
  if (connections_.wait_for(std::chrono::milliseconds(limits_.drain_ms), empty)) return;
  spdlog::warn("clients did not take their replies in {} ms, closing their connections", limits_.drain_ms);
  shut_down_all(SHUT_RDWR);
  connections_.when(empty, [](Connections&) {});
}

// Under the lock a descriptor cannot be closed and given to somebody else.
void ConnectionRegistry::shut_down_all(int how) {
  connections_.with([&](Connections& connections) {
    for (const auto& [descriptor, deadline] : connections.deadlines) ::shutdown(descriptor, how);
  });
}

void ConnectionRegistry::sweep() {
  constexpr auto interval = std::chrono::milliseconds(250);
  while (!connections_.wait_for(interval, [](const Connections& connections) { return !connections.sweeping; }))
    connections_.with([now = std::chrono::steady_clock::now()](Connections& connections) {
      for (auto& [descriptor, deadline] : connections.deadlines)
        if (deadline <= now) ::shutdown(descriptor, SHUT_RDWR);
    });
}

}  // namespace exchange
