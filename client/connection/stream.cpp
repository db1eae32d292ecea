#include "client/connection/stream.hpp"

#include <openssl/ssl.h>
#include <poll.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/error.hpp>
#include <chrono>
#include <optional>

#include "client/connection/framing.hpp"
#include "net/any_stream.hpp"
#include "protocol/request_writer.hpp"

namespace exchange::client {
namespace {

namespace asio = boost::asio;
namespace ssl = asio::ssl;
using SystemError = boost::system::error_code;

constexpr std::size_t read_bytes_max = 16u << 10;  // at once
constexpr std::size_t excerpt_bytes_max = 300;     // bytes of a request or a bad reply in messages

ssl::context tls_context(const Security& security) {
  ssl::context context(ssl::context::tls_client);
  SSL_CTX_set_min_proto_version(context.native_handle(), TLS1_2_VERSION);
  context.set_verify_mode(security.insecure ? ssl::verify_none : ssl::verify_peer);
  SystemError error;
  if (security.ca.empty())
    context.set_default_verify_paths(error);
  else if (context.load_verify_file(security.ca, error))
    throw std::invalid_argument("--tls-ca " + security.ca + ": " + error.message());
  return context;
}

bool is_end(const SystemError& error) {
  return error == asio::error::eof || error == ssl::error::stream_truncated;
}

// Quotes a document on one line, shortened to excerpt_bytes_max.
std::string quoted(std::string_view document) {
  std::string text;
  for (const char c : document.substr(0, excerpt_bytes_max))
    if (!is_blank(c))
      text += c;
    else if (!text.empty() && text.back() != ' ')
      text += ' ';
  while (text.ends_with(' ')) text.pop_back();
  return text + (document.size() > excerpt_bytes_max ? " …" : "");
}

}  // namespace

struct Stream::Layers {
  Layers(int connected, ssl::context* tls) : stream(socket_of(io, connected), tls) {}
  static AnyStream::Socket socket_of(asio::io_context& io, int connected) {
    int family = AF_INET;
    socklen_t bytes = sizeof family;
    ::getsockopt(connected, SOL_SOCKET, SO_DOMAIN, &family, &bytes);
    return {io, asio::generic::stream_protocol(family, 0), connected};
  }

  asio::io_context io{1};
  AnyStream stream;
};

Stream::Stream(Descriptor connected, std::string peer, double timeout_s, const StopFlag& stop,
               const Security& security)
    : peer_(std::move(peer)), timeout_s_(timeout_s), stop_(&stop) {
  std::optional<ssl::context> tls;
  if (security.tls && !peer_.starts_with(unix_scheme)) tls = tls_context(security);
  layers_ = std::make_unique<Layers>(connected.release(), tls ? &*tls : nullptr);
  if (tls) tls_handshake(security);
}
Stream::~Stream() = default;
Stream::Stream(Stream&&) noexcept = default;
Stream& Stream::operator=(Stream&&) noexcept = default;

int Stream::socket() const { return layers_ ? layers_->stream.socket().native_handle() : -1; }

AnyStream Stream::release() { return std::move(layers_->stream); }

void Stream::tls_handshake(const Security& security) {
  const std::string host = host_of(peer_);
  SSL* const session = layers_->stream.native_tls();
  if (::SSL_set1_host(session, host.c_str()) != 1)  // accepts an IP address too
    throw Unreachable("no TLS with " + peer_ + ": no such name in a certificate");
  SystemError error;
  asio::ip::make_address(host, error);
  if (error) SSL_set_tlsext_host_name(session, host.c_str());

  bool done = false;
  layers_->stream.async_handshake(AnyStream::Side::client, [&](const SystemError& result) {
    error = result;
    done = true;
  });
  const auto fail = [&](const std::string& why) {
    throw Unreachable("no TLS with " + peer_ + ": " + why);
  };
  if (!run_until(done, timeout_s_)) fail("timeout");
  if (!error) return;
  if (const long verified = ::SSL_get_verify_result(session);
      !security.insecure && verified != X509_V_OK)
    fail(std::string("its certificate is not good: ") + ::X509_verify_cert_error_string(verified));
  fail(is_end(error) ? "the connection ended" : error.message());
}

bool Stream::run_until(const bool& done, double wait_s) {
  using Clock = std::chrono::steady_clock;
  constexpr Clock::duration stop_check = std::chrono::milliseconds(100);
  const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                           std::chrono::duration<double>(wait_s));
  while (!done) {
    if (*stop_) throw Interrupted();
    const Clock::duration left = deadline - Clock::now();
    if (left <= Clock::duration::zero()) return false;
    layers_->io.restart();
    layers_->io.run_one_for(std::min(left, stop_check));
  }
  return true;
}

