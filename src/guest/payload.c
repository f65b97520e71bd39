#include "guest/payload.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "base/fd.h"
#include "guest/kernel/inner.h"

#define DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"

/* The places of the few descriptors a payload needs until exec. All are close-on-exec. */
enum { FD_PIPE = 3, FD_RULESET, FD_PROC, FD_PROGRAM, FD_PLACES_END };

struct command {
	const char *cwd;
	struct strv argv, env;
};

static int read_command(struct wire_reader *r, struct command *c, struct err *err)
{
	strv_init(&c->argv);
	strv_init(&c->env);
	c->cwd = wire_get_str(r);
	wire_get_strv(r, &c->argv);
	wire_get_strv(r, &c->env);
	if (wire_read_end(r) < 0)
		return err_set(err, EPROTO, "the request to run a command is malformed");
	if (c->argv.n == 0 || c->argv.v[0][0] == '\0')
		return err_set(err, EINVAL, "there is no command to run");
	return 0;
}

/* Numbers may overlap with their places: everything goes out of the way first. */
static int place_fds(int pipe, int ruleset, int proc_fd, int program)
{
	const int from[] = {pipe, ruleset, proc_fd, program};
	int high[ARRAY_SIZE(from)];

	for (size_t i = 0; i < ARRAY_SIZE(from); i++) {
		high[i] = from[i] < 0 ? -1 : fcntl(from[i], F_DUPFD_CLOEXEC, FD_PLACES_END);
		if (from[i] >= 0 && high[i] < 0)
			return -errno;
	}
	for (size_t i = 0; i < ARRAY_SIZE(from); i++) {
		if (high[i] < 0)
			(void)close(FD_PIPE + (int)i);
		else if (dup3(high[i], FD_PIPE + (int)i, O_CLOEXEC) < 0)
			return -errno;
	}
	/* gVisor refuses what no descriptor can be. */
	if (syscall(SYS_close_range, FD_PLACES_END, (unsigned)INT_MAX, 0U) < 0)
		return -errno;
	return 0;
}

static int take_stdio(const int fds[3], bool terminal, struct err *err)
{
	pid_t self = getpid();

	/* The session is the minder's. SIGTTOU is blocked as yet: we may take the foreground. */
	if (setpgid(0, 0) < 0)
		return err_sys(err, errno, "cannot start a group of processes");
	if (terminal && ioctl(fds[0], TIOCSPGRP, &self) < 0)
		return err_sys(err, errno, "cannot take the terminal");
	for (int i = 0; i < 3; i++)
		if (dup2(fds[i], i) < 0)
			return err_sys(err, errno, "cannot pass descriptor %d", i);
	return 0;
}

