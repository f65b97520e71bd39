#include "repo/repo-parts.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/fd.h"

/*
 * git locks a file NAME by creating NAME.lock, and a killed git leaves it behind. The owner of a
 * lock is unknown. So a lock is removed only if it was created after a time that the caller knows,
 * when a child of ralph was killed, and if it is older than a running git would keep it.
 */
#define AGE_MS 2000
#define STEP_MS 100
#define DEPTH_MAX 16
#define ENTRIES_MAX 200000

struct locks {
	int64_t since;
	unsigned removed, entries;
};

static bool is_lock(const char *name)
{
	size_t n = strlen(name);

	return n > strlen(".lock") && streq(name + n - strlen(".lock"), ".lock");
}

static int64_t ms_of(const struct timespec *t)
{
	return (int64_t)t->tv_sec * 1000 + t->tv_nsec / 1000000;
}

/* True when the lock still exists after it has reached the age limit. */
static bool stays(int dir, const char *name, struct stat *st)
{
	ino_t first = st->st_ino;

	for (int i = 0; i <= AGE_MS / STEP_MS; i++) {
		const struct timespec step = {.tv_nsec = STEP_MS * 1000000L};
		struct timespec now;

		if (fstatat(dir, name, st, AT_SYMLINK_NOFOLLOW) < 0 || st->st_ino != first)
			return false;
		(void)clock_gettime(CLOCK_REALTIME, &now);
		if (ms_of(&now) - ms_of(&st->st_ctim) >= AGE_MS)
			return true;
		(void)nanosleep(&step, NULL);
	}
	return true;
}

static void each(struct locks *l, int parent, const char *name, int depth)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *de;

	if (!d) {
		closep(&fd);
		return;
	}
	while ((de = readdir(d)) && l->entries++ < ENTRIES_MAX) {
		struct stat st;

		if (de->d_name[0] == '.' ||
		    fstatat(dirfd(d), de->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		/* Objects have no locks. The directories of submodules are not scanned. */
		if (S_ISDIR(st.st_mode) && depth < DEPTH_MAX && !streq(de->d_name, "objects") &&
		    !streq(de->d_name, "modules"))
			each(l, dirfd(d), de->d_name, depth + 1);
		if (S_ISREG(st.st_mode) && is_lock(de->d_name) && st.st_ctim.tv_sec >= l->since &&
		    stays(dirfd(d), de->d_name, &st) && unlinkat(dirfd(d), de->d_name, 0) == 0)
			l->removed++;
	}
	(void)closedir(d);
}

static int do_clear(struct repo_job *j, json_t *out, struct err *err)
{
	const int64_t *since = j->arg;
	struct locks l = {.since = *since};

	each(&l, AT_FDCWD, j->repo->git.common, 0);
	(void)json_object_set_new(out, "removed", json_integer(l.removed));
	return 0;
}

int repo_clear_locks(struct repo *r, int64_t since, struct err *err)
{
	const struct repo_task task = REPO_TASK(do_clear, &since, REPO_TASK_WRITE);
	cleanup_json json_t *out = NULL;
	int rc = repo_work(r, &task, &out, err);

	return rc < 0 ? rc : (int)json_integer_value(json_object_get(out, "removed"));
}
