/*
 * Two processes of the host's git: one reads objects, one indexes the pack that is received. They are
 * started before anything hostile is read, with settings that say nothing but the kind of hash, and
 * with Landlock and limits of their own. Neither ever sees the user's git directory as its own.
 */
#include "repo/wide/wide-parts.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/landlock.h"
#include "base/parse.h"
#include "base/path.h"
#include "repo/take.h"

#define DATA_MAX ((rlim_t)2 * GiB)
#define FILE_MAX ((rlim_t)8 * GiB)
#define CPU_MAX ((rlim_t)600) /* seconds */
#define OBJECT_MAX ((uint64_t)512 * MiB)
#define LINE_MAX_ 256

static const char config[] = "[core]\n\trepositoryformatversion = 1\n\tbare = true\n"
			     "[extensions]\n\tobjectformat = sha256\n";

static int write_file(const char *dir, const char *name, const char *text)
{
	cleanup_free char *path = path_join(dir, name), *parent = path_dir(path);
	struct err ignored;
	int r = path_mkdirs(parent, 0755, &ignored);

	return r < 0 ? r : path_write_atomic(AT_FDCWD, path, text, strlen(text), 0644, 0);
}

/* A git directory that says nothing, whose objects are its own files and what it borrows. */
static int make_dir(const struct strv *dirs)
{
	static const struct {
		const char *name, *text;
	} files[] = {
		{"HEAD", "ref: refs/heads/none\n"},
		{"config", config},
		{"refs/none", ""},
		{"pack/none", ""},
	};
	cleanup_buf struct buf borrowed;
	int r = 0;

	buf_init(&borrowed, 1 * MiB);
	for (size_t i = 1; i < dirs->n; i++)
		(void)buf_printf(&borrowed, "%s\n", dirs->v[i]);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(files); i++)
		r = write_file(dirs->v[0], files[i].name, files[i].text);
	if (r == 0)
		r = borrowed.full ? -ENOBUFS
				  : write_file(dirs->v[0], "info/alternates", buf_str(&borrowed));
	return r;
}

static int allow(const struct landlock *l, const char *git, const struct strv *dirs, bool writes)
{
	static const char *const system[] = {
		"/usr", "/lib", "/lib64", "/bin", "/etc/ld.so.cache", "/nix/store", "/gnu/store"};
	cleanup_free char *bin = path_dir(git), *prefix = path_dir(bin);
	/* "/" would be everything: git in /bin has its libraries in /usr and /lib. */
	int r = streq(prefix, "/") || !*prefix
			? 0
			: landlock_allow(l, prefix, LANDLOCK_READ | LANDLOCK_EXECUTE);

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(system); i++)
		r = landlock_allow(l, system[i], LANDLOCK_READ | LANDLOCK_EXECUTE);
	if (r == 0)
		r = landlock_allow(l, "/dev/null", LANDLOCK_READ_FILE | LANDLOCK_WRITE_FILE);
	if (r == 0)
		r = landlock_allow(l, "/dev/urandom", LANDLOCK_READ_FILE); /* names of new files */
	for (size_t i = 0; r == 0 && i < dirs->n; i++)
		r = landlock_allow(l, dirs->v[i],
				   writes && i == 0 ? LANDLOCK_WRITE : LANDLOCK_READ);
	return r;
}

static int confine(void *arg)
{
	static const struct {
		int resource;
		rlim_t max;
	} limits[] = {
		{RLIMIT_CORE, 0},
		{RLIMIT_CPU, CPU_MAX},
		{RLIMIT_FSIZE, FILE_MAX},
		{RLIMIT_DATA, DATA_MAX},
	};
	struct rlimit l;

	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		if (getrlimit((__rlimit_resource_t)limits[i].resource, &l) < 0)
			return -errno;
		l.rlim_max = l.rlim_max < limits[i].max ? l.rlim_max : limits[i].max;
		l.rlim_cur = l.rlim_max;
		if (setrlimit((__rlimit_resource_t)limits[i].resource, &l) < 0)
			return -errno;
	}
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	return landlock_enter(arg);
}

struct ends {
	int to, from; /* this process's */
};

