#include "record/loops.h"

#include <dirent.h>
#include <fcntl.h>
#include <sha256.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/copy.h"
#include "base/fd.h"
#include "base/json/json.h"
#include "base/path.h"

#define INSIDE ".ralph"
#define STATE_BYTES_MAX (512 * MiB) /* total size that may be moved */
#define STATE_FILES_MAX 100000
#define STATE_DEPTH_MAX 32
#define LOOP_FILE_MAX (64 * MiB)
#define OWNER_FILE "workspace" /* holds the path of its workspace */
#define OWNER_MAX (16 * KiB)
#define KEY_LEN (SHA256_DIGEST_STRING_LENGTH - 1)
#define NEW_PREFIX ".new-"

void loop_path_done(struct loop_path *l)
{
	closep(&l->state);
	closep(&l->active);
	free(l->path);
	*l = (struct loop_path)LOOP_PLACE_INIT;
}

/* The key includes the creation time, so that a directory created later at the same path gets
 * another one. On a file system without creation times, only the path counts. */
static int key_of(const char *real, char ret[KEY_LEN + 1])
{
	cleanup_free char *text = NULL;
	struct statx st = {0};

	if (statx(AT_FDCWD, real, AT_SYMLINK_NOFOLLOW, STATX_BTIME, &st) < 0)
		return -errno;
	if (!(st.stx_mask & STATX_BTIME))
		st.stx_btime.tv_sec = st.stx_btime.tv_nsec = 0;
	text = xasprintf("%lld.%09u %s", (long long)st.stx_btime.tv_sec,
			 (unsigned)st.stx_btime.tv_nsec, real);
	(void)SHA256Data((const uint8_t *)text, strlen(text), ret);
	return 0;
}

static char *apart_path(const struct places *p, const char *key)
{
	return xasprintf("%s/loops/%s", p->state, key);
}

static int find_real(const struct places *p, const char *real, struct loop_path *ret,
		     struct err *err)
{
	/* Only a place to start from: a reader may be allowed no more than .ralph. */
	cleanup_fd int root = open(real, O_PATH | O_DIRECTORY | O_CLOEXEC);
	cleanup_free char *apart = NULL;
	char key[KEY_LEN + 1];

	if (root < 0 || key_of(real, key) < 0)
		return err_sys(err, errno, "cannot open '%s'", real);
	apart = apart_path(p, key);
	ret->state = open(apart, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (ret->state < 0 && errno != ENOENT)
		return err_sys(err, errno, "cannot open '%s'", apart);
	ret->apart = ret->state >= 0;
	if (ret->apart) {
		ret->path = take_ptr(apart);
		ret->active = fcntl(ret->state, F_DUPFD_CLOEXEC, 0);
		return 0;
	}
	ret->path = xasprintf("%s/" INSIDE "/state", real);
	ret->active = path_open_beneath(root, INSIDE, O_RDONLY | O_DIRECTORY, 0);
	if (ret->active >= 0)
		ret->state = path_open_beneath(ret->active, "state", O_RDONLY | O_DIRECTORY, 0);
	/* Anything but a real directory means that there is no state. */
	ret->active = ret->active < 0 ? -1 : ret->active;
	ret->state = ret->state < 0 ? -1 : ret->state;
	return 0;
}

int loops_find(const struct places *p, const char *workspace, struct loop_path *ret,
	       struct err *err)
{
	cleanup_free char *real = NULL;
	int r = path_real(workspace, &real, err);

