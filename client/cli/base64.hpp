#pragma once
// Base64 (RFC 4648), as HTTP uses it.

#include <openssl/evp.h>

#include <string>
#include <string_view>

namespace exchange::cli {

inline std::string base64(std::string_view bytes) {
  std::string text((bytes.size() + 2) / 3 * 4, '\0');  // string's own end takes the final zero
  ::EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                    reinterpret_cast<const unsigned char*>(bytes.data()), int(bytes.size()));
  return text;
}

}  // namespace exchange::cli