void Stream::throw_timeout() const { throw NoReply("no reply from " + peer_ + ": timeout"); }

// A server that closes without a TLS close notification is accepted: each reply marks its own end.
void Stream::throw_ended(const SystemError& error) const {
  throw ConnectionEnded("no reply from " + peer_ + ": " +
                        (is_end(error) ? "it closed the connection" : error.message()));
}

std::string Stream::send_and_receive(std::string_view request,
                                     const std::function<bool(std::string_view)>& is_complete) {
  if (!layers_) throw_ended(asio::error::eof);
  std::string reply;
  char bytes[read_bytes_max];
  SystemError error;
  bool moved = false;
  struct Operations {
    std::unique_ptr<Layers>& layers;
    bool sending = false, receiving = false;
    ~Operations() {  // a pending operation would use the variables of this function
      if (sending || receiving) layers.reset();
    }
  } under_way{layers_};
  while (true) {
    if (!under_way.sending && !request.empty()) {
      under_way.sending = true;
      layers_->stream.async_write_some(
          asio::buffer(request), [&](const SystemError& failed, std::size_t count) {
            under_way.sending = false;
            moved = true;
            request.remove_prefix(count);
            if (failed) request = {};  // the server may have replied before it closed
          });
    }
    if (!under_way.receiving) {
      under_way.receiving = true;
      layers_->stream.async_read_some(asio::buffer(bytes),
                                      [&](const SystemError& failed, std::size_t count) {
                                        under_way.receiving = false;
                                        moved = true;
                                        error = failed;
                                        reply.append(bytes, count);
                                      });
    }
    moved = false;
    if (!run_until(moved, timeout_s_)) throw_timeout();
    if (!under_way.receiving && !reply.empty() && is_complete(reply)) return reply;
    if (error) throw_ended(error);
  }
}

std::string ask(Stream& stream, std::string_view document) {
  std::size_t scanned = 0;
  ReplyEnd end{};
  const std::string reply = stream.send_and_receive(framed(document), [&](std::string_view bytes) {
    end = find_reply(bytes, scanned);
    return end.state != ReplyEnd::State::incomplete;
  });
  if (end.state == ReplyEnd::State::bad)
    throw BadReply("not a reply: " + reply.substr(0, excerpt_bytes_max));
  return reply.substr(end.begin, end.end - end.begin);
}

std::string ask_once(Stream stream, std::string_view document) {
  const auto with_request = [&](const std::exception& error) {
    return std::string(error.what()) +
           "; the request was: " + quoted(without_keys(std::string(document)));
  };
  try {
    std::string reply = ask(stream, document);
    reset_on_close(stream.socket());  // an audit makes tens of thousands: ports must not run out
    return reply;
  } catch (const ConnectionEnded& error) {
    throw ConnectionEnded(with_request(error));
  } catch (const NoReply& error) {
    throw NoReply(with_request(error));
  } catch (const BadReply& error) {
    throw BadReply(with_request(error));
  }
}

std::string ask(Servers& servers, std::string_view document, double timeout_s,
                const StopFlag& stop) {
  Descriptor connected = connect_to(servers, timeout_s, stop);
  return ask_once(Stream(std::move(connected), servers.text(), timeout_s, stop), document);
}

}  // namespace exchange::client
