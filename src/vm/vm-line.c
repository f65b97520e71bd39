#include "vm/vm.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/parse.h"
#include "wire/guest-proto.h"

/*
 * DOC: Theory of operation
 *
 * Beside QEMU, in a native sandbox without any power: what the machine sends is looked at here
 * before the supervisor sees it, and it names nothing but commands and calls that were asked for.
 */
#define SUPERVISOR STDIN_FILENO
#define QEMU_LINE 3 /* where QEMU finds its end of the line, and the machine that was kept */
#define QEMU_KEPT 4
#define LOOK_MS 200	/* at the size of terminals */
#define KILLED_MS 3000	/* for the output of a command that was ended to be taken */
#define DIALS_MAX 256	/* that are not answered yet */
#define QUERIES_MAX 128 /* datagrams that wait for an answer */
#define QUERY_MS 10000

struct command {
	struct command *next;
	uint32_t id;
	bool spawned, ended, killed;
	uint64_t until; /* ms: of a command that was killed and has ended */
	int master;	/* of its terminal, until it is handed out */
	int terminal;	/* its other side, whose size is looked at; -1: it has none */
	struct winsize size;
};

struct query {
	uint32_t id;
	int fd; /* -1: free */
	uint64_t until;
};

struct line {
	struct mux mux;
	bool up;
	struct command *commands;
	size_t n_commands, n_dials;
	uint32_t dials[DIALS_MAX];
	struct query queries[QUERIES_MAX];
};

static struct command *find(struct line *l, uint32_t id)
{
	for (struct command *c = l->commands; c; c = c->next)
		if (c->id == id)
			return c;
	return NULL;
}

static void drop(struct line *l, struct command *c)
{
	struct command **at = &l->commands;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	l->n_commands--;
	closep(&c->master);
	closep(&c->terminal);
	free(c);
}

static int tell(enum wire_type type, uint32_t id, const struct buf *body, int fd)
{
	return wire_send(SUPERVISOR, type, id, body, &fd, fd >= 0);
}

static int tell_error(uint32_t id, int eno, const char *text)
{
	cleanup_buf struct buf b;

	buf_init(&b, WIRE_INLINE_MAX);
	wire_put_u32(&b, (uint32_t)eno);
	wire_put_str(&b, text);
	return tell(WIRE_ERROR, id, &b, -1);
}

/* ---- from the supervisor ---- */

