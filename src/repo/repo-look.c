#include "repo/repo-look.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"

#define INDEX_LEN_MAX (1 * GiB)
#define DEPTH_MAX 400 /* each level holds a descriptor */
#define PATH_LEN_MAX ((DEPTH_MAX + 1) * (size_t)256)

struct walk {
	struct repo_look *look;
	struct buf path; /* of the name that is looked at, from the root of the tree */
	size_t share;	 /* entries from here on are looked at by helpers */
	unsigned depth;
	int error;
};

/* The entries [lo, hi) of the index are those below a directory. */
struct range {
	size_t lo, hi;
};

static int read_index(const char *git_dir, struct repo_look *l)
{
	cleanup_fd int dir = open(git_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	cleanup_fd int fd =
		dir < 0 ? -1 : path_open_beneath(dir, "index", O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
	struct stat st;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return -ENOENT;
	l->written = st.st_mtim;
	r = st.st_size > 0 ? buf_reserve(&l->bytes, (size_t)st.st_size + 1) : 0;
	if (r == 0)
		r = fd_read_all(fd, &l->bytes);
	return r < 0 ? r : gitindex_read((const uint8_t *)l->bytes.data, l->bytes.len, &l->index);
}

/* The first entry that does not come before the path, in a range whose paths begin as it does. */
static size_t first_from(const struct walk *w, struct range in, size_t same)
{
	const struct gitindex *g = &w->look->index;
	const char *path = w->path.data + same;
	size_t n = w->path.len - same;

	while (in.lo < in.hi) {
		size_t mid = in.lo + (in.hi - in.lo) / 2, len = g->v[mid].len - same;
		int c = memcmp(gitindex_path(g, mid) + same, path, len < n ? len : n);

		if (c < 0 || (c == 0 && len < n))
			in.lo = mid + 1;
		else
			in.hi = mid;
	}
	return in.lo;
}

static bool is_entry(const struct walk *w, struct range in, size_t i)
{
	const struct gitindex *g = &w->look->index;

	return i < in.hi && g->v[i].len == w->path.len &&
	       memcmp(gitindex_path(g, i), w->path.data, w->path.len) == 0;
}

/* False: the index has no such file. */
static bool note_file(struct walk *w, struct range in, size_t same)
{
	size_t i = first_from(w, in, same);

	if (!is_entry(w, in, i))
		return false;
	w->look->states[i] = LOOK_PRESENT;
	return true;
}

static bool is_same(const struct repo_look *l, int dir, const char *name, size_t i)
{
	struct stat st;

	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       gitindex_is_same(&l->index.v[i], &st, &l->written);
}

/* Those of the directory that are this process's share, in the order of the index. */
static void look_files(struct walk *w, int dir, struct range in)
{
	struct repo_look *l = w->look;

	for (size_t i = in.lo; i < in.hi && i < w->share; i++)
		if (l->states[i] == LOOK_PRESENT)
			l->states[i] = is_same(l, dir, gitindex_path(&l->index, i) + w->path.len, i)
					       ? LOOK_SAME
					       : LOOK_DOUBT;
}

static void look_dir(struct walk *w, int fd, struct range in);

/* False: the index has nothing below this name, or it is no directory now. */
static bool look_below(struct walk *w, int dir, const char *name, struct range in, size_t same)
{
	struct range below = {0};
	int fd;

	(void)buf_putc(&w->path, '/');
	below.lo = first_from(w, in, same);
	w->path.data[w->path.len - 1] = '/' + 1;
	below.hi = first_from(w, in, same);
	w->path.data[w->path.len - 1] = '/';
	if (below.lo == below.hi)
		return false;
	fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return false;
	look_dir(w, fd, below);
	return true;
}

static void look_name(struct walk *w, int dir, const struct dirent *de, struct range in)
{
	size_t before = w->path.len, end;
	bool known;

	(void)buf_puts(&w->path, de->d_name);
	end = w->path.len;
	known = de->d_type == DT_DIR && look_below(w, dir, de->d_name, in, before);
	w->path.len = end;
	if (!known)
		known = note_file(w, in, before);
	if (!known && de->d_type == DT_UNKNOWN)
		known = look_below(w, dir, de->d_name, in, before);
	w->path.len = end;
	if (!known)
		strv_push(&w->look->paths, buf_str(&w->path));
	w->path.len = before;
	if (w->look->paths.n > REPO_LOOK_PATHS_MAX)
		w->error = -E2BIG;
}

/* Takes fd. */
static void look_dir(struct walk *w, int fd, struct range in)
{
	DIR *d = w->depth < DEPTH_MAX ? fdopendir(fd) : NULL;
	struct dirent *de;

	if (!d) {
		(void)close(fd);
		w->error = -ELOOP;
		return;
	}
	w->depth++;
	while (w->error == 0 && (errno = 0, de = readdir(d))) {
		if (streq(de->d_name, ".") || streq(de->d_name, ".."))
			continue;
		if (!streq(de->d_name, ".git"))
			look_name(w, fd, de, in);
		else if (w->depth > 1)
			w->error = -EXDEV; /* a repository in a directory of this one */
	}
	if (w->error == 0 && errno)
		w->error = -errno;
	if (w->error == 0)
		look_files(w, fd, in);
	w->depth--;
	(void)closedir(d);
}

/* ---- helpers ---- */

/*
 * Asking for the state of each file is most of the work, so in a large tree other processes take a
 * share of it, as threads of git do. They write only whether a file is the same; the walk decides
 * whether it is there. A helper that fails leaves its files in doubt.
 */
#define HELPERS_MAX 3
#define SHARE_MIN 5000 /* files; for less a process costs more than it saves */

struct helpers {
	pid_t pids[HELPERS_MAX];
	unsigned n;
	uint8_t *same; /* shared memory, per entry of the index */
};

static unsigned helpers_for(size_t files)
{
	cpu_set_t set;
	unsigned most =
		sched_getaffinity(0, sizeof(set), &set) == 0 ? (unsigned)CPU_COUNT(&set) - 1 : 0;

	most = most < HELPERS_MAX ? most : HELPERS_MAX;
	return files / SHARE_MIN < most ? (unsigned)(files / SHARE_MIN) : most;
}

static size_t share_begin(const struct repo_look *l, unsigned part, unsigned parts)
{
	return l->index.n * part / parts;
}

static void help(const struct repo_look *l, int top, struct range in, uint8_t *same)
{
	cleanup_fd int dir = -1;
	const char *last = NULL;
	size_t last_len = 0;

	for (size_t i = in.lo; i < in.hi; i++) {
		const char *path = gitindex_path(&l->index, i), *slash = strrchr(path, '/');
		size_t len = slash ? (size_t)(slash - path) + 1 : 0;

		if (!last || len != last_len || memcmp(path, last, len) != 0) {
			cleanup_free char *name = len ? xstrndup(path, len) : xstrdup(".");

			closep(&dir);
			dir = path_open_beneath(top, name, O_PATH | O_DIRECTORY, 0);
			last = path;
			last_len = len;
		}
		same[i] = dir >= 0 && is_same(l, dir, path + len, i);
	}
}

static pid_t start_helper(const struct repo_look *l, int top, struct range in, uint8_t *same)
{
	pid_t us = getpid(), pid = fork();

	if (pid != 0)
		return pid;
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == us)
		help(l, top, in, same);
	_exit(0);
}

static void start_helpers(const struct repo_look *l, int top, struct helpers *h)
{
	unsigned n = helpers_for(l->index.n);
	void *p = n ? mmap(NULL, l->index.n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
			   0)
		    : MAP_FAILED;

	if (p == MAP_FAILED)
		return;
	h->same = p;
	for (h->n = 0; h->n < n; h->n++)
		h->pids[h->n] = start_helper(l, top,
					     (struct range){share_begin(l, h->n + 1, n + 1),
							    share_begin(l, h->n + 2, n + 1)},
					     h->same);
}

static void end_helpers(struct repo_look *l, struct helpers *h, size_t share)
{
	for (unsigned i = 0; i < h->n; i++)
		while (h->pids[i] > 0 && waitpid(h->pids[i], NULL, 0) < 0 && errno == EINTR)
			;
	for (size_t i = share; i < l->index.n; i++)
		if (l->states[i] == LOOK_PRESENT && h->same[i])
			l->states[i] = LOOK_SAME;
	if (h->same)
		(void)munmap(h->same, l->index.n);
}

static int note_rest(struct repo_look *l)
{
	for (size_t i = 0; i < l->index.n && l->paths.n <= REPO_LOOK_PATHS_MAX; i++)
		if (l->states[i] != LOOK_SAME)
			strv_push(&l->paths, gitindex_path(&l->index, i));
	return l->paths.n > REPO_LOOK_PATHS_MAX ? -E2BIG : 0;
}

int repo_look(const char *root, const char *git_dir, struct repo_look *ret)
{
	struct walk w = {.look = ret};
	struct helpers h = {0};
	int fd, r;

	*ret = (struct repo_look){0};
	buf_init(&ret->bytes, INDEX_LEN_MAX);
	buf_init(&w.path, PATH_LEN_MAX);
	r = read_index(git_dir, ret);
	if (r < 0)
		return r;
	ret->states = xcalloc(ret->index.n + 1, sizeof(*ret->states));
	fd = open(root, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	start_helpers(ret, fd, &h);
	w.share = share_begin(ret, 1, h.n + 1);
	look_dir(&w, fd, (struct range){0, ret->index.n});
	end_helpers(ret, &h, w.share);
	buf_done(&w.path);
	return w.error < 0 ? w.error : note_rest(ret);
}

void repo_look_done(struct repo_look *l)
{
	gitindex_done(&l->index);
	buf_done(&l->bytes);
	strv_done(&l->paths);
	free(l->states);
	*l = (struct repo_look){0};
}
