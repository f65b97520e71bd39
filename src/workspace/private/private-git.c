#include "workspace/private/private-git.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/copy.h"
#include "base/fd.h"
#include "base/path.h"
#include "policy/git-admit.h"
#include "policy/gitconfig.h"
#include "workspace/gitindex.h"
#include "workspace/private/private-parts.h"

#define MODULE_DEPTH_MAX 16
#define SHA256_LEN 32

/* One repository that is copied: the workspace's, or a submodule's. */
struct source {
	struct private_git *out;
	const char *dir, *common; /* on the host, real paths; the same but for a linked worktree */
	int dir_fd, common_fd;
	int at;		      /* of the private directory; -1: it is only planned */
	const char *run;      /* what it borrows is below this, inside */
	const char *top;      /* the same of the repository of them all */
	const char *worktree; /* core.worktree of a submodule; NULL: none */
	const char *root;     /* of the working tree of them all */
	const char *top_dir;  /* git directory of the workspace's repository */
	bool bare;
};

int private_read(int dir, const char *name, struct buf *b)
{
	cleanup_fd int fd = path_open_beneath(dir, name, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
	struct stat st;
	int r;

	if (fd < 0)
		return fd == -ELOOP || fd == -ENOTDIR ? -EINVAL : fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	r = fd_read_all(fd, b);
	return r == 0 && b->len && memchr(b->data, 0, b->len) ? -EINVAL : r;
}

int private_write(int at, const char *name, const void *p, size_t n)
{
	cleanup_fd int fd = path_open_beneath(at, name, O_WRONLY | O_CREAT | O_EXCL, 0644);

	return fd < 0 ? fd : fd_write_all(fd, p, n);
}

int private_mkdirs(int at, const char *name)
{
	cleanup_free char *path = xstrdup(name);

	for (char *p = strchr(path, '/'); p; p = strchr(p + 1, '/')) {
		*p = '\0';
		if (mkdirat(at, path, 0755) < 0 && errno != EEXIST)
			return -errno;
		*p = '/';
	}
	return 0;
}

int private_add_bind(struct private_git *p, const char *source, const char *target)
{
	if (p->n_binds == PRIVATE_BINDS_MAX)
		return -ENOBUFS;
	p->binds[p->n_binds++] = (struct private_bind){
		.source = xstrdup_or_null(source),
		.target = xstrdup(target),
	};
	return 0;
}

void private_git_done(struct private_git *p)
{
	for (size_t i = 0; i < p->n_binds; i++) {
		free(p->binds[i].source);
		free(p->binds[i].target);
	}
	for (size_t i = 0; i < p->n_modules; i++) {
		free(p->modules[i].worktree);
		free(p->modules[i].name);
	}
	free(p->told);
	*p = (struct private_git){0};
}

/* A file, a directory or a link as it is; 0 when there is none. */
static int copy_part(const struct source *s, int from, const char *name, uint64_t max,
		     struct err *err)
{
	const struct copy_rules rules = {
		.bytes_max = max,
		.files_max = PRIVATE_FILES_MAX,
		.depth_max = MODULE_DEPTH_MAX,
		.modes = true,
	};
	cleanup_fd int there = path_open_beneath(from, name, O_PATH | O_NOFOLLOW, 0);
	int r = there < 0 ? there : private_mkdirs(s->at, name);

	if (r == 0)
		r = copy_tree(from, name, s->at, name, &rules);
	if (r == -ENOENT || r == -ENOTDIR)
		return 0;
	if (r == -EFBIG)
		return err_set(err, EFBIG,
			       "'%s' of the git directory '%s' is more than ralph copies", name,
			       s->dir);
	return r < 0 ? err_sys(err, -r, "cannot copy '%s' of '%s'", name, s->dir) : 0;
}

/* The state of the working tree: of an operation that the user began, and of what is checked out. */
static const char *const of_worktree[] = {
	"HEAD",
	"info/sparse-checkout",
	"ORIG_HEAD",
	"MERGE_HEAD",
	"MERGE_MSG",
	"MERGE_MODE",
	"MERGE_AUTOSTASH",
	"SQUASH_MSG",
	"CHERRY_PICK_HEAD",
	"REVERT_HEAD",
	"REBASE_HEAD",
	"AUTO_MERGE",
	"rebase-merge",
	"rebase-apply",
	"sequencer",
	"BISECT_ANCESTORS_OK",
	"BISECT_EXPECTED_REV",
	"BISECT_FIRST_PARENT",
	"BISECT_LOG",
	"BISECT_NAMES",
	"BISECT_START",
	"BISECT_TERMS",
};

/* The state of the repository. Its logs stay with the user, but for the list of stashes. */
static const char *const of_repository[] = {
	"shallow",
	"info/exclude",
	"info/attributes",
	"logs/refs/stash",
};

static int copy_state(const struct source *s, struct err *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(of_worktree); i++)
		r = copy_part(s, s->dir_fd, of_worktree[i], PRIVATE_COPY_MAX, err);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(of_repository); i++)
		r = copy_part(s, s->common_fd, of_repository[i], PRIVATE_COPY_MAX, err);
	return r;
}

