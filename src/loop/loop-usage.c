#include "loop/loop-usage.h"

#include "record/store.h"
#include "events/usage.h"

static void add(void *arg, const struct usage_event *e)
{
	struct loop_usage *m = arg;

	m->micro_usd += e->micro_usd;
	m->tokens.input += e->tokens.input;
	m->tokens.output += e->tokens.output;
	m->tokens.cache_read += e->tokens.cache_read;
	m->tokens.cache_write += e->tokens.cache_write;
}

void loop_usage_read(const struct places *p, const char *sandbox, struct loop_usage *ret)
{
	cleanup_store struct store_entry e = STORE_ENTRY_INIT;
	struct err err = {0};

	*ret = (struct loop_usage){0};
	if (store_open(p, sandbox, false, &e, &err) == 0)
		(void)usage_each(e.dir, add, ret, &err);
}

/* A counter below the last value belongs to a record that was removed and created again. */
static uint64_t take(uint64_t *sum, uint64_t *seen, uint64_t now)
{
	uint64_t more = now >= *seen ? now - *seen : now;

	*sum += more;
	*seen = now;
	return more;
}

bool loop_usage_take(struct loop_state *s, const struct loop_usage *m)
{
	uint64_t more = take(&s->micro_usd, &s->seen_micro_usd, m->micro_usd);

	more += take(&s->tokens.input, &s->seen.input, m->tokens.input);
	more += take(&s->tokens.output, &s->seen.output, m->tokens.output);
	more += take(&s->tokens.cache_read, &s->seen.cache_read, m->tokens.cache_read);
	more += take(&s->tokens.cache_write, &s->seen.cache_write, m->tokens.cache_write);
	return more > 0;
}

uint64_t tokens_all(const struct tokens *t)
{
	return t->input + t->output + t->cache_read + t->cache_write;
}
