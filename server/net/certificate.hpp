#pragma once
// Certificate holds the certificate and key of the server under TLS (--tls-cert, --tls-key), and
// decides which connections may begin a handshake. Owner: Server. Any thread.

#include <boost/asio/ssl/context.hpp>
#include <cstdint>
#include <memory>

#include "base/address_limits.hpp"
#include "base/guarded.hpp"
#include "metrics/metrics.hpp"
#include "net/limits.hpp"

namespace exchange {

class Certificate {
 public:
  // Reads the files. Throws std::runtime_error that names the file.
  Certificate(const TlsFiles& files, Metrics& metrics);

  // Each port has its own count: the clients behind a proxy must not use up the handshakes of its
  // health checks.
  enum class Port { xml, http };
  // Returns the context for one new connection of this address. Returns null if the address began
  // too many handshakes; the caller then closes the connection.
  std::shared_ptr<boost::asio::ssl::context> admit(Port port, const PeerAddress& address);
  // Call it after each handshake of an admitted connection, even a failed one: an expensive
  // handshake counts more.
  void charge(Port port, const PeerAddress& address, SSL* connection);
  // Reads the files again, for new connections. Throws like the constructor; then nothing changes.
  void reload();
  // Returns when the certificate expires, in seconds since the Unix epoch.
  std::int64_t expires_s() const;

 private:
  const TlsFiles files_;
  Metrics& metrics_;
  AddressRate handshakes_[2];  // by Port
  mutable Guarded<std::shared_ptr<boost::asio::ssl::context>> context_;
};

}  // namespace exchange
