/*
 * Turns, edits by the user and deaths in any order: the file is always what the user wrote and the
 * marks of what is done, to the byte, and the host's state says the same.
 */
#include "tree.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "loop-tests.h"
#include "work/work.h"

#define STORIES_MAX 6
#define SEEDS 10
#define ROUNDS 20

struct story {
	unsigned number, criteria, extra;
	bool done;
};

struct model {
	struct story v[STORIES_MAX];
	size_t n;
	unsigned next;
	uint64_t seed;
	const char *file; /* the source */
};

static unsigned pick(struct model *m, unsigned n)
{
	m->seed ^= m->seed << 13;
	m->seed ^= m->seed >> 7;
	m->seed ^= m->seed << 17;
	return (unsigned)(m->seed % n);
}

static char *render(const struct model *m)
{
	struct buf b;

	buf_init(&b, 1 * MiB);
	(void)buf_puts(&b, "{ \"x\" : [ 1,2.0 ],\n\t\"userStories\":[");
	for (size_t i = 0; i < m->n; i++)
		(void)buf_printf(
			&b,
			"%s\n{\"id\":\"s%u\",  \"title\" : \"T\\u0041\",\"acceptanceCriteria\""
			":[\"c%u\"],\"passes\": %s,\"extra\":{\"n\":%u}}",
			i ? "," : "", m->v[i].number, m->v[i].criteria,
			m->v[i].done ? "true" : "false", m->v[i].extra);
	(void)buf_puts(&b, "\n ] }");
	return buf_take(&b);
}

static void write_file(const struct model *m)
{
	cleanup_free char *text = render(m);

	tree_file(m->file, 0644, text);
}

static void add(struct model *m)
{
	if (m->n < STORIES_MAX)
		m->v[m->n++] = (struct story){.number = m->next++};
}

static void user_edits(struct model *m)
{
	struct story *s = &m->v[pick(m, (unsigned)m->n)];

	switch (pick(m, 5)) {
	case 0:
		add(m);
		break;
	case 1:
		if (m->n > 1)
			*s = m->v[--m->n];
		break;
	case 2: /* asks for something else: it is not done any more, see check() */
		s->criteria++;
		break;
	case 3:
		s->done = !s->done;
		break;
	default:
		s->extra++;
		break;
	}
	write_file(m);
}

/* Anything at all. */
static void agent_writes(struct model *m, const char *rel)
{
	cleanup_free char *path = tree_path(rel);
	struct model theirs = *m;
	struct story *s = &theirs.v[pick(m, (unsigned)m->n)];

	switch (pick(m, 6)) {
	case 0:
		s->done = !s->done;
		break;
	case 1:
		s->criteria += 100;
		break;
	case 2:
		add(&theirs);
		break;
	case 3:
		assert_int_equal(unlink(path), 0);
		return;
	case 4:
		tree_file(rel, 0600, "{ torn");
		return;
	default:
		for (size_t i = 0; i < theirs.n; i++)
			theirs.v[i].done = true;
		break;
	}
	{
		cleanup_free char *text = render(&theirs);

		tree_file(rel, 0600, text);
	}
}

static struct work *opened(void)
{
	struct work *w = NULL;
	struct err e = {0};

	if (work_open(&(struct work_where){tree, -1, false, false}, NULL, &w, &e) < 0 ||
	    work_reload(w, &e) < 0)
		fail_msg("%s", e.msg);
	return w;
}

static void ok(int r, const struct err *e)
{
	if (r < 0)
		fail_msg("%s", e->msg);
}

/* What the user changed in a done task reopens it; the rest is as the model has it. */
static void check(struct model *m, const struct model *before, struct work *w)
{
	cleanup_free char *path = tree_path(m->file), *want = NULL;
	cleanup_buf struct buf text;

	for (size_t i = 0; before && i < m->n; i++)
		for (size_t k = 0; k < before->n; k++)
			if (m->v[i].number == before->v[k].number && before->v[k].done &&
			    m->v[i].criteria != before->v[k].criteria)
				m->v[i].done = false;
	want = render(m);
	buf_init(&text, 1 * MiB);
	assert_int_equal(path_read(AT_FDCWD, path, &text), 0);
	assert_string_equal(buf_str(&text), want);
	assert_int_equal(w->n, m->n);
	for (size_t i = 0; i < m->n; i++)
		assert_int_equal(w->tasks[i]->state == TASK_DONE, m->v[i].done);
}

