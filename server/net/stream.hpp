#pragma once
// Stream is a connection with TLS or without it; the same code serves both. Without TLS every call
// goes directly to the layer below. Owner: the connection. One operation at a time in each
// direction.

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <memory>
#include <optional>
#include <utility>

namespace exchange {

// A socket of TCP or of the UNIX domain.
using StreamSocket = boost::asio::generic::stream_protocol::socket;
using StreamAcceptor = boost::asio::basic_socket_acceptor<boost::asio::generic::stream_protocol>;

template <class Next>
class Stream {
 public:
  using next_layer_type = Next;
  using executor_type = typename Next::executor_type;
  using Secure = boost::asio::ssl::stream<Next>;
  using Error = boost::system::error_code;

  // If `context` is null, the stream does not use TLS. The context may end before the stream.
  explicit Stream(Next next, boost::asio::ssl::context* context = nullptr) {
    if (context == nullptr)
      plain_.emplace(std::move(next));
    else
      secure_ = std::make_unique<Secure>(std::move(next), *context);
  }

  bool is_secure() const { return secure_ != nullptr; }
  // Requires: a secure stream.
  Secure& secure() { return *secure_; }
  Next& next_layer() { return secure_ ? secure_->next_layer() : *plain_; }
  const Next& next_layer() const { return secure_ ? secure_->next_layer() : *plain_; }
  executor_type get_executor() { return next_layer().get_executor(); }

  template <class Buffers, class Token>
  auto async_read_some(const Buffers& buffers, Token&& token) {
    if (secure_) return secure_->async_read_some(buffers, std::forward<Token>(token));
    return plain_->async_read_some(buffers, std::forward<Token>(token));
  }
  template <class Buffers, class Token>
  auto async_write_some(const Buffers& buffers, Token&& token) {
    if (secure_) return secure_->async_write_some(buffers, std::forward<Token>(token));
    return plain_->async_write_some(buffers, std::forward<Token>(token));
  }
  template <class Buffers>
  std::size_t read_some(const Buffers& buffers, Error& error) {
    return secure_ ? secure_->read_some(buffers, error) : plain_->read_some(buffers, error);
  }
  template <class Buffers>
  std::size_t write_some(const Buffers& buffers, Error& error) {
    return secure_ ? secure_->write_some(buffers, error) : plain_->write_some(buffers, error);
  }

 private:
  std::optional<Next> plain_;
  std::unique_ptr<Secure> secure_;  // exactly one of the two is set
};

// Whether the other side sends no more. Under TLS it should have announced the end. If it only
// closed, the bytes before are equally valid: each request contains its own length.
inline bool is_end_of_stream(const boost::system::error_code& error) {
  return error == boost::asio::error::eof || error == boost::asio::ssl::error::stream_truncated;
}

}  // namespace exchange
