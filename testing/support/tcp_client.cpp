#include "support/tcp_client.hpp"

#include <arpa/inet.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace exchange::testing {

struct TcpClient::Tls {
  std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context{SSL_CTX_new(TLS_client_method()),
                                                       SSL_CTX_free};
  std::unique_ptr<SSL, void (*)(SSL*)> ssl{SSL_new(context.get()), SSL_free};
};

TcpClient::TcpClient(unsigned port, const Settings& settings)
    : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{.sin_family = AF_INET, .sin_port = htons(std::uint16_t(port))};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int on = 1;
  const timeval patience = {settings.patience_s, 0};
  ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  if (settings.receive_buffer > 0)
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &settings.receive_buffer,
                 sizeof settings.receive_buffer);
  if (settings.from != nullptr) {
    sockaddr_in own{.sin_family = AF_INET};
    ::inet_pton(AF_INET, settings.from, &own.sin_addr);
    if (::bind(socket_, reinterpret_cast<const sockaddr*>(&own), sizeof own) != 0)
      throw std::system_error(errno, std::generic_category(), "bind");
  }
  if (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    const int error = errno;
    ::close(socket_);
    throw std::system_error(error, std::generic_category(), "connect");
  }
  if (!settings.secure) return;
  std::signal(SIGPIPE, SIG_IGN);  // OpenSSL writes without MSG_NOSIGNAL
  tls_ = std::make_unique<Tls>();
  SSL_set_fd(tls_->ssl.get(), socket_);
  const bool known =
      settings.groups == nullptr || SSL_set1_groups_list(tls_->ssl.get(), settings.groups) == 1;
  if (known && SSL_connect(tls_->ssl.get()) == 1) return;
  ::close(socket_);
  throw std::runtime_error(known ? "no TLS handshake" : "no such groups");
}

long TcpClient::serial() const {
  const std::unique_ptr<X509, void (*)(X509*)> certificate(
      SSL_get1_peer_certificate(tls_->ssl.get()), X509_free);
  return ASN1_INTEGER_get(X509_get0_serialNumber(certificate.get()));
}

bool TcpClient::has_tls_end() const {
  return (SSL_get_shutdown(tls_->ssl.get()) & SSL_RECEIVED_SHUTDOWN) != 0;
}

TcpClient::~TcpClient() { ::close(socket_); }

bool TcpClient::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = tls_ ? SSL_write(tls_->ssl.get(), bytes.data(), int(bytes.size()))
                              : ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (!tls_ && sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes.remove_prefix(std::size_t(sent));
  }
  return true;
}

bool TcpClient::send_bytewise(std::string_view bytes) {
  for (const char byte : bytes)
    if (!send({&byte, 1})) return false;
  return true;
}

std::size_t TcpClient::send_without_waiting(std::string_view bytes) {
  const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  return sent < 0 ? 0 : std::size_t(sent);
}

bool TcpClient::has_arrived() const {
  int waiting = 0;
  return ::ioctl(socket_, SIOCOUTQ, &waiting) == 0 && waiting == 0;
}

void TcpClient::end() {
  if (tls_)
    SSL_shutdown(tls_->ssl.get());
  else
    ::shutdown(socket_, SHUT_WR);
}

void TcpClient::end_of_tcp() { ::shutdown(socket_, SHUT_WR); }

bool TcpClient::receive() {
  char bytes[16'384];
  ssize_t count;
  errno = 0;
  do
    count = tls_ ? SSL_read(tls_->ssl.get(), bytes, int(sizeof bytes))
                 : ::recv(socket_, bytes, sizeof bytes, 0);
  while (!tls_ && count < 0 && errno == EINTR);
  if (tls_ && count <= 0) {
    closed_ =
        SSL_get_error(tls_->ssl.get(), int(count)) == SSL_ERROR_ZERO_RETURN || errno != EAGAIN;
    return false;
  }
  if (count <= 0) {
    reset_ = count < 0 && errno == ECONNRESET;
    closed_ = count == 0 || reset_;
    return false;
  }
  received_.append(bytes, std::size_t(count));
  return true;
}

namespace {
constexpr std::string_view last_line = "</results>\n";
}

std::string TcpClient::reply() {
  std::size_t searched = 0, found;
  while ((found = received_.find(last_line, searched)) == std::string::npos) {
    searched = received_.size() < last_line.size() ? 0 : received_.size() - last_line.size();
    if (!receive()) return std::exchange(received_, {});
  }
  std::string reply = received_.substr(0, found + last_line.size());
  received_.erase(0, found + last_line.size());
  return reply;
}

std::string TcpClient::request(std::string_view xml) {
  if (!send(framed(xml))) return {};
  std::string text = reply();
  return text.ends_with(last_line) ? text : std::string();
}

std::string TcpClient::rest() {
  while (receive()) {
  }
  return std::exchange(received_, {}) + (closed_ ? "" : "[open]");
}

std::string ask_http(unsigned port, const std::string& request, const std::string& fields,
                     const std::string& body) {
  TcpClient client(port);
  client.send(request + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" + fields + "\r\n" + body);
  return client.rest();
}

std::uint64_t read_metric(unsigned http_port, const std::string& name) {
  const std::string text = ask_http(http_port, "GET /metrics"), line = "\nexchange_" + name + " ";
  const std::size_t at = text.find(line);
  if (at == text.npos) throw std::runtime_error("no metric " + name + " in:\n" + text);
  return std::stoull(text.substr(at + line.size()));
}

}  // namespace exchange::testing
