#pragma once
// The frames of a WebSocket below Beast (RFC 6455, 5.2): FrameStream buffers them in each
// direction. Owner: the connection. Thread: that of connections.

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/buffer_traits.hpp>
#include <boost/beast/core/buffers_range.hpp>
#include <boost/beast/websocket/teardown.hpp>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "net/any_stream.hpp"

namespace exchange {

// Appends a text message of a server as one frame (RFC 6455, 5.2).
inline void append_frame(std::string_view text, std::string& frames) {
  constexpr char final_text = '\x81';
  constexpr std::size_t short_max = 125;
  constexpr unsigned two_bytes = 126, eight_bytes = 127;
  const std::uint64_t size = text.size();
  const unsigned bytes = size <= short_max ? 0 : size <= UINT16_MAX ? 2 : 8;
  frames += final_text;
  frames += char(bytes == 0 ? size : bytes == 2 ? two_bytes : eight_bytes);
  for (unsigned byte = bytes; byte-- > 0;) frames += char(size >> 8 * byte);
  frames += text;
}

// The connection below a WebSocket, with a buffer in each direction: Beast's operations take a turn
// of the event loop, and a write of Beast a system call, for each message.
class FrameStream : public AnyStream {
 public:
  FrameStream(AnyStream stream, std::string arrived)
      : AnyStream(std::move(stream)), arrived_(std::move(arrived)) {}
  // Reports that the WebSocket is over, before Beast waits up to 30 s until the client closes TCP.
  std::function<void()> on_over;

  // Returns true if a whole message of at most `bytes_max` has arrived: the WebSocket then reads it
  // without waiting. Control frames, fragments and errors take Beast's usual way, and so does TLS.
  bool has_message(std::size_t bytes_max) const {
    constexpr unsigned char final_text = 0x81, final_binary = 0x82;
    const std::optional<Frame> frame = first_frame();
    return frame && frame->size <= bytes_max && arrived().size() >= frame->bytes() &&
           frame->is_masked && (frame->kind == final_text || frame->kind == final_binary) &&
           handed_out_ == 0 && !is_secure();
  }

  // A read returns bytes of one frame, so that what follows stays here.
  template <class Buffers, class Token>
  auto async_read_some(const Buffers& buffers, Token&& token) {
    return boost::asio::async_initiate<Token, void(Error, std::size_t)>(
        [](auto handler, FrameStream* self, boost::asio::mutable_buffer into) {
          self->start_read(into, IoHandler{std::move(handler)});
        },
        token, this, first_of(buffers));
  }
  template <class Buffers>
  std::size_t read_some(const Buffers& buffers, Error& error) {
    error = {};
    return read_some(buffers);
  }
  template <class Buffers>
  std::size_t read_some(const Buffers& buffers) {
    return hand_out(first_of(buffers));
  }

  // Writes of Beast and of the channel go to one queue, each of them whole.
  template <class Buffers, class Token>
  auto async_write_some(const Buffers& buffers, Token&& token) {
    return boost::asio::async_initiate<Token, void(Error, std::size_t)>(
        [](auto handler, FrameStream* self, const Buffers& from) {
          self->write(from, IoHandler{std::move(handler)});
        },
        token, this, buffers);
  }
  // Beast closes with it if a message that it reads without waiting is not valid.
  template <class Buffers>
  std::size_t write_some(const Buffers& buffers, Error& error) {
    error = {};
    return write_some(buffers);
  }
  template <class Buffers>
  std::size_t write_some(const Buffers& buffers) {
    return write(buffers, {[](Error, std::size_t) {}});
  }

  // Waits until the client closes TCP.
  template <class Token>
  auto async_wait_for_end(Token&& token) {
    return boost::asio::async_initiate<Token, void(Error)>(
        [](auto handler, FrameStream* self) {
          async_teardown(boost::beast::role_type::server, *self, std::move(handler));
        },
        token, this);
  }
  // Beast finds them by argument-dependent lookup.
  template <class Handler>
  friend void async_teardown(boost::beast::role_type role, FrameStream& stream, Handler&& handler) {
    if (stream.on_over) stream.on_over();
    async_teardown(role, static_cast<AnyStream&>(stream), std::forward<Handler>(handler));
  }
  friend void teardown(boost::beast::role_type, FrameStream& stream, Error&) {
    if (stream.on_over) stream.on_over();
  }

