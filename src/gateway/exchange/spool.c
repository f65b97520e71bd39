#include "gateway/exchange/spool.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "flow/gateway-limits.h"

void spool_init(struct spool *s, size_t max, size_t *total)
{
	*s = (struct spool){.total = total, .max = max, .fd = -1};
	buf_init(&s->small, SPOOL_SMALL);
}

void spool_done(struct spool *s)
{
	if (!s->total)
		return;
	*s->total -= s->len;
	buf_done(&s->small);
	closep(&s->fd);
	*s = (struct spool){.fd = -1};
}

static int write_at(int fd, size_t at, const char *p, size_t n)
{
	while (n) {
		ssize_t r = pwrite(fd, p, n, (off_t)at);

		if (r <= 0)
			return r < 0 ? -errno : -EIO;
		p += r;
		at += (size_t)r;
		n -= (size_t)r;
	}
	return 0;
}

static int move_to_file(struct spool *s)
{
	s->fd = memfd_create("body", MFD_CLOEXEC);
	if (s->fd < 0)
		return -errno;
	return write_at(s->fd, 0, s->small.data, s->small.len);
}

int spool_put(struct spool *s, const void *p, size_t n)
{
	int r = 0;

	if (!s->total || n > s->max - s->len || n > SPOOL_TOTAL_MAX - *s->total)
		return -ENOBUFS;
	if (n == 0)
		return 0;
	if (s->fd < 0 && n > buf_room(&s->small)) {
		r = move_to_file(s);
		buf_done(&s->small);
	}
	if (r == 0)
		r = s->fd < 0 ? buf_append(&s->small, p, n) : write_at(s->fd, s->len, p, n);
	if (r < 0)
		return r;
	s->len += n;
	*s->total += n;
	return 0;
}

ssize_t spool_get(const struct spool *s, size_t at, void *p, size_t n)
{
	ssize_t r;

	if (at >= s->len)
		return 0;
	n = n < s->len - at ? n : s->len - at;
	if (s->fd < 0) {
		memcpy(p, s->small.data + at, n);
		return (ssize_t)n;
	}
	r = pread(s->fd, p, n, (off_t)at);
	return r < 0 ? -errno : r == 0 ? -EIO : r;
}

int spool_sha256(const struct spool *s, char ret[static SPOOL_HEX])
{
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	unsigned char digest[32], part[16384];
	bool good = ctx && EVP_DigestInit_ex(ctx, EVP_sha256(), NULL) == 1;
	ssize_t n;

	for (size_t at = 0; good && at < s->len; at += (size_t)n) {
		n = spool_get(s, at, part, sizeof(part));
		if (n <= 0) {
			good = false;
			break;
		}
		good = EVP_DigestUpdate(ctx, part, (size_t)n) == 1;
	}
	good = good && EVP_DigestFinal_ex(ctx, digest, NULL) == 1;
	EVP_MD_CTX_free(ctx);
	for (size_t i = 0; i < sizeof(digest) && good; i++)
		(void)snprintf(ret + 2 * i, 3, "%02x", digest[i]);
	return good ? 0 : -EIO;
}
