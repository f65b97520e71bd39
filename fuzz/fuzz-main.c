/* Replays files, or all files of directories, through a fuzz target: without libFuzzer a corpus is
 * a test, so an input that once crashed stays one. */
#include "fuzz.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/path.h"

#define INPUT_MAX (16 * MiB)

static int replay_file(const char *path)
{
	cleanup_buf struct buf b;
	cleanup_free uint8_t *exact = NULL;
	int r;

	buf_init(&b, INPUT_MAX);
	r = path_read(AT_FDCWD, path, &b);
	if (r < 0) {
		(void)fprintf(stderr, "cannot read '%s': %s\n", path, strerror(-r));
		return r;
	}
	/* A copy of exactly this size, so that a sanitizer sees one byte too far. */
	exact = xmalloc(b.len);
	if (b.len)
		memcpy(exact, b.data, b.len);
	(void)LLVMFuzzerTestOneInput(exact, b.len);
	return 1;
}

/* The number of inputs that were replayed, or -errno. */
static int replay(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *d;
	int n = 0;

	if (!dir)
		return replay_file(path);
	while (n >= 0 && (d = readdir(dir))) {
		cleanup_free char *file = path_join(path, d->d_name);
		int r;

		if (d->d_name[0] == '.')
			continue;
		r = replay_file(file);
		n = r < 0 ? r : n + 1;
	}
	(void)closedir(dir);
	return n;
}

int main(int argc, char **argv)
{
	int total = 0;

	for (int i = 1; i < argc; i++) {
		int n = replay(argv[i]);

		if (n < 0)
			return 1;
		total += n;
	}
	(void)printf("%d inputs\n", total);
	return total ? 0 : 1;
}
