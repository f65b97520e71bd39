/* Methods, paths and git of a rule as people write them. */
#include "policy/request.h"

#include "policy/git.h"

#include <string.h>

static int read_method(const char *m, struct strv *ret, struct err *err)
{
	if (m[0] == '\0' || strspn(m, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-") != strlen(m))
		return err_usage(err, "'%s' is not a method; write it in capitals, as in 'GET'", m);
	if (streq(m, "CONNECT"))
		return err_usage(err, "'CONNECT' cannot be allowed on an inspected host");
	strv_push(ret, m);
	return 0;
}

static int read_path(const char *path, struct strv *ret, struct err *err)
{
	cleanup_buf struct buf b;
	size_t path_n;

	buf_init(&b, REQUEST_TARGET_MAX);
	if (path[0] != '/')
		return err_usage(err, "'%s': a path begins with '/'", path);
	if (strpbrk(path, "?*"))
		return err_usage(err,
				 "'%s': a path is a prefix without '*' or '?'; it covers "
				 "everything below it",
				 path);
	if (request_canon(path, strlen(path), &b, &path_n) < 0)
		return err_usage(
			err, "'%s': a path has no empty or '..' segments and no odd escapes", path);
	strv_push(ret, buf_str(&b));
	return 0;
}

static int read_git(const char *verb, struct strv *ret, struct err *err)
{
	if (!git_verb_is_valid(verb))
		return err_usage(err,
				 "'%s' is not a git rule; write 'fetch', 'fetch OWNER/REPO' or "
				 "'push OWNER/REPO'",
				 verb);
	strv_push(ret, verb);
	return 0;
}

static const struct {
	size_t offset;
	int (*read)(const char *word, struct strv *ret, struct err *err);
} lists[] = {
	{offsetof(struct net_rule, methods), read_method},
	{offsetof(struct net_rule, paths), read_path},
	{offsetof(struct net_rule, git), read_git},
};

int request_read_lists(struct net_rule *rule, struct err *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(lists); i++) {
		struct strv *list = (void *)((char *)rule + lists[i].offset), canon = {0};

		for (size_t k = 0; r == 0 && k < list->n; k++)
			r = lists[i].read(list->v[k], &canon, err);
		strv_done(list);
		*list = canon;
	}
	return r;
}