/* One terminal here, one in there: this one passes bytes on as they are. */
static int open_terminal(struct line *l, struct command *c, uint32_t rows, uint32_t cols)
{
	const struct winsize size = {.ws_row = (unsigned short)rows,
				     .ws_col = (unsigned short)cols};
	cleanup_fd int slave = -1;
	struct termios t;
	int unlock = 0;

	c->master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (c->master < 0 || ioctl(c->master, TIOCSPTLCK, &unlock) < 0)
		return -errno;
	slave = ioctl(c->master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
	if (slave < 0 || tcgetattr(slave, &t) < 0)
		return -errno;
	cfmakeraw(&t);
	if (tcsetattr(slave, TCSANOW, &t) < 0 || ioctl(slave, TIOCSWINSZ, &size) < 0)
		return -errno;
	c->size = size;
	c->terminal = fcntl(slave, F_DUPFD_CLOEXEC, 0);
	return mux_add(&l->mux, c->id, MUX_TTY, take_fd(slave), MUX_READS | MUX_WRITES) ? 0
											: -EMFILE;
}

static bool same_file(int a, int b)
{
	struct stat x, y;

	return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino;
}

static int open_streams(struct line *l, struct wire_msg *m)
{
	bool joined = same_file(m->fds[1], m->fds[2]);

	if (!mux_add(&l->mux, m->id, MUX_IN, wire_take_fd(m, 0), MUX_READS) ||
	    !mux_add(&l->mux, m->id, MUX_OUT, wire_take_fd(m, 1), MUX_WRITES))
		return -EMFILE;
	/* What is written to both keeps its order. */
	if (joined)
		return mux_send(&l->mux, WIRE_FAR_JOIN, m->id, NULL, NULL);
	return mux_add(&l->mux, m->id, MUX_ERR, wire_take_fd(m, 2), MUX_WRITES) ? 0 : -EMFILE;
}

static int start_command(struct line *l, struct command *c, struct wire_msg *m)
{
	cleanup_buf struct buf program;
	struct wire_reader rd;
	uint32_t flags, rows, cols;
	int r, fd;

	buf_init(&program, REMOTE_PROGRAM_MAX);
	wire_read(&rd, m);
	flags = wire_get_u32(&rd);
	rows = wire_get_u32(&rd);
	cols = wire_get_u32(&rd);
	if (rd.bad || m->n_fds != wire_exec_fds(flags) || rows > UINT16_MAX || cols > UINT16_MAX)
		return -EPROTO;
	fd = m->fds[m->n_fds - 1];
	if ((flags & (WIRE_EXEC_PROGRAM | WIRE_EXEC_LOGIN)) &&
	    (lseek(fd, 0, SEEK_SET) < 0 || fd_read_all(fd, &program) < 0))
		return -EFBIG;
	r = flags & WIRE_EXEC_TTY ? open_terminal(l, c, rows, cols) : open_streams(l, m);
	if (r == 0)
		r = mux_send(&l->mux, WIRE_SPAWN, m->id, &m->body, &program);
	if (program.data)
		explicit_bzero(program.data, program.cap); /* it may hold a login */
	return r;
}

static int on_spawn(struct line *l, struct wire_msg *m)
{
	struct command *c;
	int r;

	if (m->id == 0 || find(l, m->id))
		return tell_error(m->id, EEXIST, "this command is running already");
	if (l->n_commands >= GUEST_COMMANDS_MAX)
		return tell_error(m->id, EAGAIN, "too many commands at once in one sandbox");
	c = xcalloc(1, sizeof(*c));
	*c = (struct command){.next = l->commands, .id = m->id, .master = -1, .terminal = -1};
	l->commands = c;
	l->n_commands++;
	r = start_command(l, c, m);
	if (r == 0)
		return 0;
	mux_drop(&l->mux, m->id);
	drop(l, c);
	return tell_error(m->id, -r, "the command's streams cannot be passed to the machine");
}

static int on_kill(struct line *l, const struct wire_msg *m)
{
	struct command *c = find(l, m->id);
	struct wire_reader rd;

	wire_read(&rd, m);
	if (c && wire_get_u32(&rd) == 0) {
		c->killed = true;
		c->until = now_ms() + KILLED_MS;
	}
	return mux_send(&l->mux, WIRE_KILL, m->id, &m->body, NULL);
}

static int hear_supervisor(struct line *l)
{
	cleanup_wire_msg struct wire_msg m;
	int r;

	wire_msg_init(&m);
	r = wire_recv(SUPERVISOR, &m);
	if (r == -EAGAIN)
		return 0;
	if (r <= 0)
		return -EPIPE;
	switch ((unsigned)m.type) {
	case WIRE_SPAWN:
		return on_spawn(l, &m);
	case WIRE_KILL:
		return on_kill(l, &m);
	case WIRE_DIAL:
		if (l->n_dials == DIALS_MAX)
			return 0; /* no answer: the caller has a deadline */
		l->dials[l->n_dials++] = m.id;
		break;
	}
	return mux_send(&l->mux, m.type, m.id, &m.body, NULL);
}

/* ---- from the machine ---- */

static int on_spawned(struct line *l, const struct wire_msg *m)
{
	struct command *c = find(l, m->id);
	int r;

	if (!c || c->spawned || c->ended)
		return -EPROTO;
	c->spawned = true;
	r = tell(WIRE_SPAWNED, m->id, &m->body, c->master);
	closep(&c->master);
	return r;
}

static int on_end(struct line *l, const struct wire_msg *m)
{
	struct command *c = find(l, m->id);

	if (m->id == 0 && m->type == WIRE_ERROR)
		return tell(m->type, 0, &m->body, -1);
	if (!c || c->ended)
		return -EPROTO;
	c->ended = true;
	return mux_hold(&l->mux, m->type, m->id, &m->body);
}

static int on_over(struct mux *mux, enum wire_type type, uint32_t id, const struct buf *body)
{
	struct line *l = mux->owner;
	struct command *c = find(l, id);

	if (c)
		drop(l, c);
	return tell(type, id, body, -1);
}

static bool was_dialled(struct line *l, uint32_t id)
{
	for (size_t i = 0; i < l->n_dials; i++)
		if (l->dials[i] == id) {
			l->dials[i] = l->dials[--l->n_dials];
			return true;
		}
	return false;
}

static int on_dialled(struct line *l, const struct wire_msg *m)
{
	struct wire_reader rd;
	uint32_t eno;
	int pair[2], r;

	wire_read(&rd, m);
	eno = wire_get_u32(&rd);
	if (wire_read_end(&rd) < 0 || !was_dialled(l, m->id))
		return -EPROTO;
	if (eno || socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) < 0)
		return tell(WIRE_DIALLED, m->id, &m->body, -1);
	if (!mux_add(&l->mux, m->id, MUX_DIALLED, pair[0], MUX_READS | MUX_WRITES)) {
		(void)close(pair[1]);
		return -EPROTO;
	}
	r = tell(WIRE_DIALLED, m->id, &m->body, pair[1]);
	(void)close(pair[1]);
	return r;
}

