#include "events/events-chain.h"

#include <errno.h>
#include <fcntl.h>
#include <sha256.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/parse.h"

static const char before_chain[] = ",\"chain\":\"";
static const char first_member[] = "{\"seq\":";

#define TAIL_LEN (sizeof(before_chain) - 1 + CHAIN_HASH_LEN + 2) /* with "\"}" at its end */
#define SEQ_DIGITS 20

static void to_hex(const uint8_t digest[SHA256_DIGEST_LENGTH], char ret[CHAIN_HASH_LEN + 1])
{
	static const char hex[] = "0123456789abcdef";

	for (size_t i = 0; i < SHA256_DIGEST_LENGTH; i++) {
		ret[2 * i] = hex[digest[i] >> 4];
		ret[2 * i + 1] = hex[digest[i] & 15];
	}
	ret[CHAIN_HASH_LEN] = '\0';
}

void chain_hash(const void *p, size_t n, char ret[CHAIN_HASH_LEN + 1])
{
	uint8_t digest[SHA256_DIGEST_LENGTH];
	SHA2_CTX ctx;

	SHA256Init(&ctx);
	SHA256Update(&ctx, p, n);
	SHA256Final(digest, &ctx);
	to_hex(digest, ret);
}

void chain_of(const char *before, const char *body, size_t n, char ret[CHAIN_HASH_LEN + 1])
{
	uint8_t digest[SHA256_DIGEST_LENGTH];
	SHA2_CTX ctx;

	SHA256Init(&ctx);
	SHA256Update(&ctx, (const uint8_t *)before, strlen(before));
	SHA256Update(&ctx, (const uint8_t *)body, n);
	SHA256Update(&ctx, (const uint8_t *)"}", 1);
	SHA256Final(digest, &ctx);
	to_hex(digest, ret);
}

bool chain_fits(const char *before, const struct chain_record *r)
{
	char hash[CHAIN_HASH_LEN + 1];

	chain_of(before, r->text, r->body, hash);
	return memcmp(hash, r->hash, sizeof(hash)) == 0;
}

static bool is_hash(const char *p, size_t n)
{
	return n == CHAIN_HASH_LEN && strspn(p, "0123456789abcdef") >= n;
}

static bool read_seq(const char *p, size_t n, uint64_t *ret)
{
	char digits[SEQ_DIGITS + 1] = "";
	size_t len = 0;

	while (len < n && len < SEQ_DIGITS && p[len] >= '0' && p[len] <= '9') {
		digits[len] = p[len];
		len++;
	}
	return len < n && p[len] == ',' && parse_uint(digits, 1, UINT64_MAX, ret) == 0;
}

bool chain_split(const char *line, size_t n, struct chain_record *ret)
{
	const size_t head = sizeof(first_member) - 1;
	const char *tail;

	if (n > EVENTS_LINE_MAX || n < head + TAIL_LEN || memcmp(line, first_member, head) != 0)
		return false;
	tail = line + n - TAIL_LEN;
	*ret = (struct chain_record){.text = line, .body = n - TAIL_LEN};
	if (memcmp(tail, before_chain, sizeof(before_chain) - 1) != 0 || line[n - 2] != '"' ||
	    line[n - 1] != '}' || !read_seq(line + head, n - head, &ret->seq))
		return false;
	memcpy(ret->hash, tail + sizeof(before_chain) - 1, CHAIN_HASH_LEN);
	return is_hash(ret->hash, strlen(ret->hash));
}

/* The head is a line of fixed length, so that one write replaces it in place. */
#define HEAD_LEN (SEQ_DIGITS + 1 + CHAIN_HASH_LEN + 1 + SEQ_DIGITS + 1)

int head_open(int dirfd)
{
	int fd = openat(dirfd, HEAD_FILE, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	return fd < 0 ? -errno : fd;
}

int head_write(int fd, const struct head *h)
{
	char line[HEAD_LEN + 1];
	ssize_t n;

	(void)snprintf(line, sizeof(line), "%-*llu %-*s %-*llu\n", SEQ_DIGITS,
		       (unsigned long long)h->last.seq, CHAIN_HASH_LEN,
		       h->last.seq ? h->last.hash : "-", SEQ_DIGITS, (unsigned long long)h->first);
	n = pwrite(fd, line, HEAD_LEN, 0);
	return n == HEAD_LEN ? 0 : n < 0 ? -errno : -EIO;
}

static bool read_number(char *p, uint64_t *ret)
{
	p[strcspn(p, " \n")] = '\0';
	return parse_uint(p, 0, UINT64_MAX, ret) == 0;
}

int head_read(int dirfd, struct head *ret)
{
	cleanup_fd int fd = openat(dirfd, HEAD_FILE, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	char line[HEAD_LEN + 1] = "", *hash = line + SEQ_DIGITS + 1;
	char *first = hash + CHAIN_HASH_LEN + 1;
	struct head h = {0};

	if (fd < 0)
		return -errno;
	if (pread(fd, line, HEAD_LEN, 0) != HEAD_LEN)
		return -EINVAL;
	hash[-1] = first[-1] = '\0';
	if (!read_number(line, &h.last.seq) || !read_number(first, &h.first))
		return -EINVAL;
	if (h.last.seq && !is_hash(hash, strlen(hash)))
		return -EINVAL;
	if (h.last.seq)
		memcpy(h.last.hash, hash, sizeof(h.last.hash));
	*ret = h;
	return 0;
}
