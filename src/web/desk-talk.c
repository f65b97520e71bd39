#include "web/desk.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"

/*
 * The conversations that ralph saves as Markdown below the inbox: TIME/SLUG.md, and of a loop
 * TIME-SANDBOX/TASK-iteration-NNN.md. Secrets were taken out when they were written. No link is
 * followed: an inbox may lie where an agent writes.
 */
#define TALK_FILES "*/*.md"
#define TALKS_MAX 20000 /* that are looked at */
#define TALKS_SHOWN 300 /* the newest */
#define TALK_WINDOW (128 * KiB)

static int find_all(const struct desk *d, struct strv *ret)
{
	int dir = d->talks ? open(d->talks, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW) : -1;

	if (dir >= 0)
		path_glob_beneath(dir, "", TALK_FILES, TALKS_MAX, ret);
	return dir;
}

json_t *desk_talks(struct desk *d)
{
	cleanup_strv struct strv all = {0};
	cleanup_fd int dir = find_all(d, &all);
	json_t *rows = json_array();

	for (size_t i = all.n; i > 0 && json_array_size(rows) < TALKS_SHOWN; i--) {
		char key[ROUTE_KEY_LEN + 1];
		struct stat st;

		if (fstatat(dir, all.v[i - 1], &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		web_key(all.v[i - 1], key);
		(void)json_array_append_new(rows, json_pack("{ss so sI sI}", "id", key, "path",
							    json_text(all.v[i - 1]), "bytes",
							    (json_int_t)st.st_size, "time",
							    (json_int_t)st.st_mtime));
	}
	return json_pack("{so sI}", "rows", rows, "all", (json_int_t)all.n);
}

static const char *path_of(const struct strv *all, const char *id)
{
	for (size_t i = 0; i < all->n; i++) {
		char key[ROUTE_KEY_LEN + 1];

		web_key(all->v[i], key);
		if (streq(key, id))
			return all->v[i];
	}
	return NULL;
}

/* A stretch of whole lines; a line that is longer than the stretch is cut. */
json_t *desk_talk(struct desk *d, const struct route *r, unsigned *status)
{
	cleanup_strv struct strv all = {0};
	cleanup_fd int dir = find_all(d, &all), fd = -1;
	const char *path = path_of(&all, r->word);
	cleanup_free char *text = xcalloc(TALK_WINDOW + 1, 1);
	struct stat st;
	ssize_t n;

	fd = path ? path_open_beneath(dir, path, O_RDONLY | O_NONBLOCK, 0) : -1;
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return desk_error(status, 404, "there is no such conversation");
	n = pread(fd, text, TALK_WINDOW, (off_t)r->at);
	if (n < 0)
		return desk_error(status, 404, "it cannot be read");
	if ((size_t)n == TALK_WINDOW) {
		const char *nl = memrchr(text, '\n', (size_t)n);

		n = nl ? nl + 1 - text : n;
	}
	text[n] = '\0';
	return json_pack("{so so sI sI sI}", "path", json_text(path), "text", json_text(text), "at",
			 (json_int_t)r->at, "next", (json_int_t)r->at + (json_int_t)n, "size",
			 (json_int_t)st.st_size);
}