/* In this network there is nobody but the gateway and ourselves. */
static int connect_to(const struct wire_msg *m, int type, struct wire_reader *rd)
{
	struct sockaddr_storage to = {0};
	const int on = 1;
	unsigned len;
	int fd;

	wire_read(rd, m);
	if (vm_address_get(rd, &to, &len) < 0)
		return -EPROTO;
	fd = socket(to.ss_family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (type == SOCK_STREAM)
		(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (connect(fd, (const struct sockaddr *)&to, len) < 0 && errno != EINPROGRESS) {
		(void)close(fd);
		return -ECONNREFUSED;
	}
	return fd;
}

static int end_connection(struct line *l, uint32_t id)
{
	cleanup_buf struct buf b;
	int r = 0;

	for (uint32_t way = 0; way < 2 && r == 0; way++) {
		buf_init(&b, 64);
		wire_put_u32(&b, MUX_CONNECTION);
		wire_put_u32(&b, way);
		r = mux_send(&l->mux, WIRE_FAR_SHUT, id, &b, NULL);
		buf_done(&b);
	}
	buf_init(&b, 0);
	return r;
}

static int on_open(struct line *l, const struct wire_msg *m)
{
	struct wire_reader rd;
	int fd = connect_to(m, SOCK_STREAM, &rd);

	if (fd == -EPROTO || (fd >= 0 && wire_read_end(&rd) < 0)) {
		closep(&fd);
		return -EPROTO;
	}
	if (fd < 0 || !mux_add(&l->mux, m->id, MUX_CONNECTION, fd, MUX_READS | MUX_WRITES))
		return end_connection(l, m->id);
	return 0;
}

static int on_query(struct line *l, const struct wire_msg *m)
{
	struct query *q = NULL;
	struct wire_reader rd;
	const char *p;
	size_t n;
	int fd;

	for (size_t i = 0; i < QUERIES_MAX && !q; i++)
		if (l->queries[i].fd < 0)
			q = &l->queries[i];
	fd = connect_to(m, SOCK_DGRAM, &rd);
	if (fd == -EPROTO)
		return fd;
	p = wire_get_bytes(&rd, &n);
	if (wire_read_end(&rd) < 0 || n > VM_DATAGRAM_MAX) {
		closep(&fd);
		return -EPROTO;
	}
	if (fd < 0)
		return 0; /* as on a network: it is lost */
	if (!q || send(fd, p, n, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
		(void)close(fd);
		return 0;
	}
	*q = (struct query){.id = m->id, .fd = fd, .until = now_ms() + QUERY_MS};
	return 0;
}

static int hear_answer(struct line *l, struct query *q)
{
	char text[VM_DATAGRAM_MAX];
	ssize_t n = recv(q->fd, text, sizeof(text), MSG_DONTWAIT);
	cleanup_buf struct buf b;

	buf_init(&b, sizeof(text) + 64);
	closep(&q->fd);
	if (n <= 0)
		return 0;
	wire_put_bytes(&b, text, (size_t)n);
	return mux_send(&l->mux, WIRE_FAR_QUERY, q->id, &b, NULL);
}

static int on_frame(struct mux *mux, struct wire_msg *m, struct buf *program)
{
	struct line *l = mux->owner;

	if (program->len)
		return -EPROTO;
	switch ((unsigned)m->type) {
	case WIRE_REMOTE_STEP: /* a machine that was not kept has come up */
		return 0;
	case WIRE_UP:
		if (l->up)
			return -EPROTO;
		l->up = true;
		return tell(WIRE_UP, 0, &m->body, -1);
	case WIRE_SPAWNED:
		return on_spawned(l, m);
	case WIRE_ENDED:
	case WIRE_ERROR:
		return on_end(l, m);
	case WIRE_SUSPENDED:
		return find(l, m->id) ? tell(m->type, m->id, &m->body, -1) : -EPROTO;
	case WIRE_DIALLED:
		return on_dialled(l, m);
	case WIRE_FAR_OPEN:
		return on_open(l, m);
	case WIRE_FAR_QUERY:
		return on_query(l, m);
	}
	return -EPROTO;
}

/* ---- both ---- */

static int look_at_sizes(struct line *l)
{
	struct winsize now;
	int r = 0;

	for (struct command *c = l->commands; c && r == 0; c = c->next) {
		cleanup_buf struct buf b;

		buf_init(&b, 64);
		if (c->terminal < 0 || ioctl(c->terminal, TIOCGWINSZ, &now) < 0 ||
		    memcmp(&now, &c->size, sizeof(now)) == 0)
			continue;
		c->size = now;
		wire_put_u32(&b, now.ws_row);
		wire_put_u32(&b, now.ws_col);
		r = mux_send(&l->mux, WIRE_WINCH, c->id, &b, NULL);
	}
	return r;
}

static void act_on_time(struct line *l)
{
	uint64_t now = now_ms();

	for (struct command *c = l->commands; c; c = c->next)
		if (c->killed && c->ended && c->until <= now)
			mux_drop(&l->mux, c->id);
	for (size_t i = 0; i < QUERIES_MAX; i++)
		if (l->queries[i].fd >= 0 && l->queries[i].until <= now)
			closep(&l->queries[i].fd);
}

static int timeout_of(const struct line *l)
{
	for (const struct command *c = l->commands; c; c = c->next)
		if (c->terminal >= 0 || c->killed)
			return LOOK_MS;
	for (size_t i = 0; i < QUERIES_MAX; i++)
		if (l->queries[i].fd >= 0)
			return QUERY_MS;
	return -1;
}

static int turn(struct line *l)
{
	static struct pollfd p[MUX_ROWS_MAX + 1 + QUERIES_MAX];
	size_t n = mux_gather(&l->mux, p), queries = n + 1;
	int r;

	p[n] = (struct pollfd){.fd = mux_is_full(&l->mux) ? -1 : SUPERVISOR, .events = POLLIN};
	for (size_t i = 0; i < QUERIES_MAX; i++)
		p[queries + i] = (struct pollfd){.fd = l->queries[i].fd, .events = POLLIN};
	if (poll(p, queries + QUERIES_MAX, timeout_of(l)) < 0)
		return errno == EINTR ? 0 : -errno;
	r = mux_turn(&l->mux, p);
	for (size_t i = 0; i < QUERIES_MAX && r == 0; i++)
		if (p[queries + i].revents && l->queries[i].fd == p[queries + i].fd)
			r = hear_answer(l, &l->queries[i]);
	if (r == 0 && p[n].revents)
		r = hear_supervisor(l);
	if (r == 0)
		r = look_at_sizes(l);
	act_on_time(l);
	return r;
}

/* ---- QEMU ---- */

static _Noreturn void become_qemu(char **argv, int line, int kept)
{
	static char *const env[] = {(char *)"PATH=/usr/bin:/bin", NULL};

	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	/* Neither may be at the place of the other. */
	line = fcntl(line, F_DUPFD, QEMU_KEPT + 1);
	if (kept >= 0)
		kept = fcntl(kept, F_DUPFD, QEMU_KEPT + 1);
	if (prctl(PR_SET_PDEATHSIG, (unsigned long)SIGKILL, 0UL, 0UL, 0UL) == 0 &&
	    dup2(STDERR_FILENO, STDOUT_FILENO) >= 0 && dup2(line, QEMU_LINE) >= 0 &&
	    (kept < 0 || dup2(kept, QEMU_KEPT) >= 0)) {
		(void)dup2(null, STDIN_FILENO);
		fd_close_rest((int[]){QEMU_LINE, kept < 0 ? -1 : QEMU_KEPT}, 2);
		(void)execve(argv[0], argv, env);
	}
	_exit(EXIT_RALPH);
}

static int start_qemu(char **argv, const char *way)
{
	cleanup_fd int kept = -1;
	int pair[2];
	pid_t pid;

	if (strcmp(way, "-") != 0) {
		kept = open(way, O_RDONLY | O_CLOEXEC);
		if (kept < 0)
			return -errno;
	}
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	pid = fork();
	if (pid == 0)
		become_qemu(argv, pair[1], kept);
	(void)close(pair[1]);
	if (pid < 0 || fd_set_nonblock(pair[0], true) < 0)
		return -EIO;
	return pair[0];
}

/* Nothing of the host's may be in what the machine sees that is no plain file. */
static bool is_plain(const char *line)
{
	static const char *const others[] = {"proc",	   "sysfs",    "devpts",  "cgroup",
					     "cgroup2",	   "bpf",      "debugfs", "tracefs",
					     "securityfs", "configfs", "mqueue",  "efivarfs",
					     "pstore",	   "fusectl",  "devtmpfs"};
	const char *kind = strstr(line, " - ");
	char root[8] = "";
	size_t n;

	if (!kind)
		return false;
	kind += 3;
	n = strcspn(kind, " ");
	/* What is hidden is covered by a null device that is none here: nodev. */
	for (const char *p = line, *end; n == 8 && strncmp(kind, "devtmpfs", n) == 0; p = end) {
		for (int i = 0; i < 3; i++)
			p += strcspn(p, " ") + 1;
		end = p + strcspn(p, " ");
		(void)snprintf(root, sizeof(root), "%.*s", (int)(end - p), p);
		return strcmp(root, "/null") == 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (strlen(others[i]) == n && strncmp(kind, others[i], n) == 0)
			return false;
	return true;
}

static bool tree_is_plain(void)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	bool plain = f != NULL;
	char *line = NULL;
	size_t size = 0;

	while (plain && getline(&line, &size, f) > 0) {
		const char *at = line;

		for (int i = 0; i < 4; i++)
			at += strcspn(at, " ") + 1;
		if (strncmp(at, VM_TREE, strlen(VM_TREE)) == 0 &&
		    (at[strlen(VM_TREE)] == ' ' || at[strlen(VM_TREE)] == '/'))
			plain = is_plain(line);
	}
	free(line);
	if (f)
		(void)fclose(f);
	return plain;
}

static int wake(struct line *l, uint64_t pids, uint64_t memory)
{
	char random[VM_RANDOM];
	cleanup_buf struct buf b;
	struct timespec t;

	buf_init(&b, 256);
	if (getrandom(random, sizeof(random), 0) != sizeof(random) ||
	    clock_gettime(CLOCK_REALTIME, &t) < 0)
		return -EIO;
	vm_wake_put(&b, &(struct vm_wake){.seconds = (uint64_t)t.tv_sec,
					  .nanoseconds = (uint32_t)t.tv_nsec,
					  .random = random,
					  .pids = pids,
					  .memory = memory});
	return mux_send(&l->mux, WIRE_FAR_WAKE, 0, &b, NULL);
}

/* line WAY PIDS MEMORY QEMU … */
int vm_line(int argc, char **argv)
{
	static struct line l;
	uint64_t pids, memory;
	int fd, r;

	if (parse_uint(argv[1], 0, UINT32_MAX, &pids) < 0 ||
	    parse_uint(argv[2], 0, UINT64_MAX, &memory) < 0)
		return EXIT_USAGE;
	if (!tree_is_plain()) {
		(void)tell_error(0, EINVAL,
				 "a file system of the kernel (proc, sys, dev) lies in the "
				 "sandbox's tree: a machine must not see it; mount less");
		return EXIT_RALPH;
	}
	fd = start_qemu(argv + 3, argv[0]);
	if (fd < 0) {
		(void)tell_error(0, -fd, "cannot start QEMU");
		return EXIT_RALPH;
	}
	mux_init(&l.mux, fd);
	l.mux.frame = on_frame;
	l.mux.over = on_over;
	l.mux.owner = &l;
	for (size_t i = 0; i < QUERIES_MAX; i++)
		l.queries[i].fd = -1;
	r = wake(&l, pids, memory);
	while (r == 0)
		r = turn(&l);
	return EXIT_RALPH;
}
