#include "vm/vm.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/random.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "wire/guest-proto.h"

/*
 * DOC: Theory of operation
 *
 * The first process of the machine, its only one with power there. It makes what a host would have
 * (devices, /proc, the shared tree at VM_TREE), and waits to be woken: up to there nothing differs
 * between sandboxes, and the machine may have been kept in a file and started again. Then it starts
 * the guest as on a host, as the sandbox's user, and passes its frames on.
 *
 * When the guest or the line ends, the machine does.
 */
#define PORT "/dev/vport0p1"
#define PORT_TRIES 500 /* of 10 ms */
#define GROUP "/cg"
#define FILES_MAX 65536 /* descriptors of this process; programs have the usual limits */
#define QUERIES_MAX 256
#define ACCEPT_BURST 16

struct query {
	uint32_t id; /* 0: free */
	size_t row;
	struct sockaddr_storage from;
	socklen_t len;
};

struct init {
	struct mux mux;
	int guest, group; /* the guest's line; the file through which it enters its cgroup */
	int listeners[GUEST_LISTENERS_MAX];
	bool udp[GUEST_LISTENERS_MAX];
	size_t n_listeners, wanted; /* that have come; that it was told to open */
	size_t ups;
	uint32_t joined; /* the command that comes next has one output */
	uint32_t next_id;
	struct query queries[QUERIES_MAX];
	size_t next_query;
};

static _Noreturn void end_machine(const char *why)
{
	if (why)
		(void)dprintf(STDERR_FILENO, "init: %s: %s\n", why, strerror(errno));
	sync();
	(void)reboot(RB_AUTOBOOT);
	_exit(EXIT_RALPH);
}

/* ---- the machine ---- */

/*
 * The root that the kernel starts with cannot be put aside by anybody, as the guest does with the
 * host's: a bind of it on top of itself can.
 */
