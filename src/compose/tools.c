#include "compose/tools.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/find-program.h"
#include "compose/tools/tools-home.h"
#include "compose/tools/tools-npm.h"
#include "compose/tools/tools-table.h"

#define LINKS_MAX 40	   /* the kernel's own limit */
#define INTERPRETERS_MAX 4 /* a script run by a script run by … */
#define SHEBANG_MAX 256	   /* the kernel's own limit */
#define PATH_ENTRIES_MAX 128

/* These directories exist inside at the same path, read-only, for every command. */
static const char *const visible_dirs[] = {"/usr", "/bin", "/sbin", "/lib", "/lib64", "/opt"};

/* For a host whose PATH lacks them; sbin only where the host has it on PATH. */
static const char *const usual_path[] = {"/usr/local/bin", "/usr/bin", "/bin"};

struct search {
	const struct tools_input *in;
	char *home; /* as spelled; NULL: none that counts */
	char *home_real;
	struct strv entries; /* of the host's PATH, those that count */
	struct tools *out;
	const char *command; /* for reasons */
	bool agents_word; /* the way led through the workspace, where the agent may have laid it */
	struct err *err;
};

static bool visible(const struct search *s, const char *path)
{
	for (size_t i = 0; i < ARRAY_SIZE(visible_dirs); i++)
		if (path_under(path, visible_dirs[i]))
			return true;
	for (size_t i = 0; s->in->shown && i < s->in->shown->n; i++)
		if (path_under(path, s->in->shown->v[i]))
			return true;
	return s->in->workspace && path_under(path, s->in->workspace);
}

static bool bound(const struct search *s, const char *path)
{
	for (size_t i = 0; i < s->out->n_binds; i++)
		if (path_under(path, s->out->binds[i].path))
			return true;
	return false;
}

/* Below $HOME: the rest of the path; NULL otherwise. */
static const char *in_home(const struct search *s, const char *path)
{
	if (!s->home || !path_under(path, s->home) || streq(path, s->home))
		return NULL;
	return path + strlen(s->home) + 1;
}

static int add_bind(struct search *s, const char *path, char *reason)
{
	struct tools *t = s->out;

	if (bound(s, path)) {
		free(reason);
		return 0;
	}
	if (t->n_binds == TOOLS_MAX) {
		free(reason);
		return err_set(s->err, E2BIG, "'%s' needs more than %d directories of the home",
			       s->command, TOOLS_MAX);
	}
	t->binds = xrealloc(t->binds, t->n_binds + 1, sizeof(*t->binds));
	t->binds[t->n_binds++] = (struct tools_bind){xstrdup(path), reason};
	return 0;
}

static int add_link(struct search *s, const char *path, const char *text)
{
	struct tools *t = s->out;

	for (size_t i = 0; i < t->n_links; i++)
		if (streq(t->links[i].path, path))
			return 0;
	if (t->n_links == TOOLS_MAX)
		return err_set(s->err, E2BIG, "'%s' goes through more than %d links", s->command,
			       TOOLS_MAX);
	t->links = xrealloc(t->links, t->n_links + 1, sizeof(*t->links));
	t->links[t->n_links++] = (struct tools_link){xstrdup(path), xstrdup(text),
						     xasprintf("leads to %s", s->command)};
	return 0;
}

/* The whole root of a tool manager, and the one it needs. False: not to be handed out whole. */
static bool bind_root(struct search *s, const struct tools_root *root, const char *why)
{
	cleanup_free char *dir =
		root->path[0] == '/' ? xstrdup(root->path) : path_join(s->home, root->path);
	struct tools_root also;
	struct stat st;

	if (lstat(dir, &st) < 0 || !S_ISDIR(st.st_mode) || tools_has_credentials(dir))
		return false;
	if (add_bind(s, dir, xasprintf("%s (%s)", why, root->what)) < 0)
		return false;
	if (root->also && tools_root_of(root->also, &also))
		(void)bind_root(s, &also, why);
	return true;
}

/* …/node_modules/PKG or …/node_modules/@SCOPE/PKG; NULL when it is in none. */
static char *package_of(const char *path)
{
	const char *mark = strstr(path, "/node_modules/");
	const char *end;

	if (!mark)
		return NULL;
	end = mark + strlen("/node_modules/");
	if (*end == '@')
		end += strcspn(end, "/") + 1;
	end += strcspn(end, "/");
	return *end ? xstrndup(path, (size_t)(end - path)) : NULL;
}

static int refuse_private(struct search *s, const char *path)
{
	int r = err_set(s->err, EPERM,
			"'%s' is at '%s', among credentials, and cannot be brought into a sandbox; "
			"install it elsewhere",
			s->command, path);

	s->err->exit_code = EXIT_RALPH;
	return r;
}

