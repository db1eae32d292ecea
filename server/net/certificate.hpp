#pragma once
// Certificate is the certificate and key of the server under TLS (--tls-cert, --tls-key). Owner:
// main. Any thread.

#include <boost/asio/ssl/context.hpp>
#include <cstdint>
#include <memory>

#include "base/guarded.hpp"
#include "net/limits.hpp"

namespace exchange {

class Certificate {
 public:
  // Reads the files. Throws std::runtime_error, naming the file.
  explicit Certificate(const TlsFiles& files);

  // For one new connection.
  std::shared_ptr<boost::asio::ssl::context> context();
  // Reads the files again, for new connections. Throws as above, and then nothing changes.
  void reload();
  // When the certificate expires, in seconds since the Unix epoch.
  std::int64_t expires_s() const;

 private:
  const TlsFiles files_;
  mutable Guarded<std::shared_ptr<boost::asio::ssl::context>> context_;
};

}  // namespace exchange
