#include "simserver/certificate.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <cstdint>
#include <memory>

namespace falcon::simserver {
namespace {

struct Free {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509_EXTENSION* extension) const { X509_EXTENSION_free(extension); }
};
using Key = std::unique_ptr<EVP_PKEY, Free>;
using Cert = std::unique_ptr<X509, Free>;

constexpr long kHour = 3600;
constexpr long kLife = 30 * 24 * kHour;

bool add_extension(X509* certificate, X509* issuer, int id, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const std::unique_ptr<X509_EXTENSION, Free> extension(
      X509V3_EXT_conf_nid(nullptr, &context, id, value));
  return extension && X509_add_ext(certificate, extension.get(), -1) == 1;
}

Cert new_certificate(EVP_PKEY* key, const std::string& name) {
  Cert certificate(X509_new());
  std::uint64_t serial = 0;
  if (!certificate || RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof serial) != 1)
    return nullptr;
  X509_set_version(certificate.get(), 2);
  ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate.get()), serial >> 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -kHour);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), kLife);
  X509_set_pubkey(certificate.get(), key);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate.get()), "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  return certificate;
}

template <class Write>
std::string pem_of(Write write) {
  const std::unique_ptr<BIO, Free> bio(BIO_new(BIO_s_mem()));
  if (!bio || write(bio.get()) != 1) return {};
  char* data = nullptr;
  const long length = BIO_get_mem_data(bio.get(), &data);
  return std::string(data, static_cast<std::size_t>(length));
}

}  // namespace

Result<Certificate> make_certificate(const std::string& common_name) {
  const Key ca_key(EVP_EC_gen("P-256"));
  const Key key(EVP_EC_gen("P-256"));
  if (!ca_key || !key) return fail(ErrorKind::kInternal, "no key could be made");
  const Cert ca = new_certificate(ca_key.get(), common_name + " CA");
  const Cert cert = new_certificate(key.get(), common_name);
  const bool good =
      ca && cert && X509_set_issuer_name(ca.get(), X509_get_subject_name(ca.get())) == 1 &&
      X509_set_issuer_name(cert.get(), X509_get_subject_name(ca.get())) == 1 &&
      add_extension(ca.get(), ca.get(), NID_basic_constraints, "critical,CA:TRUE") &&
      add_extension(ca.get(), ca.get(), NID_key_usage, "critical,keyCertSign,cRLSign") &&
      add_extension(ca.get(), ca.get(), NID_subject_key_identifier, "hash") &&
      add_extension(cert.get(), ca.get(), NID_basic_constraints, "critical,CA:FALSE") &&
      add_extension(cert.get(), ca.get(), NID_ext_key_usage, "serverAuth") &&
      add_extension(cert.get(), ca.get(), NID_authority_key_identifier, "keyid") &&
      add_extension(cert.get(), ca.get(), NID_subject_alt_name, "IP:127.0.0.1,DNS:localhost") &&
      X509_sign(ca.get(), ca_key.get(), EVP_sha256()) > 0 &&
      X509_sign(cert.get(), ca_key.get(), EVP_sha256()) > 0;
  if (!good) return fail(ErrorKind::kInternal, "no certificate could be made");
  return Certificate{
      pem_of([&](BIO* bio) { return PEM_write_bio_X509(bio, ca.get()); }),
      pem_of([&](BIO* bio) { return PEM_write_bio_X509(bio, cert.get()); }), pem_of([&](BIO* bio) {
        return PEM_write_bio_PrivateKey(bio, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
      })};
}

}  // namespace falcon::simserver
