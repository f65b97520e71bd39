#include "work/source.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/path.h"
#include "work/shared-file.h"

#define PROGRESS "progress.txt"

/* Places to look for a source when none is named; the first one that exists counts. */
static const char *const usual[] = {
	WORK_DIR "/prd.json", "prd.json", "ralph/prd.json", "scripts/ralph/prd.json",
	"plans/prd.json",     "plan.md",  "PLAN.md",	    "IMPLEMENTATION_PLAN.md",
	WORK_DIR "/plan.md",
};

struct source *source_free(struct source *s)
{
	if (!s)
		return NULL;
	free(s->name);
	free(s->rel);
	free(s->path);
	(void)gh_free(s->gh);
	free(s->copy);
	free(s->progress);
	free(s->log);
	free(s);
	return NULL;
}

static bool exists(int root, const char *rel)
{
	cleanup_fd int fd = path_open_beneath(root, rel, O_PATH | O_NOFOLLOW, 0);

	return fd >= 0;
}

static bool ends_in(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n > m && streq(s + n - m, end);
}

/* Everything below .ralph is read-only for the agent, unless it can reach the whole workspace.
 * Files outside the workspace are invisible to it. */
static void place_copies(struct source *s, int root, bool shared)
{
	const char *file = s->rel ? s->rel : s->path;
	cleanup_free char *dir = s->rel ? path_dir(s->rel) : NULL, *beside = NULL;

	s->reach = s->rel && (shared || !path_under(s->rel, WORK_DIR));
	if (s->reach)
		s->copy = xstrdup(s->rel);
	else if (!s->gh)
		s->copy = path_join(WORK_AGENT_DIR, path_base(file));
	beside = dir && !streq(dir, ".") ? path_join(dir, PROGRESS) : xstrdup(PROGRESS);
	s->log_reach = s->reach && exists(root, beside);
	s->log = s->log_reach ? take_ptr(beside) : path_join(WORK_DIR, PROGRESS);
	s->log_reach = s->log_reach || shared;
	s->progress = s->log_reach ? xstrdup(s->log) : path_join(WORK_AGENT_DIR, PROGRESS);
}

static void file_format(struct source *s, const char *file)
{
	bool json = ends_in(file, ".json");

	s->kind = json ? WORK_PRD : WORK_PLAN;
	s->format = json ? &format_prd : &format_plan;
}

static int find_usual(int root, struct source *s, struct err *err)
{
	for (size_t i = 0; !s->rel && i < ARRAY_SIZE(usual); i++)
		if (exists(root, usual[i]))
			s->rel = xstrdup(usual[i]);
	if (!s->rel) {
		int r = err_set(err, ENOENT,
				"there is no list of work here: no .ralph/prd.json, prd.json or "
				"plan.md; write one ('ralph init' makes an example), or name one "
				"with --tasks");

		err->exit_code = EXIT_USAGE;
		return r;
	}
	return 0;
}

/* Finds a path that the user named. A path inside the workspace is stored relative to it. */
static int find_file(const char *workspace, int root, const char *wish, struct source *s,
		     struct err *err)
{
	cleanup_free char *whole = path_join(workspace, wish), *real = NULL;
	cleanup_free char *plain = path_plain(workspace, wish);
	struct stat st;
	int r = path_real(whole, &real, err);

	if (r < 0 || stat(real, &st) < 0)
		return err_usage(err, "there is no '%s'; name a prd.json, a plan or a spec", wish);
	/* The agent can make such a link, and the list is shown to it and written. */
	if (path_leads_out(plain, real, workspace))
		return err_usage(err,
				 "'%s' is behind a link that leads out of the workspace; name "
				 "the file itself: '%s'",
				 wish, real);
	if (S_ISDIR(st.st_mode)) {
		cleanup_free char *dir = take_ptr(real);

		r = specs_choose(workspace, root, dir, &real, err);
		if (r < 0)
			return r;
	} else if (!S_ISREG(st.st_mode))
		return err_usage(err, "'%s' is not a file; name a prd.json, a plan or a spec",
				 wish);
	if (path_under(real, workspace) && strlen(real) > strlen(workspace))
		s->rel = xstrdup(real + strlen(workspace) + (streq(workspace, "/") ? 0 : 1));
	else
		s->path = take_ptr(real);
	return 0;
}

int source_find(const char *workspace, int root, bool shared, const char *wish, struct source **ret,
		struct err *err)
{
	cleanup_(source_freep) struct source *s = xcalloc(1, sizeof(*s));
	int r;

	if (wish && (streq(wish, "gh") || strncmp(wish, "gh:", 3) == 0))
		r = gh_find(workspace, wish, s, err);
	else
		r = wish ? find_file(workspace, root, wish, s, err) : find_usual(root, s, err);
	if (r < 0)
		return r;
	if (!s->gh) {
		file_format(s, s->rel ? s->rel : s->path);
		s->name = xstrdup(s->rel ? s->rel : s->path);
	}
	place_copies(s, root, shared);
	*ret = take_ptr(s);
	return 0;
}

