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
  store.open();
}

InProcessServer::InProcessServer(Policy policy, const std::function<void(Options&)>& adjust)
    : InProcessServer() {
  options.net.policy = policy;
  options.net.threads = policy == Policy::pool ? 3 : 2;
  if (adjust) adjust(options);
  options.protocol.keys = options.auth.required;
  start({.xml = true});
}

void InProcessServer::start(Ports ports) {
  core.reset();
  http.reset();
  transport.reset();
  if (options.tls.enabled()) certificate = std::make_unique<Certificate>(options.tls, metrics);
  Recovered recovered = recover(store);
  MarketView view(options.http.trades_kept_max, options.http.trades_in_all_max, 1);
  OnProjected on_projected;
  if (ports.http) {
    view.load(recovered.tables, recovered.last_batch - recovered.batches_replayed,
              store.newest_executions(options.http.trades_loaded_max));
    feed.emplace(options.http.unread_rows_max);
    on_projected = [this](const Rows& rows, BatchNumber batch) { feed->push(rows, batch); };
  }
  Clock& clock = ports.http ? system_clock() : clock_;
  core = std::make_unique<Core>(std::move(recovered), store, clock, options.core, metrics, fatal,
                                std::move(on_projected));
  if (options.auth.required)
    authenticator = std::make_unique<Authenticator>(options.auth, keys, metrics);
  if (ports.http)
    http = std::make_unique<HttpServer>(
        HttpOptions{options.net.bind, *options.http_port, options.http, options.protocol},
        ServerInfo{"loop", "2", "memory", "test", 1'234}, *feed, store, metrics,
        authenticator.get(), certificate.get());
  if (http) {
    http->show(std::move(view));
    http->attach(*core);
  }
  if (ports.xml)
    transport = make_transport({.options = options.net,
                                .protocol = options.protocol,
                                .service = *core,
                                .metrics = metrics,
                                .authenticator = authenticator.get(),
                                .certificate = certificate.get()});
}

// A core thread may still be leaving a completed() of a transport or of HTTP: the core ends first.
InProcessServer::~InProcessServer() {
  stop();
  core.reset();
}

long long InProcessServer::stop() {
  const auto start = std::chrono::steady_clock::now();
  if (authenticator) authenticator->stop();
  if (http) http->stop();
  if (transport) transport->stop();
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() -
                                                               start)
      .count();
}

}  // namespace exchange::testing
