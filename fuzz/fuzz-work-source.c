#include "fuzz.h"

#include "work/listing.h"

#include <stdlib.h>
#include <string.h>

static const enum task_state states[] = {TASK_DONE, TASK_BLOCKED, TASK_READY};

/* One mark moves what the text says of one task, and of no other. */
static void check_mark(const struct format *f, const char *text, size_t size,
		       const struct listing *l, size_t which, enum task_state state)
{
	struct task t = {.id = l->tasks[which]->id, .state = state, .why = (char[]){"[w]\n"}};
	cleanup_listing struct listing after = {0};
	cleanup_buf struct buf b;
	struct err e = {0};

	buf_init(&b, WORK_FILE_MAX);
	if (f->mark(text, size, &t, &b) < 0 ||
	    f->read("f", b.len ? b.data : "", b.len, &after, &e) < 0 || after.n != l->n)
		abort();
	for (size_t i = 0; i < l->n; i++) {
		const struct task *was = l->tasks[i], *is = after.tasks[i];

		if (strcmp(was->id, is->id) != 0 || strcmp(was->title, is->title) != 0 ||
		    strcmp(was->fingerprint, is->fingerprint) != 0)
			abort();
		if (i != which && was->said != is->said)
			abort();
		if (i == which && (is->said == TASK_DONE) != (state == TASK_DONE))
			abort();
	}
}

/* Whatever a source says is taken or refused with a sentence, and marks can be told from texts. */
static void check(const struct format *f, const char *text, size_t size)
{
	cleanup_listing struct listing l = {0};
	struct err e = {0};

	if (f->read("f", text, size, &l, &e) < 0) {
		if (!e.msg[0] || e.exit_code != EXIT_USAGE)
			abort();
		return;
	}
	for (size_t i = 0; i < l.n && i < 5; i++)
		for (size_t s = 0; s < ARRAY_SIZE(states); s++)
			check_mark(f, text, size, &l, i, states[s]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check(&format_prd, (const char *)data, size);
	check(&format_plan, (const char *)data, size);
	return 0;
}
