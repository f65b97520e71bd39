/*
 * libexec/ralph/loop FD: the loop program; `ralph build`, `plan`, `loop` and `resume` exec it. FD
 * holds the request of the command line; see loop-request.h.
 */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/parse.h"
#include "base/text/signs.h"
#include "loop/logs.h"
#include "loop/loop.h"

static int run(int argc, char **argv, struct err *err)
{
	struct loop l = {0};
	uint64_t fd = 0;
	int r;

	if (argc > 1 && streq(argv[1], "logs"))
		return logs_main(argc - 2, argv + 2, err);
	if (argc != 2 || parse_uint(argv[1], 3, 1023, &fd) < 0)
		return err_usage(err, "this program is started by: ralph build");
	r = loop_open(&l, (int)fd, err);
	if (r == 0)
		r = loop_run(&l, err);
	loop_close(&l);
	return r;
}

int main(int argc, char **argv)
{
	struct err err = {0};
	int r;

	/* The reader of our output may go away; the loop continues. */
	(void)signal(SIGPIPE, SIG_IGN);
	signs_setup();
	r = run(argc, argv, &err);
	(void)fflush(NULL);
	if (r >= 0)
		return r;
	log_error("loop", "%s", err.msg);
	return err_exit_code(&err, EXIT_RUNTIME);
}
