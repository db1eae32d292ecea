#include "dashboard/http_server.hpp"

#include <pthread.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

namespace exchange {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
constexpr auto use_tuple = asio::as_tuple(asio::use_awaitable);

constexpr auto idle_time_max = std::chrono::seconds(30);
constexpr int connections_max = 32;
constexpr std::size_t body_bytes_max = 1024;  // no request here needs a body

http::response<http::string_body> answer(const http::request<http::string_body>& request, const Metrics& metrics) {
  http::response<http::string_body> response{http::status::ok, request.version()};
  response.keep_alive(request.keep_alive());
  response.set(http::field::content_type, "text/plain; charset=utf-8");
  const std::string target(request.target().substr(0, request.target().find('?')));
  const bool known = target == "/healthz" || target == "/readyz" || target == "/metrics";
  if (!known) {
    response.result(http::status::not_found);
    response.body() = "not found; there are /healthz, /readyz and /metrics\n";
  } else if (request.method() != http::verb::get && request.method() != http::verb::head) {
    response.result(http::status::method_not_allowed);
    response.set(http::field::allow, "GET, HEAD");
    response.body() = "only GET and HEAD\n";
  } else if (target == "/healthz") {
    response.body() = "alive\n";
  } else if (target == "/readyz") {
    const bool ready = metrics.store_available;
    if (!ready) response.result(http::status::service_unavailable);
    response.body() = ready ? "ready\n" : "the store is away\n";
  } else {
    response.set(http::field::content_type, "text/plain; version=0.0.4");
    response.body() = prometheus_text(metrics);
  }
  response.content_length(response.body().size());
  if (request.method() == http::verb::head) response.body().clear();
  return response;
}

asio::awaitable<void> serve(tcp::socket socket, const Metrics& metrics, [[maybe_unused]] std::shared_ptr<void> counted) {
  beast::tcp_stream stream(std::move(socket));
  beast::flat_buffer buffer;
  for (bool keep_alive = true; keep_alive;) {
    stream.expires_after(idle_time_max);
    http::request_parser<http::string_body> parser;
    parser.body_limit(body_bytes_max);
    const auto [read_error, read_bytes] = co_await http::async_read(stream, buffer, parser, use_tuple);
    if (read_error) break;
    const auto response = answer(parser.get(), metrics);
    keep_alive = response.keep_alive();
    const auto [write_error, write_bytes] = co_await http::async_write(stream, response, use_tuple);
    if (write_error) break;
  }
  boost::system::error_code ignored;
  stream.socket().shutdown(tcp::socket::shutdown_send, ignored);
}

asio::awaitable<void> accept(tcp::acceptor& acceptor, const Metrics& metrics) {
  int connections = 0;
  while (true) {
    auto [error, socket] = co_await acceptor.async_accept(use_tuple);
    if (error == asio::error::operation_aborted) co_return;
    if (!error) {
      if (connections >= connections_max) continue;  // closes it: trading clients need the descriptors
      std::shared_ptr<void> counted(&++connections, [&connections](void*) { --connections; });
      asio::co_spawn(acceptor.get_executor(), serve(std::move(socket), metrics, std::move(counted)), asio::detached);
      continue;
    }
    asio::steady_timer pause(acceptor.get_executor(), std::chrono::milliseconds(100));  // no descriptors
    co_await pause.async_wait(use_tuple);
  }
}

}  // namespace

class HttpServer::State {
 public:
  State(const std::string& bind, std::uint16_t port, const Metrics& metrics) {
    const tcp::endpoint endpoint(asio::ip::make_address(bind), port);
    acceptor_.open(endpoint.protocol());
    acceptor_.set_option(tcp::acceptor::reuse_address(true));
    boost::system::error_code error;
    acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (error) throw std::system_error(error, "cannot listen for HTTP on " + bind + ":" + std::to_string(port));
    port_ = acceptor_.local_endpoint().port();
    asio::co_spawn(context_, accept(acceptor_, metrics), asio::detached);
    thread_ = std::thread([this] {
      pthread_setname_np(pthread_self(), "http");
      context_.run();
    });
  }
  ~State() {
    context_.stop();
    thread_.join();
  }
  std::uint16_t port() const { return port_; }

 private:
  asio::io_context context_{1};
  tcp::acceptor acceptor_{context_};
  std::uint16_t port_ = 0;
  std::thread thread_;
};

HttpServer::HttpServer(const std::string& bind, std::uint16_t port, const Metrics& metrics)
    : state_(std::make_unique<State>(bind, port, metrics)) {}
