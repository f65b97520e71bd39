#include "engine/cgroup.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/parse.h"
#include "base/path.h"

#define CPU_PERIOD_US 100000 /* the kernel's default; one percent of a core is 1000 of these */
#define PROCS_TEXT_MAX MiB
#define NEST_MAX 8

static void add_setting(struct cgroup_setting *list, size_t *n, const char *file, bool optional,
			uint64_t value, const char *behind)
{
	struct cgroup_setting *s = &list[(*n)++];

	s->file = file;
	s->optional = optional;
	(void)snprintf(s->value, sizeof(s->value), "%llu%s", (unsigned long long)value, behind);
}

size_t cgroup_settings(const struct cgroup_limits *l, bool v2, unsigned controllers,
		       struct cgroup_setting ret[CGROUP_SETTINGS_MAX])
{
	size_t n = 0;

	if (l->memory && (controllers & CGROUP_MEMORY)) {
		add_setting(ret, &n, v2 ? "memory.max" : "memory.limit_in_bytes", false, l->memory,
			    "");
		/* v2 counts swap apart, v1 together with memory. */
		if (v2)
			add_setting(ret, &n, "memory.swap.max", true, 0, "");
		else
			add_setting(ret, &n, "memory.memsw.limit_in_bytes", true, l->memory, "");
	}
	if (l->pids && (controllers & CGROUP_PIDS))
		add_setting(ret, &n, "pids.max", false, l->pids, "");
	if (l->cpu && (controllers & CGROUP_CPU)) {
		uint64_t quota = l->cpu * (CPU_PERIOD_US / 100);

		if (v2) {
			add_setting(ret, &n, "cpu.max", false, quota, " 100000");
		} else {
			add_setting(ret, &n, "cpu.cfs_period_us", false, CPU_PERIOD_US, "");
			add_setting(ret, &n, "cpu.cfs_quota_us", false, quota, "");
		}
	}
	return n;
}

/* Async-signal-safe. */
static int write_at(int dir, const char *file, const char *text)
{
	cleanup_fd int fd = openat(dir, file, O_WRONLY | O_CLOEXEC);
	size_t n = strlen(text);

	if (fd < 0)
		return -errno;
	/* One write is one setting; cgroupfs takes it whole or not at all. */
	return write(fd, text, n) == (ssize_t)n ? 0 : -errno;
}

static int read_procs(int dir, struct buf *b)
{
	buf_clear(b);
	return path_read(dir, "cgroup.procs", b);
}

static int remove_dir(int parent, const char *name, unsigned depth);

/* cgroups made inside ours; a sandbox cannot make any, an engine's helper could. */
static void remove_children(int parent, const char *name, unsigned depth)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!d) {
		closep(&fd);
		return;
	}
	while ((e = readdir(d)) != NULL)
		if (e->d_type == DT_DIR && !streq(e->d_name, ".") && !streq(e->d_name, ".."))
			(void)remove_dir(dirfd(d), e->d_name, depth + 1);
	(void)closedir(d);
}

