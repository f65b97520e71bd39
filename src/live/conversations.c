#include "live/conversations.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/copy.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/strv.h"

#define WAL "-wal"

struct taking {
	int from, to;
	bool move;
	uint64_t bytes;
	struct strv done; /* paths that were taken */
	struct conversations *tally;
};

static int copy(struct taking *t, int from, int to, const char *name, const struct stat *st)
{
	const struct copy_rules rules = {.bytes_max = CONVERSATIONS_FILE_MAX,
					 .files_max = 1,
					 .links = COPY_LINKS_INSIDE,
					 .replace = true};
	const struct timespec times[] = {st->st_atim, st->st_mtim};
	int r = copy_tree(from, name, to, name, &rules);

	if (r < 0)
		return r;
	t->bytes += (uint64_t)st->st_size;
	(void)utimensat(to, name, times, AT_SYMLINK_NOFOLLOW);
	return 0;
}

static bool is_bounded(const struct taking *t, const struct stat *st)
{
	return t->move || ((uint64_t)st->st_size <= CONVERSATIONS_FILE_MAX &&
			   t->bytes + (uint64_t)st->st_size <= CONVERSATIONS_BYTES_MAX);
}

static int move(int from, int to, const char *name)
{
	return renameat2(from, name, to, name, RENAME_NOREPLACE) < 0 ? -errno : 0;
}

/* 0: taken; -EEXIST: it is there. */
static int take_file(struct taking *t, const char *path)
{
	cleanup_free char *parent = path_dir(path);
	cleanup_fd int from = path_open_beneath(t->from, parent, O_RDONLY | O_DIRECTORY, 0);
	cleanup_fd int to = -1;
	const char *name = path_base(path);
	struct stat st, there;

	if (from < 0)
		return from;
	if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || !is_bounded(t, &st))
		return -EINVAL;
	to = path_make_parents(t->to, path, 0700);
	if (to < 0)
		return to;
	if (fstatat(to, name, &there, AT_SYMLINK_NOFOLLOW) == 0)
		return -EEXIST;
	return t->move ? move(from, to, name) : copy(t, from, to, name, &st);
}

/* A fault of the disk ends the whole take; a fault that an agent can cause costs it one file. */
static bool is_fault_of_disk(int r)
{
	return r == -ENOSPC || r == -EDQUOT || r == -EROFS || r == -EIO || r == -EMFILE ||
	       r == -ENFILE || r == -ENOMEM;
}

static int take(struct taking *t, const char *path)
{
	int r = take_file(t, path);

	if (is_fault_of_disk(r))
		return r;
	if (r == 0) {
		t->tally->taken++;
		strv_push(&t->done, path);
	} else if (r != -EEXIST) {
		t->tally->left++;
	}
	return 0;
}

/* A log of changes belongs to the file that it was written for, and to no other. */
static bool is_foreign(const struct taking *t, const char *path)
{
	size_t n = strlen(path), wal = strlen(WAL);
	cleanup_free char *file = NULL;

	if (n <= wal || !streq(path + n - wal, WAL))
		return false;
	file = xstrndup(path, n - wal);
	return !strv_has(&t->done, file);
}

static int take_agents(struct taking *t, const struct agent *a)
{
	cleanup_strv struct strv found = {0};
	int r = 0;

	for (const char *const *p = a->sessions; *p; p++)
		path_glob_beneath(t->from, "", *p, CONVERSATIONS_FILES_MAX + 1, &found);
	for (size_t i = 0; r == 0 && i < found.n; i++) {
		if (i >= CONVERSATIONS_FILES_MAX)
			t->tally->left++;
		else if (!is_foreign(t, found.v[i]))
			r = take(t, found.v[i]);
	}
	return r;
}

int conversations_take(int from, int to, bool move_, struct conversations *ret, struct err *err)
{
	struct taking t = {.from = from, .to = to, .move = move_, .tally = ret};
	int r = 0;

	*ret = (struct conversations){0};
	for (size_t i = 0; r == 0 && i < agent_count(); i++)
		r = take_agents(&t, agent_at(i));
	strv_done(&t.done);
	return r < 0 ? err_sys(err, -r, "cannot take over all conversations") : 0;
}
