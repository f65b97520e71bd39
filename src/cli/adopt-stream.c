#include "cli/adopt-stream.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/proc.h"
#include "workspace/private/private-git.h"

extern char **environ;

#define STREAM_MAX ((uint64_t)8 * GiB) /* what git inside may write; the import's own limit */
#define PIECE (128 * KiB)

/* The git directory is mounted in its place there, as in every sandbox of its workspace. */
static void make_command(const struct places *p, const struct nested *n, const char *dir,
			 struct strv *argv)
{
	static const char *const start[] = {"run",	"--rm",	 "--agent", "command",
					    "--no-tty", "--net", "none",    "--name"};

	strv_take(argv, places_program(p, "cli"));
	for (size_t i = 0; i < ARRAY_SIZE(start); i++)
		strv_push(argv, start[i]);
	strv_pushf(argv, "adopt-%s", n->id);
	strv_push(argv, n->root);
	strv_push(argv, "--");
	strv_push(argv, "sh");
	strv_push(argv, "-c");
	/* Named, so that git does not find the repository above it. */
	strv_push(argv, "cd \"$1\" && GIT_DIR=$2 GIT_WORK_TREE=$1 exec sh -c \"$3\" </dev/null");
	strv_push(argv, "sh");
	strv_push(argv, dir);
	strv_push(argv, n->path);
	strv_push(argv, private_git_export);
}

static int copy_all(int from, int to)
{
	cleanup_free char *piece = xmalloc(PIECE);
	uint64_t left = STREAM_MAX;
	ssize_t n;
	int r = 0;

	while (r == 0 && (n = read(from, piece, PIECE)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 || (uint64_t)n > left)
			return n < 0 ? -errno : -EFBIG;
		left -= (uint64_t)n;
		r = fd_write_all(to, piece, (size_t)n);
	}
	return r;
}

/* A file without a name, on the disk where the git directory lies. */
static int open_file(const struct places *p, struct err *err)
{
	int fd = open(p->state, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	return fd < 0 ? err_sys(err, errno, "cannot make a file in '%s'", p->state) : fd;
}

int adopt_stream(const struct places *p, const struct nested *n, const char *dir, int *ret,
		 struct err *err)
{
	cleanup_strv struct strv argv = {0};
	cleanup_fd int file = open_file(p, err), in = -1, out = -1;
	struct child child = {.pid = -1, .pidfd = -1};
	struct run run = RUN_INIT;
	int line[2], r, code;

	if (file < 0)
		return file;
	if (pipe2(line, O_CLOEXEC) < 0)
		return err_sys(err, errno, "cannot create a pipe");
	in = line[0];
	out = line[1];
	make_command(p, n, dir, &argv);
	run.argv = argv.v;
	run.env = environ;
	run.stdio[1] = out;
	run.stdio[2] = STDERR_FILENO;
	r = run_start(&run, &child, err);
	if (r < 0)
		return r;
	closep(&out);
	r = copy_all(in, file);
	closep(&in);
	code = run_wait(&child);
	if (r < 0)
		return err_sys(err, -r, "cannot keep the commits of '%s'", n->path);
	if (code != 0)
		return err_set(err, EIO, "git could not read '%s' in a sandbox", n->path);
	*ret = take_fd(file);
	return lseek(*ret, 0, SEEK_SET) < 0 ? err_sys(err, errno, "cannot read it again") : 0;
}
