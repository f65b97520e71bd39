#include "base/sweep.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/fd.h"
#include "base/parse.h"

/* More processes than this are handled in portions: each round takes the lowest numbers. */
#define PROCESSES_MAX 16384
#define STAT_MAX 1024 /* of /proc/PID/stat, whose name field has at most 64 bytes */

struct process {
	pid_t pid, parent;
	uint64_t start; /* in ticks since boot: with the pid, it names one process */
	bool ours;
};

struct table {
	struct process p[PROCESSES_MAX];
	size_t n;
};

static struct table now, before;
static uint64_t give_up_at;

void sweep_start(void)
{
	before.n = 0;
	give_up_at = now_ms() + SWEEP_MS_MAX;
}

/* Field `index` behind the state, whose blank p points to, as a number. */
static bool stat_field(const char *p, unsigned index, uint64_t *ret)
{
	char digits[24];
	size_t n;

	for (; index > 0 && *p; index--)
		p = strchrnul(p + 1, ' ');
	if (*p != ' ')
		return false;
	n = strcspn(++p, " \n");
	if (n >= sizeof(digits))
		return false;
	memcpy(digits, p, n);
	digits[n] = '\0';
	return parse_uint(digits, 0, UINT64_MAX, ret) == 0;
}

/* False for what is not a living process. */
static bool read_process(int proc_fd, const char *name, struct process *ret)
{
	char path[40], text[STAT_MAX];
	uint64_t pid, parent, threads, start;
	cleanup_fd int fd = -1;
	const char *p;
	ssize_t n;

	if (parse_uint(name, 1, INT32_MAX, &pid) < 0)
		return false;
	(void)stpcpy(stpcpy(path, name), "/stat");
	fd = openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return false;
	text[n] = '\0';
	p = strrchr(text, ')'); /* the name may hold any byte, but it ends here */
	if (!p++ || !stat_field(p, 1, &parent) || !stat_field(p, 17, &threads) ||
	    !stat_field(p, 19, &start))
		return false;
	/*
	 * A zombie has ended and waits to be reaped. A main thread that ended before the others
	 * looks the same, but its process has more than one thread.
	 */
	if (p[1] == 'Z' && threads <= 1)
		return false;
	*ret = (struct process){.pid = (pid_t)pid, .parent = (pid_t)parent, .start = start};
	return true;
}

static bool scan(int proc_fd, struct table *t)
{
	int fd = openat(proc_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *d;

	t->n = 0;
	if (!dir) {
		closep(&fd);
		return false;
	}
	while (t->n < PROCESSES_MAX && (d = readdir(dir)))
		if (d->d_name[0] >= '1' && d->d_name[0] <= '9' && strlen(d->d_name) <= 10 &&
		    read_process(proc_fd, d->d_name, &t->p[t->n]))
			t->n++;
	(void)closedir(dir);
	return true;
}

/* procfs lists in the order of the numbers. */
static struct process *find(struct table *t, pid_t pid)
{
	size_t lo = 0, hi = t->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (t->p[mid].pid == pid)
			return &t->p[mid];
		if (t->p[mid].pid < pid)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

static bool excepted(pid_t pid, const pid_t *except, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (except[i] == pid)
			return true;
	return false;
}

/* Marks our descendants, and says whether there is a process whose parent ended during the scan:
 * whose it is, the next round shows. Parents mostly come before their children, so one pass nearly
 * always does; what a bounded number of passes misses, the next round finds. */
static size_t mark(struct table *t, const pid_t *except, size_t n_except, bool *ret_unsure)
{
	pid_t self = getpid();
	size_t marked = 0, last = SIZE_MAX;

	for (int pass = 0; pass < 16 && marked != last; pass++) {
		last = marked;
		for (size_t i = 0; i < t->n; i++) {
			struct process *p = &t->p[i], *parent;

			if (p->ours || p->pid == self)
				continue;
			if (p->parent == self) {
				p->ours = !excepted(p->pid, except, n_except);
			} else {
				parent = find(t, p->parent);
				p->ours = parent && parent->ours;
				/* pid 1 itself has none */
				*ret_unsure |= !parent && p->parent != 0;
			}
			marked += p->ours;
		}
	}
	return marked;
}

static void signal_process(int proc_fd, const struct process *p, int sig)
{
	struct process again;
	char name[12], *at = name + sizeof(name) - 1;
	cleanup_fd int pidfd = (int)syscall(SYS_pidfd_open, p->pid, 0UL);
	bool none = pidfd < 0 && errno == ENOSYS; /* gVisor; its process numbers grow for long */

	if (pidfd < 0 && !none)
		return;
	*at = '\0';
	for (pid_t v = p->pid; v > 0; v /= 10)
		*--at = (char)('0' + v % 10);
	if (!read_process(proc_fd, at, &again) || again.start != p->start)
		return;
	if (none)
		(void)kill(p->pid, sig);
	else
		(void)syscall(SYS_pidfd_send_signal, pidfd, sig, NULL, 0UL);
}

static bool is_known(const struct process *p)
{
	const struct process *old = find(&before, p->pid);

	return old && old->ours && old->start == p->start;
}

enum sweep_result sweep_round(int proc_fd, const pid_t *except, size_t n_except)
{
	bool unsure = false;
	size_t fresh = 0;

	/* Without a look at /proc nothing can be ended one by one. */
	if (!scan(proc_fd, &now))
		return SWEEP_ENDLESS;
	if (mark(&now, except, n_except, &unsure) == 0)
		return unsure ? SWEEP_KILLED : SWEEP_EMPTY;
	for (size_t i = 0; i < now.n; i++)
		if (now.p[i].ours && !is_known(&now.p[i])) {
			signal_process(proc_fd, &now.p[i], SIGSTOP);
			fresh++;
		}
	before.n = now.n;
	memcpy(before.p, now.p, now.n * sizeof(now.p[0]));
	if (fresh && now_ms() < give_up_at)
		return SWEEP_FOUND_NEW;
	for (size_t i = 0; i < now.n; i++)
		if (now.p[i].ours)
			signal_process(proc_fd, &now.p[i], SIGKILL);
	return fresh ? SWEEP_ENDLESS : SWEEP_KILLED;
}