static struct story *story_of(struct model *m, const struct task *t)
{
	for (size_t i = 0; i < m->n; i++) {
		char id[16];

		(void)snprintf(id, sizeof(id), "s%u", m->v[i].number);
		if (streq(t->id, id))
			return &m->v[i];
	}
	fail_msg("there is no story '%s'", t->id);
	return NULL;
}

/* As far as the model says; the last step is the verdict. */
static void turn(struct model *m, struct work *w, struct task *t, unsigned steps)
{
	cleanup_proposals struct proposals p = {0};
	struct err e = {0};

	ok(work_begin(w, t, &e), &e);
	if (steps > 0)
		ok(work_put_copy(w, -1, &e), &e);
	if (steps > 1)
		agent_writes(m, work_copy_path(w));
	if (steps > 2)
		ok(work_proposals(w, t, -1, &p, &e), &e);
	if (steps > 3)
		agent_writes(m, work_copy_path(w)); /* while it is verified */
	if (steps > 4) {
		bool done = pick(m, 2);

		ok(work_settle(w, t, done ? TASK_DONE : TASK_READY, NULL, "c", &e), &e);
		story_of(m, t)->done = done;
	}
}

static void play(uint64_t seed, const char *file)
{
	struct model m = {.seed = seed * 0x9e3779b97f4a7c15 + 1, .file = file};
	struct work *w;

	add(&m);
	add(&m);
	write_file(&m);
	w = opened();
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct task *t = work_next(w, 0);
		struct model before;
		struct err e = {0};

		if (t && pick(&m, 3))
			turn(&m, w, t, pick(&m, 3) ? 5 : pick(&m, 5));
		/* In the middle of a turn nobody edits: it is cut, and found so. */
		if (w->open || pick(&m, 4) == 0) {
			w = work_free(w);
			w = opened();
			check(&m, NULL, w);
		}
		before = m;
		if (pick(&m, 2))
			user_edits(&m);
		ok(work_reload(w, &e), &e);
		check(&m, &before, w);
	}
	(void)work_free(w);
}

static void the_file_is_what_the_user_wrote_and_what_is_done(void **state)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		assert_int_equal(tree_make(state), 0);
		play(seed, seed % 2 ? "prd.json" : ".ralph/prd.json");
		assert_int_equal(tree_remove(state), 0);
	}
}

/* Dies by SIGKILL wherever it is. */
static void killed(struct model *m, unsigned after_us)
{
	const struct timespec ts = {.tv_nsec = (long)after_us * 1000};
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		struct work *w = opened();

		for (unsigned i = 0; i < 4; i++) {
			struct task *t = work_next(w, 0);

			if (t)
				turn(m, w, t, 5);
		}
		_exit(0);
	}
	(void)nanosleep(&ts, NULL);
	(void)kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void death_at_any_point_leaves_state_and_source_the_same(void **state)
{
	for (unsigned i = 0; i < 40; i++) {
		struct model m = {.seed = i + 7, .file = i % 2 ? "prd.json" : ".ralph/prd.json"};
		struct work *w;

		assert_int_equal(tree_make(state), 0);
		add(&m);
		add(&m);
		add(&m);
		write_file(&m);
		killed(&m, i * 200);
		w = opened();
		for (size_t k = 0; k < w->n; k++)
			m.v[k].done = w->tasks[k]->state == TASK_DONE;
		check(&m, NULL, w);
		(void)work_free(w);
		assert_int_equal(tree_remove(state), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_file_is_what_the_user_wrote_and_what_is_done),
		cmocka_unit_test(death_at_any_point_leaves_state_and_source_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
