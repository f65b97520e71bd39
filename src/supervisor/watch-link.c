/*
 * The supervisor's watch over the workspace of a live sandbox for new files that the host would
 * run. It looks when the kernel says that a name of interest appeared, after every command, and at
 * the whole workspace when everything inside has ended. A finding becomes an event and a notice for
 * the command lines, and is moved to quarantine if the settings say so.
 */
#include "supervisor/broker.h"

#include <limits.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "workspace/findings.h"
#include "workspace/nested.h"
#include "workspace/private/gitlinks.h"
#include "workspace/restore.h"
#include "workspace/host-run.h"
#include "workspace/kept-refs.h"
#include "workspace/seen.h"

#define NOTICES_MAX 20 /* shown of one look; all are events */
/*
 * The number of findings that are shown and logged for one sandbox; further ones are only moved. An
 * agent could make the same file again and again: then only the first ones are kept.
 */
#define FOUND_MAX 512

/* Whether it is gone from where it was. */
static bool settle(struct supervisor *s, struct finding *f)
{
	struct err err = {0};

	if (s->n_found >= FOUND_MAX && !f->nested && strv_has(&s->moved, f->path))
		return finding_remove(f, s->spec, &err) == 0;
	if (finding_settle(f, &s->places, s->spec, &err) < 0) {
		sup_event(s, "error", json_pack("{so}", "message", json_text(err.msg)));
		if (!s->unsettled.msg[0])
			s->unsettled = err;
		return false;
	}
	if (f->id && !f->nested && s->moved.n < FOUND_MAX)
		strv_push(&s->moved, f->path);
	if (f->id && f->link)
		host_run_accept(s->host_run, f->path);
	return f->id != NULL;
}

/* A person is asked when everything has ended: until then the agent works with what it made. */
static bool waits(const struct supervisor *s, const struct finding *f)
{
	return s->spec->quarantine == SPEC_QUARANTINE_ASK && s->state != SUP_ENDED && !f->in_git &&
	       !f->back && !f->stays;
}

static bool announce(void *arg, struct findings *f)
{
	struct supervisor *s = arg;
	size_t shown = 0;
	bool moved = false;

	for (size_t i = 0; i < f->n; i++) {
		cleanup_free char *text = NULL;

		if (waits(s, &f->v[i]))
			continue;
		moved = settle(s, &f->v[i]) || moved;
		if (f->v[i].nested && f->v[i].id)
			nested_tell(&s->nested, s->spec, f->v[i].path, f->v[i].id);
		if (s->n_found++ >= FOUND_MAX) {
			if (s->n_found == FOUND_MAX + 1)
				sup_event(s, "surface-flood",
					  json_pack("{ss}", "message",
						    "more than anyone reads: from here on such "
						    "files are only moved to quarantine"));
			continue;
		}
		text = finding_sentence(&f->v[i]);
		sup_event(s, "surface", finding_event(&f->v[i]));
		if (f->v[i].nested && f->v[i].id && !f->v[i].beside)
			continue; /* all of them are told at once */
		if (shown++ < NOTICES_MAX)
			client_file_all(s, f->v[i].path, text);
	}
	if (shown > NOTICES_MAX) {
		cleanup_free char *text = xasprintf(
			"%zu more files that the host may run are new or changed; see: ralph "
			"quarantine ls, and the events of the sandbox",
			shown + f->more - NOTICES_MAX);

		client_notice_all(s, text);
	}
	return moved;
}

/* What there was to say before anybody could hear it. */
static void tell_notes(struct supervisor *s)
{
	for (size_t i = 0; i < s->notes.n; i++) {
		sup_event(s, "surface", json_pack("{so}", "why", json_text(s->notes.v[i])));
		client_notice_all(s, s->notes.v[i]);
	}
	strv_done(&s->notes);
}

void watch_look(struct supervisor *s)
{
	struct findings found = {0};

	if (!s->host_run)
		return;
	if (s->broker >= 0) {
		broker_look(s);
		return;
	}
	git_cover_look(s);
	tell_notes(s);
	cover_look(s);
	restore_look(s->restore, &s->places, s->n_found < FOUND_MAX, &found);
	host_run_compare(s->host_run, &found);
	(void)announce(s, &found);
	findings_done(&found);
}

static void tell_nested(struct supervisor *s)
{
	cleanup_free char *text = nested_sentence(&s->nested);

	if (text)
		client_notice_all(s, text);
	nested_told_done(&s->nested);
}

void watch_refs(struct supervisor *s)
{
	cleanup_json json_t *said = NULL;
	struct err err = {0};
	json_t *text;
	size_t i;

	if (kept_refs_put_back(s->spec, &s->places, s->entry.dir, &said, &err) < 0 &&
	    !streq(s->refs_err.msg, err.msg)) {
		s->refs_err = err;
		sup_event(s, "error", json_pack("{so}", "message", json_text(err.msg)));
		client_notice_all(s, err.msg);
	}
	json_array_foreach (said, i, text) {
		sup_event(s, "refs-back", json_pack("{sO}", "message", text));
		client_notice_all(s, json_string_value(text));
	}
}

