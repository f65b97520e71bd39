#include "cli/frame/program.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/log.h"
#include "cli/frame/command.h"

/*
 * With a standard descriptor closed, the next file opened would take its number and receive our
 * output. Each gap is filled with something that cannot be used for its purpose, so that a write
 * still fails.
 */
int program_fill_standard_fds(void)
{
	for (int fd = 0; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) >= 0)
			continue;
		/* Standard descriptors are the ones that cross exec. */
		if (open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
			return -errno;
	}
	return 0;
}

/* A full disk or a reader that is gone shows only when the last bytes leave. With SIGPIPE at its
 * default, a closed pipe has ended us quietly by then, as it should. */
static int close_stdout(void)
{
	bool failed = ferror(stdout) != 0;

	errno = 0;
	/* A stream that failed before keeps no reason: the same write is tried once more for it. */
	if (failed && write(STDOUT_FILENO, "\n", 1) == 1)
		errno = 0;
	if (fclose(stdout) == 0 && !failed)
		return 0;
	if (errno)
		log_error("cli", "cannot write to standard output: %s", strerror(errno));
	else
		log_error("cli", "cannot write to standard output");
	return -EIO;
}

int program_main(const struct command *const *cmds, int argc, char **argv)
{
	int code;

	if (program_fill_standard_fds() < 0)
		return EXIT_RUNTIME;
	code = cli_main(cmds, argc, argv);
	if (close_stdout() < 0 && code == EXIT_OK)
		code = EXIT_RUNTIME;
	return code;
}
