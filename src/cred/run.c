#include "cred/run.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/strv.h"

static bool is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & 0111);
}

void cred_find_programs(const struct cred_host *h, const char *name, struct strv *ret)
{
	const char *path = cred_host_env(h, "PATH");
	cleanup_strv struct strv dirs = {0};

	strv_split(&dirs, path ? path : "/usr/local/bin:/usr/bin:/bin", ':');
	for (size_t i = 0; i < dirs.n; i++) {
		cleanup_free char *file = path_join(dirs.v[i], name);

		/* A relative directory is the workspace's to fill. */
		if (file[0] == '/' && is_program(file))
			strv_take(ret, take_ptr(file));
	}
}

char *cred_find_program(const struct cred_host *h, const char *name)
{
	cleanup_strv struct strv all = {0};

	cred_find_programs(h, name, &all);
	return all.n ? xstrdup(all.v[0]) : NULL;
}

/* fetch gets the host's proxy and certificate variables, and nothing else of the environment. */
static void fetch_env(const struct cred_host *h, struct strv *env)
{
	static const char *const names[] = {NETWORK_ENV};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *v = cred_host_env(h, names[i]);

		if (v)
			strv_pushf(env, "%s=%s", names[i], v);
	}
}

int cred_start(const struct cred_host *h, char *const argv[], int in, int out, struct child *ret,
	       struct err *err)
{
	cleanup_free char *program =
		argv[0][0] == '/' ? xstrdup(argv[0]) : cred_find_program(h, argv[0]);
	cleanup_free char *fetch = h->libexec ? path_join(h->libexec, "fetch") : NULL;
	cleanup_strv struct strv args, env;
	bool is_fetch = fetch && streq(fetch, argv[0]);
	struct run run = RUN_INIT;

	strv_init(&args);
	strv_init(&env);
	if (!program)
		return err_set(err, ENOENT, "there is no '%s' on your PATH", argv[0]);
	strv_push(&args, program);
	for (size_t i = 1; argv[i]; i++)
		strv_push(&args, argv[i]);
	fetch_env(h, &env);
	run.argv = args.v;
	run.env = is_fetch ? env.v : h->environ;
	/* Never the workspace: programs read settings from where they stand. */
	run.dir = is_fetch ? "/" : h->home;
	run.stdio[0] = in;
	run.stdio[1] = out;
	run.flags = RUN_DIE_WITH_US;
	return run_start(&run, ret, err);
}

/* Reads until end of file or the deadline; more than b may hold is cut. */
static int drain(const struct cred_call *c, int fd, struct buf *b)
{
	uint64_t end = now_ms() + (uint64_t)c->timeout_ms;

	for (uint64_t now = now_ms(); now < end; now = now_ms()) {
		int left = (int)(end - now),
		    step = c->tick && c->tick_ms < left ? c->tick_ms : left;
		struct pollfd p = {.fd = fd, .events = POLLIN};
		char chunk[4 * KiB];
		ssize_t n;

		if (poll(&p, 1, step) < 0 && errno != EINTR)
			return -errno;
		if (c->tick)
			c->tick(c->arg);
		if (!p.revents)
			continue;
		n = read(fd, chunk, sizeof(chunk));
		if (n == 0 || (n < 0 && errno != EINTR))
			return n < 0 ? -errno : 0;
		if (n > 0)
			(void)buf_append(b, chunk,
					 (size_t)n < buf_room(b) ? (size_t)n : buf_room(b));
		explicit_bzero(chunk, sizeof(chunk));
	}
	return -ETIMEDOUT;
}

static int begin(const struct cred_host *h, const struct cred_call *c, int out, struct child *ret,
		 struct err *err)
{
	cleanup_fd int in = c->in ? fd_memfd("ralph-in", c->in, strlen(c->in)) : -1;

	if (c->in && in < 0)
		return err_sys(err, -in, "cannot create a memory file");
	return h->broker ? h->broker->start(h->broker, c->argv, in, out, err)
			 : cred_start(h, c->argv, in, out, ret, err);
}

int cred_call(const struct cred_host *h, const struct cred_call *c, struct buf *out, int *ret_code,
	      struct err *err)
{
	cleanup_(child_done) struct child child = {.pid = -1, .pidfd = -1};
	cleanup_fd int out_r = -1, out_w = -1;
	int pair[2], r, ended;

	if (pipe2(pair, O_CLOEXEC) < 0)
		return err_sys(err, errno, "cannot create a pipe");
	out_r = pair[0];
	out_w = pair[1];
	r = begin(h, c, out_w, &child, err);
	if (r < 0)
		return r;
	closep(&out_w);
	r = drain(c, out_r, out);
	if (r < 0)
		child_kill(&child, SIGKILL);
	if (h->broker)
		ended = h->broker->end(h->broker, r < 0, ret_code, err);
	else
		ended = *ret_code = run_wait(&child);
	if (r == -ETIMEDOUT)
		return err_set(err, ETIMEDOUT, "'%s' did not end within %d s", c->argv[0],
			       c->timeout_ms / 1000);
	if (r < 0)
		return err_sys(err, -r, "cannot read from '%s'", c->argv[0]);
	return ended < 0 ? ended : 0;
}

static void strip_line_ends(char *s)
{
	size_t n = strlen(s);

	while (n && (s[n - 1] == '\n' || s[n - 1] == '\r'))
		s[--n] = '\0';
}

int cred_run(const struct cred_host *h, char *const argv[], const char *in, int timeout_ms,
	     char **ret_out, int *ret_code, struct err *err)
{
	const struct cred_call call = {.argv = argv, .in = in, .timeout_ms = timeout_ms};
	cleanup_(cred_wipe) struct buf out;
	int r;

	buf_init(&out, CRED_OUT_MAX);
	r = cred_call(h, &call, &out, ret_code, err);
	if (r < 0)
		return r;
	if (ret_out) {
		*ret_out = xstrdup(buf_str(&out));
		strip_line_ends(*ret_out);
	}
	return 0;
}