typedef bool wanted_fn(const char *name);

static bool is_hook(const char *name)
{
	const char *dot = strrchr(name, '.');

	return !(dot && streq(dot, ".sample"));
}

static bool is_shared_index(const char *name)
{
	return strncmp(name, "sharedindex.", 12) == 0;
}

/* The wanted entries of a directory below from; "": of itself. */
static int copy_wanted(const struct source *s, int from, const char *below, wanted_fn *wanted,
		       uint64_t max, struct err *err)
{
	int fd = path_open_beneath(from, *below ? below : ".", O_RDONLY | O_DIRECTORY, 0), r = 0;
	struct dirent *de;
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (fd == -ENOENT)
		return 0;
	if (fd == -ELOOP || fd == -ENOTDIR)
		return copy_part(s, from, below, max, err); /* a link leads to the same inside */
	if (!d)
		return err_sys(err, fd < 0 ? -fd : errno, "cannot read '%s/%s'", s->dir, below);
	while (r == 0 && (de = readdir(d))) {
		cleanup_free char *name =
			*below ? path_join(below, de->d_name) : xstrdup(de->d_name);

		if (!streq(de->d_name, ".") && !streq(de->d_name, "..") && wanted(de->d_name))
			r = copy_part(s, from, name, max, err);
	}
	(void)closedir(d);
	return r;
}

static size_t hash_len(const struct source *s)
{
	cleanup_free char *format = NULL;
	cleanup_buf struct buf b;

	buf_init(&b, PRIVATE_SMALL_MAX);
	if (private_read(s->common_fd, "config", &b) == 0)
		format = gitconfig_get(buf_str(&b), b.len, "extensions", "objectformat");
	return format && streq(format, "sha256") ? SHA256_LEN : GITINDEX_HASH_LEN;
}

