#include "client/connection/stream.hpp"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>

#include <cerrno>
#include <chrono>
#include <cstring>

#include "client/connection/framing.hpp"

namespace exchange::client {
namespace {

constexpr std::size_t read_bytes_max = 16u << 10;  // at once
constexpr std::size_t shown_max = 300;             // bytes of a request or a bad reply in messages

std::string host_of(const std::string& host_and_port) {
  std::string host = host_and_port.substr(0, host_and_port.rfind(':'));
  if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
  return host;
}

bool is_ip_address(const std::string& host) {
  in6_addr address{};
  return ::inet_pton(AF_INET, host.c_str(), &address) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), &address) == 1;
}

std::string tls_error() {
  const unsigned long error = ::ERR_get_error();
  const char* const reason = ::ERR_reason_error_string(error);
  return reason == nullptr ? "the connection ended" : reason;
}

// As BIO_s_socket(), but a server that has gone does not end this process by SIGPIPE.
const BIO_METHOD* quiet_socket() {
  static const BIO_METHOD* const method = [] {
    const BIO_METHOD* const usual = ::BIO_s_socket();
    BIO_METHOD* const quiet = ::BIO_meth_new(BIO_TYPE_SOCKET, "socket");
    ::BIO_meth_set_read(quiet, ::BIO_meth_get_read(usual));
    ::BIO_meth_set_ctrl(quiet, ::BIO_meth_get_ctrl(usual));
    ::BIO_meth_set_create(quiet, ::BIO_meth_get_create(usual));
    ::BIO_meth_set_destroy(quiet, ::BIO_meth_get_destroy(usual));
    ::BIO_meth_set_write(quiet, [](BIO* bio, const char* bytes, int count) {
      BIO_clear_retry_flags(bio);
      const ssize_t sent =
          ::send(int(BIO_get_fd(bio, nullptr)), bytes, std::size_t(count), MSG_NOSIGNAL);
      if (sent < 0 && ::BIO_sock_should_retry(-1)) BIO_set_retry_write(bio);
      return int(sent);
    });
    return quiet;
  }();
  return method;
}

// On one line, and not too long.
std::string quoted(std::string_view document) {
  std::string text;
  for (const char c : document.substr(0, shown_max))
    if (!is_blank(c))
      text += c;
    else if (!text.empty() && text.back() != ' ')
      text += ' ';
  while (text.ends_with(' ')) text.pop_back();
  return text + (document.size() > shown_max ? " …" : "");
}

}  // namespace

struct Stream::Tls {
  std::unique_ptr<SSL_CTX, decltype(&::SSL_CTX_free)> context{nullptr, ::SSL_CTX_free};
  std::unique_ptr<SSL, decltype(&::SSL_free)> session{nullptr, ::SSL_free};
  int last_error = SSL_ERROR_NONE;
};

Stream::Stream(Descriptor connected, std::string peer, double timeout_s, const StopFlag& stop,
               const Security& security)
    : socket_(std::move(connected)), peer_(std::move(peer)), timeout_s_(timeout_s), stop_(&stop) {
  if (security.tls) handshake(security);
}
Stream::~Stream() = default;
Stream::Stream(Stream&&) noexcept = default;
Stream& Stream::operator=(Stream&&) noexcept = default;

void Stream::handshake(const Security& security) {
  tls_ = std::make_unique<Tls>();
  tls_->context.reset(::SSL_CTX_new(::TLS_client_method()));
  SSL_CTX* const context = tls_->context.get();
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  ::SSL_CTX_set_verify(context, security.insecure ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, nullptr);
  ::ERR_clear_error();
  if (security.ca.empty())
    ::SSL_CTX_set_default_verify_paths(context);
  else if (::SSL_CTX_load_verify_file(context, security.ca.c_str()) != 1)
    throw std::invalid_argument("--tls-ca " + security.ca + ": " + tls_error());

  tls_->session.reset(::SSL_new(context));
  SSL* const session = tls_->session.get();
  BIO* const bio = ::BIO_new(quiet_socket());  // the session's
  BIO_set_fd(bio, socket_.number(), BIO_NOCLOSE);
  ::SSL_set_bio(session, bio, bio);
  const std::string host = host_of(peer_);
  if (is_ip_address(host))
    ::X509_VERIFY_PARAM_set1_ip_asc(::SSL_get0_param(session), host.c_str());
  else
    ::SSL_set1_host(session, host.c_str());
  if (!is_ip_address(host)) SSL_set_tlsext_host_name(session, host.c_str());

  const auto fail = [&](const std::string& why) {
    throw Unreachable("no TLS with " + peer_ + ": " + why);
  };
  while (true) {
    ::ERR_clear_error();
    errno = 0;
    const Step step = after_tls(::SSL_connect(session));
    if (step == Step::done) return;
    if (step == Step::wait) {
      if (!wait(tls_->last_error == SSL_ERROR_WANT_WRITE, timeout_s_)) fail("timeout");
      continue;
    }
    if (const long verified = ::SSL_get_verify_result(session);
        !security.insecure && verified != X509_V_OK)
      fail(std::string("its certificate is not good: ") +
           ::X509_verify_cert_error_string(verified));
    fail(error_ != 0 ? std::strerror(error_) : tls_error());
  }
}

