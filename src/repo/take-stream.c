#include "repo/take-stream.h"

#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"

#define PACK_HEAD_LEN 12

struct repo_stream *repo_stream_new(int fd)
{
	struct repo_stream *s = xcalloc(1, sizeof(*s));

	s->fd = fd;
	s->left = UINT64_MAX;
	return s;
}

/* How much can be taken from the chunk; 0 at the end, or -errno. */
static ssize_t more(struct repo_stream *s)
{
	ssize_t n;

	if (!s->left)
		return 0;
	if (s->at == s->len) {
		do
			n = read(s->fd, s->chunk, sizeof(s->chunk));
		while (n < 0 && errno == EINTR);
		if (n <= 0)
			return n < 0 ? -errno : 0;
		s->at = 0;
		s->len = (size_t)n;
	}
	n = (ssize_t)(s->len - s->at);
	return (uint64_t)n < s->left ? n : (ssize_t)s->left;
}

static const char *used(struct repo_stream *s, size_t n)
{
	const char *p = s->chunk + s->at;

	s->at += n;
	s->total += n;
	if (s->left != UINT64_MAX)
		s->left -= n;
	return p;
}

void repo_stream_enter(struct repo_stream *s, uint64_t n)
{
	s->left = n;
}

int repo_stream_leave(struct repo_stream *s)
{
	ssize_t n;

	while ((n = more(s)) > 0)
		(void)used(s, (size_t)n);
	n = n < 0 ? n : s->left ? -EPROTO : 0;
	s->left = UINT64_MAX;
	return (int)n;
}

int repo_stream_line(struct repo_stream *s, struct buf *line)
{
	buf_clear(line);
	for (;;) {
		ssize_t n = more(s);
		char c;

		if (n <= 0)
			return (int)n;
		c = *used(s, 1);
		if (c == '\n')
			return 1;
		if (c == '\0' || buf_putc(line, c) < 0)
			return -EPROTO;
	}
}

ssize_t repo_stream_read(struct repo_stream *s, void *p, size_t n)
{
	ssize_t have = more(s);

	if (have <= 0)
		return have;
	n = (size_t)have < n ? (size_t)have : n;
	memcpy(p, used(s, n), n);
	return (ssize_t)n;
}

static uint32_t be32(const char *p)
{
	const uint8_t *n = (const uint8_t *)p;

	return (uint32_t)n[0] << 24 | (uint32_t)n[1] << 16 | (uint32_t)n[2] << 8 | n[3];
}

/* The last field of the pack header is the number of objects. */
static int count_objects(struct repo_stream *s, char head[PACK_HEAD_LEN], struct err *err)
{
	size_t have = 0;

	while (have < PACK_HEAD_LEN) {
		ssize_t got = repo_stream_read(s, head + have, PACK_HEAD_LEN - have);

		if (got <= 0)
			return err_set(err, EPROTO, "the objects are cut off");
		have += (size_t)got;
	}
	if (memcmp(head, "PACK", 4) != 0)
		return err_set(err, EPROTO, "what came out of the sandbox is no pack");
	return be32(head + 8) ? 1 : 0;
}

/* 1: objects follow, and head is what begins them; 0: there are none, and the writer has been drained. */
static int begin_pack(struct repo_stream *s, char head[PACK_HEAD_LEN], struct err *err)
{
	int r = count_objects(s, head, err);
	ssize_t n;

	if (r == 0)
		while ((n = more(s)) > 0 && s->total <= REPO_PACK_MAX)
			(void)used(s, (size_t)n);
	return r;
}

int repo_stream_copy_pack(struct repo_stream *s, int to, struct err *err)
{
	git_indexer_progress progress = {0};
	char head[PACK_HEAD_LEN];
	ssize_t n;
	int r = begin_pack(s, head, err), rc;

	if (r <= 0)
		return r;
	if (be32(head + 8) > GITLIB_PACK_OBJECTS_MAX)
		return err_set(err, EFBIG, "there are more new objects than are taken over");
	progress.total_objects = be32(head + 8);
	rc = fd_write_all(to, head, sizeof(head));
	while (rc == 0 && (n = more(s)) > 0) {
		rc = fd_write_all(to, used(s, (size_t)n), (size_t)n);
		if (s->total > REPO_PACK_MAX)
			return err_set(err, EFBIG, "there is more new data than is taken over");
		if (s->progress)
			(void)s->progress(&progress,
					  s->arg); /* the reader does not say how far it is */
	}
	/* A reader that is gone has found a fault, and says it by how it ended. */
	return rc < 0 && rc != -EPIPE ? err_sys(err, -rc, "cannot write the objects") : 1;
}

int repo_stream_pack(struct repo_stream *s, git_odb *odb, const char *pack_dir, git_oid *ret_name,
		     struct err *err)
{
	git_indexer_options opts;
	git_indexer_progress progress = {0};
	git_indexer *indexer = NULL;
	char head[PACK_HEAD_LEN];
	ssize_t n;
	int r = begin_pack(s, head, err);

	if (r <= 0)
		return r;
	(void)git_indexer_options_init(&opts, GIT_INDEXER_OPTIONS_VERSION);
	opts.progress_cb = s->progress;
	opts.progress_cb_payload = s->arg;
	if (git_indexer_new(&indexer, pack_dir, 0, odb, &opts) < 0)
		return gitlib_err(err, "cannot write a pack");
	r = git_indexer_append(indexer, head, sizeof(head), &progress);
	while (r == 0 && (n = more(s)) > 0) {
		r = git_indexer_append(indexer, used(s, (size_t)n), (size_t)n, &progress);
		if (s->total > REPO_PACK_MAX) {
			git_indexer_free(indexer);
			return err_set(err, EFBIG, "there is more new data than is taken over");
		}
	}
	if (r == 0)
		r = git_indexer_commit(indexer, &progress);
	if (r < 0)
		r = gitlib_err(err, "the objects are damaged or not complete");
	else
		*ret_name = *git_indexer_hash(indexer);
	git_indexer_free(indexer);
	return r < 0 ? r : 1;
}
