/*
 * The user's side of git, which the front cannot reach: what the sandbox is told about the user's
 * references, and the program that imports what git inside writes. The stream goes from a
 * descriptor of the sandbox to that program; nobody here reads it.
 */
#include "supervisor/git-host.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"
#include "spec/spec.h"
#include "workspace/git-stamp.h"
#include "workspace/gitdir.h"
#include "workspace/private/private-git.h"

#define TOLD "git.told"
#define TOLD_MAX (64 * MiB)
#define LIST_MAX (128 * MiB)
#define TOLD_FD 3 /* of `repo import` */

struct git_host {
	struct gitdir git; /* its strings are the spec's */
	const struct strv *named;
	dev_t dev;
	ino_t ino;	/* of the git directory, as the sandbox was started with */
	uint64_t stamp; /* of the user's references when the sandbox was told last */
	bool is_told;
	bool has_imported;
};

int git_host_new(const struct spec_git *g, struct git_host **ret, struct err *err)
{
	struct git_host *h;
	struct stat st;

	if (stat(g->dir, &st) < 0)
		return err_sys(err, errno, "cannot look at '%s'", g->dir);
	h = xcalloc(1, sizeof(*h));
	*h = (struct git_host){
		.named = &g->named,
		.git = {.root = g->root, .dir = g->dir, .common = g->common},
		.dev = st.st_dev,
		.ino = st.st_ino,
	};
	*ret = h;
	return 0;
}

/* Another directory in its place is another repository, which this sandbox knows nothing of. */
static int check_same(const struct git_host *h, struct err *err)
{
	struct stat st;

	if (stat(h->git.dir, &st) < 0 || st.st_dev != h->dev || st.st_ino != h->ino)
		return err_set(err, ESTALE, "'%s' was replaced while the sandbox runs", h->git.dir);
	return 0;
}

static int add_stamp(const char *path, uint64_t *stamp)
{
	cleanup_fd int dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	uint64_t one = 0;
	int r = dir < 0 ? -errno : git_stamp(dir, &one);

	*stamp = (*stamp ^ one) * 0x100000001b3ULL;
	return r;
}

/* A worktree has a HEAD of its own. -EOVERFLOW: it cannot be known. */
static int stamp_of(const struct git_host *h, uint64_t *ret)
{
	int r = 0;

	*ret = 0;
	if (!streq(h->git.dir, h->git.common))
		r = add_stamp(h->git.dir, ret);
	return r < 0 ? r : add_stamp(h->git.common, ret);
}

static int read_told(int record, struct buf *told, struct err *err)
{
	int r;

	buf_init(told, TOLD_MAX);
	r = path_read(record, TOLD, told);
	return r < 0 ? err_sys(err, -r, "cannot read what the sandbox was told") : 0;
}

typedef int list_fn(const struct gitdir *git, const char *name, const char *told, struct buf *out,
		    struct err *err);

/* A memory file with the list; *ret stays -1 where the list is empty. */
static int make_list(const struct git_host *h, list_fn *fn, const struct git_import *i, int *ret,
		     struct err *err)
{
	cleanup_buf struct buf told, list;
	int r = read_told(i->record, &told, err);

	buf_init(&list, LIST_MAX);
	if (r == 0)
		r = fn(&h->git, i->name, buf_str(&told), &list, err);
	if (r < 0 || (list.len == 0 && fn != private_git_told))
		return r;
	*ret = fd_memfd("git-list", list.data, list.len);
	return *ret < 0 ? err_sys(err, -*ret, "cannot create a memory file") : 0;
}

int git_host_moved(struct git_host *h, const struct git_import *i, bool again, int *ret,
		   struct err *err)
{
	uint64_t stamp;
	int known = stamp_of(h, &stamp), r = check_same(h, err);

	if (r < 0 || (!again && known == 0 && h->is_told && stamp == h->stamp))
		return r;
	/* Workers of one loop have worktrees, and each moves its own branch. */
	r = make_list(h,
		      i->holds && !streq(h->git.dir, h->git.common) ? private_git_moved_own
								    : private_git_moved,
		      i, ret, err);
	h->stamp = stamp;
	h->is_told = r == 0 && known == 0;
	return r;
}

static int place_told(void *arg)
{
	return dup2(*(const int *)arg, TOLD_FD) < 0 ? -errno : 0;
}

static int start(const struct git_host *h, const struct git_import *i, int told, int in, int out,
		 struct child *ret, struct err *err)
{
	const char *const words[] = {i->program, "import", h->git.root, i->name,
				     i->holds	     ? "hold"
				     : i->may_switch ? "idle"
						     : "busy"};
	cleanup_strv struct strv argv = {0};
	struct run run = RUN_INIT;

	for (size_t k = 0; k < ARRAY_SIZE(words); k++)
		strv_push(&argv, words[k]);
	strv_extend(&argv, h->named);
	run.argv = argv.v;
	run.dir = "/";
	run.flags = RUN_DIE_WITH_US | RUN_NEW_SESSION;
	run.stdio[0] = in;
	run.stdio[1] = run.stdio[2] = out;
	run.before_exec = place_told;
	run.arg = &told;
	return run_start(&run, ret, err);
}

bool git_host_has_imported(const struct git_host *h)
{
	return h->has_imported;
}

int git_host_import(struct git_host *h, const struct git_import *i, struct child *ret,
		    int ret_fds[GIT_IMPORT_FDS], struct err *err)
{
	cleanup_fd int list = -1, told = -1, from = -1, to = -1, says = -1, answer = -1;
	int stream[2], line[2], r = check_same(h, err);

	if (r == 0)
		r = make_list(h, private_git_told, i, &list, err);
	if (r < 0)
		return r;
	told = openat(i->record, TOLD, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (told < 0 || pipe2(stream, O_CLOEXEC) < 0)
		return err_sys(err, errno, "cannot start an import");
	from = stream[0];
	to = stream[1];
	if (pipe2(line, O_CLOEXEC) < 0)
		return err_sys(err, errno, "cannot create a pipe");
	answer = line[0];
	says = line[1];
	h->has_imported = true;
	r = start(h, i, told, from, says, ret, err);
	if (r < 0)
		return r;
	ret_fds[0] = take_fd(list);
	ret_fds[1] = take_fd(to);
	ret_fds[2] = take_fd(answer);
	return 0;
}
