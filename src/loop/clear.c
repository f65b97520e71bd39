/* What is left of a sandbox whose work is over: its words and its account, and nothing else. */
#include "loop/loop.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/proc.h"
#include "sandbox/autosave.h"
#include "sandbox/events-files.h"
#include "sandbox/live.h"
#include "sandbox/store.h"

#define KEPT_DIR "events"

/* What was said in there becomes files first: it goes with the sandbox. */
static void save_words(struct loop *l, const char *name, const struct store_entry *e)
{
	cleanup_free char *home = store_home(&l->q.places, name), *record = path_dir(home);
	cleanup_(spec_freep) struct sandbox_spec *spec = NULL;
	struct child child;
	struct err err = {0};

	if (store_read_spec(e, &spec, &err) == 0 &&
	    autosave_start(&l->q.places, record, spec, &child, &err) == 0)
		(void)run_wait(&child);
}

/* .ralph/logs/events/NAME; what lies there of another sandbox of that name is put by, once: a loop
 * that was killed while it cleared away has left the longer log there. */
static int keep_events(struct loop *l, const char *name, const struct store_entry *e,
		       struct err *err)
{
	cleanup_free char *before = xasprintf("%s.before", name);
	cleanup_fd int all = -1, to = -1;
	struct stat st;
	int r;

	if (mkdirat(l->logs, KEPT_DIR, 0700) < 0 && errno != EEXIST)
		return err_sys(err, errno, "cannot make '" WORK_DIR "/logs/" KEPT_DIR "'");
	all = path_open_beneath(l->logs, KEPT_DIR, O_RDONLY | O_DIRECTORY, 0);
	if (all < 0)
		return err_sys(err, -all, "cannot open '" WORK_DIR "/logs/" KEPT_DIR "'");
	if (fstatat(all, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		r = path_remove_tree(all, before, err);
		if (r < 0)
			return r;
		(void)renameat(all, name, all, before);
	}
	if (mkdirat(all, name, 0700) < 0)
		return err_sys(err, errno, "cannot make a directory for the log of '%s'", name);
	to = path_open_beneath(all, name, O_RDONLY | O_DIRECTORY, 0);
	return to < 0 ? err_sys(err, -to, "cannot open the log of '%s'", name)
		      : events_keep(e->dir, to, err);
}

int clear_sandbox(struct loop *l, const char *name, struct err *err)
{
	cleanup_store struct store_entry e = STORE_ENTRY_INIT;
	struct err none = {0};
	int r = store_open(&l->q.places, name, false, &e, &none);

	if (r == -ENOENT || r == -ESTALE)
		return 0;
	if (r < 0) {
		*err = none;
		return r;
	}
	/* Before its log is read to the end. */
	r = live_stop(&l->q.places, name, 0, err);
	if (r < 0)
		return r;
	save_words(l, name, &e);
	r = keep_events(l, name, &e, err);
	store_close(&e);
	return r < 0 ? r : live_remove(&l->q.places, name, true, err);
}