	*ret = (struct loop_path)LOOP_PLACE_INIT;
	return r < 0 ? r : find_real(p, real, ret, err);
}

/* ---- moving it ---- */

static int open_loops(const struct places *p, struct err *err)
{
	cleanup_free char *dir = path_join(p->state, "loops");
	int fd, r = path_mkdirs(p->state, 0700, err);

	if (r == 0)
		r = path_private_dir(dir, err);
	if (r < 0)
		return r;
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? err_sys(err, errno, "cannot open '%s'", dir) : fd;
}

/* True when the workspace was removed. A workspace that is only unmounted does not count: its
 * parent is missing too. */
static bool owner_gone(int loops, const char *name)
{
	cleanup_free char *file = path_join(name, OWNER_FILE), *parent = NULL;
	char key[KEY_LEN + 1] = "";
	cleanup_buf struct buf b;
	struct stat st;

	buf_init(&b, OWNER_MAX);
	if (path_read(loops, file, &b) < 0 || b.len == 0)
		return false;
	if (key_of(buf_str(&b), key) == 0)
		return !streq(key, name);
	parent = path_dir(buf_str(&b));
	return stat(parent, &st) == 0;
}

/* Removes the states of removed workspaces (mostly worktrees), and unfinished copies. */
static void clear_old(int loops, const char *key)
{
	int copy = openat(loops, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = copy < 0 ? NULL : fdopendir(copy);
	struct err ignored;
	struct dirent *e;

	if (!d) {
		closep(&copy);
		return;
	}
	while ((e = readdir(d)))
		if (strlen(e->d_name) == KEY_LEN && !streq(e->d_name, key) &&
		    owner_gone(loops, e->d_name))
			(void)path_remove_tree(loops, e->d_name, &ignored);
	(void)closedir(d);
}

/* Workers of a parallel loop know the path of their lists, so they must end before the move. */
static int check_workers(int state, struct err *err)
{
	cleanup_fd int fd = path_open_beneath(state, "loop.json", O_RDONLY, 0);
	cleanup_json json_t *j = NULL;
	struct err ignored;
	cleanup_buf struct buf b;

	buf_init(&b, LOOP_FILE_MAX);
	if (fd < 0 || fd_read_all(fd, &b) < 0 || json_parse(buf_str(&b), b.len, &j, &ignored) < 0)
		return 0;
	if (json_object_size(json_object_get(j, "workers")) == 0 &&
	    json_array_size(json_object_get(j, "workers")) == 0)
		return 0;
	return err_set(err, EBUSY,
		       "tasks of a parallel loop in this workspace are unfinished; let it end with "
		       "the engine it was begun with: ralph resume --engine native");
}

static int copy_state(const struct loop_path *from, int loops, const char *name, struct err *err)
{
	const struct copy_rules rules = {
		.bytes_max = STATE_BYTES_MAX,
		.files_max = STATE_FILES_MAX,
		.depth_max = STATE_DEPTH_MAX,
		.links = COPY_LINKS_INSIDE,
		.modes = true,
	};
	int r = check_workers(from->state, err);

	if (r < 0)
		return r;
	r = copy_tree(from->active, "state", loops, name, &rules);
	return r < 0 ? err_sys(err, -r, "cannot copy '%s'", from->path) : 0;
}

/* The rename makes the move atomic: until then, the old state is in use. */
static int make_apart(const struct loop_path *from, const char *real, int loops, const char *key,
		      struct err *err)
{
	cleanup_free char *name = xasprintf(NEW_PREFIX "%s", key);
	cleanup_fd int dir = -1;
	int r = path_remove_tree(loops, name, err);

	if (r == 0 && from->state >= 0)
		r = copy_state(from, loops, name, err);
	else if (r == 0 && mkdirat(loops, name, 0700) < 0)
		r = err_sys(err, errno, "cannot make a directory for the loop's state");
	if (r < 0)
		return r;
	dir = openat(loops, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	r = dir < 0 ? -errno : path_write_atomic(dir, OWNER_FILE, real, strlen(real), 0600, 0);
	/* The copy is synced before it gets its final name. */
	if (r == 0 && syncfs(dir) < 0)
		r = -errno;
	if (r == 0 && renameat(loops, name, loops, key) < 0)
		r = -errno;
	if (r == 0 && fsync(loops) < 0)
		r = -errno;
	return r < 0 ? err_sys(err, -r, "cannot keep the loop's state apart") : 0;
}

static int lock_state(const struct loop_path *at, int *ret, struct err *err)
{
	if (at->state < 0)
		return 0;
	*ret = path_open_beneath(at->state, "lock", O_RDWR | O_CREAT, 0600);
	if (*ret < 0)
		return err_sys(err, -*ret, "cannot open '%s/lock'", at->path);
	if (fd_lock(*ret, 0) < 0)
		return err_set(err, EBUSY,
			       "a loop works in this workspace, and its state could be changed "
			       "from inside; pause it first: ralph pause");
	return 0;
}

int loops_set_apart(const struct places *p, const char *workspace, bool held, struct err *err)
{
	cleanup_loop_place struct loop_path at = LOOP_PLACE_INIT;
	cleanup_free char *real = NULL;
	cleanup_fd int lock = -1, loops = -1;
	struct err ignored;
	char key[KEY_LEN + 1];
	int r = path_real(workspace, &real, err);

	if (r == 0)
		r = find_real(p, real, &at, err);
	if (r < 0 || at.apart)
		return r;
	if (!held)
		r = lock_state(&at, &lock, err);
	if (r < 0)
		return r;
	loops = open_loops(p, err);
	if (loops < 0)
		return loops;
	r = key_of(real, key);
	if (r < 0)
		return err_sys(err, -r, "cannot look at '%s'", real);
	clear_old(loops, key);
	r = make_apart(&at, real, loops, key, err);
	/* The old state is no longer used, so a failed removal is ignored. */
	if (r == 0 && at.state >= 0)
		(void)path_remove_tree(at.active, "state", &ignored);
	return r;
}
