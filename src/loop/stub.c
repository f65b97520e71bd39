/*
 * libexec/ralph/loop FD: the loop, as `ralph build`, `plan`, `loop` and `resume` become it. FD is
 * where the command line has written what it wants; see request.h.
 */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/parse.h"
#include "loop/request.h"

static int run(int argc, char **argv, struct err *err)
{
	cleanup_(loop_request_done) struct loop_request q = {0};
	uint64_t fd = 0;
	int r;

	if (argc != 2 || parse_uint(argv[1], 3, 1023, &fd) < 0)
		return err_usage(err, "this program is started by: ralph build");
	r = loop_request_read((int)fd, &q, err);
	(void)close((int)fd);
	if (r < 0)
		return r;
	return err_set(err, ENOSYS, "the loop is not here yet");
}

int main(int argc, char **argv)
{
	struct err err = {0};
	int r = run(argc, argv, &err);

	if (r >= 0)
		return r;
	log_error("loop", "%s", err.msg);
	return err_exit_code(&err, EXIT_RUNTIME);
}