 private:
  // What the header of a frame says.
  struct Frame {
    unsigned char kind;  // its first byte
    bool is_masked;
    std::size_t header_bytes;
    std::uint64_t size;  // of the payload
    std::size_t bytes() const { return header_bytes + std::size_t(size); }
  };

  std::string_view arrived() const { return std::string_view(arrived_).substr(taken_); }
  // Returns nothing if its header has not arrived.
  std::optional<Frame> first_frame() const {
    const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(arrived()[at]); };
    constexpr unsigned masked = 0x80, two_bytes = 126, eight_bytes = 127;
    if (arrived().size() < 2) return {};
    Frame frame{byte(0), (byte(1) & masked) != 0, 2, byte(1) & ~masked};
    const unsigned bytes = frame.size == two_bytes ? 2 : frame.size == eight_bytes ? 8 : 0;
    frame.header_bytes += bytes + (frame.is_masked ? 4 : 0);
    if (arrived().size() < frame.header_bytes) return {};
    if (bytes > 0) frame.size = 0;
    for (unsigned i = 0; i < bytes; ++i) frame.size = frame.size << 8 | byte(2 + i);
    return frame;
  }

  void start_read(boost::asio::mutable_buffer into, IoHandler handler) {
    if (const std::size_t bytes = hand_out(into); bytes > 0 || into.size() == 0)
      return boost::asio::post(
          get_executor(), [handler = std::move(handler), bytes]() mutable { handler({}, bytes); });
    constexpr std::size_t read_max = 4'096;
    arrived_.erase(0, std::exchange(taken_, 0));
    const std::size_t before = arrived_.size();
    arrived_.resize(before + read_max);
    AnyStream::async_read_some(
        boost::asio::buffer(arrived_.data() + before, read_max),
        [this, before, into, handler = std::move(handler)](Error error, std::size_t read) mutable {
          arrived_.resize(before + read);
          if (error) return handler(error);
          const std::size_t bytes = hand_out(into);
          if (bytes > 0) return handler({}, bytes);
          start_read(into, std::move(handler));
        });
  }
  // Returns the number of bytes; 0 if the header of the next frame has not arrived.
  std::size_t hand_out(boost::asio::mutable_buffer into) {
    if (handed_out_ == 0) {
      const std::optional<Frame> frame = first_frame();
      if (!frame) return 0;
      left_of_frame_ = frame->bytes();
    }
    const std::size_t bytes = std::min({into.size(), left_of_frame_, arrived().size()});
    std::memcpy(into.data(), arrived().data(), bytes);
    taken_ += bytes;
    left_of_frame_ -= bytes;
    handed_out_ = left_of_frame_ == 0 ? 0 : handed_out_ + bytes;
    if (taken_ == arrived_.size()) {
      arrived_.clear();
      taken_ = 0;
    }
    return bytes;
  }

  template <class Buffers>
  std::size_t write(const Buffers& from, IoHandler handler) {
    const std::size_t bytes = boost::beast::buffer_bytes(from);
    for (const boost::asio::const_buffer piece : boost::beast::buffers_range_ref(from))
      queued_.append(static_cast<const char*>(piece.data()), piece.size());
    handlers_.emplace_back(std::move(handler), bytes);
    if (sending_.empty()) send_queued();
    return bytes;
  }
  void send_queued() {
    sending_ = std::exchange(queued_, {});
    boost::asio::async_write(
        static_cast<AnyStream&>(*this), boost::asio::buffer(sending_),
        [this, handlers = std::exchange(handlers_, {})](Error error, std::size_t) mutable {
          sending_.clear();
          if (!queued_.empty()) send_queued();
          for (auto& [handler, bytes] : handlers) handler(error, error ? 0 : bytes);
        });
  }

  std::string arrived_;  // behind `taken_` bytes that the WebSocket has
  std::size_t taken_ = 0, handed_out_ = 0, left_of_frame_ = 0;  // the last two: of one frame
  std::string queued_, sending_;
  std::vector<std::pair<IoHandler, std::size_t>> handlers_;  // of what is queued
};

}  // namespace exchange
