#pragma once
// An HTTP port in this process that answers as a test chooses, /ws included. One thread per
// connection.

#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/websocket.hpp>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "support/local_port.hpp"

namespace exchange::testing {

class HttpStub {
 public:
  struct Answer {
    unsigned status = 200;
    std::string body;
  };
  using OnGet = std::function<Answer(const std::string& target)>;
  // Returns the texts to send after a received text; if the last one is empty, the connection is
  // then closed.
  using OnText = std::function<std::vector<std::string>(const std::string& text)>;

  explicit HttpStub(OnGet on_get, OnText on_text = {})
      : on_get_(std::move(on_get)), on_text_(std::move(on_text)) {}
  std::string address() const { return port_.address(); }
  // Returns all requests in order: targets and texts.
  std::vector<std::string> asked() const {
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
  std::vector<std::string> asked_;
  LocalPort port_{[this](tcp::socket socket) { serve(std::move(socket)); }};
};

}  // namespace exchange::testing