static void make_root(void)
{
	if (mount("/", "/r", NULL, MS_BIND, NULL) < 0 || chdir("/r") < 0 ||
	    mount(".", "/", NULL, MS_MOVE, NULL) < 0 || chroot(".") < 0 || chdir("/") < 0)
		end_machine("root");
	if (mount("dev", "/dev", "devtmpfs", MS_NOSUID, "mode=755") < 0 ||
	    mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
		end_machine("mounts");
	if (mkdir("/dev/pts", 0755) == 0)
		(void)mount("pts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, "ptmxmode=666");
}

static void load_modules(void)
{
	FILE *f = fopen(VM_MODULES "/order", "re");
	char name[64], path[128];

	while (f && fgets(name, sizeof(name), f)) {
		cleanup_fd int fd = -1;

		name[strcspn(name, "\n")] = '\0';
		(void)snprintf(path, sizeof(path), VM_MODULES "/%s", name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (syscall(SYS_finit_module, fd, "", 0) < 0 && errno != EEXIST)
			(void)dprintf(STDERR_FILENO, "init: %s: %s\n", name, strerror(errno));
	}
	if (f)
		(void)fclose(f);
}

static int open_port(void)
{
	const struct timespec pause = {.tv_nsec = 10000000};

	for (int i = 0; i < PORT_TRIES; i++) {
		int fd = open(PORT, O_RDWR | O_NONBLOCK | O_CLOEXEC);

		if (fd >= 0)
			return fd;
		(void)nanosleep(&pause, NULL);
	}
	end_machine("port");
}

static void put(const char *path, const char *text)
{
	cleanup_fd int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		(void)dprintf(STDERR_FILENO, "init: %s: %s\n", path, strerror(errno));
}

/* What the machine knew when it was kept, every machine of it knows. */
static void take_random(const char *random)
{
	struct {
		struct rand_pool_info head;
		uint32_t bytes[VM_RANDOM / 4];
	} pool = {.head = {.entropy_count = VM_RANDOM * 8, .buf_size = VM_RANDOM}};
	cleanup_fd int fd = open("/dev/urandom", O_RDWR | O_CLOEXEC);

	memcpy((char *)&pool + sizeof(pool.head), random, VM_RANDOM);
	if (fd < 0 || ioctl(fd, RNDADDENTROPY, &pool) < 0 || ioctl(fd, RNDRESEEDCRNG) < 0)
		end_machine("random");
}

/*
 * Memory may be promised beyond what there is, as in a sandbox of a large host: what takes too much
 * of it is ended, and that is a command.
 */
static void set_memory(void)
{
	put("/proc/sys/vm/overcommit_memory", "1");
	put("/proc/self/oom_score_adj", "-1000");
}

/* Limits on all commands together: on the host they are but one process. */
static int make_group(const struct vm_wake *w)
{
	char text[32];

	if (mount("cgroup2", GROUP, "cgroup2", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
		end_machine("cgroup");
	put(GROUP "/cgroup.subtree_control", "+pids +memory");
	if (mkdir(GROUP "/s", 0755) < 0)
		end_machine("cgroup");
	(void)snprintf(text, sizeof(text), "%llu", (unsigned long long)w->pids);
	if (w->pids)
		put(GROUP "/s/pids.max", text);
	(void)snprintf(text, sizeof(text), "%llu", (unsigned long long)w->memory);
	if (w->memory)
		put(GROUP "/s/memory.max", text);
	return open(GROUP "/s/cgroup.procs", O_WRONLY | O_CLOEXEC);
}

static int on_wake(struct init *in, const struct wire_msg *m)
{
	struct timespec t;
	struct vm_wake w;

	if (in->group >= 0 || vm_wake_get(m, &w) < 0)
		return -EPROTO;
	t = (struct timespec){.tv_sec = (time_t)w.seconds, .tv_nsec = w.nanoseconds};
	(void)clock_settime(CLOCK_REALTIME, &t);
	take_random(w.random);
	in->group = make_group(&w);
	if (mount(VM_TAG, VM_TREE, "9p", MS_NOSUID | MS_NODEV,
		  "trans=virtio,version=9p2000.L,msize=512000,access=client,cache=mmap") < 0)
		end_machine("the shared tree");
	return 0;
}

/* ---- to the guest ---- */

static int to_guest(struct init *in, enum wire_type type, uint32_t id, const struct buf *body,
		    const int *fds, size_t n_fds)
{
	if (in->guest < 0 || wire_send(in->guest, type, id, body, fds, n_fds) < 0)
		end_machine("guest");
	return 0;
}

static _Noreturn void become_guest(const struct guest_root *root, int line)
{
	static char *const env[] = {NULL};
	char *const argv[] = {(char *)VM_GUEST, (char *)GUEST_LAUNCH, (char *)"3", NULL};
	const struct rlimit files = {.rlim_cur = 1024, .rlim_max = 524288};

	(void)setrlimit(RLIMIT_NOFILE, &files);
	(void)signal(SIGCHLD, SIG_DFL);
	(void)signal(SIGPIPE, SIG_DFL);
	if (setgroups(0, NULL) == 0 && setresgid(root->gid, root->gid, root->gid) == 0 &&
	    setresuid(root->uid, root->uid, root->uid) == 0 && dup2(line, 3) == 3) {
		fd_close_rest((int[]){3}, 1);
		(void)execve(argv[0], argv, env);
	}
	_exit(EXIT_RALPH);
}

static int on_root(struct init *in, const struct wire_msg *m)
{
	cleanup_guest_root struct guest_root root = {0};
	struct err err = {0};
	int pair[2];
	pid_t pid;

	if (in->guest >= 0 || in->group < 0 || guest_root_get(m, &root, &err) < 0 ||
	    wire_pair(pair, &err) < 0)
		return -EPROTO;
	pid = fork();
	if (pid == 0) {
		if (pair[1] == 3) /* dup2() would leave it to close with the exec */
			pair[1] = fcntl(pair[1], F_DUPFD_CLOEXEC, 4);
		become_guest(&root, pair[1]);
	}
	(void)close(pair[1]);
	if (pid < 0)
		return -EPROTO;
	in->guest = pair[0];
	return to_guest(in, WIRE_ROOT, 0, &m->body, &in->group, 1);
}

static int on_setup(struct init *in, const struct wire_msg *m)
{
	cleanup_guest_setup struct guest_setup s = {0};
	struct err err = {0};

	if (guest_setup_get(m, &s, &err) < 0)
		return -EPROTO;
	in->wanted = s.n_listeners;
	for (size_t i = 0; i < s.n_listeners; i++)
		in->udp[i] = s.listeners[i].udp;
	return to_guest(in, WIRE_SETUP, 0, &m->body, NULL, 0);
}

/* A pipe: the command's end, and ours, which does not block, in a channel. */
static int stream(struct init *in, uint32_t id, enum mux_which which)
{
	bool reads = which != MUX_IN;
	int p[2];

	if (pipe2(p, O_CLOEXEC) < 0)
		return -errno;
	if (fd_set_nonblock(p[reads ? 0 : 1], true) < 0 ||
	    !mux_add(&in->mux, id, which, p[reads ? 0 : 1], reads ? MUX_READS : MUX_WRITES)) {
		(void)close(p[reads ? 1 : 0]);
		return -EMFILE;
	}
	return p[reads ? 1 : 0];
}

static int refuse(struct init *in, uint32_t id, int eno)
{
	cleanup_buf struct buf b;

	buf_init(&b, WIRE_INLINE_MAX);
	mux_drop(&in->mux, id);
	wire_put_u32(&b, (uint32_t)eno);
	wire_put_str(&b, "cannot make the command's streams in the machine");
	return mux_send(&in->mux, WIRE_ERROR, id, &b, NULL);
}

static int on_spawn(struct init *in, const struct wire_msg *m, const struct buf *program)
{
	int fds[4] = {-1, -1, -1, -1}, r = 0;
	struct wire_reader rd;
	uint32_t flags;
	size_t n = 0;

	wire_read(&rd, m);
	flags = wire_get_u32(&rd);
	if (!(flags & WIRE_EXEC_TTY)) {
		bool joined = in->joined == m->id;

		for (; n < 3 && r >= 0; n++) {
			r = n == 2 && joined ? fcntl(fds[1], F_DUPFD_CLOEXEC, 0)
					     : stream(in, m->id, MUX_IN + (unsigned)n);
			fds[n] = r;
		}
	}
	in->joined = 0;
	if (r >= 0 && program->len) {
		r = fd_program_of(program->data, program->len);
		fds[n++] = r;
	}
	r = r < 0 ? refuse(in, m->id, -r) : to_guest(in, WIRE_SPAWN, m->id, &m->body, fds, n);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		closep(&fds[i]);
	return r;
}

static int on_winch(struct init *in, const struct wire_msg *m)
{
	struct mux_channel *c = mux_find(&in->mux, m->id, MUX_TTY);
	struct wire_reader rd;
	struct winsize size = {0};

	wire_read(&rd, m);
	size.ws_row = (unsigned short)wire_get_u32(&rd);
	size.ws_col = (unsigned short)wire_get_u32(&rd);
	if (c)
		(void)ioctl(c->fd, TIOCSWINSZ, &size);
	return 0;
}

static int on_answer(struct init *in, const struct wire_msg *m)
{
	struct wire_reader rd;
	const char *p;
	size_t n;

	wire_read(&rd, m);
	p = wire_get_bytes(&rd, &n);
	if (wire_read_end(&rd) < 0)
		return -EPROTO;
	for (size_t i = 0; i < QUERIES_MAX; i++) {
		struct query *q = &in->queries[i];

		if (q->id != m->id)
			continue;
		(void)sendto(in->listeners[q->row], p, n, MSG_NOSIGNAL | MSG_DONTWAIT,
			     (const struct sockaddr *)&q->from, q->len);
		q->id = 0;
	}
	return 0;
}

static int on_frame(struct mux *mux, struct wire_msg *m, struct buf *program)
{
	struct init *in = mux->owner;

	switch ((unsigned)m->type) {
	case WIRE_FAR_WAKE:
		return on_wake(in, m);
	case WIRE_ROOT:
		return on_root(in, m);
	case WIRE_SETUP:
		return on_setup(in, m);
	case WIRE_SPAWN:
		return on_spawn(in, m, program);
	case WIRE_FAR_JOIN:
		in->joined = m->id;
		return 0;
	case WIRE_WINCH:
		return on_winch(in, m);
	case WIRE_FAR_QUERY:
		return on_answer(in, m);
	case WIRE_KILL:
	case WIRE_DIAL:
		return to_guest(in, m->type, m->id, &m->body, NULL, 0);
	}
	return -EPROTO;
}

/* ---- from the guest ---- */

static int on_up(struct init *in, struct wire_msg *m)
{
	for (size_t i = 0; i < m->n_fds && in->n_listeners < in->wanted; i++)
		in->listeners[in->n_listeners++] = wire_take_fd(m, i);
	if (++in->ups < guest_up_frames(in->wanted))
		return 0;
	return mux_send(&in->mux, WIRE_UP, 0, &m->body, NULL);
}

static int on_over(struct mux *mux, enum wire_type type, uint32_t id, const struct buf *body)
{
	return mux_send(mux, type, id, body, NULL);
}

static int hear_guest(struct init *in)
{
	cleanup_wire_msg struct wire_msg m;
	int fd;

	wire_msg_init(&m);
	if (wire_recv(in->guest, &m) <= 0)
		return -EPIPE;
	switch ((unsigned)m.type) {
	case WIRE_BORN:
		return 0;
	case WIRE_UP:
		return on_up(in, &m);
	case WIRE_ENDED:
		return mux_hold(&in->mux, m.type, m.id, &m.body);
	case WIRE_ERROR:
		return m.id ? mux_hold(&in->mux, m.type, m.id, &m.body)
			    : mux_send(&in->mux, m.type, m.id, &m.body, NULL);
	case WIRE_SPAWNED:
	case WIRE_DIALLED:
		fd = wire_take_fd(&m, 0);
		if (fd >= 0) {
			(void)fd_set_nonblock(fd, true);
			(void)mux_add(&in->mux, m.id,
				      m.type == WIRE_SPAWNED ? MUX_TTY : MUX_DIALLED, fd,
				      MUX_READS | MUX_WRITES);
		}
		break;
	}
	return mux_send(&in->mux, m.type, m.id, &m.body, NULL);
}

/* ---- the sandbox's connections ---- */

static int open_outside(struct init *in, int fd)
{
	struct sockaddr_storage dialled = {0};
	socklen_t len = sizeof(dialled);
	cleanup_buf struct buf b;
	uint32_t id = ++in->next_id;

	buf_init(&b, 128);
	if (getsockname(fd, (struct sockaddr *)&dialled, &len) < 0) {
		(void)close(fd);
		return 0;
	}
	vm_address_put(&b, &dialled);
	if (!mux_add(&in->mux, id, MUX_CONNECTION, fd, MUX_READS | MUX_WRITES))
		return 0;
	return mux_send(&in->mux, WIRE_FAR_OPEN, id, &b, NULL);
}

static int pass_datagram(struct init *in, size_t row)
{
	struct query *q = &in->queries[in->next_query++ % QUERIES_MAX];
	struct sockaddr_storage here = {0};
	socklen_t len = sizeof(here);
	char text[VM_DATAGRAM_MAX];
	cleanup_buf struct buf b;
	ssize_t n;

	buf_init(&b, sizeof(text) + 128);
	*q = (struct query){.row = row, .len = sizeof(q->from)};
	n = recvfrom(in->listeners[row], text, sizeof(text), MSG_DONTWAIT,
		     (struct sockaddr *)&q->from, &q->len);
	if (n <= 0 || getsockname(in->listeners[row], (struct sockaddr *)&here, &len) < 0)
		return 0;
	q->id = ++in->next_id;
	vm_address_put(&b, &here);
	wire_put_bytes(&b, text, (size_t)n);
	return mux_send(&in->mux, WIRE_FAR_QUERY, q->id, &b, NULL);
}

static int hear_listener(struct init *in, size_t row)
{
	int r = 0;

	if (in->udp[row])
		return pass_datagram(in, row);
	for (int i = 0; i < ACCEPT_BURST && r == 0; i++) {
		int fd = accept4(in->listeners[row], NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd < 0)
			return 0;
		r = open_outside(in, fd);
	}
	return r;
}

static int turn(struct init *in)
{
	static struct pollfd p[MUX_ROWS_MAX + 1 + GUEST_LISTENERS_MAX];
	size_t n = mux_gather(&in->mux, p), rows = n + 1;
	bool full = mux_is_full(&in->mux);
	int r;

	p[n] = (struct pollfd){.fd = full ? -1 : in->guest, .events = POLLIN};
	for (size_t i = 0; i < in->n_listeners; i++)
		p[rows + i] = (struct pollfd){.fd = full ? -1 : in->listeners[i], .events = POLLIN};
	if (poll(p, rows + in->n_listeners, -1) < 0)
		return errno == EINTR ? 0 : -errno;
	r = mux_turn(&in->mux, p);
	if (r == 0 && p[n].revents && in->guest == p[n].fd)
		r = hear_guest(in);
	for (size_t i = 0; i < in->n_listeners && r == 0; i++)
		if (p[rows + i].fd >= 0 && p[rows + i].revents)
			r = hear_listener(in, i);
	return r;
}

int vm_init(void)
{
	static struct init in = {.guest = -1, .group = -1};
	const struct rlimit files = {.rlim_cur = FILES_MAX, .rlim_max = FILES_MAX * 8};
	cleanup_buf struct buf b;
	int r;

	make_root();
	(void)signal(SIGCHLD, SIG_IGN); /* the launcher's end is of no interest */
	(void)setrlimit(RLIMIT_NOFILE, &files);
	(void)umask(022);
	set_memory();
	load_modules();
	mux_init(&in.mux, open_port());
	in.mux.frame = on_frame;
	in.mux.over = on_over;
	in.mux.owner = &in;
	buf_init(&b, 64);
	wire_put_u32(&b, REMOTE_WAITS);
	r = mux_send(&in.mux, WIRE_REMOTE_STEP, 0, &b, NULL);
	while (r == 0)
		r = turn(&in);
	errno = -r;
	end_machine("line");
}
