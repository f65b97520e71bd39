#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "probe/probe.h"

/*
 * DOC: Theory of operation
 *
 * stdin holds rows of strings, each ended by a NUL: an attack and its arguments, then an empty
 * string. Attacks run one after the other, each in a process of its own that has exactly the
 * descriptors this one was given; what must work (works.c) runs afterwards, all at once, because
 * programs take long to start. For each row one line is printed: its number, the code as
 * probe.h counts them, and what was said, joined and cut to a readable length.
 *
 * An argument "@parent" stands for the process that started this one: the minder.
 */
#define PLAN_MAX (1 * MiB)
#define ROWS_MAX 128
#define ARGS_MAX 4000
#define SAID_MAX 400
#define ROW_MS 30000 /* for one attack, and for all programs together: machines may be busy */

struct row {
	char *argv[ARGS_MAX + 1];
	const struct attack *attack;
	size_t said;
	int argc;
	pid_t pid;
	int fd; /* the attack's output; -1: it has ended */
	char text[SAID_MAX + 1];
};

static struct row rows[ROWS_MAX];
static int n_rows;

static void read_plan(void)
{
	static char parent[16];
	static struct buf b;

	buf_init(&b, PLAN_MAX);
	if (fd_read_all(STDIN_FILENO, &b) < 0 || b.len == 0 || b.data[b.len - 1] != '\0') {
		errno = EINVAL;
		broken("the plan");
	}
	(void)snprintf(parent, sizeof(parent), "%d", (int)getppid());
	for (char *p = b.data, *end = b.data + b.len; p < end; p += strlen(p) + 1) {
		struct row *r = &rows[n_rows];

		if (n_rows == ROWS_MAX || r->argc == ARGS_MAX) {
			errno = E2BIG;
			broken("the plan");
		}
		if (*p)
			r->argv[r->argc++] = streq(p, "@parent") ? parent : p;
		else
			n_rows++;
	}
}

static bool is_work(const struct attack *a)
{
	for (const struct attack *w = works; w->name; w++)
		if (w == a)
			return true;
	return false;
}

static _Noreturn void run(const struct row *r, int say, int hear)
{
	(void)close(hear);
	(void)setpgid(0, 0);
	if (dup2(say, STDOUT_FILENO) < 0 || dup2(say, STDERR_FILENO) < 0)
		_exit(PROBE_BROKEN);
	(void)close(say);
	_exit(r->attack->run(r->argc - 1, (char **)r->argv + 1) ? PROBE_OUT : PROBE_HELD);
}

static void start(struct row *r)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		broken("pipe");
	r->pid = fork();
	if (r->pid < 0)
		broken("fork");
	if (r->pid == 0)
		run(r, fds[1], fds[0]);
	(void)close(fds[1]);
	r->fd = fds[0];
}

/* Reads an attack's output. Text that does not fit is read and dropped, so that nobody blocks. */
static void hear(struct row *r)
{
	char text[4096];
	ssize_t n = read(r->fd, text, sizeof(text));
	size_t take;

	if (n <= 0) {
		closep(&r->fd);
		return;
	}
	take = (size_t)n < SAID_MAX - r->said ? (size_t)n : SAID_MAX - r->said;
	memcpy(r->text + r->said, text, take);
	r->said += take;
}

static void wait_for(struct row *r, int n)
{
	uint64_t end = now_ms() + ROW_MS;
	struct pollfd p[ROWS_MAX];
	int open;

	do {
		uint64_t now = now_ms();

		open = 0;
		for (int i = 0; i < n; i++) {
			p[i] = (struct pollfd){.fd = r[i].fd, .events = POLLIN};
			open += r[i].fd >= 0;
		}
		if (open == 0 || now >= end || poll(p, (nfds_t)n, (int)(end - now)) <= 0)
			return;
		for (int i = 0; i < n; i++)
			if (p[i].revents)
				hear(&r[i]);
	} while (open > 0);
}

static int reap(struct row *r)
{
	int status = 0, late = r->fd >= 0;

	/* Processes that the attack left behind end too. */
	(void)kill(-r->pid, SIGKILL);
	if (late)
		(void)kill(r->pid, SIGKILL);
	closep(&r->fd);
	if (waitpid(r->pid, &status, 0) < 0)
		return PROBE_BROKEN;
	if (late)
		(void)strncpy(r->text, "it does not come to an end", SAID_MAX);
	else if (WIFSIGNALED(status) && r->said == 0)
		(void)snprintf(r->text, SAID_MAX, "it was ended by signal %d", WTERMSIG(status));
	return !late && WIFEXITED(status) ? WEXITSTATUS(status) : PROBE_BROKEN;
}

/* Prints an attack's result as one line of printable text. */
static void report(int index, int code, const char *text)
{
	static const char mark[] = "GOT OUT: ";

	(void)printf("%d\t%d\t", index, code);
	while (*text == '\n')
		text++;
	for (const char *p = text; *p;) {
		if (strncmp(p, mark, strlen(mark)) == 0) {
			p += strlen(mark);
			continue;
		}
		if (*p == '\n')
			(void)fputs(p[1] ? "; " : "", stdout);
		else
			(void)putchar((unsigned char)*p < ' ' || *p == 0x7f ? '?' : *p);
		p++;
	}
	(void)putchar('\n');
	(void)fflush(stdout);
}

int suite(void)
{
	read_plan();
	for (int i = 0; i < n_rows; i++) {
		rows[i].fd = -1;
		rows[i].attack = rows[i].argc ? attack_find(rows[i].argv[0]) : NULL;
		if (!rows[i].attack || is_work(rows[i].attack))
			continue;
		start(&rows[i]);
		wait_for(&rows[i], 1);
		report(i, reap(&rows[i]), rows[i].text);
	}
	for (int i = 0; i < n_rows; i++)
		if (rows[i].attack && is_work(rows[i].attack))
			start(&rows[i]);
	wait_for(rows, n_rows);
	for (int i = 0; i < n_rows; i++)
		if (!rows[i].attack)
			report(i, PROBE_BROKEN, "there is no such attack");
		else if (is_work(rows[i].attack))
			report(i, reap(&rows[i]), rows[i].text);
	return 0;
}
