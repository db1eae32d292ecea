#include "support/tcp.hpp"

#include <arpa/inet.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <system_error>
#include <utility>

namespace exchange {
namespace {

constexpr timeval patience = {10, 0};

[[noreturn]] void fatal(const std::string& why) {
  std::fprintf(stderr, "core failed: %s\n", why.c_str());
  std::abort();
}

}  // namespace

Options TcpServer::make_options(Policy policy, const std::function<void(Options&)>& adjust) {
  Options options;
  options.net.port = 0;
  options.net.policy = policy;
  options.net.threads = policy == Policy::pool ? 3 : 2;
  if (adjust) adjust(options);
  options.protocol.keys = options.auth.required;
  return options;
}

Recovered TcpServer::open(Store& store) {
  store.open();
  return recover(store);
}

TcpServer::TcpServer(Policy policy, const std::function<void(Options&)>& adjust)
    : options_(make_options(policy, adjust)),
      core_(std::make_unique<Core>(open(store_), store_, clock_, options_.core, metrics_, fatal)),
      authenticator_(options_.auth.required
                         ? std::make_unique<Authenticator>(options_.auth, keys_, metrics_)
                         : nullptr),
      certificate_(options_.tls.enabled() ? std::make_unique<Certificate>(options_.tls) : nullptr),
      transport_(make_transport({.options = options_.net,
                                 .protocol = options_.protocol,
                                 .service = *core_,
                                 .metrics = metrics_,
                                 .authenticator = authenticator_.get(),
                                 .certificate = certificate_.get()})) {}

// In the order of main.cpp: a core thread may still be leaving a transport's completed().
TcpServer::~TcpServer() {
  if (authenticator_) authenticator_->stop();
  transport_->stop();
  core_.reset();
}

long long TcpServer::stop() {
  const auto start = std::chrono::steady_clock::now();
  if (authenticator_) authenticator_->stop();
  transport_->stop();
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() -
                                                               start)
      .count();
}

struct TcpClient::Tls {
  std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context{SSL_CTX_new(TLS_client_method()),
                                                       SSL_CTX_free};
  std::unique_ptr<SSL, void (*)(SSL*)> ssl{SSL_new(context.get()), SSL_free};
};

TcpClient::TcpClient(std::uint16_t port, int receive_buffer, const char* from, bool secure)
    : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{.sin_family = AF_INET, .sin_port = htons(port)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int on = 1;
  ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  if (receive_buffer > 0)
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
  if (from != nullptr) {
    sockaddr_in own{.sin_family = AF_INET};
    ::inet_pton(AF_INET, from, &own.sin_addr);
    if (::bind(socket_, reinterpret_cast<const sockaddr*>(&own), sizeof own) != 0)
      throw std::system_error(errno, std::generic_category(), "bind");
  }
  if (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    throw std::system_error(errno, std::generic_category(), "connect");
  if (!secure) return;
  tls_ = std::make_unique<Tls>();
  SSL_set_fd(tls_->ssl.get(), socket_);
  if (SSL_connect(tls_->ssl.get()) != 1) throw std::runtime_error("no TLS handshake");
}

long TcpClient::serial() const {
  const std::unique_ptr<X509, void (*)(X509*)> certificate(
      SSL_get1_peer_certificate(tls_->ssl.get()), X509_free);
  return ASN1_INTEGER_get(X509_get0_serialNumber(certificate.get()));
}

bool TcpClient::was_told_the_end() const {
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

std::string TcpClient::reply() {
  constexpr std::string_view last = "</results>\n";
  std::size_t searched = 0, found;
  while ((found = received_.find(last, searched)) == std::string::npos) {
    searched = received_.size() < last.size() ? 0 : received_.size() - last.size();
    if (!receive()) return std::exchange(received_, {});
  }
  std::string reply = received_.substr(0, found + last.size());
  received_.erase(0, found + last.size());
  return reply;
}

std::string TcpClient::rest() {
  while (receive()) {
  }
  return std::exchange(received_, {}) + (closed_ ? "" : "[open]");
}

}  // namespace exchange
