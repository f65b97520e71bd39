#include "repo/take.h"

#include <ctype.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"

#define CHUNK (64 * KiB)
#define PACK_HEAD_LEN 12

struct stream {
	int fd;
	char chunk[CHUNK];
	size_t at, len;
	uint64_t total;
};

static int fill(struct stream *s)
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

/* Reads one line without its newline; returns 0 at the end of the stream. */
static int read_line(struct stream *s, struct buf *line)
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

static int take_ref(struct repo_taken *t, const char *line, struct err *err)
{
	static const char prefix[] = " refs/heads/";
	const char *name = line + GIT_OID_HEXSZ + strlen(prefix);
	int valid = 0;

	if (t->n_refs == REPO_REFS_MAX)
		return err_set(err, E2BIG, "the clone has more than %d branches", REPO_REFS_MAX);
	if (strlen(line) <= GIT_OID_HEXSZ + strlen(prefix) ||
	    strncmp(line + GIT_OID_HEXSZ, prefix, strlen(prefix)) != 0 ||
	    git_oid_fromstrn(&t->refs[t->n_refs].oid, line, GIT_OID_HEXSZ) < 0 ||
	    git_branch_name_is_valid(&valid, name) < 0 || !valid)
		return err_set(err, EPROTO, "the clone names a branch that is none");
	t->refs[t->n_refs++].name = xstrdup(name);
	return 0;
}

static int take_refs(struct stream *s, struct repo_taken *t, struct err *err)
{
	cleanup_buf struct buf line;

	buf_init(&line, REPO_LINE_MAX);
	while (read_line(s, &line) > 0) {
		int r = line.len ? take_ref(t, buf_str(&line), err) : 0;

		if (r < 0 || line.len == 0)
			return r;
	}
	return err_set(err, EPROTO, "nothing came out of the clone; is git in the sandbox?");
}

/* The last field of the pack header is the number of objects. */
static int count_objects(struct stream *s, char head[PACK_HEAD_LEN], struct err *err)
{
	size_t have = 0;
	const uint8_t *n = (const uint8_t *)head + 8;

	while (have < PACK_HEAD_LEN) {
		size_t take;

		if (s->at == s->len && fill(s) <= 0)
			return err_set(err, EPROTO, "the clone's objects are cut off");
		take = s->len - s->at < PACK_HEAD_LEN - have ? s->len - s->at
							     : PACK_HEAD_LEN - have;
		memcpy(head + have, s->chunk + s->at, take);
		have += take;
		s->at += take;
	}
	if (memcmp(head, "PACK", 4) != 0)
		return err_set(err, EPROTO, "what came out of the clone is no pack");
	return n[0] | n[1] | n[2] | n[3] ? 1 : 0;
}

static int index_pack(struct stream *s, git_odb *odb, const char *pack_dir, struct err *err)
{
	git_indexer_options opts;
	git_indexer_progress progress = {0};
	git_indexer *indexer = NULL;
	char head[PACK_HEAD_LEN];
	int r = count_objects(s, head, err);

	if (r == 0)
		while (fill(s) > 0) /* no objects to take; drain the writer */
			;
	if (r <= 0)
		return r;
	(void)git_indexer_options_init(&opts, GIT_INDEXER_OPTIONS_VERSION);
	opts.verify = 1;
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
			return err_set(err, EFBIG,
				       "the clone has more new data than is taken over");
		}
	}
	if (r == 0)
		r = git_indexer_commit(indexer, &progress);
	if (r < 0)
		r = gitlib_err(err, "the clone's objects are damaged or not complete");
	git_indexer_free(indexer);
	return r;
}

int repo_take(int fd, git_odb *odb, const char *pack_dir, struct repo_taken *ret, struct err *err)
{
	struct stream *s = xcalloc(1, sizeof(*s));
	int r;

	s->fd = fd;
	*ret = (struct repo_taken){0};
	r = take_refs(s, ret, err);
	if (r == 0)
		r = index_pack(s, odb, pack_dir, err);
	free(s);
	if (r == 0 && git_odb_refresh(odb) < 0)
		r = gitlib_err(err, "cannot read the objects");
	for (size_t i = 0; r == 0 && i < ret->n_refs; i++) {
		git_object_t type = GIT_OBJECT_INVALID;
		size_t size;

		if (git_odb_read_header(&size, &type, odb, &ret->refs[i].oid) < 0 ||
		    type != GIT_OBJECT_COMMIT)
			r = err_set(err, EPROTO, "branch '%s' of the clone has no commit",
				    ret->refs[i].name);
	}
	return r;
}

void repo_taken_done(struct repo_taken *t)
{
	for (size_t i = 0; i < t->n_refs; i++)
		free(t->refs[i].name);
	*t = (struct repo_taken){0};
}
