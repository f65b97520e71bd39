/* A directory of specs: chooses the one to work on next. */
#include "work/source.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/path.h"

#define SPECS_MAX 500

static int list(const char *dir, struct strv *ret, struct err *err)
{
	DIR *d = opendir(dir);
	struct dirent *de;
	struct stat st;
	int r = 0;

	if (!d)
		return err_sys(err, errno, "cannot open '%s'", dir);
	while (r == 0 && (de = readdir(d))) {
		const char *dot = strrchr(de->d_name, '.');

		if (de->d_name[0] == '.' || !dot || !streq(dot, ".md") ||
		    fstatat(dirfd(d), de->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    !S_ISREG(st.st_mode))
			continue;
		if (ret->n == SPECS_MAX)
			r = err_usage(err, "'%s' has more than %d files; name one", dir, SPECS_MAX);
		strv_push(ret, de->d_name);
	}
	(void)closedir(d);
	strv_sort(ret);
	return r;
}

static bool all_done(const struct listing *l)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->tasks[i]->said != TASK_DONE)
			return false;
	return true;
}

/* Returns 1 when work on this file can start, else 0. *why is set when it waits for another
 * spec. Files that are no specs are skipped. */
static int can_start(const char *workspace, int root, const char *path, struct err *why,
		     struct err *err)
{
	cleanup_(source_freep) struct source *s = NULL;
	cleanup_listing struct listing l = {0};
	cleanup_buf struct buf text;
	int r;

	buf_init(&text, WORK_FILE_MAX);
	r = source_find(workspace, root, false, path, &s, err);
	if (r == 0)
		r = source_text(s, root, &text, err);
	if (r < 0)
		return r;
	/* Notes next to the specs are not parsed. */
	if (strncmp(buf_str(&text), "---", 3) != 0)
		return 0;
	r = s->format->read(s->name, buf_str(&text), text.len, &l, err);
	if (r < 0)
		return r;
	if (!l.front || all_done(&l))
		return 0;
	return source_ready(s, root, &l, why) == 0 ? 1 : 0;
}

int specs_choose(const char *workspace, int root, const char *dir, char **ret, struct err *err)
{
	cleanup_strv struct strv names = {0};
	struct err why = {0};
	int r = list(dir, &names, err);

	for (size_t i = 0; r == 0 && i < names.n; i++) {
		cleanup_free char *path = path_join(dir, names.v[i]);

		r = can_start(workspace, root, path, &why, err);
		if (r > 0) {
			*ret = take_ptr(path);
			return 0;
		}
	}
	if (r < 0)
		return r;
	if (why.msg[0])
		return err_set(err, ENODATA, "no spec can be begun: %s", why.msg);
	return err_set(err, ENODATA,
		       "'%s' has no spec that is left to do: a .md file that begins with a line "
		       "'---'",
		       dir);
}

bool specs_is_any(const char *workspace, const char *wish, const char *source)
{
	cleanup_free char *dir = path_join(workspace, wish), *file = path_join(workspace, source);
	cleanup_free char *real = realpath(dir, NULL), *in = realpath(file, NULL), *its = NULL;
	struct stat st;

	if (!real || !in || stat(real, &st) < 0 || !S_ISDIR(st.st_mode))
		return false;
	its = path_dir(in);
	return streq(its, real);
}
