#include "compose/git-user.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"
#include "policy/gitconfig.h"
#include "workspace/gitdir.h"

#define USER_FILE "/run/ralph/gitconfig"
#define SOURCE_MAX (256 * KiB) /* of one file */
#define RESULT_MAX (64 * KiB)
#define SOURCES_MAX 32 /* files that are read, includes among them */
#define DEPTH_MAX 8    /* of includes, which may name each other */
#define VALUE_MAX 1024

/* Keys that say who the user is and how git behaves. None runs a program, names a file or can hold
 * a secret. */
static const char *const kept[] = {
	"branch.autosetuprebase",
	"branch.sort",
	"color.ui",
	"column.ui",
	"commit.cleanup",
	"commit.verbose",
	"core.abbrev",
	"core.autocrlf",
	"core.eol",
	"core.quotepath",
	"core.safecrlf",
	"diff.algorithm",
	"diff.colormoved",
	"diff.mnemonicprefix",
	"diff.renames",
	"fetch.prune",
	"fetch.prunetags",
	"init.defaultbranch",
	"log.abbrevcommit",
	"log.date",
	"log.follow",
	"merge.conflictstyle",
	"merge.ff",
	"pull.ff",
	"pull.rebase",
	"push.autosetupremote",
	"push.default",
	"push.followtags",
	"rebase.autosquash",
	"rebase.autostash",
	"rebase.updaterefs",
	"rerere.autoupdate",
	"rerere.enabled",
	"status.short",
	"status.showuntrackedfiles",
	"tag.sort",
	"user.email",
	"user.name",
};

struct reader {
	const struct build_input *in;
	const struct gitdir *git;
	const char *workspace;
	const char *file; /* that is being read */
	unsigned depth, sources;
	struct buf out;
};

static void read_source(struct reader *r, const char *path);

/* A git command with its arguments. Text that begins with '!' or an option runs a program or sets
 * anything; a URL may hold a password. */
static bool is_plain_alias(const struct gitconfig_entry *e)
{
	return streq(e->section, "alias") && e->value && e->value[0] >= 'a' && e->value[0] <= 'z' &&
	       !strstr(e->value, "://");
}

static bool is_kept(const struct gitconfig_entry *e)
{
	cleanup_free char *name = xasprintf("%s.%s", e->section, e->key);

	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		if (streq(kept[i], name))
			return true;
	return is_plain_alias(e);
}

static bool is_printable(const char *v)
{
	for (; *v; v++)
		if ((unsigned char)*v < ' ' || *v == 0x7f)
			return false;
	return true;
}

static void put(struct buf *b, const struct gitconfig_entry *e)
{
	const char *v = e->value ? e->value : "true";

	if (strlen(v) > VALUE_MAX || !is_printable(v))
		return;
	(void)buf_printf(b, "[%s]\n\t%s = \"", e->section, e->key);
	for (; *v; v++) {
		if (*v == '"' || *v == '\\')
			(void)buf_putc(b, '\\');
		(void)buf_putc(b, *v);
	}
	(void)buf_puts(b, "\"\n");
}

/* Returns the path that git means in this file; the caller frees it. */
static char *named_path(const struct reader *r, const char *text)
{
	cleanup_free char *dir = NULL;

	if (text[0] == '/')
		return xstrdup(text);
	if (strncmp(text, "~/", 2) == 0)
		return path_join(r->in->places->home, text + 2);
	dir = xstrndup(r->file, (size_t)(path_base(r->file) - r->file));
	return xasprintf("%s%s", dir, text);
}

