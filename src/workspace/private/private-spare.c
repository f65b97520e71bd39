/*
 * DOC: Theory of operation
 *
 * A spare is in STATE/spares/KEY, with KEY from the path of the repository. Who renames KEY/git away
 * has it, and no other start can get it. Makers hold the lock of STATE/spares, make a spare in
 * STATE/spares/new, and rename that. So a process that is killed leaves `new`, which the next maker
 * removes, or a KEY without `git`, which is no spare. Nothing here is needed: whenever a step fails,
 * a start makes its directory as if there were no spares.
 *
 * A directory that was mounted in a sandbox is hostile. It becomes a spare again only if
 *
 *	everything that could write it has ended: no process of its own sandbox is left, and no
 *	other sandbox is live to which a descriptor could have been handed
 *	every entry has the inode, mode, size, links and change time that it had when it was made,
 *	files have the content (but for the index, which only git inside reads), and nothing was
 *	added or is gone
 *	it was old enough when it was claimed that no write could keep the change time
 */
#include "workspace/private/private-spare.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"
#include "build-config.h"
#include "workspace/git-stamp.h"
#include "workspace/private/private-parts.h"

#define SPARES "spares"
#define NEW "new"
#define FROM "from" /* one line: version, struct private_spare's numbers, young, sum */
#define FROM_MAX 256
#define MODE 0755
#define DEPTH_MAX 32
#define ENTRIES_MAX 4096 /* of a spare */
#define CONTENT_MAX (64 * KiB)

