#include "cred/run.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/strv.h"

static bool is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & 0111);
}

void cred_find_programs(const struct cred_host *h, const char *name, struct strv *ret)
{
	const char *path = cred_host_env(h, "PATH");
	cleanup_strv struct strv dirs = {0};

	strv_split(&dirs, path ? path : "/usr/local/bin:/usr/bin:/bin", ':');
	for (size_t i = 0; i < dirs.n; i++) {
		cleanup_free char *file = path_join(dirs.v[i], name);

		/* A relative directory is the workspace's to fill. */
		if (file[0] == '/' && is_program(file))
			strv_take(ret, take_ptr(file));
	}
}

char *cred_find_program(const struct cred_host *h, const char *name)
{
	cleanup_strv struct strv all = {0};

	cred_find_programs(h, name, &all);
	return all.n ? xstrdup(all.v[0]) : NULL;
}

static void strip_line_ends(char *s)
{
	size_t n = strlen(s);

	while (n && (s[n - 1] == '\n' || s[n - 1] == '\r'))
		s[--n] = '\0';
}

int cred_run(const struct cred_host *h, char *const argv[], const char *in, int timeout_ms,
	     char **ret_out, int *ret_code, struct err *err)
{
	cleanup_free char *program =
		argv[0][0] == '/' ? xstrdup(argv[0]) : cred_find_program(h, argv[0]);
	cleanup_secret char *out = NULL;
	cleanup_fd int stdin_fd = -1;
	struct run run = RUN_INIT;
	cleanup_strv struct strv args;
	int r;

	strv_init(&args);
	if (!program)
		return err_set(err, ENOENT, "there is no '%s' on your PATH", argv[0]);
	strv_push(&args, program);
	for (size_t i = 1; argv[i]; i++)
		strv_push(&args, argv[i]);
	if (in) {
		stdin_fd = fd_memfd("ralph-in", in, strlen(in));
		if (stdin_fd < 0)
			return err_sys(err, -stdin_fd, "cannot create a memory file");
	}
	run.argv = args.v;
	run.env = h->environ;
	run.dir = h->home; /* never the workspace: programs read settings from where they stand */
	run.stdio[0] = stdin_fd;
	run.flags = RUN_DIE_WITH_US;
	r = run_collect(&run, timeout_ms, CRED_OUT_MAX, &out, ret_code, err);
	if (r < 0)
		return r;
	strip_line_ends(out);
	if (ret_out)
		*ret_out = take_ptr(out);
	return 0;
}
