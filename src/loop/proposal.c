/*
 * An agent's commits are held below refs/ralph/NAME until they are judged. Here the loop's branch moves to
 * what passed; nothing else of the user's does.
 */
#include "loop/loop.h"

#include <string.h>
#include <time.h>

#include "base/log.h"
#include "base/proc.h"
#include "live/live.h"
#include "record/store.h"
#include "workspace/kept-refs.h"

#define REPO_MS 120000
#define ANSWER_MAX (64 * KiB)
#define BUSY_TRIES 20 /* the user's git has the index for moments */
#define BUSY_PAUSE_MS 500

/* 1: not now, and err says why. */
static int try_advance(struct loop *l, const char *root, const struct repo_proposal *p,
		       const char *commit, struct err *err)
{
	cleanup_free char *program = places_program(&l->q.places, "repo"), *out = NULL;
	char *argv[] = {program,	"advance",
			(char *)root,	l->build.spec->name,
			p->ref,		p->tip.hex[0] ? (char *)p->tip.hex : "-",
			(char *)commit, NULL};
	struct run run = RUN_INIT;
	cleanup_json json_t *j = NULL;
	const char *why = NULL;
	int code = 0, r;

	run.argv = argv;
	run.flags = RUN_DIE_WITH_US;
	r = run_collect(&run, REPO_MS, ANSWER_MAX, &out, &code, err);
	if (r == 0)
		r = code ? err_set(err, EIO, "the branch cannot be moved to %s", commit)
			 : json_parse(out, strlen(out), &j, err);
	if (r == 0)
		why = json_string_value(json_object_get(j, "error"));
	if (why)
		(void)err_set(err, EBUSY, "%s", why);
	return r < 0 || !why ? r : json_is_true(json_object_get(j, "busy")) ? 1 : -EIO;
}

/* Where the agent reaches the git directory, the record of it follows. */
static int note_advance(struct loop *l, const char *ref, const char *commit, struct err *err)
{
	cleanup_store struct store_entry e = STORE_ENTRY_INIT;
	int r = l->shared ? store_open(&l->q.places, l->build.spec->name, false, &e, err) : 0;

	return r < 0 || !l->shared ? r : kept_refs_advance(l->build.spec, e.dir, ref, commit, err);
}

int proposal_advance(struct loop *l, const char *root, const struct repo_proposal *p,
		     const char *commit, struct err *err)
{
	const struct timespec pause = {.tv_nsec = BUSY_PAUSE_MS * 1000000L};
	int r = try_advance(l, root, p, commit, err);

	for (int i = 0; r > 0 && i < BUSY_TRIES; i++) {
		if (i == 1)
			show_line(&l->show, STYLE_YELLOW, "%s; waiting", err->msg);
		(void)nanosleep(&pause, NULL);
		r = try_advance(l, root, p, commit, err);
	}
	return r > 0 ? err_hint(err, -EBUSY, "then go on with: ralph resume") : r;
}

int proposal_take(struct loop *l, const struct repo_proposal *p, const char *commit,
		  struct err *err)
{
	int r = proposal_advance(l, repo_root(l->repo), p, commit, err);

	return r < 0 ? r : note_advance(l, p->ref, commit, err);
}

int proposal_settle(struct loop *l, const char *kept, struct err *err)
{
	cleanup_free char *where = NULL;
	int r;

	if (!l->repo)
		return 0;
	r = repo_proposal_settle(l->repo, l->build.spec->name, kept, &where, err);
	if (r == 0 && where)
		show_line(&l->show, STYLE_YELLOW, "commits that do not count are kept at %s",
			  where);
	return r;
}

bool proposal_any(struct loop *l)
{
	cleanup_(repo_proposal_done) struct repo_proposal p = {0};
	struct err err = {0};

	return l->repo && repo_proposal(l->repo, l->build.spec->name, &p, &err) == 0 &&
	       p.commit.hex[0];
}

void proposal_others(struct loop *l, struct strv *ret)
{
	cleanup_strv struct strv refs = {0};
	struct err err = {0};

	if (!l->repo || !l->build.spec)
		return;
	/* Verification may have brought out once more what was settled. */
	if (l->state.intent.phase == INTENT_NONE && proposal_settle(l, "", &err) < 0)
		log_warn("loop", "%s", err.msg);
	if (repo_held_refs(l->repo, l->build.spec->name, &refs, &err) < 0)
		log_warn("loop", "%s", err.msg);
	for (size_t i = 0; i < refs.n; i++)
		strv_pushf(ret, "refs/ralph/%s/%s", l->build.spec->name, refs.v[i]);
}
