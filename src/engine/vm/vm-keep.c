#include "engine/vm/vm-setup.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "wire/remote.h"

/*
 * A machine that has come up and waits to be woken, as a file. It has seen nothing of any sandbox:
 * its shared tree is empty, and not even mounted.
 */
#define UP_MS 300000
#define SAVE_MS 120000
#define ASK_MS 100
#define ANSWER_MAX (64 * KiB)

/* One line of QEMU's control connection to it, with a descriptor perhaps. */
static int order(int control, const char *text, int fd)
{
	char room[CMSG_SPACE(sizeof(int))] __attribute__((aligned(8))) = {0};
	struct iovec iov = {.iov_base = (void *)(uintptr_t)text, .iov_len = strlen(text)};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};
	struct cmsghdr *c;

	if (fd >= 0) {
		m.msg_control = room;
		m.msg_controllen = sizeof(room);
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &fd, sizeof(int));
	}
	return sendmsg(control, &m, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* Reads until one of the two texts has come: 0 for the first. */
static int hear(int control, const char *good, const char *bad, uint64_t until)
{
	struct pollfd p = {.fd = control, .events = POLLIN};
	cleanup_buf struct buf b;
	char piece[4096];
	ssize_t n;

	buf_init(&b, ANSWER_MAX);
	for (;;) {
		uint64_t now = now_ms();

		if (b.len && strstr(buf_str(&b), good))
			return 0;
		if (b.len && bad && strstr(buf_str(&b), bad))
			return -EAGAIN;
		if (now >= until || poll(&p, 1, (int)(until - now)) <= 0)
			return -ETIMEDOUT;
		n = read(control, piece, sizeof(piece));
		if (n <= 0 || buf_append(&b, piece, (size_t)n) < 0)
			return -EPIPE;
	}
}

static int save(int control, int file)
{
	uint64_t until = now_ms() + SAVE_MS;
	int r = hear(control, "\"QMP\"", NULL, until);

	if (r == 0)
		r = order(control, "{\"execute\":\"qmp_capabilities\"}\n", -1);
	if (r == 0)
		r = hear(control, "\"return\"", "\"error\"", until);
	if (r == 0)
		r = order(control, "{\"execute\":\"getfd\",\"arguments\":{\"fdname\":\"kept\"}}\n",
			  file);
	if (r == 0)
		r = hear(control, "\"return\"", "\"error\"", until);
	/* Not stopped before: it would go on stopped. */
	if (r == 0)
		r = order(control,
			  "{\"execute\":\"migrate\",\"arguments\":{\"uri\":\"fd:kept\"}}\n", -1);
	if (r == 0)
		r = hear(control, "\"return\"", "\"error\"", until);
	while (r == 0) {
		r = order(control, "{\"execute\":\"query-migrate\"}\n", -1);
		if (r == 0)
			r = hear(control, "\"completed\"", "\"return\"", until);
		if (r != -EAGAIN)
			break;
		r = 0;
		(void)poll(NULL, 0, ASK_MS);
	}
	return r;
}

static int await_up(int line, struct err *err)
{
	struct pollfd p = {.fd = line, .events = POLLIN};
	struct wire_msg m;
	struct buf none;
	int r;

	if (poll(&p, 1, UP_MS) != 1)
		return err_set(err, ETIMEDOUT, "the machine did not come up");
	r = remote_recv(line, &m, &none);
	if (r <= 0 || m.type != WIRE_REMOTE_STEP)
		r = err_set(err, EPROTO, "the machine ended while it came up");
	else
		r = 0;
	wire_msg_done(&m);
	buf_done(&none);
	return r;
}

static int start(const struct vm_files *f, const struct vm_machine *m, int line, int control,
		 struct child *ret, struct err *err)
{
	cleanup_strv struct strv words = {0};
	struct run run = RUN_INIT;

	vm_machine_words(m, &words);
	strv_push(&words, "-chardev");
	strv_pushf(&words, "socket,id=line,fd=%d", line);
	strv_push(&words, "-chardev");
	strv_pushf(&words, "socket,id=control,fd=%d", control);
	strv_push(&words, "-mon");
	strv_push(&words, "chardev=control,mode=control");
	run.argv = words.v;
	run.dir = f->dir;
	run.flags = RUN_DIE_WITH_US;
	run_keep(&run, line);
	run_keep(&run, control);
	return run_start(&run, ret, err);
}

static int keep(const struct vm_files *f, const struct vm_machine *m, int file, struct err *err)
{
	int line[2], control[2], r;
	struct child qemu;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, line) < 0)
		return err_sys(err, errno, "cannot create a socket");
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, control) < 0) {
		r = err_sys(err, errno, "cannot create a socket");
		(void)close(line[0]);
		(void)close(line[1]);
		return r;
	}
	r = start(f, m, line[1], control[1], &qemu, err);
	(void)close(line[1]);
	(void)close(control[1]);
	if (r == 0) {
		r = await_up(line[0], err);
		if (r == 0) {
			r = save(control[0], file);
			if (r < 0)
				(void)err_sys(err, -r, "QEMU cannot save the machine");
		}
		child_done(&qemu);
	}
	(void)close(line[0]);
	(void)close(control[0]);
	return r;
}

int vm_keep(const struct vm_files *f, bool emulated, uint32_t memory, struct err *err)
{
	cleanup_free char *tree = path_join(f->dir, "empty"), *part = xasprintf("%s.part", f->kept);
	const struct vm_machine m = {
		.qemu = f->qemu,
		.kernel = f->kernel,
		.initramfs = f->initramfs,
		.tree = tree,
		.emulated = emulated,
		.memory = memory,
		.cpus = vm_cpus(emulated),
	};
	int r = path_mkdirs(tree, 0700, err);
	cleanup_fd int file = -1;

	if (r < 0)
		return r;
	file = open(part, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (file < 0)
		return err_sys(err, errno, "cannot write '%s'", part);
	r = keep(f, &m, file, err);
	if (r == 0 && rename(part, f->kept) < 0)
		r = err_sys(err, errno, "cannot write '%s'", f->kept);
	if (r < 0)
		(void)unlink(part);
	return r;
}