int source_new(const char *rel, bool shared, struct source **ret)
{
	struct source *s = xcalloc(1, sizeof(*s));

	s->rel = xstrdup(rel);
	s->name = xstrdup(rel);
	file_format(s, rel);
	place_copies(s, -1, shared);
	*ret = s;
	return 0;
}

int source_text(const struct source *s, int root, struct buf *text, struct err *err)
{
	cleanup_fd int fd = -1;
	enum shared_file_state state;
	int r;

	if (s->rel) {
		state = shared_file_read(root, s->rel, text);
		if (state == SHARED_FILE_READ)
			return 0;
		return err_usage(err, "%s: %s; it must be a plain file of at most %zu KiB", s->rel,
				 state == SHARED_FILE_GONE ? "is not there"
							   : shared_file_what(state),
				 (size_t)WORK_FILE_MAX / KiB);
	}
	fd = open(s->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	r = fd < 0 ? -errno : fd_read_all(fd, text);
	if (r == -ENOBUFS)
		return err_usage(err, "%s: is larger than %zu KiB; split it", s->path,
				 (size_t)WORK_FILE_MAX / KiB);
	return r < 0 ? err_sys(err, -r, "cannot read '%s'", s->path) : 0;
}

int source_read(struct source *s, int root, struct buf *text, struct listing *ret, struct err *err)
{
	int r = s->gh ? gh_read(s->gh, text, err) : source_text(s, root, text, err);

	if (r == 0)
		r = s->format->read(s->name, buf_str(text), text->len, ret, err);
	if (r == 0 && s->kind == WORK_PLAN && ret->front)
		s->kind = WORK_SPEC;
	return r;
}

static int write_elsewhere(const struct source *s, const struct buf *text, struct err *err)
{
	cleanup_free char *dir = path_dir(s->path);
	cleanup_fd int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat st;
	int r;

	if (fd < 0 || fstatat(fd, path_base(s->path), &st, AT_SYMLINK_NOFOLLOW) < 0)
		return err_sys(err, errno, "cannot write '%s'", s->path);
	r = path_write_atomic(fd, path_base(s->path), text->data, text->len, st.st_mode & 0777,
			      PATH_WRITE_SYNC);
	return r < 0 ? err_sys(err, -r, "cannot write '%s'", s->path) : 0;
}

int source_write(struct source *s, int root, const struct buf *text, struct err *err)
{
	if (s->gh)
		return gh_write(s->gh, text, err);
	if (s->path)
		return write_elsewhere(s, text, err);
	return shared_file_put(root, s->rel, text->data, text->len,
			       shared_file_mode(root, s->rel, 0644), err);
}

static int spec_done(const struct source *s, const char *name, const char *path, int root,
		     struct err *err)
{
	cleanup_listing struct listing l = {0};
	cleanup_buf struct buf text;
	size_t done = 0;
	int r;

	buf_init(&text, WORK_FILE_MAX);
	if (s->rel)
		r = shared_file_read(root, path, &text) == SHARED_FILE_READ ? 0 : -ENOENT;
	else
		r = path_read(AT_FDCWD, path, &text);
	if (r < 0)
		return -ENOENT;
	r = format_plan.read(path, buf_str(&text), text.len, &l, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < l.n; i++)
		done += l.tasks[i]->said == TASK_DONE;
	if (done < l.n)
		return err_usage(err,
				 "%s: depends on '%s', where %zu of %zu tasks are done; build "
				 "that first",
				 s->name, name, done, l.n);
	return 0;
}

/* A spec names its dependencies by their file names in the same directory, with or without .md. */
static int spec_depends(const struct source *s, const char *name, int root, struct err *err)
{
	cleanup_free char *dir = path_dir(s->rel ? s->rel : s->path);
	cleanup_free char *plain = streq(dir, ".") ? xstrdup(name) : path_join(dir, name);
	cleanup_free char *md = xasprintf("%s.md", plain);
	int r = name[0] == '/' ? -ENOENT : spec_done(s, name, plain, root, err);

	if (r == -ENOENT)
		r = name[0] == '/' ? -ENOENT : spec_done(s, name, md, root, err);
	if (r == -ENOENT)
		return err_usage(err,
				 "%s: depends on '%s', which is not beside it; name a file "
				 "that is",
				 s->name, name);
	return r;
}

int source_ready(struct source *s, int root, const struct listing *l, struct err *err)
{
	int r = 0;

	if (s->gh)
		return gh_depends(s->gh, &l->depends, err);
	for (size_t i = 0; r == 0 && i < l->depends.n; i++)
		r = spec_depends(s, l->depends.v[i], root, err);
	return r;
}