static int open_dir(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static void key_of(const struct gitdir *git, char ret[SHA256_DIGEST_STRING_LENGTH])
{
	SHA256_CTX c;

	SHA256Init(&c);
	SHA256Update(&c, (const uint8_t *)git->dir, strlen(git->dir) + 1);
	SHA256Update(&c, (const uint8_t *)git->common, strlen(git->common) + 1);
	(void)SHA256End(&c, ret);
	ret[32] = '\0';
}

static int source_of(const struct gitdir *git, uint64_t *ret, bool *ret_plain, bool *ret_settled)
{
	cleanup_fd int dir = open_dir(git->dir), common = open_dir(git->common);
	struct timespec now;
	int64_t newest = 0;
	int r;

	if (dir < 0 || common < 0)
		return dir < 0 ? dir : common;
	(void)clock_gettime(CLOCK_REALTIME_COARSE, &now);
	r = git_stamp_source(dir, common, ret, &newest);
	*ret_settled = git_stamp_ns(&now) - newest >= GIT_STAMP_TICK_NS;
	if (ret_plain)
		*ret_plain = private_git_is_plain(git, dir, common);
	return r;
}

/* ---- what is in one ---- */

struct sum {
	SHA256_CTX c;
	unsigned entries;
};

static void add_stat(struct sum *s, const struct stat *st)
{
	const uint64_t parts[] = {st->st_ino,
				  st->st_mode,
				  st->st_uid,
				  st->st_gid,
				  st->st_nlink,
				  (uint64_t)git_stamp_ns(&st->st_ctim),
				  S_ISDIR(st->st_mode) ? 0 : (uint64_t)st->st_size};

	SHA256Update(&s->c, (const uint8_t *)parts, sizeof(parts));
}

static int add_content(struct sum *s, int fd)
{
	cleanup_buf struct buf b;
	int r;

	buf_init(&b, CONTENT_MAX);
	r = fd_read_all(fd, &b);
	SHA256Update(&s->c, (const uint8_t *)buf_str(&b), b.len);
	return r;
}

static int add_dir(struct sum *s, int fd, unsigned depth);

/* No link is followed, and only files and directories are part of a spare. */
static int add_entry(struct sum *s, int at, const char *name, unsigned depth)
{
	cleanup_fd int fd = -1;
	struct stat st;

	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return -EINVAL;
	SHA256Update(&s->c, (const uint8_t *)name, strlen(name) + 1);
	add_stat(s, &st);
	if (depth == 0 && streq(name, "index"))
		return 0;
	fd = path_open_beneath(at, name, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
	if (fd < 0)
		return fd;
	return S_ISDIR(st.st_mode) ? add_dir(s, take_fd(fd), depth + 1) : add_content(s, fd);
}

/* Takes fd. The order of names in a directory that nobody changed is the same. */
static int add_dir(struct sum *s, int fd, unsigned depth)
{
	DIR *d = fdopendir(fd);
	struct dirent *de;
	int r = 0;

	if (!d) {
		(void)close(fd);
		return -ENOMEM;
	}
	if (depth > DEPTH_MAX)
		r = -ELOOP;
	while (r == 0 && (errno = 0, de = readdir(d))) {
		if (streq(de->d_name, ".") || streq(de->d_name, ".."))
			continue;
		r = ++s->entries > ENTRIES_MAX ? -E2BIG : add_entry(s, fd, de->d_name, depth);
	}
	if (r == 0 && errno)
		r = -errno;
	(void)closedir(d);
	return r;
}

/*
 * The directory itself was renamed, so that its change time says nothing: its mode and attributes
 * are compared instead, and the names in it.
 */
static int sum_of(int at, char ret[SHA256_DIGEST_STRING_LENGTH])
{
	int fd = path_open_beneath(at, PRIVATE_SPARE_DIR, O_RDONLY | O_DIRECTORY, 0);
	struct sum s = {0};
	struct stat st;
	int r;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0 || (st.st_mode & 07777) != MODE || flistxattr(fd, NULL, 0) > 0) {
		(void)close(fd);
		return -EINVAL;
	}
	SHA256Init(&s.c);
	r = add_dir(&s, fd, 0);
	(void)SHA256End(&s.c, ret);
	return r;
}

/* ---- claiming ---- */

static char *print_from(const struct private_spare *s)
{
	return xasprintf("%s %016llx %016llx %d %s\n", RALPH_VERSION, (unsigned long long)s->source,
			 (unsigned long long)s->stamp, s->young, s->sum);
}

static bool parse_hex(const char **p, uint64_t *ret)
{
	*ret = 0;
	for (int i = 0; i < 16; i++, (*p)++) {
		const char *digits = "0123456789abcdef", *at = strchr(digits, **p);

		if (!**p || !at)
			return false;
		*ret = *ret * 16 + (uint64_t)(at - digits);
	}
	return *(*p)++ == ' ';
}

/* Written by us, or by another version: then it is none. */
static bool parse_from(const char *text, struct private_spare *ret)
{
	const size_t version = strlen(RALPH_VERSION), sum = SHA256_DIGEST_STRING_LENGTH - 1;
	const char *p = text + version + 1;

	if (strncmp(text, RALPH_VERSION " ", version + 1) != 0 || !parse_hex(&p, &ret->source) ||
	    !parse_hex(&p, &ret->stamp) || (*p != '0' && *p != '1') || p[1] != ' ')
		return false;
	ret->young = *p == '1';
	p += 2;
	if (strlen(p) != sum + 1 || p[sum] != '\n')
		return false;
	memcpy(ret->sum, p, sum);
	ret->sum[sum] = '\0';
	return true;
}

static bool read_from(int dir, struct private_spare *ret)
{
	cleanup_buf struct buf b;
	struct timespec now;
	struct stat st;

	buf_init(&b, FROM_MAX);
	if (path_read(dir, FROM, &b) < 0 || fstatat(dir, FROM, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !parse_from(buf_str(&b), ret))
		return false;
	(void)clock_gettime(CLOCK_REALTIME_COARSE, &now);
	ret->is_old = git_stamp_ns(&now) - git_stamp_ns(&st.st_ctim) >= GIT_STAMP_TICK_NS;
	return true;
}

bool private_spare_claim(const char *state, const struct gitdir *git, int record,
			 struct private_spare *ret)
{
	char key[SHA256_DIGEST_STRING_LENGTH];
	cleanup_free char *path = NULL;
	cleanup_fd int dir = -1;

	*ret = (struct private_spare){.dir = -1};
	key_of(git, key);
	path = xasprintf("%s/" SPARES "/%s", state, key);
	dir = open_dir(path);
	if (dir < 0 || !read_from(dir, ret) ||
	    renameat(dir, PRIVATE_SPARE_DIR, record, PRIVATE_SPARE_DIR) < 0)
		return false;
	ret->dir = take_fd(dir);
	return true;
}

/* The list that says that the directory is whole comes last. */
static const char *const beside[] = {PRIVATE_SPARE_OF, GIT_IMPORTED, PRIVATE_SPARE_TOLD};

static int move_beside(int from, int to)
{
	for (size_t i = 0; i < ARRAY_SIZE(beside); i++)
		if (renameat(from, beside[i], to, beside[i]) < 0)
			return -errno;
	return 0;
}

/* .gitmodules is no part of the git directory. */
static bool has_modules(const struct gitdir *git)
{
	cleanup_free char *path = path_join(git->root, ".gitmodules");
	struct stat st;

	return lstat(path, &st) == 0;
}

bool private_spare_accept(const struct private_spare *s, const struct gitdir *git, int record)
{
	uint64_t source = 0;
	bool settled;

	return source_of(git, &source, NULL, &settled) == 0 && source == s->source &&
	       !has_modules(git) && move_beside(s->dir, record) == 0;
}

void private_spare_done(struct private_spare *s)
{
	closep(&s->dir);
}

/* ---- keeping ---- */

static int write_new(int dir, const char *name, const char *text)
{
	return private_write(dir, name, text, strlen(text));
}

static bool is_small(const struct gitdir *git)
{
	cleanup_free char *path = path_join(git->dir, "index");
	struct stat st;

	return lstat(path, &st) < 0 || st.st_size <= PRIVATE_SPARE_INDEX_MAX;
}

/* Fills `dir`, which is new and empty. -EAGAIN: the repository changes just now. */
static int fill(const struct gitdir *git, const char *of, int dir, struct err *err)
{
	const struct private_git_input in = {.git = git, .run = PRIVATE_GIT_RUN};
	cleanup_(private_git_done) struct private_git p = {0};
	struct private_spare s = {.dir = -1};
	bool is_plain = false, is_settled = false;
	cleanup_free char *from = NULL;
	cleanup_fd int at = -1;
	uint64_t after = 0;
	int r = source_of(git, &s.source, &is_plain, &is_settled);

	if (r < 0 || !is_plain || !is_settled || !is_small(git))
		return r < 0 ? r : -EAGAIN;
	if (mkdirat(dir, PRIVATE_SPARE_DIR, MODE) < 0)
		return -errno;
	at = path_open_beneath(dir, PRIVATE_SPARE_DIR, O_RDONLY | O_DIRECTORY, 0);
	r = at < 0 ? at : private_git_make(&in, at, &p, err);
	if (r == 0)
		r = source_of(git, &after, NULL, &is_settled);
	if (r == 0 && after != s.source)
		r = -EAGAIN;
	if (r == 0)
		r = git_stamp(at, &s.stamp);
	if (r == 0)
		r = git_imported_set(dir, s.stamp);
	if (r == 0)
		r = write_new(dir, PRIVATE_SPARE_OF, of);
	if (r == 0)
		r = write_new(dir, PRIVATE_SPARE_TOLD, p.told ? p.told : "");
	if (r == 0)
		r = sum_of(dir, s.sum);
	s.young = p.young;
	from = print_from(&s);
	return r < 0 ? r : write_new(dir, FROM, from);
}

/* Spares cost disk, and those of repositories that nobody uses any more cost it for nothing. */
static void thin_out(int spares)
{
	int fd = path_open_beneath(spares, ".", O_RDONLY | O_DIRECTORY, 0);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	cleanup_strv struct strv names = {0};
	struct dirent *de;
	struct err ignored;

	while (d && (de = readdir(d)))
		if (de->d_name[0] != '.')
			strv_push(&names, de->d_name);
	if (d)
		(void)closedir(d);
	for (size_t i = 0; names.n >= PRIVATE_SPARES_MAX && i < names.n; i++)
		(void)path_remove_tree(spares, names.v[i], &ignored);
}

static int make(const struct gitdir *git, const char *of, int spares, const char *key,
		struct err *err)
{
	cleanup_fd int dir = -1;
	struct err ignored;
	int r = path_remove_tree(spares, NEW, err);

	if (r < 0)
		return r;
	thin_out(spares);
	if (mkdirat(spares, NEW, 0700) < 0)
		return err_sys(err, errno, "cannot make a spare git directory");
	dir = path_open_beneath(spares, NEW, O_RDONLY | O_DIRECTORY, 0);
	r = dir < 0 ? dir : fill(git, of, dir, err);
	if (r == 0)
		r = path_remove_tree(spares, key, err);
	if (r == 0 && renameat(spares, NEW, spares, key) < 0)
		r = -errno;
	if (r < 0)
		(void)path_remove_tree(spares, NEW, &ignored);
	return r;
}

/* The place from which it was claimed is still that of the spare, and holds none. */
static bool is_place(const struct private_spare *s, int spares, const char *key)
{
	struct stat ours, now;

	return fstat(s->dir, &ours) == 0 && fstatat(spares, key, &now, AT_SYMLINK_NOFOLLOW) == 0 &&
	       ours.st_dev == now.st_dev && ours.st_ino == now.st_ino &&
	       fstatat(s->dir, PRIVATE_SPARE_DIR, &now, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT;
}

static bool give_back(const struct gitdir *git, int spares, const char *key, int record,
		      const struct private_spare *s)
{
	char sum[SHA256_DIGEST_STRING_LENGTH];
	bool settled = false;
	uint64_t source = 0;

	if (s->dir < 0 || !s->is_old || !is_place(s, spares, key) ||
	    source_of(git, &source, NULL, &settled) < 0 || source != s->source ||
	    has_modules(git) || sum_of(record, sum) < 0 || !streq(sum, s->sum))
		return false;
	return move_beside(record, s->dir) == 0 &&
	       renameat(record, PRIVATE_SPARE_DIR, s->dir, PRIVATE_SPARE_DIR) == 0;
}

static bool is_there(const struct gitdir *git, int spares, const char *key)
{
	cleanup_fd int dir = path_open_beneath(spares, key, O_RDONLY | O_DIRECTORY, 0);
	struct private_spare s;
	bool settled = false;
	uint64_t source = 0;
	struct stat st;

	return dir >= 0 && fstatat(dir, PRIVATE_SPARE_DIR, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       read_from(dir, &s) && source_of(git, &source, NULL, &settled) == 0 &&
	       source == s.source;
}

int private_spare_keep(const char *state, const struct gitdir *git, const char *of, int record,
		       const struct private_spare *s, bool may_return, struct err *err)
{
	cleanup_free char *path = path_join(state, SPARES);
	char key[SHA256_DIGEST_STRING_LENGTH];
	cleanup_fd int spares = -1;
	int r = path_private_dir(path, err);

	if (r < 0)
		return r;
	spares = open_dir(path);
	if (spares < 0)
		return err_sys(err, -spares, "cannot open '%s'", path);
	/* Another maker is at work: then there is a spare, or soon. */
	r = fd_lock(spares, 0);
	if (r < 0)
		return r;
	key_of(git, key);
	if (may_return && give_back(git, spares, key, record, s))
		return 0;
	return is_there(git, spares, key) ? 0 : make(git, of, spares, key, err);
}
