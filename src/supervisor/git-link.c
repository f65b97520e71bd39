/*
 * The private git directory of the sandbox, in its record: `git`, with `git.told` (what the sandbox
 * was told of the user's references), `git.of` (the repository it was made from) and the small files
 * that are mounted beside it. It is made before anything runs inside, or was made ahead
 * (workspace/private/private-spare.h). From then on it is the agent's, and nothing here opens what
 * is in it. The checks of a loop have another one, `checks-git`, which is made for one start and
 * from which nothing comes out.
 */
#include "supervisor/supervisor.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/path.h"
#include "spec/of-loop.h"
#include "workspace/git-stamp.h"
#include "workspace/private/private-git.h"
#include "workspace/private/gitlinks.h"
#include "workspace/private/private-spare.h"

#define DIR_NAME PRIVATE_SPARE_DIR
#define WAS_NAME "git.was" /* of a repository that is gone */
#define TOLD_NAME PRIVATE_SPARE_TOLD
#define OF_NAME PRIVATE_SPARE_OF
#define OF_MAX 8192
#define FIRST_MS 60000 /* for git to look at all files once */

static int write_file(struct supervisor *s, const char *name, const char *text, struct err *err)
{
	int r = path_write_atomic(s->entry.dir, name, text, strlen(text), 0600, 0);

	return r < 0 ? err_sys(err, -r, "cannot write '%s' of the sandbox", name) : 0;
}