static int bind_package(struct search *s, const char *package)
{
	cleanup_strv struct strv beside = {0};
	int r = add_bind(s, package, xasprintf("needed by %s (its package)", s->command));

	tools_npm_beside(package, &beside);
	for (size_t i = 0; i < beside.n && r == 0; i++)
		if (!tools_has_credentials(beside.v[i]))
			r = add_bind(s, beside.v[i],
				     xasprintf("needed by %s (its package)", s->command));
	return r;
}

/* One real file that the command needs. */
static int need(struct search *s, const char *path)
{
	const char *rel = in_home(s, path);
	struct tools_root root;
	cleanup_free char *package = NULL;
	cleanup_free char *why = xasprintf("needed by %s", s->command);

	if (visible(s, path) || bound(s, path))
		return 0;
	if (tools_root_of(rel ? rel : path, &root) && bind_root(s, &root, why))
		return 0;
	/* Elsewhere: not ours to hand out. Nor is what a link or script of the workspace names, but
	 * for the roots above, which hold tools and nothing else. */
	if (!rel || (s->agents_word && !tools_rel_is_private(rel)))
		return 0;
	if (tools_rel_is_private(rel))
		return refuse_private(s, path);
	package = package_of(path);
	if (package && !tools_has_credentials(package))
		return bind_package(s, package);
	return add_bind(s, path, take_ptr(why));
}

/* A place among the links: made anew inside where home is private, unless it comes with a bind.
 * *reachable becomes false where the link cannot be made: then only the real path will do. */
static int note_link(struct search *s, const char *path, const char *text, bool *reachable)
{
	const char *rel = in_home(s, path);
	struct tools_root root;

	if (visible(s, path) || bound(s, path))
		return 0;
	if (tools_root_of(rel ? rel : path, &root) &&
	    bind_root(s, &root, "on the way to the command"))
		return 0;
	if (rel)
		return add_link(s, path, text);
	*reachable = false;
	return 0;
}

/*
 * realpath(3) that takes note of every link on the way, unless reachable is NULL. The home
 * directory counts as real however it is spelled: inside it is at the path that $HOME says.
 */
static int follow(struct search *s, const char *path, char **ret, bool *reachable)
{
	cleanup_free char *done = xstrdup("/");
	cleanup_free char *rest = xstrdup(path);
	int links = 0;

	if (in_home(s, path)) {
		free(done);
		done = xstrdup(s->home);
		memmove(rest, path + strlen(s->home), strlen(path + strlen(s->home)) + 1);
	}
	while (*rest) {
		size_t skip = strspn(rest, "/");
		size_t n = strcspn(rest + skip, "/");
		cleanup_free char *part = xstrndup(rest + skip, n);
		cleanup_free char *here = NULL;
		char text[PATH_MAX];
		struct stat st;
		char *left;
		ssize_t len;

		memmove(rest, rest + skip + n, strlen(rest + skip + n) + 1);
		if (n == 0 || streq(part, "."))
			continue;
		here = streq(part, "..") ? path_dir(done) : path_join(done, part);
		if (s->home_real && streq(here, s->home_real)) {
			free(here);
			here = xstrdup(s->home);
		}
		if (!streq(part, "..") && lstat(here, &st) < 0)
			return -errno;
		if (reachable && s->in->workspace && path_under(here, s->in->workspace))
			s->agents_word = true;
		if (streq(part, "..") || !S_ISLNK(st.st_mode) ||
		    (s->home && streq(here, s->home))) {
			free(done);
			done = take_ptr(here);
			continue;
		}
		len = readlink(here, text, sizeof(text) - 1);
		if (len < 0 || ++links > LINKS_MAX)
			return len < 0 ? -errno : -ELOOP;
		text[len] = '\0';
		if (reachable && note_link(s, here, text, reachable) < 0)
			return -E2BIG;
		left = xasprintf("%s%s", text, rest);
		free(rest);
		rest = left;
		if (text[0] == '/') {
			free(done);
			done = xstrdup("/");
		}
	}
	*ret = take_ptr(done);
	return 0;
}

/* The interpreter a script names: its path, or for env the program's name. NULL: no script. */
static char *interpreter(const char *path)
{
	cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	cleanup_strv struct strv words = {0};
	char line[SHEBANG_MAX + 1];
	ssize_t n = fd < 0 ? -1 : read(fd, line, SHEBANG_MAX);
	size_t i = 1;

	if (n < 3 || line[0] != '#' || line[1] != '!')
		return NULL;
	line[n] = '\0';
	line[strcspn(line, "\n")] = '\0';
	for (char *p = line; *p; p++)
		if (*p == '\t' || *p == '\r')
			*p = ' ';
	strv_split(&words, line + 2, ' ');
	if (words.n == 0)
		return NULL;
	if (!streq(path_base(words.v[0]), "env"))
		return xstrdup(words.v[0]);
	while (i < words.n && (words.v[i][0] == '-' || strchr(words.v[i], '=')))
		i++;
	return i < words.n ? xstrdup(words.v[i]) : NULL;
}