Stream::Step Stream::after_tls(int result) {
  if (result > 0) return Step::done;
  tls_->last_error = ::SSL_get_error(tls_->session.get(), result);
  if (tls_->last_error == SSL_ERROR_WANT_READ || tls_->last_error == SSL_ERROR_WANT_WRITE)
    return Step::wait;
  // A server that closes without a TLS end is accepted: each reply has an end of its own.
  error_ = tls_->last_error == SSL_ERROR_SYSCALL ? errno : 0;
  return Step::ended;
}

Stream::Step Stream::try_write(std::string_view& bytes) {
  if (tls_) {
    ::ERR_clear_error();
    errno = 0;
    std::size_t written = 0;
    const Step step =
        after_tls(::SSL_write_ex(tls_->session.get(), bytes.data(), bytes.size(), &written));
    bytes.remove_prefix(written);
    return step;
  }
  const ssize_t sent = ::send(socket_.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (sent >= 0) bytes.remove_prefix(std::size_t(sent));
  if (sent >= 0) return Step::done;
  if (errno == EAGAIN || errno == EINTR) return Step::wait;
  error_ = errno;
  return Step::ended;
}

Stream::Step Stream::try_read(char* bytes, std::size_t bytes_max, std::size_t& count) {
  count = 0;
  if (tls_) {
    ::ERR_clear_error();
    errno = 0;
    return after_tls(::SSL_read_ex(tls_->session.get(), bytes, bytes_max, &count));
  }
  const ssize_t received = ::recv(socket_.number(), bytes, bytes_max, 0);
  if (received > 0) count = std::size_t(received);
  if (received > 0) return Step::done;
  if (received < 0 && (errno == EAGAIN || errno == EINTR)) return Step::wait;
  error_ = received == 0 ? 0 : errno;
  return Step::ended;
}

bool Stream::wait(bool to_write, double wait_s) const {
  return wait_for(socket_.number(), to_write ? POLLIN | POLLOUT : POLLIN, wait_s, *stop_);
}

void Stream::timed_out() const { throw NoReply("no reply from " + peer_ + ": timeout"); }

void Stream::ended() const {
  throw ConnectionEnded("no reply from " + peer_ + ": " +
                        (error_ == 0 ? "it closed the connection" : std::strerror(error_)));
}

void Stream::write(std::string_view bytes) {
  while (!bytes.empty()) switch (try_write(bytes)) {
      case Step::done: break;
      case Step::ended: ended();
      case Step::wait:
        if (!wait_for(socket_.number(), POLLOUT, timeout_s_, *stop_)) timed_out();
    }
}

std::size_t Stream::read(char* bytes, std::size_t bytes_max) {
  for (std::size_t count = 0;;) switch (try_read(bytes, bytes_max, count)) {
      case Step::done: return count;
      case Step::ended:
        if (error_ == 0) return 0;
        ended();
      case Step::wait:
        if (!wait(false, timeout_s_)) timed_out();
    }
}

bool Stream::wait_readable(double wait_s) {
  return (tls_ && ::SSL_pending(tls_->session.get()) > 0) || wait(false, wait_s);
}

std::string Stream::send_and_receive(std::string_view request,
                                     const std::function<bool(std::string_view)>& is_complete) {
  std::string reply;
  char bytes[read_bytes_max];
  while (true) {
    bool sending = false;
    if (!request.empty()) {
      const Step step = try_write(request);
      sending = step == Step::wait;
      if (step == Step::ended) request = {};  // the server may have replied before it closed
    }
    std::size_t count = 0;
    const Step step = try_read(bytes, sizeof bytes, count);
    reply.append(bytes, count);
    if (count > 0 && is_complete(reply)) return reply;
    if (step == Step::ended) ended();
    if (step == Step::wait && (request.empty() || sending) && !wait(sending, timeout_s_))
      timed_out();
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
    throw BadReply("not a reply: " + reply.substr(0, shown_max));
  return reply.substr(end.begin, end.end - end.begin);
}

std::string ask(const Address& address, std::string_view document, double timeout_s,
                const StopFlag& stop) {
  Stream stream(connect_to(address, timeout_s, stop), address.text, timeout_s, stop);
  const auto with_request = [&](const std::exception& error) {
    return std::string(error.what()) + "; the request was: " + quoted(document);
  };
  try {
    std::string reply = ask(stream, document);
    reset_on_close(stream.socket());  // an audit asks tens of thousands of times: ports must last
    return reply;
  } catch (const ConnectionEnded& error) {
    throw ConnectionEnded(with_request(error));
  } catch (const NoReply& error) {
    throw NoReply(with_request(error));
  } catch (const BadReply& error) {
    throw BadReply(with_request(error));
  }
}

}  // namespace exchange::client
