#include "loop/tree/kept-files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "work/shared-file.h"
#include "work/work.h"

void kept_files_read(int root, const struct strv *paths, struct kept_files *k)
{
	k->texts = xcalloc(paths->n + 1, sizeof(*k->texts));
	for (size_t i = 0; i < paths->n; i++) {
		struct buf *b = &k->texts[k->paths.n];

		buf_init(b, WORK_FILE_MAX);
		if (shared_file_read(root, paths->v[i], b) == SHARED_FILE_READ)
			strv_push(&k->paths, paths->v[i]);
		else
			buf_done(b);
	}
}

int kept_files_put(int root, struct kept_files *k, bool missing, struct err *err)
{
	struct stat st;
	int r = 0;

	for (size_t i = 0; i < k->paths.n; i++) {
		if (r < 0 ||
		    (missing && fstatat(root, k->paths.v[i], &st, AT_SYMLINK_NOFOLLOW) == 0))
			continue;
		r = shared_file_put(root, k->paths.v[i], buf_str(&k->texts[i]), k->texts[i].len,
				    shared_file_mode(root, k->paths.v[i], 0644), err);
	}
	kept_files_done(k);
	return r;
}

void kept_files_done(struct kept_files *k)
{
	for (size_t i = 0; i < k->paths.n; i++)
		buf_done(&k->texts[i]);
	strv_done(&k->paths);
	free(k->texts);
	*k = (struct kept_files){0};
}