static int start(const struct strv *dirs, char *const argv[], const char *git, bool writes,
		 int errors, struct child *ret, struct ends *ends, struct err *err)
{
	cleanup_free char *dir = xasprintf("GIT_DIR=%s", dirs->v[0]);
	cleanup_free char *objects = xasprintf("GIT_OBJECT_DIRECTORY=%s", dirs->v[0]);
	char *env[] = {dir,
		       objects,
		       "GIT_CONFIG_NOSYSTEM=1",
		       "GIT_CONFIG_GLOBAL=/dev/null",
		       "GIT_ATTR_NOSYSTEM=1",
		       "GIT_NO_REPLACE_OBJECTS=1",
		       "GIT_TERMINAL_PROMPT=0",
		       "HOME=/nonexistent",
		       "LC_ALL=C",
		       "PATH=/usr/bin:/bin",
		       NULL};
	cleanup_landlock struct landlock l = {.fd = -1};
	struct run run = RUN_INIT;
	int to[2], from[2], r;

	if (pipe2(to, O_CLOEXEC) < 0)
		return err_sys(err, errno, "cannot make a pipe");
	if (pipe2(from, O_CLOEXEC) < 0) {
		r = err_sys(err, errno, "cannot make a pipe");
		closep(&to[0]);
		closep(&to[1]);
		return r;
	}
	run.argv = argv;
	run.env = env;
	run.dir = dirs->v[0];
	run.stdio[0] = to[0];
	run.stdio[1] = from[1];
	run.stdio[2] = errors;
	run.flags = RUN_DIE_WITH_US;
	run.before_exec = confine;
	run.arg = &l;
	r = landlock_begin(&l, landlock_abi(), LANDLOCK_NO_ABSTRACT_SOCKETS | LANDLOCK_NO_SIGNALS);
	if (r == 0)
		r = allow(&l, git, dirs, writes);
	r = r < 0 ? err_sys(err, -r, "cannot confine git") : run_start(&run, ret, err);
	closep(&to[0]);
	closep(&from[1]);
	*ends = (struct ends){.to = to[1], .from = from[0]};
	return r;
}

int wide_git_start(struct wide_git *g, const struct gitdir *of, const struct strv *dirs,
		   struct err *err)
{
	cleanup_free char *git = host_git_find(of->root ? of->root : of->dir, of->common);
	char *read[] = {git, "cat-file", "--batch-command", NULL};
	char *index[] = {git, "index-pack", "--stdin", "--threads=1", NULL};
	struct ends ends = {.to = -1, .from = -1};
	int r;

	*g = (struct wide_git){.ask = -1, .pack = -1, .packed = -1, .why = -1};
	g->reader.pidfd = g->packer.pidfd = -1;
	if (!git)
		return err_set(
			err, ENOENT,
			"this repository names objects by SHA-256, and ralph needs git on the "
			"host for it; install git");
	r = make_dir(dirs);
	if (r < 0)
		return err_sys(err, -r, "cannot write to '%s'", dirs->v[0]);
	/* A process that ended is an error of the next write. */
	(void)signal(SIGPIPE, SIG_IGN);
	r = start(dirs, read, git, false, -1, &g->reader, &ends, err);
	if (r < 0)
		return r;
	g->ask = ends.to;
	g->told = fdopen(ends.from, "r");
	g->why = memfd_create("why", MFD_CLOEXEC);
	r = start(dirs, index, git, true, g->why, &g->packer, &ends, err);
	if (r < 0)
		return r;
	g->pack = ends.to;
	g->packed = ends.from;
	return g->told ? 0 : err_set(err, ENOMEM, "cannot read from git");
}

/* Both end when nobody writes to them any more. */
void wide_git_end(struct wide_git *g)
{
	closep(&g->ask);
	closep(&g->pack);
	closep(&g->packed);
	closep(&g->why);
	if (g->told)
		(void)fclose(take_ptr(g->told));
	if (g->reader.pidfd >= 0)
		(void)run_wait(&g->reader);
	if (g->packer.pidfd >= 0)
		(void)run_wait(&g->packer);
}

/* "OID TYPE SIZE", or "OID missing". */
static int read_head(struct wide_git *g, const char *hex, git_object_t *ret_type, size_t *ret_size)
{
	char line[LINE_MAX_], *type, *size;
	uint64_t n;

	if (!fgets(line, sizeof(line), g->told) || strncmp(line, hex, WIDE_HEX) != 0 ||
	    line[WIDE_HEX] != ' ')
		return -EPROTO;
	type = line + WIDE_HEX + 1;
	type[strcspn(type, "\n")] = '\0';
	if (streq(type, "missing"))
		return -ENOENT;
	size = strchr(type, ' ');
	if (!size)
		return -EPROTO;
	*size++ = '\0';
	if (parse_uint(size, 0, INT64_MAX, &n) < 0)
		return -EPROTO;
	*ret_type = git_object_string2type(type);
	*ret_size = (size_t)n;
	return *ret_type == GIT_OBJECT_INVALID ? -EPROTO : 0;
}

static int read_body(struct wide_git *g, size_t size, char **ret)
{
	cleanup_free char *bytes = NULL;

	if (size > OBJECT_MAX)
		return -EFBIG;
	bytes = xmalloc(size + 1);
	if (fread(bytes, 1, size, g->told) != size || fgetc(g->told) != '\n')
		return -EPROTO;
	*ret = take_ptr(bytes);
	return 0;
}

int wide_git_read(struct wide_git *g, const unsigned char full[WIDE_LEN], git_object_t *ret_type,
		  size_t *ret_size, char **ret)
{
	cleanup_free char *line = NULL;
	char hex[WIDE_HEX + 1];
	int r;

	if (g->lost)
		return -EIO;
	wide_to_hex(full, hex);
	line = xasprintf("%s %s\n", ret ? "contents" : "info", hex);
	r = fd_write_all(g->ask, line, strlen(line));
	if (r == 0)
		r = read_head(g, hex, ret_type, ret_size);
	if (r == 0 && ret)
		r = read_body(g, *ret_size, ret);
	g->lost = r < 0 && r != -ENOENT;
	return r;
}
