#include "net/any_stream.hpp"

#include <boost/beast/websocket/ssl.hpp>
#include <boost/beast/websocket/teardown.hpp>

#include "net/stream.hpp"

namespace exchange {

namespace asio = boost::asio;
namespace beast = boost::beast;

class AnyStream::Layers : public Stream<AnyStream::Socket> {
 public:
  using Stream::Stream;
};

AnyStream::AnyStream(Socket socket, asio::ssl::context* context)
    : layers_(std::make_unique<Layers>(std::move(socket), context)) {}
AnyStream::~AnyStream() = default;
AnyStream::AnyStream(AnyStream&&) noexcept = default;

AnyStream::executor_type AnyStream::get_executor() { return layers_->get_executor(); }
AnyStream::Socket& AnyStream::socket() { return layers_->next_layer(); }
bool AnyStream::is_secure() const { return layers_->is_secure(); }
SSL* AnyStream::native_tls() { return layers_->secure().native_handle(); }

void AnyStream::close() {
  boost::system::error_code ignored;
  socket().close(ignored);
}

void AnyStream::start_handshake(Side side, IoHandler handler) {
  layers_->secure().async_handshake(
      side == Side::server ? asio::ssl::stream_base::server : asio::ssl::stream_base::client,
      std::move(handler));
}
void AnyStream::start_shutdown(IoHandler handler) {
  layers_->secure().async_shutdown(std::move(handler));
}
void AnyStream::start_read(asio::mutable_buffer buffer, IoHandler handler) {
  layers_->async_read_some(buffer, std::move(handler));
}
void AnyStream::start_read_raw(asio::mutable_buffer buffer, IoHandler handler) {
  layers_->next_layer().async_read_some(buffer, std::move(handler));
}
void AnyStream::start_write(const WriteBuffers& buffers, IoHandler handler) {
  layers_->async_write_some(buffers, std::move(handler));
}
void AnyStream::start_teardown(beast::role_type role, IoHandler handler) {
  using beast::async_teardown;
  using beast::websocket::async_teardown;
  if (layers_->is_secure())
    async_teardown(role, layers_->secure(), std::move(handler));
  else
    async_teardown(role, layers_->next_layer(), std::move(handler));
}

}  // namespace exchange
