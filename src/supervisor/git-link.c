/*
 * The private git directory of the sandbox, in its record: `git`, with `git.told` (what the sandbox
 * was told of the user's references), `git.of` (the repository it was made from) and the small files
 * that are mounted beside it. It is made before anything runs inside. From then on it is the agent's,
 * and nothing here opens what is in it.
 */
#include "supervisor/supervisor.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"
#include "workspace/git-stamp.h"
#include "workspace/private-git.h"

#define DIR_NAME "git"
#define WAS_NAME "git.was" /* of a repository that is gone */
#define TOLD_NAME "git.told"
#define OF_NAME "git.of"
#define OF_MAX 8192

static int write_file(struct supervisor *s, const char *name, const char *text, struct err *err)
{
	int r = path_write_atomic(s->entry.dir, name, text, strlen(text), 0600, 0);

	return r < 0 ? err_sys(err, -r, "cannot write '%s' of the sandbox", name) : 0;
}

/* Which repository it is: another one may be at the same path the next time. */
static char *identity(const struct spec_git *g)
{
	struct stat st = {0};

	if (!g->common)
		return xstrdup("none\n");
	(void)stat(g->common, &st);
	return xasprintf("%llu:%llu %s\n", (unsigned long long)st.st_dev,
			 (unsigned long long)st.st_ino, g->dir);
}

static bool is_of(const struct supervisor *s, const char *text)
{
	cleanup_buf struct buf b;

	buf_init(&b, OF_MAX);
	return path_read(s->entry.dir, OF_NAME, &b) == 0 && streq(buf_str(&b), text);
}

static bool is_there(const struct supervisor *s, const char *name)
{
	struct stat st;

	return fstatat(s->entry.dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* A kept sandbox keeps what the agent has there, unless the agent has emptied it. */
static bool is_kept(const struct supervisor *s, const char *of)
{
	return is_there(s, TOLD_NAME) && is_of(s, of) &&
	       is_there(s, s->spec->git.root ? DIR_NAME "/HEAD" : DIR_NAME);
}

/* What was made from another repository stays, once, beside the new one. */
static int put_aside(struct supervisor *s, struct err *err)
{
	bool whole = is_there(s, TOLD_NAME) && is_there(s, DIR_NAME "/HEAD");
	int r;

	if (unlinkat(s->entry.dir, TOLD_NAME, 0) < 0 && errno != ENOENT)
		return err_sys(err, errno, "cannot remove '%s' of the sandbox", TOLD_NAME);
	(void)unlinkat(s->entry.dir, GIT_IMPORTED, 0); /* of the one before */
	if (!whole)
		return path_remove_tree(s->entry.dir, DIR_NAME, err);
	r = path_remove_tree(s->entry.dir, WAS_NAME, err);
	if (r < 0)
		return r;
	if (renameat(s->entry.dir, DIR_NAME, s->entry.dir, WAS_NAME) < 0)
		return err_sys(err, errno, "cannot put the sandbox's git directory aside");
	strv_pushf(&s->notes,
		   "the repository is another one than that of the last start; the sandbox's git "
		   "directory of then is '%s.was'",
		   s->spec->git.private);
	return 0;
}

static int make(struct supervisor *s, const char *of, struct err *err)
{
	const struct spec_git *g = &s->spec->git;
	const struct gitdir git = {.root = g->root, .dir = g->dir, .common = g->common};
	const struct private_git_input in = {.git = &git, .run = PRIVATE_GIT_RUN};
	cleanup_(private_git_done) struct private_git p = {0};
	cleanup_fd int at = -1;
	int r = put_aside(s, err);

	if (r < 0)
		return r;
	if (mkdirat(s->entry.dir, DIR_NAME, 0755) < 0)
		return err_sys(err, errno, "cannot make the sandbox's git directory");
	at = path_open_beneath(s->entry.dir, DIR_NAME, O_RDONLY | O_DIRECTORY, 0);
	if (at < 0)
		return err_sys(err, -at, "cannot open the sandbox's git directory");
	r = private_git_make(&in, at, &p, err);
	if (r == 0)
		r = write_file(s, OF_NAME, of, err);
	/* Last: without it the directory is not whole, and is made anew. */
	return r < 0 ? r : write_file(s, TOLD_NAME, p.told ? p.told : "", err);
}

/* What the spec mounts beside it. */
static int write_beside(struct supervisor *s, struct err *err)
{
	cleanup_free char *link = xasprintf("gitdir: %s\n", s->spec->git.at);
	int r = write_file(s, DIR_NAME ".link", link, err);

	return r < 0 ? r : write_file(s, DIR_NAME ".empty", "", err);
}

int git_link_make(struct supervisor *s, struct err *err)
{
	cleanup_free char *of = NULL;
	int r;

	if (!s->spec->git.private)
		return 0;
	of = identity(&s->spec->git);
	r = is_kept(s, of) ? 0 : make(s, of, err);
	return r < 0 ? r : write_beside(s, err);
}
