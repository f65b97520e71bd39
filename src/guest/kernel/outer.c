#include "guest/kernel/outer.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "guest/between.h"
#include "guest/confine.h"
#include "guest/dial-inside.h"
#include "guest/kernel/start-runsc.h"
#include "guest/login.h"
#include "guest/payload.h"
#include "guest/terminal.h"

#define UP_MS 60000  /* for another kernel to start, on a busy machine */
#define WINCH_MS 200 /* between looks at the size of a terminal */
#define LOG_MAX 512  /* of what a program says that did not start */

/* Of a command, from WIRE_SPAWN until the inner half says how it ended. */
struct row {
	uint32_t id; /* 0: free */
	bool login;
	int master, slave; /* -1: it has no terminal, or the master was handed out */
	struct winsize size;
	struct between between;
};

struct relay {
	const struct guest *g;
	int inner;
	struct row rows[GUEST_COMMANDS_MAX];
};

/* One for each kind of kernel. */
static int (*const starters[])(const struct guest_root *root, int line, int *ret_log,
			       struct err *err) = {
	[GUEST_INSIDE_GVISOR] = gvisor_start,
};

/* ---- the start ---- */

/* The user, and what must not move: with the paths of the tree, which are the inner half's. */
static int tell_root(int inner, const struct guest_root *root)
{
	struct guest_root told = {
		.hostname = "", .uid = root->uid, .gid = root->gid, .program = ""};
	cleanup_buf struct buf b;
	int r;

	told.mounts = xcalloc(root->n_mounts, sizeof(*told.mounts));
	for (size_t i = 0; i < root->n_mounts; i++) {
		const struct guest_mount *m = &root->mounts[i];

		if (m->kind == GUEST_PIN || m->kind == GUEST_PROTECT)
			told.mounts[told.n_mounts++] = (struct guest_mount){
				.kind = GUEST_PIN, .source = "", .target = m->target};
	}
	buf_init(&b, WIRE_BODY_MAX);
	guest_root_put(&b, &told);
	r = wire_send(inner, WIRE_ROOT, 0, &b, NULL, 0);
	guest_root_done(&told);
	return r;
}

/* The network, the name and the logins are out here. */
static int tell_setup(int inner, const struct guest_setup *s)
{
	struct guest_setup told = *s;
	cleanup_buf struct buf b;

	told.n_listeners = told.n_logins = 0;
	told.routes = false;
	told.hostname = "";
	buf_init(&b, WIRE_BODY_MAX);
	guest_setup_put(&b, &told);
	return wire_send(inner, WIRE_SETUP, 0, &b, NULL, 0);
}

/* What the program said last: a reason is behind what led to it. */
static int say_log(int log, struct err *err)
{
	char text[LOG_MAX + 1];
	struct pollfd p = {.fd = log, .events = POLLIN};
	size_t n = 0;
	char *last;

	while (n < LOG_MAX && poll(&p, 1, 1000) == 1) {
		ssize_t more = read(log, text + n, LOG_MAX - n);

		if (more <= 0)
			break;
		n += (size_t)more;
	}
	while (n > 0 && text[n - 1] == '\n')
		n--;
	text[n] = '\0';
	last = strrchr(text, '\n');
	return err_set(err, EIO, "the sandbox's own kernel did not start%s%s", n ? ": " : "",
		       last ? last + 1 : text);
}

static int await_up(int inner, int log, struct err *err)
{
	struct pollfd p = {.fd = inner, .events = POLLIN};
	cleanup_wire_msg struct wire_msg m;
	struct wire_reader r;
	const char *text;
	uint32_t eno;

	wire_msg_init(&m);
	while (poll(&p, 1, UP_MS) != 1) {
		if (errno != EINTR)
			return err_set(err, ETIMEDOUT, "the sandbox's own kernel says nothing");
	}
	if (wire_recv(inner, &m) <= 0)
		return say_log(log, err);
	if (m.type == WIRE_UP)
		return 0;
	wire_read(&r, &m);
	eno = wire_get_u32(&r);
	text = wire_get_str(&r);
	if (m.type != WIRE_ERROR || wire_read_end(&r) < 0 || eno == 0 || eno > INT16_MAX)
		return err_set(err, EPROTO, "the inner guest does not answer as it should");
	return err_set(err, (int)eno, "%s", text);
}

