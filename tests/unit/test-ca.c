#include "tests.h"

#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "ca/ca.h"
#include "ca/keystore.h"

static X509 *read_cert(const struct buf *pem)
{
	BIO *b = BIO_new_mem_buf(pem->data, (int)pem->len);
	X509 *x = PEM_read_bio_X509(b, NULL, NULL, NULL);

	BIO_free(b);
	assert_non_null(x);
	return x;
}

/* Does the authority vouch for this leaf, as that host? */
static bool verifies(const struct buf *authority, const struct buf *leaf, const char *host)
{
	X509_STORE *store = X509_STORE_new();
	X509_STORE_CTX *ctx = X509_STORE_CTX_new();
	X509 *root = read_cert(authority), *x = read_cert(leaf);
	bool ok;

	(void)X509_STORE_add_cert(store, root);
	(void)X509_STORE_CTX_init(ctx, store, x, NULL);
	X509_STORE_CTX_set_purpose(ctx, X509_PURPOSE_SSL_SERVER);
	ok = X509_verify_cert(ctx) == 1 &&
	     (X509_check_host(x, host, 0, 0, NULL) == 1 || X509_check_ip_asc(x, host, 0) == 1);
	X509_STORE_CTX_free(ctx);
	X509_STORE_free(store);
	X509_free(root);
	X509_free(x);
	return ok;
}

static struct ca *one, *two;
static struct buf cert_one, cert_two, leaf, key;

static int up(void **state)
{
	struct err err = {0};

	buf_init(&cert_one, 16 * KiB);
	buf_init(&cert_two, 16 * KiB);
	buf_init(&leaf, 16 * KiB);
	buf_init(&key, 16 * KiB);
	one = ca_new("one", &err);
	two = ca_new("two", &err);
	return one && two && ca_certificate(one, &cert_one, &err) == 0
		       ? ca_certificate(two, &cert_two, &err)
		       : -1;
}

static int down(void **state)
{
	one = ca_free(one);
	two = ca_free(two);
	buf_done(&cert_one);
	buf_done(&cert_two);
	buf_done(&leaf);
	buf_done(&key);
	return 0;
}

static void a_leaf_is_good_for_its_host_and_its_authority_alone(void **state)
{
	struct err err = {0};

	assert_int_equal(ca_leaf(one, "api.example.com", &leaf, &key, &err), 0);
	assert_true(verifies(&cert_one, &leaf, "api.example.com"));
	assert_false(verifies(&cert_one, &leaf, "www.example.com"));
	assert_false(verifies(&cert_two, &leaf, "api.example.com"));
	assert_non_null(strstr(buf_str(&key), "PRIVATE KEY"));
	assert_null(strstr(buf_str(&leaf), "PRIVATE KEY"));
}

static void addresses_get_leaves_too(void **state)
{
	struct err err = {0};

	assert_int_equal(ca_leaf(one, "8.1.1.1", &leaf, &key, &err), 0);
	assert_true(verifies(&cert_one, &leaf, "8.1.1.1"));
	buf_clear(&leaf);
	assert_int_equal(ca_leaf(one, "2600::1", &leaf, &key, &err), 0);
	assert_true(verifies(&cert_one, &leaf, "2600::1"));
}

static void names_that_are_no_hosts_get_none(void **state)
{
	static const char *const bad[] = {"",	       "*",	    "*.example.com", "a,DNS:b",
					  "A.example", "a example", "a\nb",	     "email:x@y",
					  "a,b",       "a:b"};
	struct err err = {0};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(ca_leaf(one, bad[i], &leaf, &key, &err), -EINVAL);
	assert_int_equal(leaf.len, 0);
	assert_int_equal(key.len, 0);
}

static void a_leaf_lives_a_day(void **state)
{
	struct err err = {0};
	int days, seconds;
	X509 *x;

	assert_int_equal(ca_leaf(one, "a.example", &leaf, &key, &err), 0);
	x = read_cert(&leaf);
	assert_int_equal(ASN1_TIME_diff(&days, &seconds, NULL, X509_get0_notAfter(x)), 1);
	assert_true(days < 2);
	X509_free(x);
}

static uint32_t number_at(const struct buf *b, size_t at)
{
	const unsigned char *p = (const unsigned char *)b->data + at;

	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void a_keystore_has_every_certificate_of_the_bundle_and_nothing_else(void **state)
{
	cleanup_buf struct buf pem, store;
	unsigned char *der = NULL;
	X509 *x = read_cert(&cert_two);
	int n = i2d_X509(x, &der);

	buf_init(&pem, 64 * KiB);
	buf_init(&store, 64 * KiB);
	(void)buf_puts(&pem, "# a comment\n");
	(void)buf_append(&pem, cert_one.data, cert_one.len);
	(void)buf_puts(&pem, "-----BEGIN CERTIFICATE-----\n???\n-----END CERTIFICATE-----\n");
	(void)buf_append(&pem, cert_two.data, cert_two.len);
	(void)buf_puts(&pem, "-----BEGIN CERTIFICATE-----\nAAAA");
	assert_int_equal(keystore_of(buf_str(&pem), &store), 0);
	assert_int_equal(number_at(&store, 0), 0xfeedfeed);
	assert_int_equal(number_at(&store, 4), 2);
	assert_int_equal(number_at(&store, 8), 2);
	assert_memory_equal(store.data + store.len - 20 - n, der, n);
	OPENSSL_free(der);
	X509_free(x);
}

static void a_keystore_that_does_not_fit_is_an_error(void **state)
{
	cleanup_buf struct buf small;

	buf_init(&small, 64);
	assert_int_equal(keystore_of(buf_str(&cert_one), &small), -ENOBUFS);
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, up, down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_leaf_is_good_for_its_host_and_its_authority_alone),
		T(addresses_get_leaves_too),
		T(names_that_are_no_hosts_get_none),
		T(a_leaf_lives_a_day),
		T(a_keystore_has_every_certificate_of_the_bundle_and_nothing_else),
		T(a_keystore_that_does_not_fit_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
