/* What the agents of this loop ask a person for while they work: how they are told that they can, that
 * their time stands still while they wait, and that the person hears of it. See record/asks.h. */
#include "loop/loop.h"

#include <string.h>
#include <time.h>

#include "base/fd.h"
#include "base/path.h"
#include "compose/build.h"
#include "loop/iteration.h"
#include "loop/notify/notify.h"
#include "record/asks.h"
#include "record/loops.h"
#include "record/store.h"

#define LOOK_MS 5000  /* between two looks at the queues of all sandboxes */
#define TOLD_MAX 1024 /* asks that the person has been told of */

static const char *text_of(const json_t *ask, const char *key)
{
	const char *s = json_string_value(json_object_get(ask, key));

	return s ? s : "";
}

static json_t *queue(const struct loop *l, const char *name, struct store_entry *e)
{
	struct err ignored = {0};
	json_t *asks = NULL;

	if (store_open(&l->q.places, name, false, e, &ignored) < 0 ||
	    asks_read(e->dir, &asks, &ignored) < 0)
		return NULL;
	return asks;
}

static void put_answer(struct buf *b, const json_t *a)
{
	(void)buf_printf(b, "\nYou asked (%s): %s%s%s\nThe user has %s it%s%s\n",
			 text_of(a, "kind"), text_of(a, "what"), text_of(a, "what")[0] ? ": " : "",
			 text_of(a, "why"), text_of(a, "state"),
			 text_of(a, "answer")[0] ? ": " : ".", text_of(a, "answer"));
}

/* Answers that came when nobody waited for them any more. */
static void put_answers(struct loop *l, struct buf *b)
{
	cleanup_store struct store_entry e = STORE_ENTRY_INIT;
	cleanup_json json_t *asks = queue(l, l->build.spec->name, &e);
	struct err ignored = {0};
	bool any = false;
	json_t *a;
	size_t i;

	json_array_foreach (asks, i, a) {
		if (ask_is_open(a) || json_is_true(json_object_get(a, "heard")))
			continue;
		if (!any)
			(void)buf_puts(b, "\n# What you asked for\n");
		any = true;
		put_answer(b, a);
	}
	if (any)
		(void)asks_heard(e.dir, NULL, &ignored);
}

void loop_asks_put(struct loop *l, struct buf *b)
{
	if (!l->build.spec || !spec_env_find(l->build.spec, ASK_ENV))
		return;
	put_answers(l, b);
	(void)buf_puts(b, "\n# How to ask\n\n"
			  "If the sandbox refuses a host that the task needs, ask for it:\n"
			  "`" ASK_INSIDE
			  " host HOST:PORT 'why you need it'`. For a decision that only a person\n"
			  "can make: `" ASK_INSIDE
			  " decide 'question' --choice A --choice B`; for a change of a\n"
			  "protected file: `" ASK_INSIDE
			  " file PATH 'the change'`. It waits up to 5 minutes for\n"
			  "the person: exit code 0 is yes, with the answer; 3 is no; 4 means that "
			  "nobody has\n"
			  "answered yet: go on with other work.\n");
}

bool loop_asks_wait(void *loop, const struct iteration *it)
{
	cleanup_store struct store_entry e = STORE_ENTRY_INIT;
	cleanup_json json_t *asks = queue(loop, it->sandbox, &e);

	return asks_any_waits(asks, (uint64_t)time(NULL));
}

static bool is_ours(const struct loop *l, const struct store_entry *e)
{
	cleanup_free char *key = loops_key(l->q.workspace);
	cleanup_(spec_freep) struct sandbox_spec *spec = NULL;
	struct err ignored = {0};

	return store_read_spec(e, &spec, &ignored) == 0 && spec->loop && streq(spec->loop, key);
}

void loop_asks_tell(struct loop *l)
{
	cleanup_strv struct strv names = {0};
	struct err ignored = {0};
	uint64_t now = now_ms();
	json_t *a;
	size_t k;

	if (!l->config->loop.notify || l->q.parent || now - l->asks_looked_ms < LOOK_MS)
		return;
	l->asks_looked_ms = now;
	(void)store_names(&l->q.places, &names, &ignored);
	for (size_t i = 0; i < names.n; i++) {
		cleanup_store struct store_entry e = STORE_ENTRY_INIT;
		cleanup_json json_t *asks = queue(l, names.v[i], &e);

		json_array_foreach (asks, k, a) {
			const char *id = text_of(a, "id");

			if (!ask_is_open(a) || strv_has(&l->asks_told, id) ||
			    l->asks_told.n == TOLD_MAX || !is_ours(l, &e))
				continue;
			strv_push(&l->asks_told, id);
			notify_ask(l, id, text_of(a, "kind"), text_of(a, "what"),
				   text_of(a, "why"));
		}
	}
}
