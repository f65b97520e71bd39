#include "bench.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define MAX_DEPTH 10

static pid_t number(const char *s)
{
	return (pid_t)strtoimax(s, NULL, 10);
}

static pid_t parent_of(pid_t pid)
{
	char path[64], line[512], *p;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	p = fgets(line, sizeof(line), f) ? strrchr(line, ')') : NULL;
	(void)fclose(f);
	return p && strlen(p) > 4 ? number(p + 4) : 0;
}

/* pid and everything below it. */
size_t proc_tree(pid_t pid, pid_t ret[MAX_TREE])
{
	DIR *d = opendir("/proc");
	size_t n = 0;

	ret[n++] = pid;
	if (world_half(pid))
		ret[n++] = world_half(pid);
	for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
		pid_t other = isdigit((unsigned char)e->d_name[0]) ? number(e->d_name) : 0;
		pid_t up = other;

		for (int i = 0; i < MAX_DEPTH && up > 1 && up != pid; i++)
			up = parent_of(up);
		if (up == pid && other != pid && n < MAX_TREE)
			ret[n++] = other;
	}
	if (d)
		(void)closedir(d);
	return n;
}

double proc_cpu_s(pid_t pid)
{
	pid_t all[MAX_TREE];
	size_t n = proc_tree(pid, all);
	double sum = 0;

	/* In nanoseconds, of all threads; /proc/PID/stat counts in ticks of 10 ms. */
	for (size_t i = 0; i < n; i++) {
		struct timespec t;
		clockid_t clock;

		if (clock_getcpuclockid(all[i], &clock) == 0 && clock_gettime(clock, &t) == 0)
			sum += (double)t.tv_sec + (double)t.tv_nsec / 1e9;
	}
	return sum;
}

void proc_memory(pid_t pid, double *ret_rss_kb, double *ret_pss_kb)
{
	pid_t all[MAX_TREE];
	size_t n = proc_tree(pid, all);

	*ret_rss_kb = *ret_pss_kb = 0;
	for (size_t i = 0; i < n; i++) {
		char path[64], line[256];
		FILE *f;

		(void)snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", all[i]);
		f = fopen(path, "re");
		while (f && fgets(line, sizeof(line), f)) {
			/* The helper's pages are its parent's: PSS adds up, RSS would not. */
			if ((i == 0 || all[i] == world_half(pid)) && strncmp(line, "Rss:", 4) == 0)
				*ret_rss_kb += strtod(line + 4, NULL);
			if (strncmp(line, "Pss:", 4) == 0)
				*ret_pss_kb += strtod(line + 4, NULL);
		}
		if (f)
			(void)fclose(f);
	}
}

static void pin_threads(pid_t pid, const cpu_set_t *set)
{
	char path[64];
	DIR *d;

	(void)snprintf(path, sizeof(path), "/proc/%d/task", pid);
	d = opendir(path);
	for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d))
		if (isdigit((unsigned char)e->d_name[0]))
			(void)sched_setaffinity(number(e->d_name), sizeof(*set), set);
	if (d)
		(void)closedir(d);
}

void proc_pin(pid_t pid, int cpu)
{
	pid_t all[MAX_TREE];
	size_t n = proc_tree(pid, all);
	cpu_set_t set;

	CPU_ZERO(&set);
	for (int i = 0; i < (int)sysconf(_SC_NPROCESSORS_ONLN); i++)
		if (cpu < 0 || i == cpu)
			CPU_SET((size_t)i, &set);
	for (size_t i = 0; i < n; i++)
		pin_threads(all[i], &set);
}

pid_t proc_start(char *const argv[], const char *log)
{
	pid_t pid = fork();
	int fd;

	if (pid < 0)
		die("fork", strerror(errno));
	if (pid)
		return pid;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	(void)dup2(fd, 1);
	(void)dup2(fd, 2);
	(void)execv(argv[0], argv);
	_exit(127);
}