void watch_finish(struct supervisor *s)
{
	const struct host_run_before before = {s->seen, s->places.state};

	if (!s->host_run)
		return;
	watch_look(s);
	nested_unmount(s->spec, &s->places);
	gitlinks_unmount(s->spec);
	host_run_finish(s->spec, &s->since, &before, false, announce, s);
	tell_nested(s);
	if (s->unsettled.msg[0]) {
		(void)err_hint(&s->unsettled, 0, "remove it before you work in there");
		client_fail_all(s, s->unsettled.msg);
	}
	git_cover_finish(s);
	restore_forget(s->entry.dir);
	watch_refs(s);
	kept_refs_forget(s->spec, &s->places, s->entry.dir);
}

static void on_change(struct ev *ev, struct ev_io *io, uint32_t events)
{
	struct supervisor *s = ev_owner(io, struct supervisor, watch_io);
	char buf[16 * KiB] __attribute__((aligned(__alignof__(struct inotify_event))));
	bool care = false;
	ssize_t n = read(io->fd, buf, sizeof(buf));

	for (ssize_t at = 0; at + (ssize_t)sizeof(struct inotify_event) <= n;) {
		const struct inotify_event *e = (const void *)(buf + at);

		care = care || (e->mask & IN_Q_OVERFLOW) ||
		       (e->len && (host_run_cares(e->name) || cover_cares(s, e->name) ||
				   git_cover_cares(s, e->name)));
		git_flow_hint(s, e->wd);
		at += (ssize_t)sizeof(*e) + (ssize_t)e->len;
	}
	if (care && s->state == SUP_UP)
		watch_look(s);
}

/* Without it a file or a git directory that the host replaces would stay without a cover. */
static int open_inotify(struct supervisor *s, struct err *err)
{
	int r;

	s->watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (s->watch < 0) {
		r = err_sys(err, errno, "cannot watch the workspace");
		return r != -EMFILE
			       ? r
			       : err_hint(err, r,
					  "your programs have all inotify instances in use; run: "
					  "sudo sysctl -w fs.inotify.max_user_instances=1024");
	}
	for (size_t i = 0; i < s->spec->n_watches; i++)
		if (s->spec->watches[i].kind != SPEC_WATCH_PATH)
			(void)inotify_add_watch(s->watch, s->spec->watches[i].dir,
						IN_CREATE | IN_MOVED_TO | IN_DELETE | IN_ONLYDIR |
							IN_DONT_FOLLOW);
	r = cover_watch(s, err);
	s->watch_io = (struct ev_io){.fd = s->watch, .fn = on_change};
	if (r == 0)
		r = git_cover_watch(s, err);
	return r < 0 ? r : ev_want(s->ev, &s->watch_io, EPOLLIN);
}

/* What is there before anything runs. What leads into ralph's state is settled at once. */
static int take_stock(struct supervisor *s, struct err *err)
{
	struct findings found = {0};
	int r;

	s->seen = seen_new(s->spec, s->places.state, &found);
	r = seen_write(s->seen, s->entry.dir);
	if (r < 0)
		(void)err_sys(err, -r, "cannot write down what is in the workspace");
	for (size_t i = 0; r == 0 && i < found.n; i++) {
		cleanup_free char *text = NULL;

		r = finding_settle(&found.v[i], &s->places, s->spec, err);
		text = finding_sentence(&found.v[i]);
		strv_push(&s->notes, text);
		/* The plan has a mount on it, which is made on nothing. */
		if (r == 0 && found.v[i].id && host_run_is_mounted(s->spec, found.v[i].path))
			r = err_set(err, EAGAIN, "%s; start it again", text);
	}
	findings_done(&found);
	return r;
}

/* A repository that libgit2 cannot read is used as it is, and said. */
static void keep_refs(struct supervisor *s)
{
	struct err err = {0};

	if (kept_refs_write(s->spec, &s->places, s->entry.dir, &err) < 0)
		strv_pushf(&s->notes,
			   "branches and tags that the agent moves or deletes are not put "
			   "back: %s",
			   err.msg);
}

int watch_start(struct supervisor *s, struct err *err)
{
	int r = restore_new(s->spec, s->entry.dir, &s->restore, err);

	keep_refs(s);
	if (r == 0)
		r = cover_start(s, err);
	if (r < 0)
		return r;
	/* The coarse clock is what files are dated by. */
	(void)clock_gettime(CLOCK_REALTIME_COARSE, &s->since);
	s->host_run = host_run_new(s->spec);
	return 0;
}

int watch_stock(struct supervisor *s, struct err *err)
{
	int r = take_stock(s, err);

	if (r < 0)
		return r;
	if (engine_has(s->spec->engine, ENGINE_NO_GUEST))
		nested_put_back(s->spec, &s->places);
	return open_inotify(s, err);
}