/* "gitdir:~/office/" as git compares it; other conditions do not hold. */
static bool holds(const struct reader *r, const char *condition)
{
	bool fold = strncmp(condition, "gitdir/i:", 9) == 0;
	cleanup_free char *at = NULL, *pattern = NULL;
	const char *text;

	if ((!fold && strncmp(condition, "gitdir:", 7) != 0) || !r->git->dir)
		return false;
	text = condition + (fold ? 9 : 7);
	if (strncmp(text, "./", 2) == 0 || strncmp(text, "~/", 2) == 0 || text[0] == '/')
		at = named_path(r, strncmp(text, "./", 2) == 0 ? text + 2 : text);
	else
		at = xasprintf("*/%s", text);
	pattern = xasprintf("%s%s", at, at[strlen(at) - 1] == '/' ? "*" : "");
	return fnmatch(pattern, r->git->dir, fold ? FNM_CASEFOLD : 0) == 0;
}

static bool take(const struct gitconfig_entry *e, void *arg)
{
	struct reader *r = arg;
	bool path = e->value && *e->value && streq(e->key, "path");
	bool include = path && streq(e->section, "include") && !e->sub;
	bool if_include = path && streq(e->section, "includeif") && e->sub && holds(r, e->sub);
	cleanup_free char *file = include || if_include ? named_path(r, e->value) : NULL;

	if (file)
		read_source(r, file);
	else if (!e->sub && is_kept(e))
		put(&r->out, e);
	return r->out.full;
}

/* The agent writes the workspace, so files in it are not the user's settings. */
static int open_source(const struct reader *r, const char *path)
{
	cleanup_free char *real = realpath(path, NULL);
	cleanup_fd int fd = -1;
	struct stat st;

	if (!real || path_under(real, r->workspace))
		return -1;
	fd = open(real, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	return fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? take_fd(fd) : -1;
}

static void read_source(struct reader *r, const char *path)
{
	cleanup_fd int fd = -1;
	cleanup_buf struct buf b;
	const char *outer = r->file;

	buf_init(&b, SOURCE_MAX);
	if (r->depth == DEPTH_MAX || r->sources++ >= SOURCES_MAX)
		return;
	fd = open_source(r, path);
	if (fd < 0 || fd_read_all(fd, &b) < 0)
		return;
	r->depth++;
	r->file = path;
	(void)gitconfig_each(buf_str(&b), b.len, take, r);
	r->file = outer;
	r->depth--;
}

static const char *host_env(const struct build_input *in, const char *name)
{
	size_t n = strlen(name);

	for (char *const *e = in->environ; e && *e; e++)
		if (strncmp(*e, name, n) == 0 && (*e)[n] == '=' && (*e)[n + 1])
			return *e + n + 1;
	return NULL;
}

/* The files that git reads for this user, the strongest last. */
static void read_sources(struct reader *r)
{
	const char *global = host_env(r->in, "GIT_CONFIG_GLOBAL");
	const char *xdg = host_env(r->in, "XDG_CONFIG_HOME");
	cleanup_free char *base = xdg ? xstrdup(xdg) : path_join(r->in->places->home, ".config");
	cleanup_free char *second = path_join(base, "git/config");
	cleanup_free char *own = path_join(r->in->places->home, ".gitconfig");

	read_source(r, "/etc/gitconfig");
	if (global) {
		read_source(r, global);
		return;
	}
	read_source(r, second);
	read_source(r, own);
}

void git_user(struct sandbox_spec *s, const struct build_input *in, const struct gitdir *git)
{
	struct reader r = {.in = in, .git = git, .workspace = s->workspace};
	struct spec_mount *m;
	size_t head;

	if (spec_env_find(s, "GIT_CONFIG_SYSTEM"))
		return;
	buf_init(&r.out, RESULT_MAX);
	/* An image may have system settings of its own. */
	(void)buf_puts(&r.out, "[include]\n\tpath = /etc/gitconfig\n");
	head = r.out.len;
	read_sources(&r);
	if (r.out.len > head && !r.out.full) {
		m = spec_mount_add(s, SPEC_FILE, NULL, USER_FILE, "your name and settings in git");
		m->data = xstrdup(buf_str(&r.out));
		m->mode = 0444;
		spec_env_set(s, "GIT_CONFIG_SYSTEM", USER_FILE, SPEC_SET, "ralph");
	}
	buf_done(&r.out);
}
