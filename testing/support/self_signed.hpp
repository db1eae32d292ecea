#pragma once
// A self-signed certificate for a test's own server, in a temporary folder.

#include "net/limits.hpp"
#include "support/folder.hpp"

namespace exchange::testing {

class SelfSigned {
 public:
  SelfSigned();
  const TlsFiles& files() const { return files_; }
  // Another certificate under the same names; returns its serial number.
  long renew();

 private:
  TemporaryFolder folder_;
  TlsFiles files_;
  long serial_ = 0;
};

}  // namespace exchange::testing
