#include "web/desk.h"

#include <string.h>

#include "record/asks.h"
#include "view/log-view.h"

#define ANSWERED_SHOWN 40

/* What agents ask a person for: the queues of all sandboxes, as the survey has read them. */

/* A scope that the person cannot choose is not offered. */
static json_t *acts_of(const struct survey_sandbox *b, const json_t *ask, json_t *shown)
{
	static const char *const of_host[] = {"ask-deny", "ask-once", "ask-sandbox", "ask-loop",
					      "ask-project"};
	static const char *const of_other[] = {"ask-deny", "ask-answer"};
	bool is_host = streq(log_text(ask, "kind"), "host");
	const char *const *names = is_host ? of_host : of_other;
	size_t n = is_host ? ARRAY_SIZE(of_host) : ARRAY_SIZE(of_other);
	const struct verb_args args = {.ask = log_text(ask, "id")};
	json_t *acts = json_array();

	for (size_t i = 0; ask_is_open(ask) && i < n; i++)
		if ((!streq(names[i], "ask-once") || b->live) &&
		    (!streq(names[i], "ask-loop") || b->loop))
			desk_put_act(acts, names[i], log_text(ask, "id"), json_incref(shown),
				     &args);
	json_decref(shown);
	return acts;
}

/* All that the person has seen of it: an ask that is answered or says other words is another one. */
static json_t *shown_of(const struct survey_sandbox *b, const json_t *ask)
{
	static const char *const keys[] = {"id", "kind", "what", "why", "choices", "state"};
	json_t *j = json_pack("{ss}", "sandbox", b->name);

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		(void)json_object_set(j, keys[i], json_object_get(ask, keys[i]));
	return j;
}

json_t *desk_ask_row(const struct survey_sandbox *b, const json_t *ask)
{
	static const char *const keys[] = {"id",    "kind",  "what",   "why",	  "choices",
					   "state", "scope", "answer", "answered"};
	json_t *j = json_pack("{ss so sI sI so}", "sandbox", b->name, "project",
			      json_text(survey_project(b, b->loop)), "at_ms",
			      (json_int_t)log_number(ask, "at") * 1000, "times",
			      (json_int_t)log_number(ask, "times"), "acts",
			      acts_of(b, ask, shown_of(b, ask)));

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (json_object_get(ask, keys[i]))
			(void)json_object_set(j, keys[i], json_object_get(ask, keys[i]));
	return j;
}

json_t *desk_asks(struct desk *d)
{
	json_t *open = json_array(), *answered = json_array(), *ask;
	size_t k;

	for (size_t i = 0; i < d->survey.n_sandboxes; i++)
		json_array_foreach (d->survey.sandboxes[i]->asks, k, ask)
			(void)json_array_append_new(ask_is_open(ask) ? open : answered,
						    desk_ask_row(d->survey.sandboxes[i], ask));
	while (json_array_size(answered) > ANSWERED_SHOWN)
		(void)json_array_remove(answered, 0);
	return json_pack("{so so}", "open", open, "answered", answered);
}

json_t *desk_ask(struct desk *d, const char *id, unsigned *status)
{
	for (size_t i = 0; i < d->survey.n_sandboxes; i++) {
		const struct survey_sandbox *b = d->survey.sandboxes[i];
		const json_t *ask = asks_find(b->asks, id);

		if (ask)
			return desk_ask_row(b, ask);
	}
	return desk_error(status, 404, "there is no such ask; its sandbox may be gone");
}