static int remove_dir(int parent, const char *name, unsigned depth)
{
	if (unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
		return 0;
	if ((errno != EBUSY && errno != ENOTEMPTY) || depth == NEST_MAX)
		return -errno;
	remove_children(parent, name, depth);
	if (unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
		return 0;
	return -errno;
}

/* Dying processes leave a cgroup a moment after they were killed. */
static int remove_dir_until(int parent, const char *name, uint64_t deadline)
{
	for (int wait_ms = 1;; wait_ms = wait_ms < 16 ? wait_ms * 2 : wait_ms) {
		int r = remove_dir(parent, name, 0);

		if ((r != -EBUSY && r != -ENOTEMPTY) || now_ms() >= deadline)
			return r;
		(void)poll(NULL, 0, wait_ms);
	}
}

static bool name_ok(const char *name)
{
	size_t n =
		strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-");

	return n > 0 && n <= 128 && !name[n] && name[0] != '.';
}

/* v2: a controller must be enabled for the children of the place before a child can use it. */
static int enable(int parent, unsigned want)
{
	static const char *const names[] = {"memory", "pids", "cpu"}; /* in the order of the bits */
	cleanup_buf struct buf b = {0};
	cleanup_strv struct strv have = {0};
	char text[64] = "";
	int r;

	buf_init(&b, 4 * KiB);
	r = path_read(parent, "cgroup.subtree_control", &b);
	if (r < 0)
		return r;
	if (b.len && b.data[b.len - 1] == '\n')
		b.data[--b.len] = '\0';
	strv_split(&have, buf_str(&b), ' ');
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		size_t n = strlen(text);

		if ((want & (1U << i)) && !strv_has(&have, names[i]))
			(void)snprintf(text + n, sizeof(text) - n, "%s+%s", n ? " " : "", names[i]);
	}
	return *text ? write_at(parent, "cgroup.subtree_control", text) : 0;
}

static int make_dir(int parent, const char *name)
{
	int r;

	if (mkdirat(parent, name, 0755) == 0)
		return 0;
	if (errno != EEXIST)
		return -errno;
	/* A cgroup that a crash left has no processes and goes; a live one stays: EBUSY. */
	r = remove_dir(parent, name, 0);
	if (r == -EBUSY || r == -ENOTEMPTY)
		return -EEXIST;
	if (r < 0)
		return r;
	return mkdirat(parent, name, 0755) == 0 ? 0 : -errno;
}

static int limit_at(const struct cgroup_place *place, const struct cgroup_limits *limits, int dir,
		    const char *name, struct err *err)
{
	struct cgroup_setting set[CGROUP_SETTINGS_MAX];
	size_t n = cgroup_settings(limits, place->v2, place->controllers, set);

	for (size_t i = 0; i < n; i++) {
		int r = write_at(dir, set[i].file, set[i].value);

		if (r < 0 && !(r == -ENOENT && set[i].optional))
			return err_sys(err, -r, "cannot set %s of cgroup '%s/%s'", set[i].file,
				       place->dir, name);
	}
	return 0;
}

/* make: the directory is not there yet. */
static int create_at(const struct cgroup_place *place, const struct cgroup_limits *limits,
		     bool make, struct cgroup *c, struct err *err)
{
	__typeof__(&c->at[0]) at = &c->at[c->n];
	const char *enter;
	int r;

	at->dir = at->enter = -1;
	at->v2 = place->v2;
	at->parent = open(place->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (at->parent < 0)
		return err_sys(err, errno, "cannot open '%s'", place->dir);
	c->n++;
	r = make && place->v2 && place->controllers ? enable(at->parent, place->controllers) : 0;
	if (r < 0)
		return err_sys(err, -r, "cannot enable controllers in '%s'", place->dir);
	r = make ? make_dir(at->parent, c->name) : 0;
	if (r < 0)
		return err_sys(err, -r, "cannot create cgroup '%s/%s'", place->dir, c->name);
	at->dir = openat(at->parent, c->name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (at->dir < 0)
		return err_sys(err, errno, "cannot open cgroup '%s/%s'", place->dir, c->name);
	r = limit_at(place, limits, at->dir, c->name, err);
	if (r < 0)
		return r;
	enter = place->v2 ? "cgroup.procs" : "tasks";
	at->enter = openat(at->dir, enter, O_WRONLY | O_CLOEXEC);
	if (at->enter < 0)
		return err_sys(err, errno, "cannot open %s of '%s/%s'", enter, place->dir, c->name);
	return 0;
}

int cgroup_create(const struct cgroup_support *s, const char *name,
		  const struct cgroup_limits *limits, struct cgroup *ret, struct err *err)
{
	struct cgroup c = {0};

	if (!name_ok(name))
		return err_set(err, EINVAL, "'%s' cannot be the name of a cgroup", name);
	c.name = xstrdup(name);
	for (size_t i = 0; i < s->n_places; i++) {
		int r = create_at(&s->place[i], limits, true, &c, err);

		if (r == 0)
			continue;
		/* The place that failed goes too, unless the directory there is someone's. */
		for (size_t k = 0; k < c.n; k++)
			if (r != -EEXIST || k + 1 < c.n)
				(void)remove_dir(c.at[k].parent, c.name, 0);
		cgroup_done(&c);
		return r;
	}
	*ret = c;
	return 0;
}

int cgroup_take(const struct cgroup_support *s, const char *name,
		const struct cgroup_limits *limits, struct cgroup *ret, struct err *err)
{
	struct cgroup c = {0};
	int r = 0;

	if (!name_ok(name))
		return err_set(err, EINVAL, "'%s' cannot be the name of a cgroup", name);
	c.name = xstrdup(name);
	for (size_t i = 0; i < s->n_places && r == 0; i++)
		r = create_at(&s->place[i], limits, false, &c, err);
	if (r < 0)
		cgroup_done(&c);
	else
		*ret = c;
	return r;
}

size_t cgroup_entries(const struct cgroup *c, int ret[CGROUP_PLACES_MAX])
{
	size_t n = cgroup_clone_fd(c) >= 0 ? 0 : c->n;

	for (size_t i = 0; i < n; i++)
		ret[i] = c->at[i].enter;
	return n;
}

int cgroup_clone_fd(const struct cgroup *c)
{
	return c->n == 1 && c->at[0].v2 ? c->at[0].dir : -1;
}

/* One round of signals; gives how many processes there were. */
static int kill_listed(int dir, struct buf *b)
{
	cleanup_strv struct strv pids = {0};
	int r = read_procs(dir, b);

	if (r < 0)
		return r == -ENOENT || r == -ENODEV ? 0 : r;
	strv_split(&pids, buf_str(b), '\n');
	for (size_t i = 0; i < pids.n; i++) {
		uint64_t pid;

		/* 0 stands for a process outside our pid namespace. */
		if (parse_uint(pids.v[i], 1, INT32_MAX, &pid) == 0 && (pid_t)pid != getpid())
			(void)kill((pid_t)pid, SIGKILL);
	}
	return (int)pids.n;
}

static int kill_by_signals(int dir, uint64_t deadline)
{
	cleanup_buf struct buf b = {0};

	buf_init(&b, PROCS_TEXT_MAX);
	for (;;) {
		int r = kill_listed(dir, &b);

		if (r <= 0)
			return r;
		if (now_ms() >= deadline)
			return -ETIMEDOUT;
		(void)poll(NULL, 0, 1);
	}
}

int cgroup_kill(const struct cgroup *c, int deadline_ms)
{
	uint64_t deadline = now_ms() + (uint64_t)(deadline_ms > 0 ? deadline_ms : 0);

	for (size_t i = 0; i < c->n; i++) {
		int r = c->at[i].v2 ? write_at(c->at[i].dir, "cgroup.kill", "1") : -ENOENT;

		if (r == 0 || r == -ENODEV)
			return 0;
	}
	/* Every place holds the same processes, unless entering failed half way. */
	for (size_t i = 0; i < c->n; i++) {
		int r = kill_by_signals(c->at[i].dir, deadline);

		if (r < 0)
			return r;
	}
	return 0;
}

int cgroup_freeze(const struct cgroup *c, bool on)
{
	int dir = cgroup_clone_fd(c);

	return dir < 0 ? -ENOTSUP : write_at(dir, "cgroup.freeze", on ? "1" : "0");
}

int cgroup_remove(struct cgroup *c, int deadline_ms, struct err *err)
{
	uint64_t deadline = now_ms() + (uint64_t)(deadline_ms > 0 ? deadline_ms : 0);
	int first = 0;

	for (size_t i = 0; i < c->n; i++) {
		int r = remove_dir_until(c->at[i].parent, c->name, deadline);

		if (r < 0 && first == 0)
			first = err_sys(err, -r, "cannot remove cgroup '%s'", c->name);
	}
	return first;
}

void cgroup_done(struct cgroup *c)
{
	for (size_t i = 0; i < c->n; i++) {
		closep(&c->at[i].enter);
		closep(&c->at[i].dir);
		closep(&c->at[i].parent);
	}
	free(c->name);
	*c = (struct cgroup){0};
}

int cgroup_stale_remove(const struct cgroup_support *s, const char *name, int deadline_ms,
			struct err *err)
{
	struct cgroup c = {0};
	int r;

	if (!name_ok(name))
		return err_set(err, EINVAL, "'%s' cannot be the name of a cgroup", name);
	c.name = xstrdup(name);
	for (size_t i = 0; i < s->n_places; i++) {
		__typeof__(&c.at[0]) at = &c.at[c.n];

		at->enter = -1;
		at->v2 = s->place[i].v2;
		at->parent = open(s->place[i].dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (at->parent < 0)
			continue;
		at->dir = openat(at->parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (at->dir < 0)
			closep(&at->parent);
		else
			c.n++;
	}
	r = c.n ? cgroup_kill(&c, deadline_ms) : 0;
	if (r < 0)
		(void)err_sys(err, -r, "cannot end the processes of cgroup '%s'", name);
	else
		r = cgroup_remove(&c, deadline_ms, err);
	cgroup_done(&c);
	return r;
}

void cgroup_scope_argv(const char *name, const struct cgroup_limits *l, struct strv *out)
{
	static const char *const fixed[] = {
		"/usr/bin/systemd-run", "--user", "--scope", "--quiet", "--collect", "--same-dir"};

	for (size_t i = 0; i < ARRAY_SIZE(fixed); i++)
		strv_push(out, fixed[i]);
	strv_pushf(out, "--unit=%s", name);
	if (l->memory) {
		strv_pushf(out, "--property=MemoryMax=%llu", (unsigned long long)l->memory);
		strv_push(out, "--property=MemorySwapMax=0");
	}
	if (l->pids)
		strv_pushf(out, "--property=TasksMax=%llu", (unsigned long long)l->pids);
	if (l->cpu)
		strv_pushf(out, "--property=CPUQuota=%llu%%", (unsigned long long)l->cpu);
	strv_push(out, "--");
}
