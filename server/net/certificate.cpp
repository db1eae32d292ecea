#include "net/certificate.hpp"

#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <time.h>

#include <stdexcept>

namespace exchange {
namespace {

namespace ssl = boost::asio::ssl;

std::shared_ptr<ssl::context> read(const TlsFiles& files) {
  const auto context = std::make_shared<ssl::context>(ssl::context::tls_server);
  SSL_CTX* const handle = context->native_handle();
  SSL_CTX_set_min_proto_version(handle, TLS1_2_VERSION);
  SSL_CTX_set_options(handle, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                  SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
  // the ciphers of TLS 1.2: only those with forward secrecy
  SSL_CTX_set_cipher_list(handle, "ECDHE+AESGCM:ECDHE+CHACHA20");
  // Only cheap groups: a client that repeats one message makes the server compute a key exchange
  // each time, which costs a hundred times as much with ffdhe8192 (CVE-2022-40735).
  if (SSL_CTX_set1_groups_list(handle, "X25519:P-256:P-384") != 1)
    throw std::runtime_error("OpenSSL has not the groups X25519, P-256 and P-384");
  SSL_CTX_set_mode(handle, SSL_MODE_RELEASE_BUFFERS);  // idle connections are many
  boost::system::error_code error;
  context->use_certificate_chain_file(files.certificate, error);
  if (error) throw std::runtime_error("--tls-cert " + files.certificate + ": " + error.message());
  const auto locked = std::make_shared<bool>(false);  // OpenSSL would ask the terminal
  context->set_password_callback([locked](std::size_t, auto) {
    *locked = true;
    return std::string();
  });
  context->use_private_key_file(files.key, ssl::context::pem, error);
  if (error && *locked)
    throw std::runtime_error("--tls-key " + files.key +
                             " has a password: give one without (openssl pkey -in KEY -out NEW)");
  if (error) throw std::runtime_error("--tls-key " + files.key + ": " + error.message());
  if (SSL_CTX_check_private_key(handle) != 1)
    throw std::runtime_error("--tls-key " + files.key + " is not the key of " + files.certificate);
  return context;
}

}  // namespace

Certificate::Certificate(const TlsFiles& files, Metrics& metrics)
    : files_(files),
      metrics_(metrics),
      handshakes_{{files.handshakes_per_address, 4 * files.handshakes_per_address},
                  {files.handshakes_per_address, 4 * files.handshakes_per_address}} {
  reload();
}

std::shared_ptr<ssl::context> Certificate::admit(Port port, const PeerAddress& address) {
  if (!handshakes_[int(port)].take(address, std::chrono::steady_clock::now())) {
    Metrics::add(metrics_.tls_refused);
    return nullptr;
  }
  return context_.with([](const auto& context) { return context; });
}

void Certificate::charge(Port port, const PeerAddress& address, SSL* connection) {
  constexpr std::size_t cost = 8;  // CPU time of P-384, if that of the other groups is 1
  // OpenSSL reads the group from the session, which does not exist if the client sent nothing
  if (SSL_get_session(connection) == nullptr) return;
  if (SSL_get_negotiated_group(connection) == NID_secp384r1)
    handshakes_[int(port)].charge(address, cost - 1, std::chrono::steady_clock::now());
}

std::int64_t Certificate::expires_s() const {
  return context_.with([](const auto& context) {
    tm time{};
    const X509* const certificate = SSL_CTX_get0_certificate(context->native_handle());
    ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &time);
    return std::int64_t(timegm(&time));
  });
}

void Certificate::reload() {
  auto fresh = read(files_);
  context_.with([&](auto& context) { context.swap(fresh); });
}

}  // namespace exchange
