#pragma once
// AnyStream is a connection with TLS or without, as one type that is not a
// template: Beast's operations are compiled once for it, and the operations of TLS and of plain TCP
// below are compiled in any_stream.cpp only. The HTTP port and clients use it. An operation costs
// one allocation more than one of Stream, which the XML port of the server uses.
// Owner: the coroutine or function that serves the connection. Thread: that of the executor, on
// which every handler runs; one operation at a time in each direction.

#include <array>
#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/beast/core/role.hpp>
#include <memory>
#include <utility>

namespace exchange {

// A completion handler of any type, but without its executor, to which Beast cannot post. It is
// called once, or destroyed with its context without a call.
struct IoHandler {
  using Error = boost::system::error_code;
  // `handler` takes an error.
  template <class Handler>
  static IoHandler without_bytes(Handler handler) {
    return {[handler = std::move(handler)](Error error, std::size_t) mutable { handler(error); }};
  }
  void operator()(Error error, std::size_t bytes = 0) { held(error, bytes); }

  boost::asio::any_completion_handler<void(Error, std::size_t)> held;
};

class AnyStream {
 public:
  using executor_type = boost::asio::any_io_executor;
  using Error = boost::system::error_code;
  using Socket = boost::asio::generic::stream_protocol::socket;
  enum class Side { server, client };

  // If `context` is null, the stream does not use TLS. The stream keeps what it needs of the
  // context.
  explicit AnyStream(Socket socket, boost::asio::ssl::context* context = nullptr);
  ~AnyStream();
  AnyStream(AnyStream&&) noexcept;

  executor_type get_executor();
  Socket& socket();
  bool is_secure() const;
  SSL* native_tls();  // of a secure stream

  // Closes the socket immediately; operations under way fail.
  void close();

  // Requires: a secure stream. The handler takes an error.
  template <class Token>
  auto async_handshake(Side side, Token&& token) {
    return boost::asio::async_initiate<Token, void(Error)>(
        [](auto handler, AnyStream* self, Side as) {
          self->start_handshake(as, IoHandler::without_bytes(std::move(handler)));
        },
        token, this, side);
  }
  // Requires: a secure stream. Sends the TLS end of the stream and waits for that of the other
  // side.
  template <class Token>
  auto async_shutdown(Token&& token) {
    return boost::asio::async_initiate<Token, void(Error)>(
        [](auto handler, AnyStream* self) {
          self->start_shutdown(IoHandler::without_bytes(std::move(handler)));
        },
        token, this);
  }

  // This operation and async_write_some() are those of Asio's AsyncReadStream and AsyncWriteStream.
  template <class Buffers, class Token>
  auto async_read_some(const Buffers& buffers, Token&& token) {
    return boost::asio::async_initiate<Token, void(Error, std::size_t)>(
        [](auto handler, AnyStream* self, const Buffers& into) {
          self->start_read(first_of(into), IoHandler{std::move(handler)});
        },
        token, this, buffers);
  }
  // Reads below TLS, to discard what arrives after the end of the stream.
  template <class Token>
  auto async_read_raw(boost::asio::mutable_buffer buffer, Token&& token) {
    return boost::asio::async_initiate<Token, void(Error, std::size_t)>(
        [](auto handler, AnyStream* self, boost::asio::mutable_buffer into) {
          self->start_read_raw(into, IoHandler{std::move(handler)});
        },
        token, this, buffer);
  }
  template <class Buffers, class Token>
  auto async_write_some(const Buffers& buffers, Token&& token) {
    return boost::asio::async_initiate<Token, void(Error, std::size_t)>(
        [](auto handler, AnyStream* self, const Buffers& from) {
          self->start_write(WriteBuffers(from), IoHandler{std::move(handler)});
        },
        token, this, buffers);
  }

 protected:
  // Returns the first buffer with room: a read may return fewer bytes than requested.
  template <class Buffers>
  static boost::asio::mutable_buffer first_of(const Buffers& buffers) {
    const auto end = boost::asio::buffer_sequence_end(buffers);
    for (auto at = boost::asio::buffer_sequence_begin(buffers); at != end; ++at)
      if (const boost::asio::mutable_buffer one(*at); one.size() > 0) return one;
    return {};
  }

 private:
  // The first buffers of a sequence, as one type. A response has about six.
  class WriteBuffers {
   public:
    template <class Buffers>
    explicit WriteBuffers(const Buffers& buffers) {
      const auto end = boost::asio::buffer_sequence_end(buffers);
      for (auto at = boost::asio::buffer_sequence_begin(buffers); at != end && count_ < max; ++at)
        if (const boost::asio::const_buffer one(*at); one.size() > 0) all_[count_++] = one;
    }
    const boost::asio::const_buffer* begin() const { return all_.data(); }
    const boost::asio::const_buffer* end() const { return all_.data() + count_; }

   private:
    static constexpr std::size_t max = 16;
    std::array<boost::asio::const_buffer, max> all_;
    std::size_t count_ = 0;
  };

  void start_handshake(Side side, IoHandler handler);
  void start_shutdown(IoHandler handler);
  void start_read(boost::asio::mutable_buffer buffer, IoHandler handler);
  void start_read_raw(boost::asio::mutable_buffer buffer, IoHandler handler);
  void start_write(const WriteBuffers& buffers, IoHandler handler);
  void start_teardown(boost::beast::role_type role, IoHandler handler);
  friend void beast_close_socket(AnyStream& stream) { stream.close(); }
  template <class Handler>
  friend void async_teardown(boost::beast::role_type role, AnyStream& stream, Handler&& handler) {
    stream.start_teardown(role, IoHandler::without_bytes(std::forward<Handler>(handler)));
  }

  class Layers;  // TLS and TCP
  std::unique_ptr<Layers> layers_;
};

}  // namespace exchange