/* PATH entries that may name tools: absolute, there, not in what the agent can write. */
static bool entry_counts(const struct search *s, const char *entry)
{
	cleanup_free char *real = NULL;

	if (entry[0] != '/')
		return false;
	real = realpath(entry, NULL);
	return real && !(s->in->workspace && (path_under(real, s->in->workspace) ||
					      path_under(entry, s->in->workspace)));
}

static void read_entries(struct search *s)
{
	cleanup_strv struct strv all = {0};

	strv_split(&all, s->in->path ? s->in->path : "", ':');
	for (size_t i = 0; i < all.n && s->entries.n < PATH_ENTRIES_MAX; i++)
		if (!strv_has(&s->entries, all.v[i]) && entry_counts(s, all.v[i]))
			strv_push(&s->entries, all.v[i]);
}

static char *find_on_path(const struct search *s, const char *name)
{
	for (size_t i = 0; i < s->entries.n; i++) {
		char *found = path_find_program(name, s->entries.v[i]);

		if (found)
			return found;
	}
	return NULL;
}

/* A program, what it is a link to, and what it is run by. */
static int bring(struct search *s, const char *path, unsigned depth, bool *reachable, char **ret)
{
	cleanup_free char *real = NULL, *by = NULL, *by_path = NULL, *ignored = NULL;
	bool by_reachable = true;
	int r = follow(s, path, &real, reachable);

	if (r == -E2BIG)
		return r;
	if (r < 0)
		return 0; /* exec inside will say the same */
	r = need(s, real);
	if (r < 0)
		return r;
	by = depth < INTERPRETERS_MAX ? interpreter(real) : NULL;
	if (by)
		by_path = strchr(by, '/') ? xstrdup(by) : find_on_path(s, by);
	if (by_path && by_path[0] == '/')
		r = bring(s, by_path, depth + 1, &by_reachable, &ignored);
	*ret = take_ptr(real);
	return r;
}

/* The tool roots that the host's PATH names. */
static void bring_path_roots(struct search *s)
{
	for (size_t i = 0; i < s->entries.n; i++) {
		cleanup_free char *real = NULL;
		const char *rel;
		struct tools_root root;

		if (visible(s, s->entries.v[i]))
			continue;
		if (follow(s, s->entries.v[i], &real, NULL) < 0)
			continue;
		rel = in_home(s, real);
		if (tools_root_of(rel ? rel : real, &root))
			(void)bind_root(s, &root, "on the host's PATH");
	}
}

/* A directory of the user's own programs, of which no bind is made as a whole. */
static bool is_own_dir(const struct search *s, const char *entry)
{
	const char *rel = in_home(s, entry);
	struct tools_root root;

	return rel && !visible(s, entry) && !tools_root_of(rel, &root) &&
	       !tools_rel_is_private(rel);
}

/* Brings programs that a later command may name. *dirs gets the directories that they are found in. */
static void bring_more(struct search *s, struct strv *dirs)
{
	cleanup_strv struct strv programs = {0};
	struct err ignored, *err = s->err;

	if (s->in->more)
		strv_extend(&programs, s->in->more);
	for (size_t i = 0; s->in->home_programs && i < s->entries.n; i++)
		if (is_own_dir(s, s->entries.v[i]))
			tools_programs_in(s->entries.v[i], &programs);
	s->err = &ignored;
	for (size_t i = 0; i < programs.n; i++) {
		cleanup_free char *file = strchr(programs.v[i], '/')
						  ? xstrdup(programs.v[i])
						  : find_on_path(s, programs.v[i]);
		cleanup_free char *real = NULL, *dir = file ? path_dir(file) : NULL;
		bool reachable = true;

		s->command = path_base(programs.v[i]);
		if (file && bring(s, file, 0, &reachable, &real) == 0 && in_home(s, file) &&
		    !strv_has(dirs, dir))
			strv_push(dirs, dir);
	}
	s->err = err;
}

static void add_path(struct tools *t, const char *dir)
{
	if (!strv_has(&t->path, dir) && !strchr(dir, ':'))
		strv_push(&t->path, dir);
}

