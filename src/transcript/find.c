#include "transcript/find.h"

#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <string.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/path.h"
#include "transcript/transcript.h"

static void closedirp(DIR **d)
{
	if (*d)
		(void)closedir(*d);
}

static void walk(int home, const char *dir, const char *pattern, struct strv *ret);

static void matches(int home, const char *dir, const char *first, const char *rest,
		    struct strv *ret)
{
	int fd = path_open_beneath(home, *dir ? dir : ".", O_RDONLY | O_DIRECTORY, 0);
	cleanup_(closedirp) DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;

	if (!d)
		closep(&fd);
	while (d && ret->n < TR_FOUND_MAX && (e = readdir(d))) {
		cleanup_free char *path = NULL;

		if (fnmatch(first, e->d_name, FNM_PERIOD) != 0)
			continue;
		path = *dir ? path_join(dir, e->d_name) : xstrdup(e->d_name);
		if (*rest)
			walk(home, path, rest, ret);
		else
			strv_push(ret, path);
	}
}

/* Walks one component of the pattern at a time; a component without '*' needs no readdir(). */
static void walk(int home, const char *dir, const char *pattern, struct strv *ret)
{
	size_t n = strcspn(pattern, "/");
	cleanup_free char *first = xstrndup(pattern, n);
	const char *rest = pattern + n + (pattern[n] == '/');

	if (strchr(first, '*') || !*rest) {
		matches(home, dir, first, rest, ret);
	} else {
		cleanup_free char *path = *dir ? path_join(dir, first) : xstrdup(first);

		walk(home, path, rest, ret);
	}
}

void tr_find(int home, const char *agent, struct strv *ret)
{
	const struct tr_reader *r = tr_reader_find(agent);

	if (r)
		walk(home, "", r->files, ret);
	strv_sort(ret);
}

void tr_find_subagents(int home, const char *agent, const char *conversation, struct strv *ret)
{
	const struct tr_reader *r = tr_reader_find(agent);
	cleanup_free char *dir = NULL, *below = NULL;
	size_t n = strlen(conversation);

	if (!r || !r->subagents || n < strlen(".jsonl"))
		return;
	dir = xstrndup(conversation, n - strlen(".jsonl"));
	below = path_join(dir, "subagents");
	matches(home, below, "agent-*.jsonl", "", ret);
	strv_sort(ret);
}
