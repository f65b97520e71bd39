#include "engine/cgroup.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/parse.h"
#include "base/path.h"

#define PROC_TEXT_MAX MiB
#define FILE_TEXT_MAX (4 * KiB)

static const struct {
	unsigned bit;
	const char *name;
} controllers[] = {
	{CGROUP_MEMORY, "memory"},
	{CGROUP_PIDS, "pids"},
	{CGROUP_CPU, "cpu"},
};

/* One cgroup mount and the place this process has in its hierarchy. */
struct hierarchy {
	bool v2;
	unsigned controllers; /* v1: what is mounted there */
	char *mount;
	char *own; /* directory of this process below the mount */
};

struct view {
	struct hierarchy h[8];
	size_t n;
};

static void view_done(struct view *v)
{
	for (size_t i = 0; i < v->n; i++) {
		free(v->h[i].mount);
		free(v->h[i].own);
	}
}

static unsigned controllers_of(const char *text, const char *separators)
{
	unsigned set = 0;

	while (*text) {
		size_t n = strcspn(text, separators);

		for (size_t i = 0; i < ARRAY_SIZE(controllers); i++)
			if (strlen(controllers[i].name) == n &&
			    strncmp(controllers[i].name, text, n) == 0)
				set |= controllers[i].bit;
		text += n;
		text += strspn(text, separators);
	}
	return set;
}

/* A whole small file below a directory, without its newline; NULL when it cannot be read. */
static char *read_text(const char *dir, const char *name)
{
	cleanup_free char *path = path_join(dir, name);
	cleanup_buf struct buf b = {0};
	size_t n;

	buf_init(&b, FILE_TEXT_MAX);
	if (path_read(AT_FDCWD, path, &b) < 0)
		return NULL;
	n = strcspn(buf_str(&b), "\n");
	/* cgroup.procs: more lines than one only mean "not empty" here. */
	return xstrndup(buf_str(&b), n);
}

static unsigned read_controllers(const char *dir, const char *name)
{
	cleanup_free char *text = read_text(dir, name);

	return text ? controllers_of(text, " ") : 0;
}

static bool may(const char *dir, const char *name, int mode)
{
	cleanup_free char *path = name ? path_join(dir, name) : xstrdup(dir);

	return faccessat(AT_FDCWD, path, mode, AT_EACCESS) == 0;
}

/* mountinfo writes blanks, tabs, newlines and backslashes as \ooo. */
static void unescape(char *s)
{
	char *out = s;

	for (; *s; s++) {
		if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] >= '0' && s[2] <= '7' &&
		    s[3] >= '0' && s[3] <= '7') {
			*out++ = (char)((s[1] - '0') * 64 + (s[2] - '0') * 8 + (s[3] - '0'));
			s += 3;
		} else {
			*out++ = *s;
		}
	}
	*out = '\0';
}

/* The path of this process in one hierarchy, from /proc/self/cgroup. */
static char *own_path(const char *proc_cgroup, bool v2, unsigned want)
{
	while (*proc_cgroup) {
		size_t n = strcspn(proc_cgroup, "\n");
		cleanup_free char *line = xstrndup(proc_cgroup, n);
		char *names = strchr(line, ':');
		char *path = names ? strchr(names + 1, ':') : NULL;

		proc_cgroup += n + (proc_cgroup[n] == '\n');
		if (!path)
			continue;
		*names++ = '\0';
		*path++ = '\0';
		if (v2 ? streq(line, "0") && !*names : (controllers_of(names, ",") & want) != 0)
			return xstrdup(path);
	}
	return NULL;
}

/* Adds the mount of one mountinfo line when it is a cgroup one that shows this process's place. */
static void view_add(struct view *v, char *line, const char *proc_cgroup)
{
	cleanup_strv struct strv before = {0}, after = {0};
	cleanup_free char *path = NULL;
	char *dash = strstr(line, " - ");
	struct hierarchy h = {0};
	const char *rest;

	if (!dash || v->n == ARRAY_SIZE(v->h))
		return;
	*dash = '\0';
	strv_split(&before, line, ' ');
	strv_split(&after, dash + 3, ' ');
	if (before.n < 6 || after.n < 3)
		return;
	h.v2 = streq(after.v[0], "cgroup2");
	h.controllers = streq(after.v[0], "cgroup") ? controllers_of(after.v[2], ",") : 0;
	if (!h.v2 && !h.controllers)
		return;
	path = own_path(proc_cgroup, h.v2, h.controllers);
	unescape(before.v[3]);
	unescape(before.v[4]);
	/* Outside the namespace's root ("/.."), or a mount that shows another part of the tree. */
	if (!path || strstr(path, "/..") || !path_under(path, before.v[3]))
		return;
	rest = streq(before.v[3], "/") ? path : path + strlen(before.v[3]);
	h.mount = xstrdup(before.v[4]);
	h.own = xasprintf("%s%s", h.mount, streq(rest, "/") ? "" : rest);
	v->h[v->n++] = h;
}

