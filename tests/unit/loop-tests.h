#pragma once

/* What the tests of tasks share. */
#include "tests.h"

#include "base/fd.h"
#include "work/listing.h"

/* The only task that a small text must have, or the one of this id. */
static inline struct task *task_in(const struct listing *l, const char *id)
{
	struct task *t = listing_find(l, id);

	assert_non_null(t);
	return t;
}

static inline void reads(const struct format *f, const char *text, struct listing *ret)
{
	struct err e = {0};

	if (f->read("f", text, strlen(text), ret, &e) < 0)
		fail_msg("%s", e.msg);
}

static inline void refused(const struct format *f, const char *text, const char *say)
{
	struct listing l = {0};
	struct err e = {0};

	assert_int_equal(f->read("f", text, strlen(text), &l, &e), -EINVAL);
	assert_int_equal(e.exit_code, EXIT_USAGE);
	if (!strstr(e.msg, say))
		fail_msg("'%s' does not say '%s'", e.msg, say);
}

/* The text with the task in that state. */
static inline char *marked(const struct format *f, const char *text, const char *id,
			   enum task_state state, const char *why)
{
	struct task t = {
		.id = (char *)(uintptr_t)id, .state = state, .why = (char *)(uintptr_t)why};
	struct buf b;

	buf_init(&b, WORK_FILE_MAX);
	assert_int_equal(f->mark(text, strlen(text), &t, &b), 0);
	return buf_take(&b);
}

static inline void marks(const struct format *f, const char *text, const char *id,
			 enum task_state state, const char *want)
{
	char *got = marked(f, text, id, state, "no key");

	assert_string_equal(got, want);
	free(got);
}

/* What is put back, after an agent made `theirs` of `put`. */
static inline char *judged(const struct format *f, const char *put, const char *theirs,
			   const char *id, struct proposals *p)
{
	struct buf b;

	f->judge(put, strlen(put), theirs, strlen(theirs), id, p);
	buf_init(&b, WORK_FILE_MAX);
	assert_int_equal(f->apply(put, strlen(put), id, p, &b), 0);
	return buf_take(&b);
}

/* text with the first `from` in it replaced; the caller frees it. */
static inline char *with(const char *text, const char *from, const char *to)
{
	const char *at = strstr(text, from);

	assert_non_null(at);
	return xasprintf("%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
}
