/*
 * libexec/ralph/worker [--slots N] [--keep-job] | --hold: the worker on a node; `ralph worker` execs it. Standard input
 * and output are the stream (wire/fleet.h), and nothing else ever writes there.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/parse.h"
#include "base/text/signs.h"
#include "worker/node.h"

/* The stream moves to descriptors of its own. Whoever prints to stdout prints to stderr. */
static int take_stream(struct node *n, struct err *err)
{
	cleanup_fd int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	n->in_fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 10);
	n->out_fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 10);
	if (n->in_fd < 0 || n->out_fd < 0 || null < 0 || dup2(null, STDIN_FILENO) < 0 ||
	    dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		return err_sys(err, errno, "cannot take standard input and output");
	return 0;
}

static int read_options(struct node *n, int argc, char **argv, struct err *err)
{
	for (int i = 1; i < argc; i++) {
		uint64_t slots = 0;

		if (streq(argv[i], "--keep-job")) {
			n->keep_job = true;
			continue;
		}
		if (!streq(argv[i], "--slots") || i + 1 == argc ||
		    parse_uint(argv[++i], 1, FLEET_SLOTS_MAX, &slots) < 0)
			return err_usage(err, "this program is started by: ralph worker");
		n->max_slots = slots;
	}
	return 0;
}

static int run(int argc, char **argv, struct err *err)
{
	struct node n = {.in_fd = -1,
			 .hold = -1,
			 .out_fd = -1,
			 .signals = -1,
			 .lock = -1,
			 .code = -1,
			 .max_slots = 1};
	int r;

	if (argc > 1 && (streq(argv[1], "unpack") || streq(argv[1], "pack")))
		return slot_git_main(argc, argv, err);
	/* Batch systems and pods start programs with little of an environment. */
	if (setenv("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", 0) < 0)
		return err_sys(err, errno, "cannot set PATH");
	if (argc == 2 && streq(argv[1], "--hold"))
		return hold_run(err);
	r = read_options(&n, argc, argv, err);
	if (r == 0)
		r = take_stream(&n, err);
	return r < 0 ? r : node_run(&n, err);
}

int main(int argc, char **argv)
{
	struct err err = {0};
	int r;

	(void)signal(SIGPIPE, SIG_IGN);
	signs_setup();
	r = run(argc, argv, &err);
	if (r >= 0)
		return r;
	log_error("worker", "%s", err.msg);
	return err_exit_code(&err, EXIT_RUNTIME);
}
