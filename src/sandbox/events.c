#include "sandbox/events.h"

#include <fcntl.h>
#include <sha256.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"

#define TAIL_MAX (256 * KiB) /* the last line is looked for in so much of the file's end */

static void hash_hex(const char *prev, const char *text, size_t len, char ret[EVENTS_HASH_LEN + 1])
{
	uint8_t digest[SHA256_DIGEST_LENGTH];
	SHA2_CTX ctx;

	SHA256Init(&ctx);
	SHA256Update(&ctx, (const uint8_t *)prev, strlen(prev));
	SHA256Update(&ctx, (const uint8_t *)text, len);
	SHA256Final(digest, &ctx);
	for (size_t i = 0; i < sizeof(digest); i++)
		(void)snprintf(ret + 2 * i, 3, "%02x", digest[i]);
}

/* Is this line whole? Then the chain goes on from it. */
static bool resume_from(struct events *e, const char *line)
{
	cleanup_json json_t *j = json_loads(line, 0, NULL);
	const char *chain = json_string_value(json_object_get(j, "chain"));

	if (!chain || strlen(chain) != EVENTS_HASH_LEN)
		return false;
	memcpy(e->chain, chain, EVENTS_HASH_LEN + 1);
	e->seq = (uint64_t)json_integer_value(json_object_get(j, "seq"));
	return true;
}

/* Takes up the chain where the last whole line left it. A torn line (a crash while writing) is
 * ended with a newline and stays, where a verifier finds it. */
static int resume(struct events *e, struct err *err)
{
	cleanup_free char *tail = xmalloc(TAIL_MAX + 1);
	off_t size = lseek(e->fd, 0, SEEK_END);
	off_t from = size > (off_t)TAIL_MAX ? size - (off_t)TAIL_MAX : 0;
	ssize_t n = size > 0 ? pread(e->fd, tail, TAIL_MAX, from) : 0;

	if (size < 0 || n < 0)
		return err_sys(err, errno, "cannot read the event log");
	if (n > 0 && tail[n - 1] != '\n')
		(void)!write(e->fd, "\n", 1);
	while (n > 0) {
		char *line;

		tail[n] = '\0';
		line = memrchr(tail, '\n', (size_t)n);
		if (resume_from(e, line ? line + 1 : tail))
			break;
		n = line ? line - tail : 0;
	}
	return 0;
}

int events_open(int dirfd, struct events *ret, struct err *err)
{
	struct events e = {.fd = -1};
	int r;

	e.fd = openat(dirfd, "events.jsonl", O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW,
		      0600);
	if (e.fd < 0)
		return err_sys(err, errno, "cannot open the event log");
	r = resume(&e, err);
	if (r < 0) {
		closep(&e.fd);
		return r;
	}
	*ret = e;
	return 0;
}

void events_close(struct events *e)
{
	closep(&e->fd);
}

static json_t *head_of(struct events *e, const char *type)
{
	struct timespec ts;
	struct tm tm;
	char when[40], ms[32];

	(void)clock_gettime(CLOCK_REALTIME, &ts);
	(void)gmtime_r(&ts.tv_sec, &tm);
	(void)strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S", &tm);
	(void)snprintf(ms, sizeof(ms), ".%03ldZ", ts.tv_nsec / 1000000);
	return json_pack("{sI ss+ ss}", "seq", (json_int_t)(e->seq + 1), "time", when, ms, "type",
			 type);
}

int events_add(struct events *e, const char *type, json_t *details)
{
	cleanup_json json_t *owned = details, *j = head_of(e, type);
	cleanup_free char *text = NULL, *line = NULL;
	char chain[EVENTS_HASH_LEN + 1];
	int r;

	if (e->fd < 0)
		return -EBADF;
	(void)json_object_update_missing(j, owned);
	text = json_dumps(j, JSON_COMPACT);
	if (!text)
		return -EINVAL;
	hash_hex(e->chain, text, strlen(text), chain);
	/* The chain is the last member, so that a verifier can cut it off the text. */
	text[strlen(text) - 1] = '\0';
	line = xasprintf("%s,\"chain\":\"%s\"}\n", text, chain);
	r = fd_write_all(e->fd, line, strlen(line));
	if (r < 0)
		return r;
	e->seq++;
	memcpy(e->chain, chain, sizeof(chain));
	return 0;
}