/* The copy is ours alone, so that it stays as long as it is. */
static bool lists_young(const struct source *s, const struct stat *st)
{
	cleanup_fd int fd = path_open_beneath(s->at, "index", O_RDONLY, 0);
	struct stat copy = {0};
	void *p = MAP_FAILED;
	bool is = true;

	if (fd >= 0 && fstat(fd, &copy) == 0 && copy.st_size > 0)
		p = mmap(NULL, (size_t)copy.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		return true;
	is = gitindex_lists_young(p, (size_t)copy.st_size, hash_len(s), st->st_mtim.tv_sec);
	(void)munmap(p, (size_t)copy.st_size);
	return is;
}

/* With its time: git compares that with the times of the files to see which may have changed
 * since. */
static int copy_index(const struct source *s, struct err *err)
{
	struct stat st;
	int r = copy_wanted(s, s->dir_fd, "", is_shared_index, PRIVATE_INDEX_MAX, err);

	if (r < 0)
		return r;
	if (fstatat(s->dir_fd, "index", &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : err_sys(err, errno, "cannot read '%s/index'", s->dir);
	if (!S_ISREG(st.st_mode))
		return err_set(err, EINVAL, "'%s/index' is not a file", s->dir);
	r = copy_part(s, s->dir_fd, "index", PRIVATE_INDEX_MAX, err);
	if (r == 0) {
		const struct timespec times[] = {st.st_mtim, st.st_mtim};

		r = utimensat(s->at, "index", times, AT_SYMLINK_NOFOLLOW) < 0
			    ? err_sys(err, errno, "cannot date the index")
			    : 0;
	}
	s->out->young = s->out->young || (r == 0 && lists_young(s, &st));
	return r;
}

/* git keeps references in another way then, which only git itself can read. */
static int refuse_reftable(const struct source *s, const char *config, struct err *err)
{
	cleanup_free char *format =
		gitconfig_get(config, strlen(config), "extensions", "refstorage");

	if (!format || streq(format, "files"))
		return 0;
	return err_set(err, ENOTSUP,
		       "the repository '%s' keeps its references as '%.20s', which ralph cannot "
		       "copy; use --clone, or: git refs migrate --ref-format=files",
		       s->common, format);
}

static int copy_config(const struct source *s, int from, const char *name, bool first,
		       struct err *err)
{
	const struct git_admit with = {.bare = s->bare, .worktree = s->worktree};
	cleanup_buf struct buf text, out;
	int r;

	buf_init(&text, PRIVATE_SMALL_MAX);
	buf_init(&out, 2 * PRIVATE_SMALL_MAX);
	r = private_read(from, name, &text);
	if (r == -ENOENT && !first)
		return 0;
	if (r == 0 && first) {
		r = refuse_reftable(s, buf_str(&text), err);
		if (r < 0)
			return r;
	}
	if (r == 0)
		r = git_admit_config(buf_str(&text), text.len, &with, &out);
	if (r == 0)
		r = private_write(s->at, name, out.data, out.len);
	return r < 0 ? err_sys(err, -r, "cannot read the settings '%s/%s'", s->common, name) : 0;
}

/* Its settings say whether it can be borrowed from. */
static int check_config(const struct source *s, struct err *err)
{
	cleanup_buf struct buf text;
	int r;

	buf_init(&text, PRIVATE_SMALL_MAX);
	r = private_read(s->common_fd, "config", &text);
	if (r < 0)
		return err_sys(err, -r, "cannot read the settings '%s/config'", s->common);
	return refuse_reftable(s, buf_str(&text), err);
}

static int borrow(const struct source *s, struct err *err)
{
	cleanup_free char *objects = path_join(s->common, "objects");
	cleanup_free char *target = path_join(s->run, "objects");
	cleanup_free char *lfs = path_join(s->common, "lfs/objects");
	cleanup_free char *lfs_target = path_join(s->run, "lfs/objects");
	struct stat st;
	int r = private_objects_borrow(s->out, objects, target, s->at, err);

	/* git-lfs looks beside the objects that are borrowed. */
	if (r == 0 && lstat(lfs, &st) == 0 && S_ISDIR(st.st_mode) &&
	    private_add_bind(s->out, lfs, lfs_target) < 0)
		r = err_set(err, EFBIG, "the repository has more parts than ralph mounts");
	return r;
}

static int make_dirs(const struct source *s, struct err *err)
{
	static const char *const dirs[] = {"objects",	 "objects/info", "objects/pack", "refs",
					   "refs/heads", "refs/tags",	 "info",	 "hooks"};
	struct stat st;

	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		/* A link that leads to hooks is copied as it is. */
		if (streq(dirs[i], "hooks") &&
		    fstatat(s->common_fd, "hooks", &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    !S_ISDIR(st.st_mode))
			continue;
		if (mkdirat(s->at, dirs[i], 0755) < 0)
			return err_sys(err, errno, "cannot make a private git directory");
	}
	return 0;
}

/* What identifies an operation: another one of the same kind has other commits. */
static const struct {
	const char *name, *files[2];
} operations[] = {
	{"MERGE_HEAD", {"MERGE_HEAD", NULL}},
	{"CHERRY_PICK_HEAD", {"CHERRY_PICK_HEAD", NULL}},
	{"REVERT_HEAD", {"REVERT_HEAD", NULL}},
	{"rebase-merge", {"rebase-merge/orig-head", "rebase-merge/onto"}},
	{"rebase-apply", {"rebase-apply/orig-head", "rebase-apply/onto"}},
};

void private_git_state(int dir, struct buf *out)
{
	for (size_t i = 0; i < ARRAY_SIZE(operations); i++) {
		cleanup_buf struct buf line;

		buf_init(&line, PRIVATE_SMALL_MAX);
		for (size_t k = 0; k < 2 && operations[i].files[k]; k++) {
			cleanup_buf struct buf value;

			buf_init(&value, PRIVATE_SMALL_MAX);
			if (private_read(dir, operations[i].files[k], &value) == 0)
				(void)buf_printf(&line, " %.*s",
						 (int)strcspn(buf_str(&value), "\n"),
						 buf_str(&value));
		}
		if (line.len)
			(void)buf_printf(out, "STATE %s%s\n", operations[i].name, buf_str(&line));
	}
}

static void add_told(const struct source *s, const char *told)
{
	cleanup_free char *before = s->out->told;
	const char *rel = before ? s->dir + strlen(s->top_dir) + 1 : NULL;
	struct buf state;

	buf_init(&state, PRIVATE_SMALL_MAX);
	private_git_state(s->dir_fd, &state);
	s->out->told = xasprintf("%s%s%s%s%s%s", before ? before : "", rel ? "MODULE " : "",
				 rel ? rel : "", rel ? "\n" : "", told, buf_str(&state));
	buf_done(&state);
}

static int make_modules(const struct source *s, struct err *err);

static int plan_one(const struct source *s, struct err *err)
{
	int r = check_config(s, err);

	if (r == 0)
		r = borrow(s, err);
	return r == 0 ? make_modules(s, err) : r;
}

static int make_one(const struct source *s, struct err *err)
{
	bool linked = !streq(s->dir, s->common);
	cleanup_free char *told = NULL;
	int r;

	if (s->at < 0)
		return plan_one(s, err);
	r = copy_config(s, s->common_fd, "config", true, err);

	if (r == 0)
		r = make_dirs(s, err);
	if (r == 0)
		r = copy_config(s, s->dir_fd, "config.worktree", false, err);
	if (r == 0)
		r = copy_state(s, err);
	if (r == 0)
		r = copy_wanted(s, s->common_fd, "hooks", is_hook, PRIVATE_COPY_MAX, err);
	if (r == 0)
		r = private_refs_write(s->common_fd, linked ? s->dir_fd : -1, s->at, &told, err);
	if (r == 0)
		r = copy_index(s, err);
	if (r == 0)
		r = borrow(s, err);
	if (r == 0)
		add_told(s, told);
	return r == 0 ? make_modules(s, err) : r;
}

/* These may be there in a plain repository as well. */
static bool is_ordinary(const char *name)
{
	return streq(name, "HEAD") || streq(name, "ORIG_HEAD") || strchr(name, '/');
}

static bool is_absent(int dir, const char *name)
{
	struct stat st;

	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT;
}

bool private_git_is_plain(const struct gitdir *git, int dir, int common)
{
	cleanup_free char *modules = path_join(git->root, ".gitmodules");

	for (size_t i = 0; i < ARRAY_SIZE(of_worktree); i++)
		if (!is_ordinary(of_worktree[i]) && !is_absent(dir, of_worktree[i]))
			return false;
	return is_absent(dir, "modules") && is_absent(common, "objects/info/alternates") &&
	       is_absent(AT_FDCWD, modules);
}

static bool has(int dir, const char *name, mode_t type)
{
	struct stat st;

	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && (st.st_mode & S_IFMT) == type;
}

/* "../../../sub" from a git directory on, by its text alone: the place may not be there now. */
static char *resolve(const char *dir, const char *text)
{
	cleanup_free char *joined = path_join(dir, text);
	struct buf b;

	buf_init(&b, strlen(joined) + 2);
	for (const char *p = joined; *p;) {
		size_t n = strcspn(p, "/");

		if (n == 2 && strncmp(p, "..", n) == 0) {
			while (b.len && b.data[--b.len] != '/')
				;
		} else if (n && !(n == 1 && *p == '.')) {
			(void)buf_putc(&b, '/');
			(void)buf_append(&b, p, n);
		}
		p += n + (p[n] == '/');
	}
	if (b.data)
		b.data[b.len] = '\0';
	return b.data ? buf_take(&b) : xstrdup("/");
}

/* Where the files of a submodule are; NULL: not in the working tree, and it is no submodule of it. */
static char *module_worktree(const char *dir, int fd, const char *root)
{
	cleanup_free char *text = NULL, *path = NULL;
	cleanup_buf struct buf b;

	buf_init(&b, PRIVATE_SMALL_MAX);
	if (private_read(fd, "config", &b) < 0)
		return NULL;
	text = gitconfig_get(buf_str(&b), b.len, "core", "worktree");
	path = text ? resolve(dir, text) : NULL;
	return path && path_under(path, root) ? take_ptr(path) : NULL;
}

static int make_module_dir(const struct source *s, const char *name, struct err *err)
{
	int at = private_mkdirs(s->at, name);

	if (at == 0)
		at = mkdirat(s->at, name, 0755) < 0
			     ? -errno
			     : path_open_beneath(s->at, name, O_RDONLY | O_DIRECTORY, 0);
	return at < 0 ? err_sys(err, -at, "cannot make a private git directory") : at;
}

static int make_module(const struct source *s, const char *name, int fd, struct err *err)
{
	cleanup_free char *dir = path_join(s->dir, name), *run = path_join(s->run, name);
	cleanup_free char *worktree = module_worktree(dir, fd, s->root);
	struct private_git *out = s->out;
	cleanup_fd int at = -1;
	struct source module = *s;

	if (!worktree)
		return 0;
	if (strchr(name, '\n'))
		return err_set(err, EINVAL, "a submodule in '%s' has a newline in its name",
			       s->dir);
	if (out->n_modules == PRIVATE_MODULES_MAX)
		return err_set(err, EFBIG, "the repository has more than %d submodules",
			       PRIVATE_MODULES_MAX);
	out->modules[out->n_modules++] = (struct private_module){
		.worktree = xstrdup(worktree),
		.name = xstrdup(run + strlen(s->top) + 1),
	};
	if (s->at >= 0) {
		at = make_module_dir(s, name, err);
		if (at < 0)
			return at;
	}
	module.dir = module.common = dir;
	module.dir_fd = module.common_fd = fd;
	module.at = at;
	module.run = run;
	module.worktree = worktree;
	module.bare = false;
	return make_one(&module, err);
}

/* The name of a submodule may have slashes in it. */
static int walk_modules(const struct source *s, const char *below, unsigned depth, struct err *err)
{
	cleanup_fd int fd = path_open_beneath(s->dir_fd, below, O_RDONLY | O_DIRECTORY, 0);
	struct dirent *de;
	DIR *d;
	int r = 0;

	if (fd < 0)
		return fd == -ENOENT || fd == -ENOTDIR || fd == -ELOOP
			       ? 0
			       : err_sys(err, -fd, "cannot read '%s/%s'", s->dir, below);
	if (has(fd, "HEAD", S_IFREG) && has(fd, "objects", S_IFDIR))
		return make_module(s, below, fd, err);
	if (depth > MODULE_DEPTH_MAX)
		return err_set(err, EFBIG, "'%s/%s' is too deep", s->dir, below);
	d = fdopendir(fd);
	if (!d)
		return err_sys(err, errno, "cannot read '%s/%s'", s->dir, below);
	(void)take_fd(fd);
	while (r == 0 && (de = readdir(d))) {
		cleanup_free char *name = path_join(below, de->d_name);

		if (!streq(de->d_name, ".") && !streq(de->d_name, "..") && de->d_type == DT_DIR)
			r = walk_modules(s, name, depth + 1, err);
	}
	(void)closedir(d);
	return r;
}

static int make_modules(const struct source *s, struct err *err)
{
	return walk_modules(s, "modules", 0, err);
}

static bool is_module_name(const char *name)
{
	cleanup_free char *path = xasprintf("/%s", name);

	return name[0] && !strchr(name, '\n') && path_is_normal(path);
}

/* A submodule that has no git directory may get one inside, with commits in it. */
static bool tell_new_module(const struct gitconfig_entry *e, void *arg)
{
	const struct source *s = arg;
	cleanup_free char *name = NULL, *before = NULL;
	cleanup_fd int fd = -1;

	if (!streq(e->section, "submodule") || !e->sub || !streq(e->key, "path") ||
	    !is_module_name(e->sub))
		return false;
	name = path_join("modules", e->sub);
	fd = path_open_beneath(s->dir_fd, name, O_PATH, 0);
	if (fd != -ENOENT)
		return false;
	before = s->out->told;
	s->out->told = xasprintf("%sMODULE %s\n", before, name);
	return false;
}

static void tell_new_modules(const struct source *s)
{
	cleanup_fd int root = open(s->root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	cleanup_buf struct buf b;

	buf_init(&b, PRIVATE_SMALL_MAX);
	/* A list that cannot be read is nobody's: such submodules stay inside. */
	if (root >= 0 && private_read(root, ".gitmodules", &b) == 0)
		(void)gitconfig_each(buf_str(&b), b.len, tell_new_module, (void *)(uintptr_t)s);
}

static int open_dir(const char *path, struct err *err)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? err_sys(err, errno, "cannot open '%s'", path) : fd;
}

static int make_all(const struct private_git_input *in, int at, struct private_git *ret,
		    struct err *err)
{
	const struct gitdir *g = in->git;
	cleanup_fd int dir = -1, common = -1;
	struct source s = {.out = ret, .at = at, .run = in->run, .top = in->run};
	int r;

	*ret = (struct private_git){0};
	if (!g->root)
		return 0;
	dir = open_dir(g->dir, err);
	common = dir < 0 ? -1 : open_dir(g->common, err);
	if (dir < 0 || common < 0)
		return dir < 0 ? dir : common;
	s.dir = s.top_dir = g->dir;
	s.common = g->common;
	s.root = g->root;
	s.dir_fd = dir;
	s.common_fd = common;
	s.bare = gitdir_is_bare(g);
	r = make_one(&s, err);
	if (r == 0 && at >= 0 && !s.bare)
		tell_new_modules(&s);
	if (r < 0)
		private_git_done(ret);
	return r;
}

int private_git_plan(const struct private_git_input *in, struct private_git *ret, struct err *err)
{
	return make_all(in, -1, ret, err);
}

int private_git_make(const struct private_git_input *in, int at, struct private_git *ret,
		     struct err *err)
{
	return make_all(in, at, ret, err);
}