static const char *dir_name(const struct supervisor *s)
{
	return path_base(s->spec->git.private);
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

/* Everything in it was imported. */
static bool is_imported(const struct supervisor *s)
{
	cleanup_fd int dir = path_open_beneath(s->entry.dir, DIR_NAME, O_RDONLY | O_DIRECTORY, 0);

	return dir >= 0 && git_imported_is(s->entry.dir, dir) > 0;
}

/*
 * A kept sandbox keeps what the agent has there, unless the agent has emptied it. Each agent of a loop
 * begins with what the user has: nothing that was rejected, and no setting of the agent before.
 */
static bool is_kept(const struct supervisor *s, const char *of)
{
	return !s->spec->checks && is_there(s, TOLD_NAME) && is_of(s, of) &&
	       is_there(s, s->spec->git.root ? DIR_NAME "/HEAD" : DIR_NAME) &&
	       !(s->spec->git.root && spec_is_loops(s->spec) && is_imported(s));
}

/* What was made from another repository stays, once, beside the new one. */
static int put_aside(struct supervisor *s, const char *of, struct err *err)
{
	bool whole = is_there(s, TOLD_NAME) && is_there(s, DIR_NAME "/HEAD") && !is_of(s, of);
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

/* A pattern of .gitignore that means this directory and nothing else. */
static char *pattern_of(const char *rel)
{
	cleanup_buf struct buf b;

	buf_init(&b, OF_MAX);
	(void)buf_putc(&b, '/');
	for (; *rel; rel++) {
		if (strchr("*?[\\", *rel))
			(void)buf_putc(&b, '\\');
		(void)buf_putc(&b, *rel);
	}
	(void)buf_putc(&b, '/');
	return buf_take(&b);
}

/*
 * Of a subdirectory the rest of the tree is not there: git is told so, in a way that writes no file.
 * $1: the top of the tree, $2: the pattern, $3: the directory.
 */
static const char subdirectory[] = "cd \"$1\" || exit\n"
				   "if [ \"$(git config core.sparseCheckout)\" = true ]; then\n"
				   "	git ls-files -z -- \":(top,exclude,literal)$3\" |\n"
				   "		git update-index -z --skip-worktree --stdin\n"
				   "else\n"
				   "	git sparse-checkout set --no-cone \"$2\"\n"
				   "fi\n";
static const char refresh[] = "git update-index -q --refresh";

/* What git does inside before the first command, for a directory that was just made. */
static void plan_first(struct supervisor *s, bool young)
{
	const struct spec_git *g = &s->spec->git;
	bool below = g->root && !streq(g->root, s->spec->workspace);
	const char *rel = below ? s->spec->workspace + strlen(g->root) + 1 : "";
	struct strv *argv = &s->git_first.argv;

	if (!below && !young)
		return;
	strv_push(argv, "sh");
	strv_push(argv, "-c");
	strv_push(argv, below ? subdirectory : refresh);
	strv_push(argv, "sh");
	strv_push(argv, below ? g->root : "");
	strv_take(argv, pattern_of(rel));
	strv_push(argv, rel);
	s->git_first.null = open("/dev/null", O_RDWR | O_CLOEXEC);
}

static struct gitdir gitdir_of(const struct spec_git *g)
{
	return (struct gitdir){.root = g->root, .dir = g->dir, .common = g->common};
}

static int make_empty(struct supervisor *s, const char *of, struct err *err)
{
	const struct spec_git *g = &s->spec->git;
	int r = s->spec->checks ? path_remove_tree(s->entry.dir, dir_name(s), err)
				: put_aside(s, of, err);

	if (r < 0)
		return r;
	s->git_is_new = true;
	if (g->root && !s->spec->checks) {
		const struct gitdir git = gitdir_of(g);

		if (private_spare_claim(s->places.state, &git, s->entry.dir, &s->git_spare))
			return 0;
	}
	return mkdirat(s->entry.dir, dir_name(s), 0755) < 0
		       ? err_sys(err, errno, "cannot make the sandbox's git directory")
		       : 0;
}

/* Small files, and directories of submodules, that the spec mounts beside it. */
static int write_beside(struct supervisor *s, struct err *err)
{
	const char *private = s->spec->git.private;
	size_t n = strlen(private);
	int r = 0;

	for (size_t i = 0; r == 0 && i < s->spec->n_mounts; i++) {
		const struct spec_mount *m = &s->spec->mounts[i];

		if (!m->source || strncmp(m->source, private, n) != 0 || m->source[n] != '.')
			continue;
		if (m->data)
			r = write_file(s, path_base(m->source), m->data, err);
		else
			r = path_mkdirs(m->source, 0755, err);
	}
	return r;
}

static void on_first_limit(struct ev *ev, struct ev_timer *t)
{
	struct supervisor *s = ev_owner(t, struct supervisor, git_first.limit);
	cleanup_buf struct buf b;

	buf_init(&b, WIRE_BODY_MAX);
	wire_put_u32(&b, 0);
	(void)wire_send(s->guest, WIRE_KILL, s->git_first.id, &b, NULL, 0);
}

bool git_link_first(struct supervisor *s)
{
	int fds[] = {s->git_first.null, s->git_first.null, s->git_first.null};
	cleanup_strv struct strv env = {0};
	cleanup_buf struct buf b;

	buf_init(&b, WIRE_BODY_MAX);
	if (!s->git_first.argv.n)
		return false;
	spec_environ(s->spec, &env);
	wire_put_u32(&b, 0);
	wire_put_u32(&b, 0);
	wire_put_u32(&b, 0);
	wire_put_str(&b, s->spec->workspace);
	wire_put_strv(&b, &s->git_first.argv);
	wire_put_strv(&b, &env);
	s->git_first.id = ++s->next_id;
	if (wire_send(s->guest, WIRE_SPAWN, s->git_first.id, &b, fds, ARRAY_SIZE(fds)) < 0) {
		(void)err_set(&s->why, EIO, "the guest does not take commands");
		sup_end(s);
		return true;
	}
	s->git_first.limit.fn = on_first_limit;
	ev_timer_set(s->ev, &s->git_first.limit, FIRST_MS);
	return true;
}

bool git_link_waits(const struct supervisor *s)
{
	return s->git_first.argv.n > 0;
}

void git_link_ended(struct supervisor *s, uint32_t id)
{
	if (!git_link_waits(s) || s->git_first.id != id)
		return;
	strv_done(&s->git_first.argv);
	strv_init(&s->git_first.argv);
	ev_timer_stop(s->ev, &s->git_first.limit);
	client_watch_all(s);
	git_flow_up(s);
}

int git_link_place(struct supervisor *s, struct err *err)
{
	cleanup_free char *of = NULL;
	int r;

	if (!s->spec->git.private)
		return 0;
	of = identity(&s->spec->git);
	r = is_kept(s, of) ? 0 : make_empty(s, of, err);
	r = r < 0 ? r : write_beside(s, err);
	if (r < 0)
		return r;
	r = gitlinks_make(s->spec);
	return r < 0 ? err_sys(err, -r, "cannot make the places of submodules in '%s'",
			       s->spec->workspace)
		     : 0;
}

/* A spare of a repository that has changed since: the guest mounts the directory itself already. */
static int empty_it(struct supervisor *s, int at, struct err *err)
{
	cleanup_strv struct strv names = {0};
	int r = 0;

	private_spare_done(&s->git_spare);
	(void)unlinkat(s->entry.dir, GIT_IMPORTED, 0);
	path_glob_beneath(at, "", "*", SIZE_MAX, &names);
	for (size_t i = 0; r == 0 && i < names.n; i++)
		r = path_remove_tree(at, names.v[i], err);
	return r;
}

int git_link_fill(struct supervisor *s, struct err *err)
{
	const struct spec_git *g = &s->spec->git;
	const struct gitdir git = gitdir_of(g);
	const struct private_git_input in = {.git = &git, .run = PRIVATE_GIT_RUN};
	cleanup_(private_git_done) struct private_git p = {0};
	cleanup_free char *of = NULL;
	cleanup_fd int at = -1;
	int r;

	if (!s->git_is_new)
		return 0;
	if (s->git_spare.dir >= 0 && private_spare_accept(&s->git_spare, &git, s->entry.dir)) {
		plan_first(s, s->git_spare.young);
		return 0;
	}
	at = path_open_beneath(s->entry.dir, dir_name(s), O_RDONLY | O_DIRECTORY, 0);
	if (at < 0)
		return err_sys(err, -at, "cannot open the sandbox's git directory");
	r = s->git_spare.dir >= 0 ? empty_it(s, at, err) : 0;
	if (r == 0)
		r = private_git_make(&in, at, &p, err);
	if (r == 0)
		plan_first(s, p.young);
	if (r < 0 || s->spec->checks)
		return r;
	of = identity(g);
	r = write_file(s, OF_NAME, of, err);
	/* Last: without it the directory is not whole, and is made anew. */
	return r < 0 ? r : write_file(s, TOLD_NAME, p.told ? p.told : "", err);
}

void git_link_keep_spare(struct supervisor *s)
{
	const struct spec_git *g = &s->spec->git;
	const struct gitdir git = gitdir_of(g);
	cleanup_free char *of = NULL;
	struct err err = {0};
	int r;

	if (!g->private || !g->root || s->spec->checks)
		return;
	of = identity(g);
	r = private_spare_keep(s->places.state, &git, of, s->entry.dir, &s->git_spare,
			       s->is_stopped && !store_any_lives(&s->places), &err);
	if (r < 0)
		log_debug("git", "no spare git directory is kept: %s",
			  err.msg[0] ? err.msg : strerror(-r));
}
