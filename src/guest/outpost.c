#include "guest/outpost.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/fd.h"
#include "base/parse.h"
#include "wire/guest-proto.h"

/*
 * DOC: Theory of operation
 *
 * `outpost serve` reads frames for the guest from its stdin and writes the guest's to stdout. The
 * outpost adds or keeps the descriptors that those frames cannot carry. A command's streams come
 * from a run of `outpost attach` with the same id, and WIRE_SPAWN waits for both; listeners go to
 * the relay. When stdin or the guest ends, the outpost ends, and so does the other.
 *
 * `outpost check FILE TEXT …` looks whether these files are here as they are on ralph's machine.
 */

/* A command that was asked for, has its streams, or runs. */
struct command {
	struct post *post;
	struct command *next;
	uint32_t id;
	bool asked, sent, over;
	struct buf spawn, program;
	struct ev_io io; /* its attach; fd -1: not come yet */
	int fds[3];
	size_t n_fds;
	struct ev_defer free;
};

struct post {
	struct ev *ev;
	struct ev_io in, meet, door, guest;
	struct relay *relay;
	struct command *commands;
	size_t n_commands;
};

static void tell(enum wire_type type, uint32_t id, const struct buf *body)
{
	/* A peer that no longer reads has ended, and so does the outpost. */
	if (remote_send(STDOUT_FILENO, type, id, body, NULL) < 0)
		_exit(EXIT_RALPH);
}

static void tell_error(uint32_t id, int eno, const char *msg)
{
	cleanup_buf struct buf b;

	buf_init(&b, WIRE_INLINE_MAX);
	wire_put_u32(&b, (uint32_t)eno);
	wire_put_str(&b, msg);
	tell(WIRE_ERROR, id, &b);
}

static void tell_step(enum remote_step step)
{
	cleanup_buf struct buf b;

	buf_init(&b, 64);
	wire_put_u32(&b, step);
	tell(WIRE_REMOTE_STEP, 0, &b);
}

static void to_guest(struct post *p, enum wire_type type, uint32_t id, const struct buf *body,
		     const int *fds, size_t n_fds)
{
	if (p->guest.fd < 0 || wire_send(p->guest.fd, type, id, body, fds, n_fds) < 0)
		_exit(EXIT_RALPH);
}

/* ---- commands ---- */

static void command_free(struct ev *ev, struct ev_defer *d)
{
	struct command *c = ev_owner(d, struct command, free), **at = &c->post->commands;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	c->post->n_commands--;
	buf_done(&c->spawn);
	buf_done(&c->program);
	free(c);
}

/* Closes the line to the command's attach, which then ends. */
static void command_over(struct command *c)
{
	if (c->over)
		return;
	c->over = true;
	if (c->io.fd >= 0)
		(void)ev_want(c->post->ev, &c->io, 0);
	closep(&c->io.fd);
	for (size_t i = 0; i < c->n_fds; i++)
		closep(&c->fds[i]);
	ev_defer(c->post->ev, &c->free);
}

static struct command *command_find(struct post *p, uint32_t id)
{
	for (struct command *c = p->commands; c; c = c->next)
		if (c->id == id && !c->over)
			return c;
	return NULL;
}

static struct command *command_get(struct post *p, uint32_t id)
{
	struct command *c = command_find(p, id);

	if (c || p->n_commands >= GUEST_COMMANDS_MAX * 2)
		return c;
	c = xcalloc(1, sizeof(*c));
	*c = (struct command){.post = p, .next = p->commands, .id = id, .io.fd = -1};
	c->free.fn = command_free;
	buf_init(&c->spawn, WIRE_BODY_MAX);
	buf_init(&c->program, REMOTE_PROGRAM_MAX);
	p->commands = c;
	p->n_commands++;
	return c;
}

