#pragma once
// A self-signed certificate for a test's own server, in a temporary folder that goes with it.

#include <string>

#include "net/limits.hpp"

namespace exchange {

class SelfSigned {
 public:
  SelfSigned();
  ~SelfSigned();
  SelfSigned(const SelfSigned&) = delete;
  const TlsFiles& files() const { return files_; }
  // Another certificate under the same names; returns its serial number.
  long renew();

 private:
  std::string folder_;
  TlsFiles files_;
  long serial_ = 0;
};

}  // namespace exchange
