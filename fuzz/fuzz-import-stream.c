#include "fuzz.h"

#include "base/buf.h"
#include "git/libgit.h"
#include "repo/import/import.h"
#include "repo/take-stream.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* What is let through names a reference that an import may touch, and some object. */
static void check(const struct import *im)
{
	if (im->head && strncmp(im->head, "refs/heads/", 11) != 0)
		abort();
	for (size_t i = 0; i < im->n_rows; i++) {
		const char *ref = im->rows[i].ref;

		if (git_oid_is_zero(&im->rows[i].inside) || strstr(ref, "..") || strstr(ref, "//"))
			abort();
		if (strcmp(ref, "HEAD") != 0 && strncmp(ref, "refs/heads/", 11) != 0 &&
		    strncmp(ref, "refs/tags/", 10) != 0 && strcmp(ref, "refs/stash") != 0 &&
		    strncmp(ref, "refs/notes/", 11) != 0)
			abort();
	}
}

static void done(struct import *im)
{
	for (size_t i = 0; i < im->n_rows; i++)
		free(im->rows[i].ref);
	free(im->rows);
	free(im->head);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool started;
	int fd = memfd_create("stream", MFD_CLOEXEC);
	struct repo_stream *s = repo_stream_new(fd);
	struct import im = {0};
	struct err err = {0};
	struct buf line;
	int r;

	if (!started)
		gitlib_start();
	started = true;
	if (fd < 0 || write(fd, data, size) != (ssize_t)size || lseek(fd, 0, SEEK_SET) != 0)
		abort();
	buf_init(&line, REPO_LINE_MAX);
	if (size)
		repo_stream_enter(s, data[0]);
	r = repo_stream_line(s, &line);
	if (import_take_lines(&im, s, &line, r, &err) == 0)
		check(&im);
	(void)repo_stream_leave(s);
	done(&im);
	buf_done(&line);
	free(s);
	(void)close(fd);
	return 0;
}