static void default_signals(void)
{
	/* The kernel's struct; the C library would leave the signals it keeps for itself. */
	static const unsigned long default_action[4];
	sigset_t none;

	for (int sig = 1; sig < _NSIG; sig++)
		(void)syscall(SYS_rt_sigaction, sig, default_action, NULL, 8);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/* /proc/self belongs to us only while we are dumpable. By now nothing is left in this process
 * that a tracer could take, and outside a Landlock domain no one inside one can trace it. */
static int set_oom_score(uint32_t score, struct err *err)
{
	cleanup_fd int fd = -1;
	char text[16];
	int r;

	if (score == 0)
		return 0;
	(void)prctl(PR_SET_DUMPABLE, 1UL, 0UL, 0UL, 0UL);
	fd = openat(FD_PROC, "self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	r = snprintf(text, sizeof(text), "%u", score);
	r = fd < 0 ? -errno : fd_write_all(fd, text, (size_t)r);
	(void)prctl(PR_SET_DUMPABLE, 0UL, 0UL, 0UL, 0UL);
	return r < 0 ? err_sys(err, -r, "cannot set the command's oom score") : 0;
}

static int set_rlimits(const struct guest_setup *s, struct err *err)
{
	for (size_t i = 0; i < s->n_rlimits; i++) {
		const struct guest_rlimit *l = &s->rlimits[i];
		int resource = (int)l->resource;
		struct rlimit have, want = {.rlim_cur = l->soft, .rlim_max = l->hard};

		if (getrlimit(resource, &have) < 0)
			return err_sys(err, errno, "cannot read limit %d", resource);
		if (want.rlim_max > have.rlim_max)
			want.rlim_max = have.rlim_max;
		if (want.rlim_cur > want.rlim_max)
			want.rlim_cur = want.rlim_max;
		if (setrlimit(resource, &want) < 0)
			return err_sys(err, errno, "cannot set limit %d", resource);
	}
	return 0;
}

static int exec_program(const struct command *c)
{
	(void)syscall(SYS_execveat, FD_PROGRAM, "", c->argv.v, c->env.v, AT_EMPTY_PATH);
	return -errno;
}

/* execvpe(3) with the PATH of the command's own environment. */
static int exec_command(const struct command *c)
{
	const char *name = c->argv.v[0], *path = strv_env_get(&c->env, "PATH");
	int eno = ENOENT;

	if (strchr(name, '/')) {
		(void)execve(name, c->argv.v, c->env.v);
		return -errno;
	}
	for (path = path ? path : DEFAULT_PATH;; path++) {
		size_t n = strcspn(path, ":");
		char file[PATH_MAX];

		if (n + 1 + strlen(name) < sizeof(file)) {
			memcpy(file, path, n);
			file[n] = '/';
			(void)stpcpy(file + n + (n > 0),
				     name); /* an empty part is the directory we are in */
			(void)execve(file, c->argv.v, c->env.v);
			if (errno == EACCES)
				eno = EACCES;
			else if (errno != ENOENT && errno != ENOTDIR)
				return -errno;
		}
		path += n;
		if (*path == '\0')
			return -eno;
	}
}

static int become(const struct guest *g, struct wire_reader *r, bool program, struct err *err)
{
	struct command c;
	int ret = read_command(r, &c, err);

	if (ret == 0)
		ret = set_oom_score(g->setup.oom_score_adj, err);
	if (ret == 0 && chdir(c.cwd) < 0) {
		(void)err_sys(err, errno, "cannot enter '%s'", c.cwd);
		ret = -ENOTDIR;
	}
	if (ret == 0)
		ret = g->within ? inner_become_user(g, err)
				: domain_enter(&g->domain, FD_RULESET, err);
	if (ret == 0)
		ret = set_rlimits(&g->setup, err);
	if (ret < 0)
		return ret;
	default_signals();
	ret = program ? exec_program(&c) : exec_command(&c);
	return err_sys(err, -ret, "cannot run '%s'", c.argv.v[0]);
}

/* Anything but sealed memory could be opened again, or change under our feet. */
int payload_check_program(int fd, struct err *err)
{
	int seals = fcntl(fd, F_GET_SEALS);

	if (fd < 0 || (seals >= 0 && (seals & F_SEAL_WRITE)))
		return 0;
	return err_set(err, EINVAL, "the program is not a sealed memory file");
}

void payload_run(const struct guest *g, struct wire_reader *r, const struct payload_fds *fds)
{
	struct payload_failure f = {0};
	cleanup_fd int own = -1;
	int pipe = fds->pipe, ruleset, ret = 0;

	/* The outer half has judged them: another kernel sees no seals, and no kinds of sockets. */
	if (!g->within)
		ret = domain_for(&g->domain, fds->stdio, 3, &own, &f.err);
	if (ret == 0 && !g->within)
		ret = payload_check_program(fds->program, &f.err);
	if (ret == 0)
		ret = take_stdio(fds->stdio, fds->terminal, &f.err);
	if (ret == 0) {
		ruleset = own >= 0 ? own : g->domain.ruleset;
		ret = place_fds(pipe, ruleset, g->proc_fd, fds->program);
		if (ret < 0)
			(void)err_sys(&f.err, -ret, "cannot arrange the descriptors");
		pipe = FD_PIPE;
		own = -1; /* closed with all the others */
	}
	if (ret == 0)
		ret = become(g, r, fds->program >= 0, &f.err);
	f.eno = -ret;
	(void)fd_write_all(pipe, &f, sizeof(f));
	_exit(EXIT_RALPH);
}
