#include "view/procs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/parse.h"

#define DEPTH_MAX 64 /* of a tree; deeper processes are not counted */

void procs_done(struct procs *p)
{
	free(p->v);
	*p = (struct procs){0};
}

/* Indexes of the numbers after the name in /proc/PID/stat; see proc(5). */
enum { F_PARENT = 1, F_UTIME = 11, F_STIME, F_CUTIME, F_CSTIME, F_START = 19, F_RSS = 21, F_N };

static bool parse_stat(const char *text, uint64_t ret[F_N])
{
	/* The name may contain anything, also brackets and spaces. */
	const char *p = strrchr(text, ')');

	if (!p)
		return false;
	p++;
	for (int i = 0; i < F_N; i++) {
		uint64_t v = 0;

		while (*p == ' ')
			p++;
		for (; *p && *p != ' '; p++)
			v = *p >= '0' && *p <= '9' ? v * 10 + (uint64_t)(*p - '0') : v;
		ret[i] = v;
	}
	return true;
}

static void read_one(struct procs *p, int proc, const char *name)
{
	char path[32], text[1024];
	cleanup_fd int fd = -1;
	uint64_t f[F_N], pid;
	ssize_t n;

	(void)snprintf(path, sizeof(path), "%s/stat", name);
	fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return; /* the process ended in the meantime */
	text[n] = '\0';
	if (!parse_stat(text, f) || parse_uint(name, 1, INT32_MAX, &pid) < 0)
		return;
	if (p->n == p->cap) {
		p->cap = p->cap ? p->cap * 2 : 256;
		p->v = xrealloc(p->v, p->cap, sizeof(*p->v));
	}
	p->v[p->n++] = (struct proc_row){
		.pid = (pid_t)pid,
		.parent = (pid_t)f[F_PARENT],
		.start = f[F_START],
		.ticks = f[F_UTIME] + f[F_STIME] + f[F_CUTIME] + f[F_CSTIME],
		.memory = f[F_RSS] * (uint64_t)sysconf(_SC_PAGESIZE),
	};
}

static int by_pid(const void *a, const void *b)
{
	const struct proc_row *x = a, *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

int procs_read(struct procs *p)
{
	DIR *d = opendir("/proc");
	struct dirent *de;

	p->n = 0;
	if (!d)
		return -errno;
	while ((de = readdir(d)) && p->n < PROCS_MAX)
		if (de->d_name[0] >= '1' && de->d_name[0] <= '9')
			read_one(p, dirfd(d), de->d_name);
	(void)closedir(d);
	if (p->n)
		qsort(p->v, p->n, sizeof(*p->v), by_pid);
	return 0;
}

const struct proc_row *procs_find(const struct procs *p, pid_t pid)
{
	const struct proc_row key = {.pid = pid};

	return p->n ? bsearch(&key, p->v, p->n, sizeof(*p->v), by_pid) : NULL;
}

static struct proc_sum *root_of(const struct procs *p, const struct proc_row *r, const pid_t *roots,
				struct proc_sum *sums, size_t n)
{
	for (int depth = 0; r && depth < DEPTH_MAX; depth++) {
		for (size_t i = 0; i < n; i++)
			if (roots[i] > 0 && roots[i] == r->pid)
				return &sums[i];
		r = procs_find(p, r->parent);
	}
	return NULL;
}

void procs_sum(const struct procs *p, const pid_t *roots, struct proc_sum *ret, size_t n)
{
	memset(ret, 0, n * sizeof(*ret));
	for (size_t k = 0; k < p->n; k++) {
		struct proc_sum *s = root_of(p, &p->v[k], roots, ret, n);

		if (!s)
			continue;
		s->ticks += p->v[k].ticks;
		s->memory += p->v[k].memory;
		s->n++;
	}
}
