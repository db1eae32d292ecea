#pragma once
// A user of the terminal client in tests, who runs lines and compares what they print, and an HTTP
// port that answers as a test chooses.

#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/websocket.hpp>
#include <functional>
#include <mutex>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "client/cli/shell.hpp"
#include "support/edited_server.hpp"
#include "support/local_port.hpp"

namespace exchange::testing {

using namespace exchange::cli;
using Lines = std::vector<std::string>;

// An HTTP port in this process, /ws included. One thread per connection.
class HttpStub {
 public:
  struct Answer {
    unsigned status = 200;
    std::string body;
  };
  using OnGet = std::function<Answer(const std::string& target)>;
  // Returns the texts to send after a received text; if the last one is empty, the connection is
  // then closed.
  using OnText = std::function<Lines(const std::string& text)>;

  explicit HttpStub(OnGet on_get, OnText on_text = {})
      : on_get_(std::move(on_get)), on_text_(std::move(on_text)) {}
  std::string address() const { return port_.address(); }
  // Returns all requests in order: targets and texts.
  Lines asked() const {
    const std::lock_guard lock(mutex_);
    return asked_;
  }

 private:
  using tcp = LocalPort::tcp;

  void note(const std::string& what) {
    const std::lock_guard lock(mutex_);
    asked_.push_back(what);
  }

  void serve(tcp::socket socket) {
    namespace http = boost::beast::http;
    boost::beast::flat_buffer buffer;
    http::request<http::string_body> request;
    http::read(socket, buffer, request);
    note(std::string(request.target()));
    if (boost::beast::websocket::is_upgrade(request) && request.target() == "/ws" && on_text_)
      return serve_websocket(std::move(socket), request);
    const Answer answer = on_get_(std::string(request.target()));
    http::response<http::string_body> response{http::status(answer.status), 11};
    response.set(http::field::content_type, "application/json");
    response.body() = answer.body;
    response.keep_alive(false);
    response.prepare_payload();
    http::write(socket, response);
  }

  template <class Request>
  void serve_websocket(tcp::socket socket, const Request& request) {
    boost::beast::websocket::stream<tcp::socket> stream(std::move(socket));
    stream.accept(request);
    while (true) {
      boost::beast::flat_buffer buffer;
      stream.read(buffer);
      const std::string text = boost::beast::buffers_to_string(buffer.data());
      note(text);
      stream.text(true);
      for (const std::string& message : on_text_(text)) {
        if (message.empty()) return stream.close(boost::beast::websocket::close_code::going_away);
        stream.write(boost::asio::buffer(message));
      }
    }
  }

  const OnGet on_get_;
  const OnText on_text_;
  mutable std::mutex mutex_;
  Lines asked_;
  LocalPort port_{[this](tcp::socket socket) { serve(std::move(socket)); }};
};

inline HttpStub::Answer answer(const std::string& target) {
  if (target == "/api/books/SPY?levels=10")
    return {200, R"({"symbol": "SPY", "sequence": 3, "bids": [["145.67", "60", 1]], "asks": []})"};
  if (target == "/api/symbols")
    return {
        200,
        R"({"batch": 1, "symbols": [{"symbol": "SPY"}, {"symbol": "SPQR"}, {"symbol": "ABC"}]})"};
  if (target.starts_with("/api/books/")) return {404, R"({"error": "unknown symbol"})"};
  return {404, "not found\n"};
}

inline const std::string set_up =
    "create account 1 100000\ncreate account 2 0\ncreate symbol SPY 2=500\n";

// A runner and what it printed.
struct Seat {
  explicit Seat(const std::string& connect = "127.0.0.1:1", const std::string& http = "127.0.0.1:1",
                double timeout_s = 30, bool retry = false) {
    settings.connect = connect;
    settings.retry = retry;
    settings.http = http;
    settings.account = "1";
    settings.timeout_s = settings.completion_timeout_s = timeout_s;
    settings.completion_fresh_s = 3'600;
    runner.emplace(settings, console, stop);
  }
  int run(const std::string& line) { return runner->run_line(line); }
  int script(const std::string& lines) {
    std::istringstream in(lines);
    return run_script(*runner, in);
  }
  // Runs a line that must end with `status` and print these words only.
  void run(const std::string& line, int status, const std::string& out,
           const std::string& err = "") {
    INFO(line);
    CHECK(run(line) == status);
    CHECK(said() == out);
    CHECK(complained() == err);
  }
  // Sets up the market and then runs these lines.
  void start(const std::string& lines = "") {
    REQUIRE(script(set_up + lines) == exit_ok);
    said();
  }
  std::string said() { return std::exchange(said_, {}).str(); }
  std::string complained() { return std::exchange(complained_, {}).str(); }

  std::ostringstream said_, complained_;
  Console console{said_, complained_, {}};
  client::StopFlag stop{false};
  Settings settings;
  std::optional<Runner> runner;
};

inline std::optional<std::string> honest(std::string reply, unsigned) { return reply; }

// Uses an honest exchange of its own.
struct Honest {
  EditedServer server{honest};
};
struct Trader : private Honest, Seat {
  explicit Trader(const std::string& http = "127.0.0.1:1") : Seat(server.address(), http) {}
};

}  // namespace exchange::testing
