#include "live/dead.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "engine/engine.h"
#include "events/events.h"
#include "live/autosave.h"
#include "record/runtime.h"
#include "workspace/findings.h"
#include "workspace/host-run.h"
#include "workspace/kept-refs.h"
#include "workspace/nested.h"
#include "workspace/private/gitlinks.h"
#include "workspace/restore.h"
#include "workspace/seen.h"

#define STALE_SINCE_S 2 /* the spec is written a moment after the start */

struct dead {
	const struct places *places;
	const struct sandbox_spec *spec;
	struct events *log;
	struct nested_told nested;
};

static bool settle(void *arg, struct findings *found)
{
	struct dead *d = arg;
	bool moved = false;

	for (size_t i = 0; i < found->n; i++) {
		struct finding *f = &found->v[i];
		cleanup_free char *text = NULL;
		struct err err = {0};

		if (finding_settle(f, d->places, d->spec, &err) < 0)
			log_error("workspace", "%s; remove it before you work in there", err.msg);
		moved = moved || f->id;
		text = finding_sentence(f);
		if (f->nested && f->id)
			nested_tell(&d->nested, d->spec, f->path, f->id);
		else
			log_warn("workspace", "%s", text);
		(void)events_add(d->log, "surface", finding_event(f));
	}
	return moved;
}

static void put_refs_back(const struct places *p, const struct store_entry *e,
			  const struct sandbox_spec *old, struct events *log)
{
	cleanup_json json_t *said = NULL;
	struct err err = {0};
	json_t *text;
	size_t i;

	if (kept_refs_put_back(old, p, e->dir, &said, &err) < 0)
		log_error("workspace", "%s", err.msg);
	json_array_foreach (said, i, text) {
		log_warn("workspace", "%s", json_string_value(text));
		(void)events_add(log, "refs-back", json_pack("{sO}", "message", text));
	}
	kept_refs_forget(old, p, e->dir);
}

/* An empty `.git` was made for the private git directory to be mounted on. */
static void remove_place(const struct sandbox_spec *old)
{
	cleanup_fd int dir = open(old->workspace, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (dir >= 0 && old->git.covers)
		(void)unlinkat(dir, ".git", AT_REMOVEDIR);
}

/* The killed supervisor could not look at the workspace: findings are settled here. Its spec was
 * written when it started. */
static void look_at_workspace(const struct places *p, const struct store_entry *e,
			      const struct sandbox_spec *old, struct events *log)
{
	cleanup_(restore_freep) struct restore *back = restore_open(old, e->dir);
	cleanup_(seen_freep) struct seen *seen = seen_read(e->dir);
	const struct host_run_before before = {seen, p->state};
	struct dead d = {.places = p, .spec = old, .log = log};
	cleanup_free char *text = NULL;
	struct findings found = {0};
	struct stat st;

	if (fstatat(e->dir, "spec.json", &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	st.st_mtim.tv_sec -= STALE_SINCE_S;
	restore_look(back, p, true, &found);
	restore_forget(e->dir);
	put_refs_back(p, e, old, log);
	(void)settle(&d, &found);
	findings_done(&found);
	nested_unmount(old, p);
	gitlinks_unmount(old);
	host_run_finish(old, &st.st_mtim, &before, true, settle, &d);
	text = nested_sentence(&d.nested);
	if (text)
		log_warn("workspace", "%s", text);
	nested_told_done(&d.nested);
	remove_place(old);
}

void dead_clear(const struct places *p, const struct store_entry *e)
{
	cleanup_(spec_freep) struct sandbox_spec *old = NULL;
	struct events log = EVENTS_INIT;
	struct err ignored;

	/*
	 * Both locks are held, so this process may write the log. Without a log the rest is still
	 * done.
	 */
	if (events_open(e->dir, &log, &ignored) == 0)
		(void)events_add(&log, "sandbox-killed",
				 json_pack("{ss}", "message",
					   "its supervisor was killed, and everything inside with "
					   "it"));
	if (store_read_spec(e, &old, &ignored) == 0) {
		engine_clean(old);
		look_at_workspace(p, e, old, &log);
		(void)autosave_now(p, e->name);
	}
	events_close(&log);
	runtime_remove(p, e->name);
	store_mark(e, false);
}

/* Takes both locks of NAME in e; *ret_found: they are held, and its supervisor was killed. */
static int lock_dead(const struct places *p, const char *name, int timeout_ms,
		     struct store_entry *e, bool *ret_found, struct err *err)
{
	int r = store_open(p, name, false, e, err);

	*ret_found = false;
	if (r == 0)
		r = store_lock(p, e, timeout_ms, err);
	if (r == 0)
		r = store_lock_live(p, e, timeout_ms, err);
	if (r == -EWOULDBLOCK || r == -ESTALE || r == -ENOENT)
		return 0;
	*ret_found = r == 0 && store_was_killed(e);
	return r;
}

int dead_find(const struct places *p, const char *name, bool *ret_found, struct err *err)
{
	cleanup_store struct store_entry e = STORE_ENTRY_INIT;

	return lock_dead(p, name, 0, &e, ret_found, err);
}

int dead_clean(const struct places *p, const char *name, int timeout_ms, bool *ret_found,
	       struct err *err)
{
	cleanup_store struct store_entry e = STORE_ENTRY_INIT;
	int r = lock_dead(p, name, timeout_ms, &e, ret_found, err);

	if (r == 0 && *ret_found)
		dead_clear(p, &e);
	return r;
}
