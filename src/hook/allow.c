#include "hook/allow.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"
#include "hook/shell/marks.h"
#include "hook/shell/mark-match.h"

static const char *unfit(const struct stat *st, const char *path, const char *project)
{
	cleanup_free char *real = NULL;
	struct err err = {0};

	if (!S_ISREG(st->st_mode))
		return "it is no file";
	if (st->st_uid != geteuid() && st->st_uid != 0)
		return "it is another user's";
	if (st->st_mode & 022)
		return "others may write it";
	if (path_real(path, &real, &err) < 0 || path_under(real, project))
		return "it lies in the project, where the agent writes";
	return NULL;
}

void allow_load(struct allow *ret, const char *config, const char *project)
{
	cleanup_free char *path = path_join(config, ALLOW_FILE);
	cleanup_buf struct buf b;
	cleanup_fd int fd = -1;
	const char *why = NULL;
	struct stat st;

	*ret = (struct allow){0};
	buf_init(&b, ALLOW_MAX);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd >= 0) {
		why = fstat(fd, &st) < 0 ? "it cannot be read" : unfit(&st, path, project);
		if (!why && fd_read_all(fd, &b) < 0)
			why = "it is longer than 64 KiB";
		if (!why)
			ret->text = buf_take(&b);
		else
			ret->notice = xasprintf("%s is not used: %s", path, why);
	}
	ret->path = take_ptr(path);
}

void allow_done(struct allow *a)
{
	free(a->text);
	free(a->path);
	free(a->notice);
}

static bool line_allows(const char *line, size_t n, const char *category, const char *text)
{
	cleanup_free char *pattern = NULL;
	size_t k = strlen(category);

	if (n <= k + 1 || memcmp(line, category, k) != 0 || (line[k] != ' ' && line[k] != '\t'))
		return false;
	while (k < n && (line[k] == ' ' || line[k] == '\t'))
		k++;
	while (n > k && (line[n - 1] == ' ' || line[n - 1] == '\r'))
		n--;
	pattern = xstrndup(line + k, n - k);
	for (char *p = pattern; *p; p++)
		*p = *p == '*' ? MARK_ANY : mark_plain(*p);
	return *pattern && pattern_may_be(pattern, text);
}

bool allow_has(const struct allow *a, enum category c, const char *text)
{
	for (const char *p = a->text; p && *p;) {
		size_t n = strcspn(p, "\n");

		if (*p != '#' && line_allows(p, n, category_info(c)->name, text))
			return true;
		p += n;
		p += *p == '\n';
	}
	return false;
}