HttpServer::~HttpServer() = default;
std::uint16_t HttpServer::port() const { return state_->port(); }

namespace {

// 1, 1.5, 2, 3, 5, 7 of each decade from a microsecond to ten seconds.
std::vector<double> stage_bounds_us() {
  std::vector<double> bounds;
  for (double decade = 1; decade < 1e7; decade *= 10)
    for (const double step : {1.0, 1.5, 2.0, 3.0, 5.0, 7.0}) bounds.push_back(decade * step);
  bounds.push_back(1e7);
  return bounds;
}

std::string stage_text(const StageHistograms& stage_times) {
  static const std::vector<double> bounds_us = stage_bounds_us();
  const std::string name = "exchange_stage_seconds";
  std::string text = "# HELP " + name + " Time of sampled requests in each stage.\n# TYPE " + name + " histogram\n";
  for (std::size_t i = 0; i < stages; ++i) {
    const Histogram histogram = stage_times.nanoseconds(Stage(i));
    std::vector<std::uint64_t> counts(bounds_us.size());
    histogram.for_each([&](std::uint64_t highest_ns, std::uint64_t count) {
      const auto bound = std::lower_bound(bounds_us.begin(), bounds_us.end(), double(highest_ns) / 1e3);
      if (bound != bounds_us.end()) counts[std::size_t(bound - bounds_us.begin())] += count;
    });
    const std::string stage = "{stage=\"" + std::string(stage_names[i]) + "\"";
    const auto add = [&](const std::string& labels, double value) {
      char number[32];
      std::snprintf(number, sizeof number, "%.15g", value);
      text += name + labels + " " + number + "\n";
    };
    std::uint64_t below = 0;
    for (std::size_t b = 0; b < bounds_us.size(); ++b) {
      char bound[32];
      std::snprintf(bound, sizeof bound, "%g", bounds_us[b] / 1e6);
      add("_bucket" + stage + ",le=\"" + bound + "\"}", double(below += counts[b]));
    }
    add("_bucket" + stage + ",le=\"+Inf\"}", double(histogram.count()));
    add("_sum" + stage + "}", double(histogram.sum()) / 1e9);
    add("_count" + stage + "}", double(histogram.count()));
  }
  return text;
}

}  // namespace

std::string prometheus_text(const Metrics& metrics) {
  std::string text;
  const auto add = [&](const std::string& name, const char* type, const char* help, std::uint64_t value) {
    text += "# HELP exchange_" + name + " " + help + "\n# TYPE exchange_" + name + " " + type + "\nexchange_" + name + " " +
            std::to_string(value) + "\n";
  };
  add("requests_total", "counter", "Requests received, refused ones included.", metrics.requests);
  add("bad_frames_total", "counter", "Connections closed for bad framing.", metrics.bad_frames);
  add("connections", "gauge", "Open connections.", metrics.connections);
  add("connections_accepted_total", "counter", "Connections accepted.", metrics.connections_accepted);
  add("connections_refused_total", "counter", "Connections refused at the limit.", metrics.connections_refused);
  add("accept_failures_total", "counter", "Failures to accept, such as no descriptors.", metrics.accept_failures);
  add("commands_total", "counter", "Commands applied, queries and refusals included.", metrics.commands);
  add("commands_refused_total", "counter", "Commands refused by the engine.", metrics.commands_refused);
  add("batches_total", "counter", "Batches applied.", metrics.batches);
  add("batches_committed_total", "counter", "Batches that changed state and were committed.", metrics.batches_committed);
  add("journal_bytes_total", "counter", "Bytes of journal payload committed.", metrics.journal_bytes);
  add("commit_microseconds_total", "counter", "Time spent in commits.", metrics.commit_us);
  add("journal_batch", "gauge", "Newest committed batch.", metrics.batch);
  add("projected_batch", "gauge", "Batch up to which the tables are true.", metrics.projected_batch);
  add("orders_in_memory", "gauge", "Orders open or not projected yet.", metrics.orders_in_memory);
  add("orders_read_total", "counter", "Closed orders read from the tables.", metrics.orders_read);
  add("lag_waits_total", "counter", "Times the core waited for the tables to catch up.", metrics.lag_waits);
  add("store_failures_total", "counter", "Failed operations of the store.", metrics.store_failures);
  add("store_available", "gauge", "1 while the store is reachable.", metrics.store_available ? 1 : 0);
  return text + stage_text(metrics.stage_times) + "# EOF\n";
}

}  // namespace exchange
