#include "image/image-memo.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"
#include "config/trust.h"

#define NOTE_MAX (16 * KiB)
#define NOTES_MAX 4096

static char *dir_of(const struct places *p, const char *kind)
{
	return xasprintf("%s/images/%s", p->state, kind);
}

static char *name_of(const char *about)
{
	char key[TRUST_HASH_LEN + 1];

	trust_hash(about, strlen(about), key);
	return xasprintf("%s.json", key);
}

static json_t *read_memo(const char *dir, const char *name)
{
	cleanup_free char *path = path_join(dir, name);
	cleanup_buf struct buf b;
	struct err ignored;
	json_t *j = NULL;

	buf_init(&b, NOTE_MAX);
	if (path_read(AT_FDCWD, path, &b) < 0 || json_parse(buf_str(&b), b.len, &j, &ignored) < 0)
		return NULL;
	return j;
}

json_t *image_memo_get(const struct places *p, const char *kind, const char *about)
{
	cleanup_free char *dir = dir_of(p, kind), *name = name_of(about);

	return read_memo(dir, name);
}

int image_memo_set(const struct places *p, const char *kind, const char *about, const json_t *memo,
		   struct err *err)
{
	cleanup_free char *dir = dir_of(p, kind), *name = name_of(about), *text = NULL;
	cleanup_fd int fd = -1;
	int r = path_mkdirs(dir, 0700, err);

	if (r < 0)
		return r;
	text = memo ? json_dumps(memo, JSON_INDENT(2)) : NULL;
	if (!text)
		return 0;
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	r = fd < 0 ? -errno : path_write_atomic(fd, name, text, strlen(text), 0600, 0);
	return r < 0 ? err_sys(err, -r, "cannot write '%s/%s'", dir, name) : 0;
}

json_t *image_memos(const struct places *p, const char *kind)
{
	cleanup_free char *dir = dir_of(p, kind);
	json_t *all = json_array();
	DIR *d = opendir(dir);
	struct dirent *de;

	while (d && json_array_size(all) < NOTES_MAX && (de = readdir(d))) {
		size_t len = strlen(de->d_name);
		json_t *memo = NULL;

		if (len == TRUST_HASH_LEN + 5 && streq(de->d_name + TRUST_HASH_LEN, ".json"))
			memo = read_memo(dir, de->d_name);
		if (memo)
			(void)json_array_append_new(all, memo);
	}
	if (d)
		(void)closedir(d);
	return all;
}