/* Sends a command to the guest once both its frame and its streams are here. */
static void command_send(struct command *c)
{
	cleanup_fd int program = -1;
	int fds[4];
	size_t n = c->n_fds;

	if (!c->asked || c->io.fd < 0 || c->sent)
		return;
	memcpy(fds, c->fds, sizeof(c->fds));
	if (c->program.len) {
		program = fd_program_of(c->program.data, c->program.len);
		fds[n++] = program;
	}
	to_guest(c->post, WIRE_SPAWN, c->id, &c->spawn, fds, n);
	c->sent = true;
	for (size_t i = 0; i < c->n_fds; i++)
		closep(&c->fds[i]);
	c->n_fds = 0;
	if (c->program.data)
		explicit_bzero(c->program.data, c->program.cap);
	buf_done(&c->program);
}

static void kill_all(struct command *c)
{
	cleanup_buf struct buf b;

	buf_init(&b, 64);
	wire_put_u32(&b, 0);
	to_guest(c->post, WIRE_KILL, c->id, &b, NULL, 0);
}

static void on_attach(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct command *c = ev_owner(io, struct command, io);

	/*
	 * An attach sends nothing after its first frame: this is its end, and its command ends too.
	 */
	(void)ev_want(ev, io, 0);
	closep(&io->fd);
	if (c->sent)
		kill_all(c);
	else if (!c->asked)
		command_over(c);
}

static void on_door(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct post *p = ev_owner(io, struct post, door);
	cleanup_fd int fd = accept4(io->fd, NULL, NULL, SOCK_CLOEXEC);
	cleanup_wire_msg struct wire_msg m;
	struct command *c;

	wire_msg_init(&m);
	/*
	 * Only ralph's own programs run in this container, so this read does not block for long: an
	 * attach sends its frame at once.
	 */
	if (fd < 0 || wire_recv(fd, &m) <= 0 || m.type != WIRE_SPAWN ||
	    (m.n_fds != 0 && m.n_fds != 3))
		return;
	c = command_get(p, m.id);
	if (!c || c->io.fd >= 0 || c->sent)
		return;
	for (size_t i = 0; i < m.n_fds; i++)
		c->fds[c->n_fds++] = wire_take_fd(&m, i);
	c->io = (struct ev_io){.fd = take_fd(fd), .fn = on_attach};
	(void)ev_want(ev, &c->io, EPOLLIN);
	command_send(c);
}

/* ---- frames ---- */

static void on_spawn(struct post *p, struct wire_msg *m, struct buf *program)
{
	struct command *c = command_get(p, m->id);

	if (!c || c->asked) {
		tell_error(m->id, E2BIG, "too many commands at once");
		return;
	}
	c->asked = true;
	(void)buf_append(&c->spawn, m->body.data, m->body.len);
	if (program->len)
		(void)buf_append(&c->program, program->data, program->len);
	command_send(c);
}

static void on_kill(struct post *p, const struct wire_msg *m)
{
	struct command *c = command_find(p, m->id);

	if (c && c->asked && !c->sent) {
		tell_error(m->id, ECANCELED, "the command was ended");
		command_over(c);
		return;
	}
	to_guest(p, WIRE_KILL, m->id, &m->body, NULL, 0);
}

static void on_in(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct post *p = ev_owner(io, struct post, in);
	cleanup_wire_msg struct wire_msg m;
	cleanup_buf struct buf program;
	struct err err = {0};

	if (remote_recv(io->fd, &m, &program) <= 0) {
		ev_stop(ev);
		return;
	}
	switch ((unsigned)m.type) {
	case WIRE_REMOTE_GATE:
		if (relay_gate(p->relay, &m, &err) < 0) {
			tell_error(0, EIO, err.msg);
			ev_stop(ev);
		}
		return;
	case WIRE_SPAWN:
		on_spawn(p, &m, &program);
		return;
	case WIRE_KILL:
		on_kill(p, &m);
		return;
	default:
		to_guest(p, m.type, m.id, &m.body, NULL, 0);
	}
}

