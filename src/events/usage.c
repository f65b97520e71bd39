#include "events/usage.h"

#include <stdio.h>
#include <string.h>

#include "base/json/jpick.h"
#include "events/events-files.h"

#define TEXT_MAX 256
#define DAY_LEN 10 /* "2026-01-31" */

struct reading {
	usage_fn *fn;
	void *arg;
	bool begun; /* the oldest record was read */
};

/* An invalid number counts as 0. */
static void give(struct reading *rd, struct jtext object, const char *time_name)
{
	const char *const names[] = {time_name,	   "credential",  "model",     "input",	  "output",
				     "cache_read", "cache_write", "micro_usd", "requests"};
	struct jtext m[ARRAY_SIZE(names)];
	cleanup_free char *time = NULL, *credential = NULL, *model = NULL;
	struct usage_event e;

	if (!jpick(object, names, m, ARRAY_SIZE(names)))
		return;
	time = jtext_dup(m[0], TEXT_MAX);
	credential = jtext_dup(m[1], TEXT_MAX);
	model = jtext_dup(m[2], TEXT_MAX);
	e = (struct usage_event){
		.time = time ? time : "",
		.credential = credential ? credential : "",
		.model = model ? model : "",
		.tokens = {jtext_uint(m[3]), jtext_uint(m[4]), jtext_uint(m[5]), jtext_uint(m[6])},
		.micro_usd = jtext_uint(m[7]),
		.requests = m[8].p ? jtext_uint(m[8]) : 1,
	};
	rd->fn(rd->arg, &e);
}

/* Passes the sums that the oldest kept file carries over from dropped files. */
static void give_carried(struct reading *rd, struct jtext record)
{
	struct jtext rows = jpick_one(record, "usage"), row;
	size_t at = 0;

	while (jpick_each(rows, &at, &row))
		give(rd, row, "day");
}

static int on_line(void *rd_, const struct events_line *l)
{
	struct jtext record = {l->text, l->n}, type;
	struct reading *rd = rd_;
	bool oldest = !rd->begun;

	rd->begun = true;
	/* Most lines have other types and are not parsed. */
	if (l->cut || !memmem(l->text, l->n, "\"usage\"", 7))
		return 0;
	type = jpick_one(record, "type");
	if (jtext_eq(type, "usage"))
		give(rd, record, "time");
	else if (oldest && jtext_eq(type, "log"))
		give_carried(rd, record);
	return 0;
}

int usage_each(int dirfd, usage_fn *fn, void *arg, struct err *err)
{
	struct reading rd = {.fn = fn, .arg = arg};
	struct events_files f = EVENTS_FILES_INIT;
	int r = events_files_open(dirfd, &f, err);

	if (r == 0)
		r = events_each(&f, on_line, &rd, err);
	events_files_close(&f);
	return r;
}

struct sums {
	struct sum {
		char day[DAY_LEN + 1], credential[TEXT_MAX], model[TEXT_MAX];
		struct usage_tokens tokens;
		uint64_t micro_usd, requests;
	} * v;
	size_t n;
};

static struct sum *sum_for(struct sums *s, const struct usage_event *e)
{
	struct sum *sum;

	for (size_t i = s->n; i > 0; i--) {
		sum = &s->v[i - 1];
		if (strncmp(sum->day, e->time, DAY_LEN) == 0 && streq(sum->model, e->model) &&
		    streq(sum->credential, e->credential))
			return sum;
	}
	if (s->n == USAGE_CARRY_MAX)
		return &s->v[s->n - 1];
	sum = &s->v[s->n++];
	*sum = (struct sum){0};
	(void)snprintf(sum->day, sizeof(sum->day), "%.*s", DAY_LEN, e->time);
	(void)snprintf(sum->credential, sizeof(sum->credential), "%s", e->credential);
	(void)snprintf(sum->model, sizeof(sum->model), "%s", e->model);
	return sum;
}

static void on_usage(void *sums, const struct usage_event *e)
{
	struct sum *s = sum_for(sums, e);

	s->tokens.input += e->tokens.input;
	s->tokens.output += e->tokens.output;
	s->tokens.cache_read += e->tokens.cache_read;
	s->tokens.cache_write += e->tokens.cache_write;
	s->micro_usd += e->micro_usd;
	s->requests += e->requests;
}

json_t *usage_carry(int dirfd)
{
	struct sums s = {.v = xcalloc(USAGE_CARRY_MAX, sizeof(*s.v))};
	json_t *a = json_array();
	struct err ignored;

	(void)usage_each(dirfd, on_usage, &s, &ignored);
	for (size_t i = 0; i < s.n; i++) {
		const struct sum *x = &s.v[i];

		(void)json_array_append_new(
			a, json_pack("{ss so so sI sI sI sI sI sI}", "day", x->day, "credential",
				     json_text(x->credential), "model", json_text(x->model),
				     "requests", (json_int_t)x->requests, "input",
				     (json_int_t)x->tokens.input, "output",
				     (json_int_t)x->tokens.output, "cache_read",
				     (json_int_t)x->tokens.cache_read, "cache_write",
				     (json_int_t)x->tokens.cache_write, "micro_usd",
				     (json_int_t)x->micro_usd));
	}
	free(s.v);
	return a;
}
