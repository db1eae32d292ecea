#pragma once
// Certificate is the certificate and key of the server under TLS (--tls-cert, --tls-key), and
// decides which connections may begin a handshake. Owner: Server. Any thread.

#include <boost/asio/ssl/context.hpp>
#include <cstdint>
#include <memory>

#include "base/address_rate.hpp"
#include "base/guarded.hpp"
#include "metrics/metrics.hpp"
#include "net/limits.hpp"

namespace exchange {

class Certificate {
 public:
  // Reads the files. Throws std::runtime_error, naming the file.
  Certificate(const TlsFiles& files, Metrics& metrics);

  // Each counts for itself: clients behind one proxy must not cost its health checks.
  enum class Port { xml, http };
  // For one new connection of this address; null if the address began too many: close it.
  std::shared_ptr<boost::asio::ssl::context> admit(Port port, const PeerAddress& address);
  // After a handshake of such a connection, also one that failed: an expensive one counts more.
  void charge(Port port, const PeerAddress& address, SSL* connection);
  // Reads the files again, for new connections. Throws as above, and then nothing changes.
  void reload();
  // When the certificate expires, in seconds since the Unix epoch.
  std::int64_t expires_s() const;

 private:
  const TlsFiles files_;
  Metrics& metrics_;
  AddressRate handshakes_[2];  // by Port
  mutable Guarded<std::shared_ptr<boost::asio::ssl::context>> context_;
};

}  // namespace exchange
