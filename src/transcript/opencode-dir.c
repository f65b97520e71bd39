#include "transcript/opencode-dir.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/strv.h"

#define DB_PATH ".local/share/opencode/opencode.db"
#define READ_MS (20 * 60 * 1000)
#define SAID_MAX (4 * KiB)

/* Returns size and time of both files as text, for comparison. */
static char *state_of(int db, int wal)
{
	struct stat a, b = {0};

	if (fstat(db, &a) < 0 || !S_ISREG(a.st_mode) || (wal >= 0 && fstat(wal, &b) < 0))
		return NULL;
	return xasprintf("%lld %lld.%09ld %lld %lld.%09ld", (long long)a.st_size,
			 (long long)a.st_mtim.tv_sec, a.st_mtim.tv_nsec, (long long)b.st_size,
			 (long long)b.st_mtim.tv_sec, b.st_mtim.tv_nsec);
}

static int run_program(const char *program, const char *scratch, int db, int wal, struct err *err)
{
	cleanup_strv struct strv argv = {0};
	cleanup_free char *said = NULL;
	struct run run = RUN_INIT;
	int code = 0, r;

	strv_push(&argv, program);
	strv_push(&argv, scratch);
	if (wal >= 0) {
		strv_pushf(&argv, "%d", wal);
		run_keep(&run, wal);
	}
	run.argv = argv.v;
	run.stdio[0] = db;
	run.stdio[2] = STDERR_FILENO;
	run.flags = RUN_DIE_WITH_US;
	r = run_collect(&run, READ_MS, SAID_MAX, &said, &code, err);
	if (r == 0 && code != 0)
		r = err_set(err, EIO, "not all of opencode's database could be read");
	return r;
}

int opencode_dir(int home, const char *program, const char *scratch, const char *before,
		 char **ret_state, bool *ret_partly, struct err *err)
{
	cleanup_fd int db = path_open_beneath(home, DB_PATH, O_RDONLY | O_NONBLOCK, 0);
	cleanup_fd int wal = path_open_beneath(home, DB_PATH "-wal", O_RDONLY | O_NONBLOCK, 0);
	cleanup_free char *state = db < 0 ? NULL : state_of(db, wal);
	int fd, r;

	*ret_partly = false;
	if (!state || (before && streq(before, state)))
		return -ENOENT;
	r = path_remove_tree(AT_FDCWD, scratch, err);
	if (r == 0 && mkdir(scratch, 0700) < 0)
		r = err_sys(err, errno, "cannot make '%s'", scratch);
	if (r < 0)
		return r;
	*ret_partly = run_program(program, scratch, db, wal, err) < 0;
	fd = open(scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return err_sys(err, errno, "cannot open '%s'", scratch);
	*ret_state = take_ptr(state);
	return fd;
}