/* Directories that the sandbox can write come last. */
static void make_path(struct search *s, const struct strv *last)
{
	for (size_t i = 0; i < s->entries.n; i++) {
		const char *entry = s->entries.v[i];
		cleanup_free char *real = NULL;

		if (visible(s, entry) || bound(s, entry)) {
			add_path(s->out, entry);
			continue;
		}
		/* Spelled through a link that is not there inside. */
		if (follow(s, entry, &real, NULL) == 0 && (visible(s, real) || bound(s, real)))
			add_path(s->out, real);
	}
	for (size_t i = 0; i < ARRAY_SIZE(usual_path); i++)
		add_path(s->out, usual_path[i]);
	for (size_t i = 0; i < last->n; i++)
		add_path(s->out, last->v[i]);
	if (s->home) {
		cleanup_free char *own = path_join(s->home, ".local/bin");

		add_path(s->out, own);
	}
}

/* Does looking the name up inside find the same file? Then it stays as it was typed. */
static bool found_by_name(const struct search *s, const char *name, const char *file)
{
	for (size_t i = 0; i < s->out->path.n; i++) {
		cleanup_free char *there = path_find_program(name, s->out->path.v[i]);

		if (there)
			return streq(there, file);
	}
	return false;
}

static int resolve_command(struct search *s, char **ret_file, char **ret_real, bool *reachable)
{
	const char *argv0 = s->in->argv0;
	const char *cwd = s->in->cwd ? s->in->cwd : s->in->workspace;
	cleanup_free char *file = NULL;
	int r;

	if (!strchr(argv0, '/'))
		file = find_on_path(s, argv0);
	else
		file = path_join(cwd ? cwd : "/", argv0);
	if (!file)
		return 0;
	r = bring(s, file, 0, reachable, ret_real);
	*ret_file = take_ptr(file);
	return r;
}

static void set_argv0(struct search *s, const char *file, const char *real, bool reachable)
{
	const char *argv0 = s->in->argv0;

	if (!file || !real)
		s->out->argv0 = xstrdup(argv0);
	else if (!reachable)
		s->out->argv0 = xstrdup(real);
	else if (strchr(argv0, '/') || found_by_name(s, argv0, file))
		s->out->argv0 = xstrdup(argv0);
	else
		s->out->argv0 = xstrdup(file);
}

static int resolve(struct search *s)
{
	cleanup_free char *file = NULL, *real = NULL;
	cleanup_strv struct strv own = {0};
	bool reachable = true;
	int r;

	read_entries(s);
	if (s->in->argv0) {
		r = resolve_command(s, &file, &real, &reachable);
		if (r < 0)
			return r;
	}
	bring_more(s, &own);
	s->command = "a tool on PATH";
	bring_path_roots(s);
	make_path(s, &own);
	if (s->in->argv0)
		set_argv0(s, file, real, reachable);
	s->out->found = real != NULL;
	s->out->inside = real && (visible(s, real) || bound(s, real));
	s->out->file = take_ptr(real);
	return 0;
}

int tools_resolve(const struct tools_input *in, struct tools *ret, struct err *err)
{
	struct tools t = {0};
	struct search s = {.in = in, .out = &t, .err = err, .command = in->argv0 ? in->argv0 : ""};
	int r;

	/* With / as home everything would lie below it. */
	if (in->home && path_is_normal(in->home) && !streq(in->home, "/")) {
		s.home = xstrdup(in->home);
		s.home_real = realpath(in->home, NULL);
	}
	r = resolve(&s);
	strv_done(&s.entries);
	free(s.home);
	free(s.home_real);
	if (r < 0)
		tools_done(&t);
	else
		*ret = t;
	return r;
}

void tools_done(struct tools *t)
{
	for (size_t i = 0; i < t->n_binds; i++) {
		free(t->binds[i].path);
		free(t->binds[i].reason);
	}
	for (size_t i = 0; i < t->n_links; i++) {
		free(t->links[i].path);
		free(t->links[i].text);
		free(t->links[i].reason);
	}
	free(t->binds);
	free(t->links);
	free(t->argv0);
	free(t->file);
	strv_done(&t->path);
	*t = (struct tools){0};
}

char *tools_path_text(const struct tools *t)
{
	struct buf b;

	buf_init(&b, MiB);
	for (size_t i = 0; i < t->path.n; i++)
		(void)buf_printf(&b, "%s%s", i ? ":" : "", t->path.v[i]);
	return buf_take(&b);
}

bool tools_is_private(const char *path, const char *home)
{
	if (path_under(home, path))
		return true;
	if (!path_under(path, home))
		return false;
	return tools_rel_is_private(path + strlen(home) + 1);
}

/* The homes of others have the same places as the user's own, and a copy of a home has them too. */
bool tools_may_hold_key(const char *path, const char *home)
{
	if (tools_is_private(path, home) || tools_is_credential(path_base(path)))
		return true;
	for (const char *p = strstr(path, "/."); p; p = strstr(p + 1, "/."))
		if (tools_rel_is_private(p + 1))
			return true;
	return false;
}
