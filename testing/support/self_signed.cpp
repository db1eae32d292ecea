#include "support/self_signed.hpp"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <cstdio>
#include <memory>
#include <stdexcept>

namespace exchange::testing {
namespace {

void require(bool done) {
  if (!done) throw std::runtime_error("OpenSSL made no certificate");
}

template <class Write>
void write_file(const std::string& path, Write write) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "w"),
                                                             std::fclose);
  require(file != nullptr && write(file.get()) == 1);
}

}  // namespace

SelfSigned::SelfSigned() : files_{folder_ / "cert.pem", folder_ / "key.pem"} { renew(); }

long SelfSigned::renew() {
  const std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)> key(EVP_EC_gen("P-256"), EVP_PKEY_free);
  const std::unique_ptr<X509, void (*)(X509*)> certificate(X509_new(), X509_free);
  require(key && certificate);
  X509_set_version(certificate.get(), X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), ++serial_);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -60);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 3'600);
  X509_NAME* const name = X509_get_subject_name(certificate.get());
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>("localhost"), -1, -1, 0);
  X509_set_issuer_name(certificate.get(), name);
  X509_set_pubkey(certificate.get(), key.get());
  require(X509_sign(certificate.get(), key.get(), EVP_sha256()) > 0);
  write_file(files_.certificate,
             [&](std::FILE* file) { return PEM_write_X509(file, certificate.get()); });
  write_file(files_.key, [&](std::FILE* file) {
    return PEM_write_PrivateKey(file, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  });
  return serial_;
}

}  // namespace exchange::testing
