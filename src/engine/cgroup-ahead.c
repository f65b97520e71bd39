#include "engine/cgroup.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/parse.h"

#define AHEAD "ralph-ahead-"

char *cgroup_ahead_name(pid_t supervisor)
{
	return xasprintf(AHEAD "%d", (int)supervisor);
}

int cgroup_ahead(const struct cgroup_source *src, pid_t supervisor, struct cgroup *ret,
		 struct err *err)
{
	cleanup_(cgroup_support_done) struct cgroup_support s = {0};
	cleanup_free char *name = cgroup_ahead_name(supervisor);
	int r = cgroup_probe(src, &s, err);

	*ret = (struct cgroup){0};
	if (r < 0 || s.method == CGROUP_NONE || s.method == CGROUP_V1)
		return r;
	if (s.method != CGROUP_V2)
		return err_set(err, ENOTSUP, "the service manager makes the cgroup");
	return cgroup_create(&s, name, &(const struct cgroup_limits){0}, ret, err);
}

/* A directory that somebody lives in cannot be removed: no signal, so that a supervisor that cannot be
 * seen from here keeps its sandbox. */
static void sweep(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;

	while (d && (e = readdir(d)) != NULL) {
		uint64_t pid;

		if (strncmp(e->d_name, AHEAD, strlen(AHEAD)) == 0 &&
		    parse_uint(e->d_name + strlen(AHEAD), 1, INT32_MAX, &pid) == 0 &&
		    kill((pid_t)pid, 0) < 0 && errno == ESRCH)
			(void)unlinkat(dirfd(d), e->d_name, AT_REMOVEDIR);
	}
	if (d)
		(void)closedir(d);
}

void cgroup_ahead_sweep(const struct cgroup_support *s)
{
	for (size_t i = 0; i < s->n_places; i++)
		if (s->place[i].v2)
			sweep(s->place[i].dir);
}
