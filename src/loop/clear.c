/* Removes a finished sandbox. The loop keeps only its conversations and its event log. */
#include "loop/loop.h"
#include "loop/home-line.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/proc.h"
#include "live/autosave.h"
#include "events/events-files.h"
#include "live/live.h"
#include "record/loops.h"
#include "record/store.h"

#define KEPT_MAX 99 /* of one name */

/* Conversations are exported first, because they are removed together with the sandbox. */
static void save_words(struct loop *l, const char *name, const struct store_entry *e)
{
	cleanup_free char *record = store_record(&l->q.places, name);
	cleanup_(spec_freep) struct sandbox_spec *spec = NULL;
	struct err err = {0};

	if (store_read_spec(e, &spec, &err) == 0)
		(void)autosave_wait(&l->q.places, record, spec, &err);
}

/* Returns a free name: NAME, NAME.2 and so on. Kept logs are not overwritten, except the last
 * name when all KEPT_MAX are used. */
static char *free_name(int dir, const char *name)
{
	char *free_one = xstrdup(name);
	struct stat st;

	for (unsigned i = 2; i <= KEPT_MAX && fstatat(dir, free_one, &st, AT_SYMLINK_NOFOLLOW) == 0;
	     i++) {
		free(free_one);
		free_one = xasprintf("%s.%u", name, i);
	}
	return free_one;
}

/* Moves the event log to .ralph/logs/events. */
static int keep_events(struct loop *l, const char *name, const struct store_entry *e,
		       char **ret_kept, struct err *err)
{
	cleanup_free char *kept = NULL;
	cleanup_fd int all = -1, to = -1;
	int r;

	if (mkdirat(l->logs, LOOPS_KEPT_EVENTS, 0700) < 0 && errno != EEXIST)
		return err_sys(err, errno, "cannot make '" LOOPS_LOGS "/" LOOPS_KEPT_EVENTS "'");
	all = path_open_beneath(l->logs, LOOPS_KEPT_EVENTS, O_RDONLY | O_DIRECTORY, 0);
	if (all < 0)
		return err_sys(err, -all, "cannot open '" LOOPS_LOGS "/" LOOPS_KEPT_EVENTS "'");
	kept = free_name(all, name);
	if (mkdirat(all, kept, 0700) < 0 && errno != EEXIST)
		return err_sys(err, errno, "cannot make a directory for the log of '%s'", name);
	to = path_open_beneath(all, kept, O_RDONLY | O_DIRECTORY, 0);
	if (to < 0)
		return err_sys(err, -to, "cannot open the log of '%s'", name);
	r = events_keep(e->dir, to, err);
	if (r == 0)
		*ret_kept = xasprintf(LOOPS_LOGS "/" LOOPS_KEPT_EVENTS "/%s", kept);
	return r;
}

int clear_sandbox(struct loop *l, const char *name, char **ret_kept, struct err *err)
{
	cleanup_store struct store_entry e = STORE_ENTRY_INIT;
	struct err none = {0};
	int r;

	*ret_kept = NULL;
	r = store_open(&l->q.places, name, false, &e, &none);

	if (r == -ENOENT || r == -ESTALE)
		return 0;
	if (r < 0) {
		*err = none;
		return r;
	}
	/* The sandbox stops first, so that its event log is complete when it is read. */
	r = live_stop(&l->q.places, name, 0, err);
	if (r < 0)
		return r;
	home_line_look(l);
	save_words(l, name, &e);
	r = keep_events(l, name, &e, ret_kept, err);
	store_close(&e);
	return r < 0 ? r : live_remove(&l->q.places, name, true, false, err);
}
