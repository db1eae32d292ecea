#include "support/in_process_server.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace exchange::testing {
namespace {

[[noreturn]] void fatal(const std::string& why) {
  std::fprintf(stderr, "core failed: %s\n", why.c_str());
  std::abort();
}

}  // namespace

InProcessServer::InProcessServer() {
  options.net.port = 0;
  options.http_port = 0;
  options.http_bind = options.net.bind;
  options.net.threads = 2;
  options.store = "memory:";
  options.state = {};  // no limits
  store.open();
}

InProcessServer::InProcessServer(Policy policy, const std::function<void(Options&)>& adjust)
    : InProcessServer() {
  options.net.policy = policy;
  if (policy == Policy::pool) options.net.threads = 3;
  options.http_port.reset();
  if (adjust) adjust(options);
  options.protocol.keys = options.auth.required;
  start();
}

void InProcessServer::start() {
  server.reset();
  Clock& clock = options.http_port && !clock_stands_still ? system_clock() : clock_;
  const Server::Surroundings surroundings{store, clock, metrics, keys};
  server = std::make_unique<Server>(options, surroundings, fatal);
  server->load();
  server->serve();
}

long long InProcessServer::stop() {
  const auto start = std::chrono::steady_clock::now();
  server->stop();
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() -
                                                               start)
      .count();
}

}  // namespace exchange::testing