int outer_begin(struct guest *g, const struct guest_root *root, int *ret_inner, struct err *err)
{
	cleanup_fd int ours = -1, theirs = -1, log = -1;
	struct sigaction ignore = {.sa_handler = SIG_DFL, .sa_flags = SA_NOCLDWAIT};
	int pair[2], r = wire_pair(pair, err);

	if (r < 0)
		return r;
	ours = pair[0];
	theirs = pair[1];
	/* Its processes become ours when their parents end; nobody asks how they ended. */
	(void)sigaction(SIGCHLD, &ignore, NULL);
	r = starters[root->inside](root, theirs, &log, err);
	closep(&theirs);
	if (r == 0)
		r = confine(err);
	if (r < 0)
		return r;
	/* One that has failed does not read; its log says why. */
	(void)tell_root(ours, root);
	(void)tell_setup(ours, &g->setup);
	r = await_up(ours, log, err);
	if (r == 0)
		*ret_inner = take_fd(ours);
	return r;
}

/* ---- the relay ---- */

static struct row *row_of(struct relay *o, uint32_t id)
{
	for (size_t i = 0; i < ARRAY_SIZE(o->rows); i++)
		if (o->rows[i].id == id)
			return &o->rows[i];
	return NULL;
}

static void row_done(struct relay *o, struct row *row)
{
	bool login = row->login;

	between_drain(&row->between);
	closep(&row->master);
	closep(&row->slave);
	*row = (struct row){.master = -1, .slave = -1};
	for (size_t i = 0; login && i < ARRAY_SIZE(o->rows); i++)
		if (o->rows[i].login)
			return;
	if (login)
		login_wipe(o->g);
}

/* What the command gets for 0, 1 and 2: judged, and no file among them. */
static int take_stdio(struct relay *o, struct row *row, int stdio[3], struct err *err)
{
	cleanup_fd int none = -1;
	int r = domain_for(&o->g->domain, stdio, 3, &none, err);

	return r < 0 ? r : between_open(&row->between, stdio, err);
}

static int take_terminal(struct relay *o, struct row *row, uint32_t rows, uint32_t cols,
			 struct err *err)
{
	int r = terminal_open(o->g, rows, cols, &row->master, &row->slave, err);

	if (r == 0)
		r = terminal_make_raw(row->slave, err);
	if (r == 0 && ioctl(row->slave, TIOCGWINSZ, &row->size) < 0)
		r = err_sys(err, errno, "cannot read the size of a terminal");
	return r;
}

/* The login is in its files by then; the inner half has none to fill. */
static int pass_spawn(struct relay *o, const struct wire_msg *m, uint32_t flags, const int *fds,
		      size_t n_fds, struct err *err)
{
	cleanup_buf struct buf b;
	int r;

	buf_init(&b, WIRE_BODY_MAX);
	wire_put_u32(&b, flags & ~(uint32_t)WIRE_EXEC_LOGIN);
	r = buf_append(&b, m->body.data + sizeof(flags), m->body.len - sizeof(flags));
	if (r == 0)
		r = wire_send(o->inner, WIRE_SPAWN, m->id, &b, fds, n_fds);
	return r < 0 ? err_sys(err, -r, "the inner guest takes no command") : 0;
}

static int spawn_in(struct relay *o, struct row *row, const struct wire_msg *m, struct err *err)
{
	int fds[4] = {-1, -1, -1, -1}, r = 0;
	uint32_t flags, rows, cols;
	struct wire_reader reader;
	size_t n;

	wire_read(&reader, m);
	flags = wire_get_u32(&reader);
	rows = wire_get_u32(&reader);
	cols = wire_get_u32(&reader);
	if (reader.bad || (flags & ~WIRE_SPAWN_FLAGS) || m->n_fds != wire_exec_fds(flags) ||
	    ((flags & WIRE_EXEC_PROGRAM) && (flags & WIRE_EXEC_LOGIN)))
		return err_set(err, EPROTO, "the request to run a command is malformed");
	n = flags & WIRE_EXEC_TTY ? 1 : 3;
	if (flags & WIRE_EXEC_TTY) {
		r = take_terminal(o, row, rows, cols, err);
		fds[0] = row->slave;
	} else {
		memcpy(fds, m->fds, 3 * sizeof(fds[0]));
		r = take_stdio(o, row, fds, err);
	}
	if (r == 0 && (flags & WIRE_EXEC_PROGRAM)) {
		fds[n++] = m->fds[m->n_fds - 1];
		r = payload_check_program(fds[n - 1], err);
	}
	if (r == 0 && (flags & WIRE_EXEC_LOGIN)) {
		row->login = true;
		r = login_fill(o->g, m, err);
	}
	if (r == 0)
		r = pass_spawn(o, m, flags, fds, n, err);
	between_started(&row->between);
	return r;
}

