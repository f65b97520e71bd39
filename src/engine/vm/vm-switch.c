#include "engine/vm/vm-engine.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/landlock.h"
#include "engine/plan.h"
#include "wire/guest-proto.h"

/*
 * DOC: Theory of operation
 *
 * A fork of ours between the supervisor and two guests: the outer one, whose only command is
 * `vm line` with QEMU, and the one in the machine. The supervisor's set-up goes to both: listeners
 * are opened in both networks, and the outer ones are the gateway's. From then on frames pass
 * between the supervisor and the machine, and this process looks at none of them. It can open no
 * file.
 */
#define LINE_ID 1 /* the outer sandbox's one command */

struct between {
	struct vm *vm;
	int supervisor, outer, line, complaint;
	int fds[GUEST_LISTENERS_MAX];
	size_t n_fds;
};

static _Noreturn void leave(void)
{
	_exit(EXIT_RALPH);
}

static _Noreturn void fail(struct between *b, const char *what)
{
	char text[256] = "", *end;
	cleanup_buf struct buf body;
	ssize_t n = b->complaint < 0 ? 0 : read(b->complaint, text, sizeof(text) - 1);

	text[n > 0 ? n : 0] = '\0';
	end = strchr(text, '\n');
	if (end)
		*end = '\0';
	buf_init(&body, WIRE_INLINE_MAX);
	wire_put_u32(&body, EIO);
	wire_put_str(&body, text[0] ? text : what);
	(void)wire_send(b->supervisor, WIRE_ERROR, 0, &body, NULL, 0);
	leave();
}

/* Passes on what somebody says instead of what was awaited. */
static void await(struct between *b, int from, enum wire_type type, struct wire_msg *m)
{
	struct pollfd p[] = {{.fd = from, .events = POLLIN},
			     {.fd = b->outer, .events = POLLIN},
			     {.fd = b->supervisor, .events = POLLIN}};

	wire_msg_init(m);
	if (from == b->outer)
		p[1].fd = -1;
	/* The supervisor has nothing to say until the sandbox is up; its end is. */
	while (poll(p, ARRAY_SIZE(p), -1) < 0 && errno == EINTR)
		;
	if (p[2].revents & (POLLHUP | POLLERR))
		leave();
	if (!p[0].revents && p[1].revents)
		fail(b, "the machine did not come up");
	if (wire_recv(from, m) <= 0)
		fail(b, "the machine did not come up");
	if (m->type == WIRE_ERROR) {
		(void)wire_send(b->supervisor, WIRE_ERROR, 0, &m->body, NULL, 0);
		leave();
	}
	if (m->type != type)
		fail(b, "the machine does not answer as it should");
}

/* The outer sandbox runs QEMU: it needs its program, the tree, and no limit of a command's. */
static void set_up_outer(struct between *b, const struct wire_msg *m)
{
	static struct guest_rule rules[] = {
		{GUEST_RO, "/"}, {GUEST_RW, "/t"}, {GUEST_DEV, "/dev"}, {GUEST_RW, "/proc"}};
	struct guest_setup s = {0}, outer;
	struct err err = {0};
	cleanup_buf struct buf body;

	buf_init(&body, WIRE_BODY_MAX);
	if (guest_setup_get(m, &s, &err) < 0)
		fail(b, err.msg);
	outer = s;
	outer.rules = rules;
	outer.n_rules = ARRAY_SIZE(rules);
	outer.n_rlimits = outer.n_logins = 0;
	guest_setup_put(&body, &outer);
	if (wire_send(b->outer, WIRE_SETUP, 0, &body, NULL, 0) < 0)
		leave();
	for (size_t i = 0; i < guest_up_frames(s.n_listeners); i++) {
		struct wire_msg up;

		await(b, b->outer, WIRE_UP, &up);
		for (size_t k = 0; k < up.n_fds && b->n_fds < GUEST_LISTENERS_MAX; k++)
			b->fds[b->n_fds++] = wire_take_fd(&up, k);
		wire_msg_done(&up);
	}
	guest_setup_done(&s);
}

