/* A loop that goes on: what is left of its workers elsewhere is ended, and their results are taken over. */
#include "loop/placed/placed.h"

#include <string.h>

#include "base/log.h"

#define REAP_MS 60000 /* of one run of reap */
#define REAP_OUT_MAX (64 * KiB)

extern char **environ;

/* A hub is ended once, whichever of its rows is looked at. */
static void reap(struct loop *l, const char *id, const json_t *row, struct strv *done)
{
	const char *name = json_string_value(json_object_get(row, "place"));
	const struct config_place *place = name ? config_place(l->config, name) : NULL;
	cleanup_strv struct strv argv = {0}, env = {0};
	cleanup_free char *out = NULL;
	struct place_words words;
	struct worker w = {.l = l, .task = work_task(l->work, id)};
	struct run run = RUN_INIT;
	struct err err = {0};
	int code = 0;

	w.epoch = (unsigned)json_integer_value(json_object_get(row, "epoch"));
	w.hub = (uint64_t)json_integer_value(json_object_get(row, "hub"));
	if (!place || place->reap.n == 0 || !w.task || !json_object_get(row, "lease"))
		return;
	placed_words(&w, place, &words);
	if (strv_has(done, words.name))
		return;
	strv_push(done, words.name);
	place_argv(&place->reap, &words, &argv);
	place_env(l->config, place, environ, &env);
	run.argv = argv.v;
	run.env = env.v;
	run.flags = RUN_SEARCH_PATH | RUN_DIE_WITH_US | RUN_NEW_SESSION;
	if (run_collect(&run, REAP_MS, REAP_OUT_MAX, &out, &code, &err) < 0)
		log_warn("loop", "reap of '%s': %s", name, err.msg);
	else if (code)
		log_debug("loop", "reap of '%s' ended with %d", name, code);
}

void placed_reap_all(struct loop *l)
{
	cleanup_json json_t *leases = json_object();
	cleanup_strv struct strv done = {0};
	const char *id;
	json_t *row;

	json_object_foreach (l->state.workers, id, row) {
		const char *lease = json_string_value(json_object_get(row, "lease"));

		if (lease)
			(void)json_object_set_new(leases, lease, json_true());
		reap(l, id, row, &done);
	}
	spool_sweep(l->place.state, leases);
}

int placed_pick_up(struct worker *w, struct err *err)
{
	cleanup_(spool_done) struct spool s = SPOOL_INIT;
	cleanup_json json_t *doc = NULL;
	const json_t *task;
	int r;

	if (!w->lease || w->state == WORKER_FINAL)
		return 0;
	r = spool_open(&s, w->l->place.state, w->lease, err);
	if (r == 0)
		r = spool_take(&s, &doc, err);
	if (r == -ENOENT)
		return 0;
	if (r == 0)
		r = placed_take_spool(w, &s, doc, err);
	if (r < 0) {
		/* It cannot be used: the task goes on from its checkpoint. */
		log_warn("loop", "what came of %s is dropped: %s", w->task->id, err->msg);
		spool_remove(&s);
		return 0;
	}
	if (!w->rejected) {
		task = json_array_get(json_object_get(json_object_get(doc, "summary"), "tasks"), 0);
		w->tries = (unsigned)json_integer_value(json_object_get(task, "attempts"));
		worker_take_summary(w, json_object_get(doc, "summary"), -1);
	}
	w->state = w->rejected || worker_is_final(w->code) ? WORKER_FINAL : WORKER_WAITS;
	worker_note(w);
	return state_save(&w->l->state, err);
}
