#include "repo/take.h"

#include <string.h>

#include "base/buf.h"
#include "repo/take-stream.h"

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

static int take_refs(struct repo_stream *s, struct repo_taken *t, struct err *err)
{
	cleanup_buf struct buf line;

	buf_init(&line, REPO_LINE_MAX);
	while (repo_stream_line(s, &line) > 0) {
		int r = line.len ? take_ref(t, buf_str(&line), err) : 0;

		if (r < 0 || line.len == 0)
			return r;
	}
	return err_set(err, EPROTO, "nothing came out of the clone; is git in the sandbox?");
}

int repo_take(int fd, git_odb *odb, const char *pack_dir, struct repo_taken *ret, struct err *err)
{
	struct repo_stream *s = repo_stream_new(fd);
	git_oid name;
	int r;

	*ret = (struct repo_taken){0};
	r = take_refs(s, ret, err);
	if (r == 0)
		r = repo_stream_pack(s, odb, pack_dir, true, &name, err);
	free(s);
	r = r > 0 ? 0 : r;
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