static void on_guest(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct post *p = ev_owner(io, struct post, guest);
	cleanup_wire_msg struct wire_msg m;
	struct command *c;
	int r;

	wire_msg_init(&m);
	r = wire_recv(io->fd, &m);
	if (r <= 0) {
		ev_stop(ev);
		return;
	}
	c = command_find(p, m.id);
	for (size_t i = 0; m.type == WIRE_UP && i < m.n_fds; i++)
		if (relay_listen(p->relay, wire_take_fd(&m, i)) < 0)
			ev_stop(ev);
	if (m.type == WIRE_SPAWNED && c && c->io.fd >= 0)
		(void)wire_send(c->io.fd, WIRE_SPAWNED, 0, NULL, m.fds, m.n_fds);
	if ((m.type == WIRE_ENDED || m.type == WIRE_ERROR) && c && m.id != 0)
		command_over(c);
	tell(m.type, m.id, &m.body);
}

/* Once: after it nobody finds the way any more. */
static void on_meet(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct post *p = ev_owner(io, struct post, meet);
	int fd = accept4(io->fd, NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0)
		return;
	(void)ev_want(ev, io, 0);
	closep(&io->fd);
	(void)unlink(REMOTE_LINE);
	p->guest = (struct ev_io){.fd = fd, .fn = on_guest};
	(void)ev_want(ev, &p->guest, EPOLLIN);
	tell_step(REMOTE_MET);
}

static int listen_line(void)
{
	struct sockaddr_un sa = {.sun_family = AF_UNIX, .sun_path = REMOTE_LINE};
	cleanup_fd int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	(void)unlink(REMOTE_LINE);
	/* The guest is another user, of a container that has nothing else of this directory. */
	if (fd < 0 || bind(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0 ||
	    chmod(REMOTE_LINE, 0666) < 0 || listen(fd, 1) < 0)
		return -errno;
	return take_fd(fd);
}

static int serve(void)
{
	static struct post p;
	struct err err = {0};

	if (ev_new(&p.ev, &err) < 0)
		return EXIT_RALPH;
	p.relay = relay_new(p.ev);
	p.in = (struct ev_io){.fd = STDIN_FILENO, .fn = on_in};
	p.meet = (struct ev_io){.fd = listen_line(), .fn = on_meet};
	p.door = (struct ev_io){.fd = attach_socket(true), .fn = on_door};
	p.guest.fd = -1;
	if (p.meet.fd < 0 || p.door.fd < 0 || ev_want(p.ev, &p.in, EPOLLIN) < 0 ||
	    ev_want(p.ev, &p.meet, EPOLLIN) < 0 || ev_want(p.ev, &p.door, EPOLLIN) < 0)
		return EXIT_RALPH;
	tell_step(REMOTE_WAITS);
	return ev_run(p.ev, &err) < 0 ? EXIT_RALPH : EXIT_OK;
}

static int check(char **pairs)
{
	for (; pairs[0] && pairs[1]; pairs += 2) {
		cleanup_fd int fd = open(pairs[0], O_RDONLY | O_CLOEXEC);
		cleanup_buf struct buf b;

		buf_init(&b, 4 * KiB);
		if (fd < 0 || fd_read_all(fd, &b) < 0 || strcmp(buf_str(&b), pairs[1]) != 0)
			return EXIT_RUNTIME;
	}
	return EXIT_OK;
}

int main(int argc, char **argv)
{
	uint64_t id;

	(void)signal(SIGPIPE, SIG_IGN);
	(void)prctl(PR_SET_DUMPABLE, 0UL, 0UL, 0UL, 0UL);
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL);
	if (argc == 2 && strcmp(argv[1], "serve") == 0)
		return serve();
	if (argc >= 4 && strcmp(argv[1], "check") == 0)
		return check(argv + 2);
	if (argc >= 3 && strcmp(argv[1], "attach") == 0 &&
	    parse_uint(argv[2], 1, UINT32_MAX, &id) == 0)
		return attach_main((uint32_t)id, argc > 3);
	return EXIT_USAGE;
}