static int read_proc(const char *given, const char *file, char **ret, struct err *err)
{
	cleanup_buf struct buf b = {0};
	int r;

	if (given) {
		*ret = xstrdup(given);
		return 0;
	}
	buf_init(&b, PROC_TEXT_MAX);
	r = path_read(AT_FDCWD, file, &b);
	if (r == -ENOENT)
		r = 0; /* a kernel without cgroups */
	if (r < 0)
		return err_sys(err, -r, "cannot read '%s'", file);
	*ret = xstrdup(buf_str(&b));
	return 0;
}

static int view_read(const struct cgroup_source *src, struct view *ret, struct err *err)
{
	cleanup_free char *proc_cgroup = NULL, *mountinfo = NULL;
	cleanup_strv struct strv lines = {0};
	int r;

	r = read_proc(src ? src->proc_cgroup : NULL, "/proc/self/cgroup", &proc_cgroup, err);
	if (r < 0)
		return r;
	r = read_proc(src ? src->mountinfo : NULL, "/proc/self/mountinfo", &mountinfo, err);
	if (r < 0)
		return r;
	strv_split(&lines, mountinfo, '\n');
	for (size_t i = 0; i < lines.n; i++)
		if (strstr(lines.v[i], " - cgroup"))
			view_add(ret, lines.v[i], proc_cgroup);
	return 0;
}

int cgroup_source_read(struct cgroup_source *ret, struct err *err)
{
	struct cgroup_source s = {0};
	int r = read_proc(NULL, "/proc/self/cgroup", &s.proc_cgroup, err);

	if (r == 0)
		r = read_proc(NULL, "/proc/self/mountinfo", &s.mountinfo, err);
	if (r < 0)
		cgroup_source_done(&s);
	else
		*ret = s;
	return r;
}

void cgroup_source_done(struct cgroup_source *s)
{
	free(s->proc_cgroup);
	free(s->mountinfo);
	*s = (struct cgroup_source){0};
}

static void place_add(struct cgroup_support *s, const char *dir, unsigned set, bool v2)
{
	if (s->n_places == CGROUP_PLACES_MAX)
		return;
	s->place[s->n_places++] =
		(struct cgroup_place){.dir = xstrdup(dir), .controllers = set, .v2 = v2};
	s->controllers |= set;
}

static bool can_make_in(const char *dir)
{
	return may(dir, NULL, W_OK | X_OK) && may(dir, "cgroup.procs", W_OK);
}

/*
 * Lists the controllers that a child of this v2 directory can have: those that are enabled for
 * children already, and those that could be. Enabling needs a directory without processes, unless
 * it is the root itself, which is known by having no cgroup.type.
 */
static unsigned v2_offers(const char *dir)
{
	unsigned set = read_controllers(dir, "cgroup.subtree_control"), could;
	cleanup_free char *procs = NULL;

	could = read_controllers(dir, "cgroup.controllers");
	if (!(could & ~set) || !may(dir, "cgroup.subtree_control", W_OK))
		return set;
	procs = read_text(dir, "cgroup.procs");
	return (procs && !*procs) || !may(dir, "cgroup.type", F_OK) ? set | could : set;
}

/* The nearest directory from our own upwards that gives what is needed; without memory and pids
 * it would bound neither a balloon nor a fork bomb. */
static bool probe_v2(const struct hierarchy *h, struct cgroup_support *s)
{
	const unsigned need = CGROUP_MEMORY | CGROUP_PIDS;
	cleanup_free char *dir = xstrdup(h->own);

	while (path_under(dir, h->mount)) {
		unsigned set = can_make_in(dir) ? v2_offers(dir) : 0;
		char *up;

		if ((set & need) == need) {
			s->method = CGROUP_V2;
			place_add(s, dir, set, true);
			return true;
		}
		if (streq(dir, h->mount))
			break;
		up = path_dir(dir);
		free(dir);
		dir = up;
	}
	return false;
}

static void probe_v1(const struct view *v, struct cgroup_support *s)
{
	for (size_t i = 0; i < v->n; i++) {
		unsigned set = v->h[i].controllers & ~s->controllers;

		if (!v->h[i].v2 && set && can_make_in(v->h[i].own)) {
			s->method = CGROUP_V1;
			place_add(s, v->h[i].own, set, false);
		}
	}
}

/* A manager that is there accepts on its private socket; systemd-run says the rest. */
static bool manager_answers(void)
{
	const char *dir = getenv("XDG_RUNTIME_DIR");
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	cleanup_fd int fd = -1;
	int n;

	if (!dir || dir[0] != '/' || !may("/usr/bin", "systemd-run", X_OK))
		return false;
	n = snprintf(sa.sun_path, sizeof(sa.sun_path), "%s/systemd/private", dir);
	if (n < 0 || (size_t)n >= sizeof(sa.sun_path))
		return false;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	return fd >= 0 && connect(fd, (struct sockaddr *)&sa, sizeof(sa)) == 0;
}

