#pragma once
// A self-signed certificate for a test's own server, in a temporary folder, made by the openssl
// program.

#include <cstdlib>
#include <stdexcept>

#include "net/limits.hpp"
#include "support/folder.hpp"

namespace exchange::testing {

class SelfSigned {
 public:
  SelfSigned() { renew(); }
  const TlsFiles& files() const { return files_; }
  // Makes another certificate under the same names; returns its serial number.
  long renew() {
    const std::string command =
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 "
        "-subj /CN=localhost -set_serial " +
        std::to_string(++serial_) + " -out '" + files_.certificate + "' -keyout '" + files_.key +
        "' 2>/dev/null";
    if (std::system(command.c_str()) != 0) throw std::runtime_error("no certificate: " + command);
    return serial_;
  }

 private:
  TemporaryFolder folder_;
  TlsFiles files_{folder_ / "cert.pem", folder_ / "key.pem"};
  long serial_ = 0;
};

}  // namespace exchange::testing
