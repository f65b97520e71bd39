#include "engine/container/container.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/proc.h"
#include "base/find-program.h"
#include "engine/probe-client.h"

#define OUTPUT_MAX (4 * MiB)
#define COMPLAINT_MAX (64 * KiB)

int container_find(const struct container_dialect *d, char **ret, struct err *err)
{
	*ret = path_find_program(d->program, getenv("PATH"));
	if (*ret)
		return 0;
	(void)err_set(err, ENOENT,
		      "there is no '%s' on PATH; install it (Debian: apt install %s), or use "
		      "another engine",
		      d->program, d->program[0] == 'd' ? "docker.io" : "podman");
	err->exit_code = EXIT_RALPH;
	return -ENOENT;
}

/* The last line that says something: what comes before are warnings. */
static void take_complaint(int fd, char *ret, size_t size)
{
	cleanup_strv struct strv lines = {0};
	cleanup_buf struct buf b;

	buf_init(&b, COMPLAINT_MAX);
	ret[0] = '\0';
	if (lseek(fd, 0, SEEK_SET) < 0 || fd_read_all(fd, &b) < 0)
		return;
	strv_split(&lines, buf_str(&b), '\n');
	for (size_t i = lines.n; i-- > 0;) {
		if (strncmp(lines.v[i], "See '", 5) == 0 || strncmp(lines.v[i], "Run '", 5) == 0)
			continue; /* docker's own advice */
		(void)snprintf(ret, size, "%s", lines.v[i]);
		return;
	}
}

int container_call(const char *program, char *const *args, int timeout_ms, char **ret_out,
		   struct err *err)
{
	cleanup_fd int complaint = memfd_create("ralph-complaint", MFD_CLOEXEC);
	cleanup_strv struct strv argv = {0}, env = {0};
	cleanup_free char *out = NULL;
	struct run run = RUN_INIT;
	char said[256];
	int code = 0, r;

	if (complaint < 0)
		return err_sys(err, errno, "cannot create a memory file");
	strv_push(&argv, program);
	for (; *args; args++)
		strv_push(&argv, *args);
	host_client_env(&env);
	run.argv = argv.v;
	run.env = env.v;
	run.dir = "/";
	run.stdio[2] = complaint;
	r = run_collect(&run, timeout_ms, OUTPUT_MAX, &out, &code, err);
	if (r < 0)
		return err_wrap(err, r, "%s %s", program, argv.v[1]);
	take_complaint(complaint, said, sizeof(said));
	if (code != 0)
		return err_set(err, EIO, "%s %s: %s", program, argv.v[1],
			       said[0] ? said : "it failed without a word");
	if (ret_out)
		*ret_out = take_ptr(out);
	return 0;
}