static void spawn(struct relay *o, const struct wire_msg *m)
{
	struct err err = {0};
	struct row *row = row_of(o, 0);
	int r;

	if (m->id == 0)
		return;
	if (row_of(o, m->id)) {
		r = err_set(&err, EEXIST, "command %u is running already", m->id);
	} else if (!row) {
		r = err_set(&err, EAGAIN, "more than %d commands at once in one sandbox",
			    GUEST_COMMANDS_MAX);
	} else {
		row->id = m->id;
		r = spawn_in(o, row, m, &err);
		if (r < 0)
			row_done(o, row);
	}
	if (r < 0)
		guest_send_error(o->g->sock, m->id, -r, &err);
}

/* false: one of the two is gone. */
static bool hear_supervisor(struct relay *o)
{
	cleanup_wire_msg struct wire_msg m;
	struct err err = {0};
	int r;

	wire_msg_init(&m);
	r = wire_recv(o->g->sock, &m);
	if (r <= 0)
		return r == -EAGAIN;
	if (m.type == WIRE_SPAWN)
		spawn(o, &m);
	else if (m.type == WIRE_DIAL)
		dial_inside(o->g->sock, &m);
	else if (m.type == WIRE_KILL)
		return wire_send(o->inner, WIRE_KILL, m.id, &m.body, NULL, 0) == 0;
	else if (m.id != 0) {
		r = err_set(&err, EPROTO, "the guest does not know frame %u", (unsigned)m.type);
		guest_send_error(o->g->sock, m.id, -r, &err);
	}
	return true;
}

static bool hear_inner(struct relay *o)
{
	cleanup_wire_msg struct wire_msg m;
	struct row *row;
	int r;

	wire_msg_init(&m);
	r = wire_recv(o->inner, &m);
	if (r <= 0)
		return r == -EAGAIN;
	row = m.id ? row_of(o, m.id) : NULL;
	if (!row)
		return m.id != 0; /* an end of all, or of what nobody has begun */
	if (m.type == WIRE_SPAWNED) {
		r = wire_send(o->g->sock, m.type, m.id, &m.body, &row->master, row->master >= 0);
		closep(&row->master);
	} else if (m.type == WIRE_ENDED || m.type == WIRE_ERROR) {
		row_done(o, row);
		r = wire_send(o->g->sock, m.type, m.id, &m.body, NULL, 0);
	} else if (m.type == WIRE_SUSPENDED) {
		r = wire_send(o->g->sock, m.type, m.id, &m.body, NULL, 0);
	}
	return r >= 0;
}

/* Nobody tells a process that does not lead the terminal's session of a new size. */
static void look_at_sizes(struct relay *o)
{
	for (size_t i = 0; i < ARRAY_SIZE(o->rows); i++) {
		struct row *row = &o->rows[i];
		cleanup_buf struct buf b;
		struct winsize now;

		buf_init(&b, 64);
		if (row->slave < 0 || ioctl(row->slave, TIOCGWINSZ, &now) < 0 ||
		    (now.ws_row == row->size.ws_row && now.ws_col == row->size.ws_col))
			continue;
		row->size = now;
		wire_put_u32(&b, now.ws_row);
		wire_put_u32(&b, now.ws_col);
		(void)wire_send(o->inner, WIRE_WINCH, row->id, &b, NULL, 0);
	}
}

static bool has_terminal(const struct relay *o)
{
	for (size_t i = 0; i < ARRAY_SIZE(o->rows); i++)
		if (o->rows[i].slave >= 0)
			return true;
	return false;
}

void outer_serve(const struct guest *g, int inner)
{
	static struct relay o;
	static struct pollfd p[2 + GUEST_COMMANDS_MAX * BETWEEN_MAX];
	bool open = true;

	o.g = g;
	o.inner = inner;
	for (size_t i = 0; i < ARRAY_SIZE(o.rows); i++)
		o.rows[i] = (struct row){.master = -1, .slave = -1};
	while (open) {
		size_t n = 2;

		p[0] = (struct pollfd){.fd = g->sock, .events = POLLIN};
		p[1] = (struct pollfd){.fd = inner, .events = POLLIN};
		for (size_t i = 0; i < ARRAY_SIZE(o.rows); i++)
			n += between_poll(&o.rows[i].between, p + n);
		if (poll(p, n, has_terminal(&o) ? WINCH_MS : -1) < 0 && errno != EINTR)
			return;
		for (size_t i = 0; i < ARRAY_SIZE(o.rows); i++)
			between_copy(&o.rows[i].between);
		look_at_sizes(&o);
		if (p[1].revents)
			open = hear_inner(&o);
		if (open && p[0].revents)
			open = hear_supervisor(&o);
	}
}
