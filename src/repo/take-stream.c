#include "repo/take-stream.h"

#include <string.h>
#include <unistd.h>

#include "base/buf.h"

#define PACK_HEAD_LEN 12

struct repo_stream *repo_stream_new(int fd)
{
	struct repo_stream *s = xcalloc(1, sizeof(*s));

	s->fd = fd;
	return s;
}

static int fill(struct repo_stream *s)
{
	ssize_t n;

	do
		n = read(s->fd, s->chunk, sizeof(s->chunk));
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	s->at = 0;
	s->len = (size_t)n;
	s->total += (size_t)n;
	return n > 0;
}

int repo_stream_line(struct repo_stream *s, struct buf *line)
{
	buf_clear(line);
	for (;;) {
		char c;

		if (s->at == s->len) {
			int r = fill(s);

			if (r <= 0)
				return r;
		}
		c = s->chunk[s->at++];
		if (c == '\n')
			return 1;
		if (c == '\0' || buf_putc(line, c) < 0)
			return -EPROTO;
	}
}

/* The last field of the pack header is the number of objects. */
static int count_objects(struct repo_stream *s, char head[PACK_HEAD_LEN], struct err *err)
{
	size_t have = 0;
	const uint8_t *n = (const uint8_t *)head + 8;

	while (have < PACK_HEAD_LEN) {
		size_t take;

		if (s->at == s->len && fill(s) <= 0)
			return err_set(err, EPROTO, "the objects are cut off");
		take = s->len - s->at < PACK_HEAD_LEN - have ? s->len - s->at
							     : PACK_HEAD_LEN - have;
		memcpy(head + have, s->chunk + s->at, take);
		have += take;
		s->at += take;
	}
	if (memcmp(head, "PACK", 4) != 0)
		return err_set(err, EPROTO, "what came out of the sandbox is no pack");
	return n[0] | n[1] | n[2] | n[3] ? 1 : 0;
}

int repo_stream_pack(struct repo_stream *s, git_odb *odb, const char *pack_dir, bool complete,
		     git_oid *ret_name, struct err *err)
{
	git_indexer_options opts;
	git_indexer_progress progress = {0};
	git_indexer *indexer = NULL;
	char head[PACK_HEAD_LEN];
	int r = count_objects(s, head, err);

	if (r == 0)
		while (fill(s) > 0 && s->total <= REPO_PACK_MAX)
			; /* no objects to take; drain the writer */
	if (r <= 0)
		return r;
	(void)git_indexer_options_init(&opts, GIT_INDEXER_OPTIONS_VERSION);
	opts.verify = complete;
	if (git_indexer_new(&indexer, pack_dir, 0, odb, &opts) < 0)
		return gitlib_err(err, "cannot write a pack");
	r = git_indexer_append(indexer, head, sizeof(head), &progress);
	while (r == 0) {
		if (s->at < s->len)
			r = git_indexer_append(indexer, s->chunk + s->at, s->len - s->at,
					       &progress);
		s->at = s->len;
		if (r == 0 && fill(s) <= 0)
			break;
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
