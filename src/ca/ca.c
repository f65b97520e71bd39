#include "ca/ca.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>

#define CN_MAX 64	/* ub-common-name */
#define BACKDATE_S 3600 /* clocks inside may be a little behind */

struct ca {
	EVP_PKEY *key;
	X509 *cert;
};

static int failed(struct err *err, const char *what)
{
	ERR_clear_error();
	return err_set(err, EIO, "OpenSSL: %s failed", what);
}

static int set_serial(X509 *x)
{
	unsigned char bytes[16];
	BIGNUM *n = NULL;
	int ok = 0;

	if (RAND_bytes(bytes, sizeof(bytes)) == 1) {
		bytes[0] = (bytes[0] & 0x7f) | 0x40; /* positive, full length */
		n = BN_bin2bn(bytes, sizeof(bytes), NULL);
		ok = n && BN_to_ASN1_INTEGER(n, X509_get_serialNumber(x)) != NULL;
	}
	BN_free(n);
	return ok;
}

static int set_name(X509_NAME *name, const char *organisation, const char *cn)
{
	int ok = X509_NAME_add_entry_by_txt(name, "O", MBSTRING_ASC,
					    (const unsigned char *)organisation, -1, -1, 0);

	/* A longer host stands in subjectAltName alone, which is where clients look. */
	if (ok && strlen(cn) <= CN_MAX)
		ok = X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)cn,
						-1, -1, 0);
	return ok;
}

static int add_ext(X509 *x, X509 *issuer, int nid, const char *value)
{
	X509_EXTENSION *e;
	X509V3_CTX ctx;
	int ok;

	X509V3_set_ctx_nodb(&ctx);
	X509V3_set_ctx(&ctx, issuer, x, NULL, NULL, 0);
	e = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
	ok = e && X509_add_ext(x, e, -1);
	X509_EXTENSION_free(e);
	return ok;
}

/* Version, serial number, validity and key: what both kinds have in common. */
static X509 *new_cert(EVP_PKEY *key, long seconds)
{
	X509 *x = X509_new();

	if (x && X509_set_version(x, X509_VERSION_3) && set_serial(x) &&
	    X509_gmtime_adj(X509_getm_notBefore(x), -BACKDATE_S) &&
	    X509_gmtime_adj(X509_getm_notAfter(x), seconds) && X509_set_pubkey(x, key))
		return x;
	X509_free(x);
	return NULL;
}

struct ca *ca_free(struct ca *ca)
{
	if (!ca)
		return NULL;
	X509_free(ca->cert);
	EVP_PKEY_free(ca->key);
	free(ca);
	return NULL;
}

struct ca *ca_new(const char *sandbox, struct err *err)
{
	cleanup_(ca_freep) struct ca *ca = xcalloc(1, sizeof(*ca));
	X509_NAME *name;

	ca->key = EVP_EC_gen("P-256");
	if (ca->key)
		ca->cert = new_cert(ca->key, CA_DAYS * 86400L);
	if (!ca->cert) {
		(void)failed(err, "making a certificate authority");
		return NULL;
	}
	name = X509_get_subject_name(ca->cert);
	if (!set_name(name, "ralph sandbox", sandbox) || !X509_set_issuer_name(ca->cert, name) ||
	    !add_ext(ca->cert, ca->cert, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") ||
	    !add_ext(ca->cert, ca->cert, NID_key_usage, "critical,keyCertSign") ||
	    !add_ext(ca->cert, ca->cert, NID_subject_key_identifier, "hash") ||
	    !X509_sign(ca->cert, ca->key, EVP_sha256())) {
		(void)failed(err, "signing a certificate authority");
		return NULL;
	}
	return take_ptr(ca);
}

/* Moves the PEM text of a BIO into b and wipes the BIO's copy. */
static int take_pem(BIO *bio, struct buf *b)
{
	char *p = NULL;
	long n = bio ? BIO_get_mem_data(bio, &p) : 0;
	int r = n > 0 ? buf_append(b, p, (size_t)n) : -EIO;

	if (n > 0)
		OPENSSL_cleanse(p, (size_t)n);
	BIO_free(bio);
	return r;
}

static int put_cert(X509 *x, struct buf *b)
{
	BIO *bio = BIO_new(BIO_s_mem());

	if (bio && PEM_write_bio_X509(bio, x) != 1) {
		BIO_free(bio);
		return -EIO;
	}
	return take_pem(bio, b);
}

static int put_key(EVP_PKEY *key, struct buf *b)
{
	BIO *bio = BIO_new(BIO_s_mem());

	if (bio && PEM_write_bio_PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL) != 1) {
		BIO_free(bio);
		return -EIO;
	}
	return take_pem(bio, b);
}

int ca_certificate(const struct ca *ca, struct buf *ret, struct err *err)
{
	return put_cert(ca->cert, ret) < 0 ? failed(err, "writing a certificate") : 0;
}

/* "DNS:name" or "IP:address". The host comes from the gateway, which reads hostile bytes: nothing
 * but a host's own characters may reach OpenSSL's little language of extensions. */
static int alt_name(const char *host, char *ret, size_t size)
{
	unsigned char addr[16];
	size_t n = strlen(host);

	if (inet_pton(AF_INET, host, addr) == 1 || inet_pton(AF_INET6, host, addr) == 1)
		return snprintf(ret, size, "IP:%s", host) < (int)size ? 0 : -EINVAL;
	if (n == 0 || n > 253 || strspn(host, "abcdefghijklmnopqrstuvwxyz0123456789-._") != n)
		return -EINVAL;
	return snprintf(ret, size, "DNS:%s", host) < (int)size ? 0 : -EINVAL;
}

static int fill_leaf(const struct ca *ca, X509 *x, const char *host, const char *san)
{
	return set_name(X509_get_subject_name(x), "ralph sandbox", host) &&
	       X509_set_issuer_name(x, X509_get_subject_name(ca->cert)) &&
	       add_ext(x, ca->cert, NID_basic_constraints, "critical,CA:FALSE") &&
	       add_ext(x, ca->cert, NID_key_usage, "critical,digitalSignature") &&
	       add_ext(x, ca->cert, NID_ext_key_usage, "serverAuth") &&
	       add_ext(x, ca->cert, NID_subject_alt_name, san) &&
	       add_ext(x, ca->cert, NID_authority_key_identifier, "keyid:always") &&
	       X509_sign(x, ca->key, EVP_sha256()) > 0;
}

int ca_leaf(const struct ca *ca, const char *host, struct buf *ret_cert, struct buf *ret_key,
	    struct err *err)
{
	EVP_PKEY *key;
	char san[300];
	X509 *x;
	int r = -EIO;

	if (alt_name(host, san, sizeof(san)) < 0)
		return err_set(err, EINVAL, "a certificate can only be issued for a host");
	key = EVP_EC_gen("P-256");
	x = key ? new_cert(key, CA_LEAF_HOURS * 3600L) : NULL;
	if (x && fill_leaf(ca, x, host, san) && put_cert(x, ret_cert) == 0)
		r = put_key(key, ret_key);
	X509_free(x);
	EVP_PKEY_free(key);
	return r < 0 ? failed(err, "issuing a certificate") : 0;
}
