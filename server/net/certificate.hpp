#pragma once
// Certificate is what the server proves itself with under TLS (--tls-cert, --tls-key). Owner: main.
// Any thread.

#include <boost/asio/ssl/context.hpp>
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
  // Reads the files again, for connections from now on. Throws as above, and then all is as before.
  void reload();

 private:
  const TlsFiles files_;
  Guarded<std::shared_ptr<boost::asio::ssl::context>> context_;
};

}  // namespace exchange