static void start_line(struct between *b)
{
	cleanup_fd int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct strv none = {0};
	cleanup_buf struct buf body;
	struct err err = {0};
	struct wire_msg m;
	int pair[2], said[2], fds[3];

	if (null < 0 || wire_pair(pair, &err) < 0 || pipe2(said, O_CLOEXEC | O_NONBLOCK) < 0)
		fail(b, "cannot make a line to the machine");
	fds[0] = pair[1];
	fds[1] = null;
	fds[2] = said[1];
	buf_init(&body, WIRE_BODY_MAX);
	for (int i = 0; i < 3; i++)
		wire_put_u32(&body, 0); /* flags, rows, columns */
	wire_put_str(&body, "/");
	wire_put_strv(&body, &b->vm->line);
	wire_put_strv(&body, &none);
	if (wire_send(b->outer, WIRE_SPAWN, LINE_ID, &body, fds, ARRAY_SIZE(fds)) < 0)
		leave();
	await(b, b->outer, WIRE_SPAWNED, &m);
	wire_msg_done(&m);
	(void)close(pair[1]);
	(void)close(said[1]);
	b->line = pair[0];
	b->complaint = said[0];
}

static void bring_up(struct between *b, const struct wire_msg *setup)
{
	size_t frames = guest_up_frames(b->n_fds);
	struct err err = {0};
	struct wire_msg up;

	if (plan_send_root(b->line, &b->vm->inner, NULL, 0, &err) < 0 ||
	    wire_send(b->line, WIRE_SETUP, 0, &setup->body, NULL, 0) < 0)
		fail(b, "the machine did not come up");
	await(b, b->line, WIRE_UP, &up);
	for (size_t i = 0; i < frames; i++) {
		size_t at = i * WIRE_FDS_MAX;
		size_t n = b->n_fds - at < WIRE_FDS_MAX ? b->n_fds - at : WIRE_FDS_MAX;

		if (wire_send(b->supervisor, WIRE_UP, 0, &up.body, b->fds + at, n) < 0)
			leave();
	}
	for (size_t i = 0; i < b->n_fds; i++)
		closep(&b->fds[i]);
	wire_msg_done(&up);
}

static void pass(int from, int to)
{
	cleanup_wire_msg struct wire_msg m;

	wire_msg_init(&m);
	if (wire_recv(from, &m) <= 0 || wire_send(to, m.type, m.id, &m.body, m.fds, m.n_fds) < 0)
		leave();
}

static void give_up_files(void)
{
	cleanup_landlock struct landlock l;

	if (landlock_begin(&l, landlock_abi(), 0) < 0 || landlock_enforce(&l) < 0)
		leave();
}

static _Noreturn void between_main(struct vm *vm, int supervisor, int outer)
{
	struct between b = {
		.vm = vm, .supervisor = supervisor, .outer = outer, .line = -1, .complaint = -1};
	struct wire_msg setup;

	fd_close_rest((int[]){supervisor, outer}, 2);
	(void)signal(SIGPIPE, SIG_IGN);
	if (prctl(PR_SET_PDEATHSIG, (unsigned long)SIGKILL, 0UL, 0UL, 0UL) < 0)
		leave();
	wire_msg_init(&setup);
	if (wire_recv(supervisor, &setup) <= 0)
		leave();
	if (setup.type != WIRE_SETUP)
		fail(&b, "the machine was not given its set-up first");
	set_up_outer(&b, &setup);
	start_line(&b);
	give_up_files();
	bring_up(&b, &setup);
	for (;;) {
		struct pollfd p[] = {{.fd = supervisor, .events = POLLIN},
				     {.fd = b.line, .events = POLLIN},
				     {.fd = outer, .events = POLLIN}};

		if (poll(p, ARRAY_SIZE(p), -1) < 0 && errno != EINTR)
			leave();
		if (p[2].revents)
			leave(); /* it has nothing to say but that QEMU has ended */
		if (p[1].revents)
			pass(b.line, supervisor);
		if (p[0].revents)
			pass(supervisor, b.line);
	}
}

int vm_switch_start(struct vm *vm, int outer, int *ret_line, struct err *err)
{
	int pair[2], r = wire_pair(pair, err);
	pid_t pid;

	if (r < 0)
		return r;
	pid = fork();
	if (pid == 0)
		between_main(vm, pair[1], outer);
	(void)close(pair[1]);
	if (pid < 0) {
		r = err_sys(err, errno, "cannot fork");
		(void)close(pair[0]);
		return r;
	}
	vm->between = (struct child){.pid = pid, .pidfd = (int)syscall(SYS_pidfd_open, pid, 0)};
	*ret_line = pair[0];
	return 0;
}
