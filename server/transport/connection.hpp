#pragma once
// One client under an event queue: the coroutine that pool and loop share.

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <functional>
#include <memory>
#include <utility>

#include "core/service.hpp"
#include "protocol/session.hpp"
#include "transport/listener.hpp"

namespace exchange {

struct Connection;

// Where coroutines run: hands submissions to the service and resumes their connections.
class Host {
 public:
  virtual void submit(Connection& connection) = 0;

 protected:
  ~Host() = default;
};

// Has one operation under way at any time, so that it needs no strand also where many threads run it.
struct Connection : Submission {
  Connection(tcp::socket socket_, const Options& options, Host& host_) : socket(std::move(socket_)), session(options.protocol), host(host_) {}

  // What resumes the coroutine that waits for this submission.
  struct Waiter {
    virtual ~Waiter() = default;
    virtual void resume() = 0;
  };

  tcp::socket socket;
  Session session;
  Host& host;
  std::unique_ptr<Waiter> waiter;
};

// Called by the host, on a thread that runs the connection's executor.
inline void resume(Connection& connection) { std::exchange(connection.waiter, nullptr)->resume(); }

// Serves the client to its end, then deregisters and closes the socket.
boost::asio::awaitable<void> serve(std::shared_ptr<Connection> connection, ConnectionRegistry& registry, Metrics& metrics);

// Accepts until the acceptor is closed. `welcome` gets each socket that was added to the registry.
boost::asio::awaitable<void> accept_clients(tcp::acceptor& acceptor, ConnectionRegistry& registry, const TransportLimits& limits,
                                            Metrics& metrics, std::function<void(tcp::socket)> welcome);

}  // namespace exchange
