#include "cred/hold/cred-broker.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/landlock.h"
#include "base/proc.h"
#include "confine/syscalls.h"
#include "confine/filters.h"
#include "cred/anthropic.h"
#include "cred/run.h"
#include "wire/wire.h"

/* The frames; id: the place in the list. The answer to each but STOP is one IS. */
enum verb {
	RUN = WIRE_NONE + 1, /* fds: stdout, and stdin if there is one */
	STOP,		     /* the program that runs is to end */
	OPEN,		     /* → with fd */
	SAVE,		     /* fd: what is to be in the file */
	IS,		     /* u32 errno, u32 exit code, str message */
};

struct line {
	struct cred_broker ops; /* first: a broker is known by it */
	const struct cred_needs *needs;
	int sock;
};

/* ---- the broker ---- */

struct broker {
	const struct cred_host *host;
	const struct cred_needs *needs;
	int sock;
};

static void answer(const struct broker *b, int r, int code, const char *msg, int fd)
{
	cleanup_buf struct buf body;

	buf_init(&body, WIRE_INLINE_MAX);
	wire_put_u32(&body, r < 0 ? (uint32_t)-r : 0);
	wire_put_u32(&body, (uint32_t)code);
	wire_put_str(&body, msg);
	(void)wire_send(b->sock, (enum wire_type)IS, 0, &body, &fd, fd >= 0);
}

/* A word from the helper while its program runs means that it does not want to wait any more. */
static void wait_or_stop(const struct broker *b, struct child *child)
{
	struct pollfd p[] = {{.fd = child->pidfd, .events = POLLIN},
			     {.fd = b->sock, .events = POLLIN}};
	cleanup_wire_msg struct wire_msg m;

	wire_msg_init(&m);
	while (poll(p, ARRAY_SIZE(p), -1) < 0 && errno == EINTR)
		;
	if (p[0].revents)
		return;
	if (wire_recv(b->sock, &m) <= 0)
		_exit(0);
	child_kill(child, SIGKILL);
}

static int start(const struct broker *b, const struct cred_program *p, const struct wire_msg *m,
		 struct child *ret, struct err *err)
{
	cleanup_free char *command = NULL;
	char *shell[] = {(char *)"/bin/sh", (char *)"-c", NULL, NULL};
	int r = p->settings ? anthropic_key_helper(b->host, p->settings, &command, err) : 0;

	if (r < 0)
		return err_set(err, ENOENT, "'%s' names no apiKeyHelper any more", p->settings);
	shell[2] = command;
	return cred_start(b->host, command ? shell : p->argv.v, m->n_fds > 1 ? m->fds[1] : -1,
			  m->fds[0], ret, err);
}

static void on_run(const struct broker *b, struct wire_msg *m)
{
	struct child child = {.pid = -1, .pidfd = -1};
	struct err err = {0};
	int r, code = 0;

	if (m->id >= b->needs->n || m->n_fds == 0)
		return answer(b, -EPERM, 0, "that program is not in the list", -1);
	r = start(b, &b->needs->programs[m->id], m, &child, &err);
	wire_msg_done(m); /* the reader sees the end only when every writer has closed */
	wire_msg_init(m);
	if (r == 0) {
		wait_or_stop(b, &child);
		code = run_wait(&child);
	}
	answer(b, r, code, err.msg, -1);
}

static void on_open(const struct broker *b, const struct wire_msg *m)
{
	cleanup_fd int fd =
		m->id < b->needs->files.n ? cred_open(b->host, b->needs->files.v[m->id]) : -EPERM;

	answer(b, fd < 0 ? fd : 0, 0, "", fd);
}

static void on_save(const struct broker *b, const struct wire_msg *m)
{
	cleanup_(cred_wipe) struct buf text;
	struct err ignored;
	int r = m->id < b->needs->saved.n && m->n_fds == 1 ? 0 : -EPERM;

	buf_init(&text, CRED_FILE_MAX);
	if (r == 0 && lseek(m->fds[0], 0, SEEK_SET) < 0)
		r = -errno;
	if (r == 0)
		r = fd_read_all(m->fds[0], &text);
	if (r == 0)
		r = cred_save(b->host, b->needs->saved.v[m->id], buf_str(&text), &ignored);
	answer(b, r, 0, "", -1);
}

static _Noreturn void broker_main(const struct broker *b, pid_t helper)
{
	fd_close_rest(&b->sock, 1);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != helper)
		_exit(1);
	for (;;) {
		cleanup_wire_msg struct wire_msg m;

		wire_msg_init(&m);
		if (wire_recv(b->sock, &m) <= 0)
			_exit(0);
		if ((unsigned)m.type == RUN)
			on_run(b, &m);
		else if ((unsigned)m.type == OPEN)
			on_open(b, &m);
		else if ((unsigned)m.type == SAVE)
			on_save(b, &m);
		/* STOP: the program ended before it came */
	}
}

/* ---- the helper ---- */

static const struct line *line_of(const struct cred_broker *b)
{
	return (const struct line *)(const void *)b;
}

static int hear(const struct line *l, int *ret_code, int *ret_fd, struct err *err)
{
	cleanup_wire_msg struct wire_msg m;
	struct wire_reader rd;
	uint32_t eno, code;
	const char *msg;

	wire_msg_init(&m);
	if (wire_recv(l->sock, &m) <= 0)
		return err_set(err, EIO, "the broker is gone");
	wire_read(&rd, &m);
	eno = wire_get_u32(&rd);
	code = wire_get_u32(&rd);
	msg = wire_get_str(&rd);
	if (wire_read_end(&rd) < 0)
		return err_set(err, EPROTO, "the broker answers nonsense");
	if (eno)
		return err_set(err, (int)eno, "%s", msg);
	if (ret_code)
		*ret_code = (int)code;
	if (ret_fd)
		*ret_fd = wire_take_fd(&m, 0);
	return 0;
}

