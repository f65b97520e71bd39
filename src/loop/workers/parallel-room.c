/* The number of slots: as many as the user asks for, and as memory and disk allow. */
#include "loop/workers/parallel.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/statvfs.h>

#include "base/buf.h"
#include "base/path.h"
#include "compose/resource-limits.h"
#include "loop/workers/room.h"

#define MEMINFO_MAX (64 * KiB)
#define MEMORY_EACH (512 * MiB) /* of a coding agent and its tools, unless limits.memory is less */
#define DISK_EACH (64 * MiB)	/* of a worktree besides the checkout: logs, the sandbox's home */
#define CHECKOUTS 2		/* of a worktree: its files, and what a build makes of them */
#define FILES_EACH 4
#define FILES_STREAM 4	     /* of a command that gives workers elsewhere */
#define FILES_PLACED 2	     /* of each worker of it */
#define FILES_OWN 128	     /* descriptors of the loop itself */
#define DISK_OWN (256 * MiB) /* stays free for everything else */

static uint64_t less(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t without(uint64_t all, uint64_t own)
{
	return all > own ? all - own : 0;
}

/* Memory that is available on the machine and that an enclosing cgroup allows. */
static int look_memory(uint64_t *ret, struct err *err)
{
	cleanup_buf struct buf b;
	int r;

	buf_init(&b, MEMINFO_MAX);
	r = path_read(AT_FDCWD, "/proc/meminfo", &b);
	if (r < 0)
		return err_sys(err, -r, "cannot read /proc/meminfo");
	r = limits_memory_share(ret, err);
	if (r == 0)
		*ret = less(*ret, room_meminfo(buf_str(&b), "MemAvailable:"));
	return r;
}

/* Worktrees are next to the repository. */
static int look_disk(struct loop *l, struct room *ret, struct err *err)
{
	struct statvfs v;
	uint64_t bytes = 0;
	int r = repo_size(l->repo, &bytes, err);

	if (r < 0)
		return r;
	if (statvfs(repo_root(l->repo), &v) < 0)
		return err_sys(err, errno, "cannot look at the file system of '%s'",
			       repo_root(l->repo));
	ret->disk = without((uint64_t)v.f_bavail * v.f_frsize, DISK_OWN);
	ret->disk_each = POOL_PER_SLOT * (CHECKOUTS * bytes + DISK_EACH);
	return 0;
}

static int look(struct loop *l, struct room *ret, struct err *err)
{
	const uint64_t limit = l->config->limits.memory;
	struct rlimit files = {0};
	int r = look_memory(&ret->memory, err);

	ret->memory_each = limit ? less(limit, MEMORY_EACH) : MEMORY_EACH;
	(void)getrlimit(RLIMIT_NOFILE, &files);
	ret->files = without(files.rlim_cur, FILES_OWN);
	ret->files_each = FILES_EACH;
	return r < 0 ? r : look_disk(l, ret, err);
}

/* The sandbox of the loop is tested once for all its workers, which have the same settings. */
static int try_sandbox(struct loop *l, struct err *err)
{
	int r = loop_sandbox_start_checks(l, err);

	loop_sandbox_stop(l);
	return r;
}

/* Workers elsewhere need descriptors here, and no memory or disk to speak of. */
static int open_placed(struct loop *l, const char *name, struct err *err)
{
	struct rlimit files = {0};
	uint64_t fit, each;

	l->placement = config_place(l->config, name);
	if (!l->placement)
		return err_usage(err,
				 "there is no placement '%s'; describe it in fleet.places of your "
				 "own config.yaml",
				 name);
	if (l->q.direct || l->shared)
		return err_usage(err, "--place needs a sandbox of ralph's own, which --no-sandbox "
				      "and the engine sbx do not have");
	if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
	each = FILES_PLACED +
	       (l->placement->slots ? (FILES_STREAM - 1) / l->placement->slots + 1 : FILES_STREAM);
	fit = without(files.rlim_cur, FILES_OWN) / each;
	l->slots = (size_t)less(fit ? fit : 1, l->q.parallel);
	show_line(&l->show, l->slots < l->q.parallel ? STYLE_YELLOW : STYLE_NONE,
		  "up to %zu task%s at once on %s%s", l->slots, l->slots == 1 ? "" : "s", name,
		  l->slots < l->q.parallel ? ", as many as the limit of open files allows" : "");
	return try_sandbox(l, err);
}

int parallel_open(struct loop *l, struct err *err)
{
	const char *place = l->config->fleet.place;
	const char *what = NULL;
	struct room room = {0};
	uint64_t most;
	int r;

	l->slots = 1;
	if (place && *place && l->work && l->repo && l->mode != LOOP_PLAN)
		return open_placed(l, place, err);
	if (l->q.parallel < 2 || !l->work || !l->repo || l->mode == LOOP_PLAN)
		return 0;
	r = look(l, &room, err);
	if (r < 0)
		return r;
	most = room_slots(&room, &what);
	l->slots = (size_t)less(most, l->q.parallel);
	show_line(&l->show, l->slots < l->q.parallel ? STYLE_YELLOW : STYLE_NONE,
		  "up to %zu tasks at once%s; %llu fit in %s", l->slots,
		  l->slots < l->q.parallel ? ", fewer than --parallel asks for" : "",
		  (unsigned long long)most, what);
	return l->shared ? 0 : try_sandbox(l, err);
}
