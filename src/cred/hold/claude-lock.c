#include "cred/hold/claude-lock.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define STORAGE_TRIES 20
#define STORAGE_WAIT_MS 100

void claude_lock_init(struct claude_lock *l, const char *dir)
{
	*l = (struct claude_lock){
		.refresh = xasprintf("%s/.oauth_refresh.lock", dir),
		.legacy = xasprintf("%s.lock", dir),
		.storage = xasprintf("%s/.storage-write.lock", dir),
	};
}

static void let_go(const char *path, bool *has)
{
	if (*has)
		(void)rmdir(path);
	*has = false;
}

void claude_lock_done(struct claude_lock *l)
{
	let_go(l->storage, &l->has_storage);
	let_go(l->legacy, &l->has_legacy);
	let_go(l->refresh, &l->has_refresh);
	free(l->refresh);
	free(l->legacy);
	free(l->storage);
	*l = (struct claude_lock){0};
}

/* A lock is stale when its holder has not touched it for so long that it must have died. */
static bool is_stale(const char *path)
{
	struct timespec now;
	struct stat st;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) &&
	       now.tv_sec - st.st_mtim.tv_sec > CLAUDE_LOCK_STALE_S;
}

static int take(const char *path, bool *has)
{
	for (int i = 0; i < 2; i++) {
		if (mkdir(path, 0777) == 0) {
			*has = true;
			return 0;
		}
		if (errno != EEXIST)
			return -errno;
		/* Two who find it stale: one of them makes it again, the other finds it fresh. */
		if (i > 0 || !is_stale(path) || rmdir(path) < 0)
			break;
	}
	return -EBUSY;
}

int claude_lock_refresh(struct claude_lock *l, struct err *err)
{
	int r = take(l->refresh, &l->has_refresh);

	if (r == 0) {
		r = take(l->legacy, &l->has_legacy);
		/* A directory above ~/.claude that we may not write to has no older version's lock
		 * either. */
		if (r == -EACCES || r == -EROFS || r == -EPERM)
			r = 0;
		if (r < 0)
			let_go(l->refresh, &l->has_refresh);
	}
	if (r < 0 && r != -EBUSY)
		return err_sys(err, -r, "cannot take the lock '%s'", l->refresh);
	return r < 0 ? err_set(err, EBUSY, "another program holds '%s'", l->refresh) : 0;
}

int claude_lock_storage(struct claude_lock *l, struct err *err)
{
	const struct timespec wait = {0, STORAGE_WAIT_MS * 1000000L};
	int r = take(l->storage, &l->has_storage);

	for (int i = 0; r == -EBUSY && i < STORAGE_TRIES; i++) {
		claude_lock_touch(l);
		(void)nanosleep(&wait, NULL);
		r = take(l->storage, &l->has_storage);
	}
	return r < 0 ? err_sys(err, -r, "cannot take the lock '%s'", l->storage) : 0;
}

void claude_lock_touch(struct claude_lock *l)
{
	if (l->has_refresh)
		(void)utimensat(AT_FDCWD, l->refresh, NULL, AT_SYMLINK_NOFOLLOW);
	if (l->has_legacy)
		(void)utimensat(AT_FDCWD, l->legacy, NULL, AT_SYMLINK_NOFOLLOW);
	if (l->has_storage)
		(void)utimensat(AT_FDCWD, l->storage, NULL, AT_SYMLINK_NOFOLLOW);
}