static bool is_program(const struct cred_program *p, char *const argv[])
{
	size_t i = 0;

	for (; i < p->argv.n && argv[i]; i++)
		if (!streq(p->argv.v[i], argv[i]))
			return false;
	return i > 0 && i == p->argv.n && !argv[i];
}

/* The command of an apiKeyHelper may have changed: any other shell command stands for it. */
static size_t place_of(const struct cred_needs *n, char *const argv[])
{
	size_t i = 0;

	while (i < n->n && !is_program(&n->programs[i], argv))
		i++;
	if (i == n->n && streq(argv[0], "/bin/sh"))
		for (i = 0; i < n->n && !n->programs[i].settings;)
			i++;
	return i;
}

static int ask_start(const struct cred_broker *b, char *const argv[], int in, int out,
		     struct err *err)
{
	const struct line *l = line_of(b);
	const int fds[] = {out, in};
	size_t i = place_of(l->needs, argv);
	int r;

	if (i == l->needs->n)
		return err_set(err, EPERM, "'%.100s' is not among the programs of the credentials",
			       argv[0]);
	r = wire_send(l->sock, (enum wire_type)RUN, (uint32_t)i, NULL, fds, in < 0 ? 1 : 2);
	return r < 0 ? err_sys(err, -r, "cannot reach the broker") : 0;
}

static int ask_end(const struct cred_broker *b, bool kill, int *ret_code, struct err *err)
{
	const struct line *l = line_of(b);

	if (kill)
		(void)wire_send(l->sock, (enum wire_type)STOP, 0, NULL, NULL, 0);
	return hear(l, ret_code, NULL, err);
}

static int place_in(const struct strv *list, const char *path)
{
	for (size_t i = 0; i < list->n; i++)
		if (streq(list->v[i], path))
			return (int)i;
	return -EPERM;
}

static int ask_open(const struct cred_broker *b, const char *path)
{
	const struct line *l = line_of(b);
	int i = place_in(&l->needs->files, path), fd = -1, r;
	struct err ignored;

	if (i < 0)
		return i;
	r = wire_send(l->sock, (enum wire_type)OPEN, (uint32_t)i, NULL, NULL, 0);
	if (r == 0)
		r = hear(l, NULL, &fd, &ignored);
	return r < 0 ? r : fd < 0 ? -EPROTO : fd;
}

static int ask_save(const struct cred_broker *b, const char *path, const char *text)
{
	const struct line *l = line_of(b);
	cleanup_fd int file = fd_memfd("ralph-save", text, strlen(text));
	int i = place_in(&l->needs->saved, path), r;
	struct err ignored;

	if (i < 0 || file < 0)
		return i < 0 ? i : file;
	r = wire_send(l->sock, (enum wire_type)SAVE, (uint32_t)i, NULL, &file, 1);
	return r < 0 ? r : hear(l, NULL, NULL, &ignored);
}

/* The settings of OpenSSL, which signs. */
static const char *const system_paths[] = {"/etc/ssl/openssl.cnf", "/usr/lib/ssl/openssl.cnf",
					   "/etc/pki/tls/openssl.cnf"};

static int allow_all(const struct landlock *l, const struct strv *paths, uint64_t rights)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < paths->n; i++)
		r = landlock_allow(l, paths->v[i], rights);
	return r;
}

/* Without Landlock in the kernel, the filter of system calls remains: nothing is written then. */
static int close_files(const struct cred_needs *n)
{
	cleanup_landlock struct landlock l;
	int r = landlock_begin(&l, landlock_abi(),
			       LANDLOCK_NO_ABSTRACT_SOCKETS | LANDLOCK_NO_SIGNALS |
				       LANDLOCK_NO_TCP_LISTENING);

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(system_paths); i++)
		r = landlock_allow(&l, system_paths[i], LANDLOCK_READ_FILE);
	if (r == 0)
		r = allow_all(&l, &n->listed, LANDLOCK_READ_DIR);
	if (r == 0)
		r = allow_all(&l, &n->read, LANDLOCK_READ);
	if (r == 0)
		r = allow_all(&l, &n->locks, LANDLOCK_MAKE_DIR | LANDLOCK_REMOVE_DIR);
	return r < 0 ? r : landlock_enforce(&l);
}

static int fork_broker(const struct cred_host *h, const struct cred_needs *n, int *ret,
		       struct err *err)
{
	pid_t us = getpid(), pid;
	int pair[2], r = wire_pair(pair, err);

	if (r < 0)
		return r;
	pid = fork();
	if (pid == 0) {
		const struct broker b = {.host = h, .needs = n, .sock = pair[1]};

		broker_main(&b, us);
	}
	(void)close(pair[1]);
	if (pid < 0) {
		r = err_sys(err, errno, "cannot fork");
		(void)close(pair[0]);
		return r;
	}
	*ret = pair[0];
	return 0;
}

int cred_confine(struct cred_host *h, const struct cred_needs *n, struct err *err)
{
	struct line *l = xcalloc(1, sizeof(*l));
	int r = fork_broker(h, n, &l->sock, err);

	l->ops = (struct cred_broker){ask_start, ask_end, ask_open, ask_save};
	l->needs = n;
	h->broker = &l->ops; /* for as long as the process lives */
	if (r < 0)
		return r;
	r = close_files(n);
	if (r == 0)
		r = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : confine_calls(cred);
	return r < 0 ? err_sys(err, -r, "cannot give up what it does not need") : 0;
}
