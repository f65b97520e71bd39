#include "web/tls-cert.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"

#define PEM_MAX (64 * KiB)
#define MONTH_S (30 * 24 * 3600L)
#define BACKDATE_S 3600

static int failed(struct err *err, const char *what)
{
	ERR_clear_error();
	return err_set(err, EIO, "OpenSSL: %s failed", what);
}

static X509 *read_cert(const char *pem, size_t n)
{
	BIO *b = BIO_new_mem_buf(pem, (int)n);
	X509 *x = b ? PEM_read_bio_X509(b, NULL, NULL, NULL) : NULL;

	BIO_free(b);
	ERR_clear_error();
	return x;
}

int tls_cert_fingerprint(const char *pem, size_t n, char ret[TLS_FINGERPRINT_SIZE], struct err *err)
{
	unsigned char md[EVP_MAX_MD_SIZE];
	X509 *x = read_cert(pem, n);
	unsigned len = 0;
	int ok = x && X509_digest(x, EVP_sha256(), md, &len);

	X509_free(x);
	if (!ok)
		return err_set(err, EINVAL, "it holds no certificate in PEM");
	for (unsigned i = 0; i < len; i++)
		(void)snprintf(ret + 3 * (size_t)i, 4, i + 1 < len ? "%02X:" : "%02X", md[i]);
	return 0;
}

/* "DNS:a,IP:10.0.0.1": the names have a grammar, so none of them can add another. */
static int alt_names(const struct strv *hosts, struct buf *b)
{
	unsigned char addr[16];

	(void)buf_puts(b, "DNS:localhost,IP:127.0.0.1");
	for (size_t i = 0; i < hosts->n; i++) {
		const char *h = hosts->v[i];
		size_t n = strlen(h);

		if (inet_pton(AF_INET, h, addr) == 1 || inet_pton(AF_INET6, h, addr) == 1)
			(void)buf_printf(b, ",IP:%s", h);
		else if (n > 0 && n <= 253 &&
			 strspn(h, "abcdefghijklmnopqrstuvwxyz0123456789-.") == n)
			(void)buf_printf(b, ",DNS:%s", h);
		else
			return -EINVAL;
	}
	return b->full ? -EINVAL : 0;
}

static int add_ext(X509 *x, int nid, const char *value)
{
	X509_EXTENSION *e;
	X509V3_CTX ctx;
	int ok;

	X509V3_set_ctx_nodb(&ctx);
	X509V3_set_ctx(&ctx, x, x, NULL, NULL, 0);
	e = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
	ok = e && X509_add_ext(x, e, -1);
	X509_EXTENSION_free(e);
	return ok;
}

static X509 *new_cert(EVP_PKEY *key, const char *names)
{
	X509 *x = X509_new();
	X509_NAME *name = x ? X509_get_subject_name(x) : NULL;
	uint64_t serial = 0;
	int ok = x && RAND_bytes((unsigned char *)&serial, sizeof(serial)) == 1;

	ok = ok && X509_set_version(x, X509_VERSION_3) &&
	     ASN1_INTEGER_set_uint64(X509_get_serialNumber(x), serial >> 1) &&
	     X509_gmtime_adj(X509_getm_notBefore(x), -BACKDATE_S) &&
	     X509_gmtime_adj(X509_getm_notAfter(x), TLS_CERT_DAYS * 24 * 3600L) &&
	     X509_set_pubkey(x, key) &&
	     X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
					(const unsigned char *)"ralph web", -1, -1, 0) &&
	     X509_set_issuer_name(x, name) &&
	     add_ext(x, NID_basic_constraints, "critical,CA:FALSE") &&
	     add_ext(x, NID_key_usage, "critical,digitalSignature") &&
	     add_ext(x, NID_ext_key_usage, "serverAuth") &&
	     add_ext(x, NID_subject_alt_name, names) && X509_sign(x, key, EVP_sha256()) > 0;
	if (ok)
		return x;
	X509_free(x);
	return NULL;
}

static int write_pem(int dir, const char *name, BIO *b)
{
	cleanup_fd int fd = -1;
	char *text;
	long n = BIO_get_mem_data(b, &text);

	(void)unlinkat(dir, name, 0);
	fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	return fd < 0 ? -errno : fd_write_all(fd, text, (size_t)n);
}

static int make_both(int dir, const char *names, struct err *err)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *x = key ? new_cert(key, names) : NULL;
	BIO *cert = BIO_new(BIO_s_mem()), *secret = BIO_new(BIO_s_secmem());
	int r = -EIO;

	if (x && cert && secret && PEM_write_bio_X509(cert, x) &&
	    PEM_write_bio_PrivateKey(secret, key, NULL, NULL, 0, NULL, NULL)) {
		r = write_pem(dir, TLS_KEY_FILE, secret);
		if (r == 0)
			r = write_pem(dir, TLS_CERT_FILE, cert);
		if (r < 0)
			r = err_sys(err, -r, "cannot write the certificate");
	} else {
		r = failed(err, "making a certificate");
	}
	BIO_free(cert);
	BIO_free(secret);
	X509_free(x);
	EVP_PKEY_free(key);
	return r;
}

/* The one that is there goes on if it has all these names and does not end soon. */
static bool is_good(int dir, const struct strv *hosts)
{
	cleanup_buf struct buf b;
	bool good;
	X509 *x;

	buf_init(&b, PEM_MAX);
	if (faccessat(dir, TLS_KEY_FILE, R_OK, 0) < 0 || path_read(dir, TLS_CERT_FILE, &b) < 0)
		return false;
	x = read_cert(b.data, b.len);
	good = x && X509_cmp_time(X509_get0_notAfter(x), &(time_t){time(NULL) + MONTH_S}) > 0;
	for (size_t i = 0; good && i < hosts->n; i++)
		good = X509_check_host(x, hosts->v[i], 0, 0, NULL) == 1 ||
		       X509_check_ip_asc(x, hosts->v[i], 0) == 1;
	X509_free(x);
	ERR_clear_error();
	return good;
}

int tls_cert_make(int dir, const struct strv *hosts, struct err *err)
{
	cleanup_buf struct buf names;

	buf_init(&names, 8 * KiB);
	if (is_good(dir, hosts))
		return 0;
	if (alt_names(hosts, &names) < 0)
		return err_set(err, EINVAL, "a certificate is for names and addresses");
	return make_both(dir, buf_str(&names), err);
}