static void probe_scope(const struct hierarchy *h, const struct cgroup_source *src,
			struct cgroup_support *s)
{
	unsigned uid = (unsigned)geteuid();
	cleanup_free char *dir =
		xasprintf("%s/user.slice/user-%u.slice/user@%u.service", h->mount, uid, uid);
	unsigned set = read_controllers(dir, "cgroup.controllers");

	if (!(set & CGROUP_MEMORY) || !(set & CGROUP_PIDS))
		return;
	if (!(src && src->manager ? src->manager() : manager_answers()))
		return;
	s->method = CGROUP_SCOPE;
	s->controllers = set;
}

int cgroup_probe(const struct cgroup_source *src, struct cgroup_support *ret, struct err *err)
{
	cleanup_(view_done) struct view v = {0};
	struct cgroup_support s = {0};
	const struct hierarchy *v2 = NULL;
	int r = view_read(src, &v, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < v.n && !v2; i++)
		if (v.h[i].v2)
			v2 = &v.h[i];
	if (!v2 || !probe_v2(v2, &s))
		probe_v1(&v, &s);
	if (v2 && s.method == CGROUP_NONE)
		probe_scope(v2, src, &s);
	*ret = s;
	return 0;
}

void cgroup_support_done(struct cgroup_support *s)
{
	for (size_t i = 0; i < s->n_places; i++)
		free(s->place[i].dir);
	*s = (struct cgroup_support){0};
}

static_assert((int)CGROUP_NONE == (int)SPEC_CGROUP_NONE && (int)CGROUP_V1 == (int)SPEC_CGROUP_V1 &&
		      (int)CGROUP_V2 == (int)SPEC_CGROUP_V2 &&
		      (int)CGROUP_SCOPE == (int)SPEC_CGROUP_SCOPE &&
		      (int)CGROUP_METHOD_N == (int)SPEC_CGROUP_N &&
		      CGROUP_PLACES_MAX <= SPEC_CGROUPS_MAX,
	      "the spec counts as we do");

void cgroup_support_to_spec(const struct cgroup_support *s, struct spec_limits *ret)
{
	ret->cgroup = (enum spec_cgroup_kind)s->method;
	for (size_t i = 0; i < s->n_places; i++)
		ret->cgroups[ret->n_cgroups++] = (struct spec_cgroup){
			.dir = xstrdup(s->place[i].dir),
			.controllers = s->place[i].controllers,
		};
}

void cgroup_support_from_spec(const struct spec_limits *l, struct cgroup_support *ret)
{
	*ret = (struct cgroup_support){
		.method = (enum cgroup_method)l->cgroup,
		.controllers = l->controllers,
	};
	for (size_t i = 0; i < l->n_cgroups && i < CGROUP_PLACES_MAX; i++)
		ret->place[ret->n_places++] = (struct cgroup_place){
			.dir = xstrdup(l->cgroups[i].dir),
			.controllers = l->cgroups[i].controllers,
			.v2 = l->cgroup == SPEC_CGROUP_V2,
		};
}

char *cgroup_support_text(const struct cgroup_support *s)
{
	static const char *const names[CGROUP_METHOD_N] = {
		[CGROUP_NONE] = "rlimits",
		[CGROUP_V1] = "cgroup v1",
		[CGROUP_V2] = "cgroup v2",
		[CGROUP_SCOPE] = "cgroup v2 scope",
	};
	const char *sep = "";
	struct buf b;

	buf_init(&b, 256);
	(void)buf_puts(&b, names[s->method]);
	for (size_t i = 0; i < ARRAY_SIZE(controllers) && s->method != CGROUP_NONE; i++)
		if (s->controllers & controllers[i].bit) {
			(void)buf_printf(&b, "%s%s", *sep ? sep : " (", controllers[i].name);
			sep = ", ";
		}
	if (*sep)
		(void)buf_putc(&b, ')');
	return buf_take(&b);
}

/* The smallest value of one file from our own directory up to the mount. */
static uint64_t smallest(const struct hierarchy *h, const char *file)
{
	cleanup_free char *dir = xstrdup(h->own);
	uint64_t least = UINT64_MAX;

	for (;;) {
		cleanup_free char *text = read_text(dir, file);
		uint64_t v;
		char *up;

		/* v1 writes "none" as the highest page-aligned number. */
		if (text && parse_uint(text, 0, INT64_MAX - 1024 * KiB, &v) == 0 && v < least)
			least = v;
		if (!path_under(dir, h->mount) || streq(dir, h->mount))
			return least;
		up = path_dir(dir);
		free(dir);
		dir = up;
	}
}

uint64_t cgroup_memory_limit(const struct cgroup_source *src)
{
	cleanup_(view_done) struct view v = {0};
	uint64_t least = UINT64_MAX;
	struct err ignored;

	if (view_read(src, &v, &ignored) < 0)
		return least;
	for (size_t i = 0; i < v.n; i++) {
		uint64_t m = UINT64_MAX;

		if (v.h[i].v2)
			m = smallest(&v.h[i], "memory.max");
		else if (v.h[i].controllers & CGROUP_MEMORY)
			m = smallest(&v.h[i], "memory.limit_in_bytes");
		if (m < least)
			least = m;
	}
	return least;
}
