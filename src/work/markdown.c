#include "work/markdown.h"

#include <string.h>

#include "base/parse.h"
#include "work/text.h"

#define WHY_MAX 200

static const struct plan_item *find(const struct plan *p, const char *id)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->items[i].id && streq(p->items[i].id, id))
			return &p->items[i];
	return NULL;
}

/* Appends " [done]", in the case that the file uses. */
static void put_done(const struct plan *p, const char *text, struct buf *ret)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->items[i].step && p->items[i].said == TASK_DONE) {
			size_t end = p->items[i].mark + p->items[i].mark_n;

			(void)buf_printf(ret, " %.*s", 6, text + end - 6);
			return;
		}
	(void)buf_puts(ret, " [done]");
}

/* Appends " [blocked: why]". Brackets and line ends in the reason are replaced, because they
 * would end the mark. */
static void put_blocked(const char *why, struct buf *ret)
{
	cleanup_free char *text = text_short(why ? why : "", why ? strlen(why) : 0, WHY_MAX);

	for (char *c = text; *c; c++)
		if (*c == '[' || *c == ']')
			*c = *c == '[' ? '(' : ')';
	(void)buf_printf(ret, *text ? " [blocked: %s]" : " [blocked]", text);
}

static int mark(const char *text, size_t len, const struct task *t, struct buf *ret)
{
	cleanup_plan struct plan p = {0};
	const struct plan_item *it;
	enum task_state want =
		t->state == TASK_DONE || t->state == TASK_BLOCKED ? t->state : TASK_READY;

	if (plan_scan(text, len, &p) < 0)
		return -E2BIG;
	it = find(&p, t->id);
	if (!it)
		return -ENOENT;
	if (it->said == want)
		return buf_append(ret, text, len);
	if (it->step) {
		(void)buf_append(ret, text, it->mark);
	} else {
		(void)buf_append(ret, text, it->box);
		if ((text[it->box] != ' ') == (want == TASK_DONE))
			(void)buf_putc(ret, text[it->box]);
		else
			(void)buf_putc(ret, want == TASK_DONE ? 'x' : ' ');
		(void)buf_append(ret, text + it->box + 1, it->mark - it->box - 1);
	}
	if (want == TASK_BLOCKED)
		put_blocked(t->why, ret);
	else if (want == TASK_DONE && it->step)
		put_done(&p, text, ret);
	(void)buf_append(ret, text + it->mark + it->mark_n, len - it->mark - it->mark_n);
	return ret->full ? -ENOBUFS : 0;
}

/* Returns the text without any marks of progress. */
static void skeleton(const struct plan *p, const char *text, size_t len, struct buf *ret)
{
	size_t at = 0;

	for (size_t i = 0; i < p->n; i++) {
		const struct plan_item *it = &p->items[i];

		if (!it->step) {
			(void)buf_append(ret, text + at, it->box - at);
			(void)buf_putc(ret, ' ');
			at = it->box + 1;
		}
		(void)buf_append(ret, text + at, it->mark - at);
		at = it->mark + it->mark_n;
	}
	(void)buf_append(ret, text + at, len - at);
}

/* Returns the line number of the first difference, or 0. */
static unsigned first_difference(const struct plan *was, const char *put, size_t put_len,
				 const struct plan *is, const char *theirs, size_t len)
{
	cleanup_buf struct buf a, b;
	size_t i = 0;

	buf_init(&a, 2 * WORK_FILE_MAX);
	buf_init(&b, 2 * WORK_FILE_MAX);
	skeleton(was, put, put_len, &a);
	skeleton(is, theirs, len, &b);
	while (i < a.len && i < b.len && a.data[i] == b.data[i])
		i++;
	return i == a.len && i == b.len ? 0 : text_line(buf_str(&b), b.data + i);
}

static void compare_tasks(const struct plan *was, const struct plan *is, const char *id,
			  struct proposals *ret)
{
	for (size_t i = 0; i < was->n; i++) {
		const struct plan_item *a = &was->items[i], *b;

		if (!a->id)
			continue;
		b = find(is, a->id);
		if (!b) {
			proposals_offence(ret, "%.80s was removed or renamed; it was put back",
					  a->id);
		} else if (a->said != b->said && streq(a->id, id)) {
			ret->claims_done |= b->said == TASK_DONE;
			ret->claims_undone |= a->said == TASK_DONE;
		} else if (a->said != b->said) {
			proposals_offence(ret,
					  "%.80s was marked, which was not the task; it was put "
					  "back",
					  a->id);
		}
	}
	for (size_t i = 0; i < is->n; i++)
		if (is->items[i].id && !find(was, is->items[i].id))
			proposals_offence(ret, "%.80s was added; it was taken out again",
					  is->items[i].id);
}

static bool below(const struct plan *p, size_t at, const struct plan_item *task)
{
	return !p->items[at].id && p->items[at].owner != PLAN_NOBODY &&
	       &p->items[p->items[at].owner] == task;
}

/* Ticks in the boxes below the task are accepted as notes, if nothing else has changed. */
static void ticks(const struct plan *was, const char *put, const struct plan *is,
		  const char *theirs, const char *id, struct proposals *ret)
{
	const struct plan_item *task = find(was, id);
	size_t nth = 0;

	for (size_t i = 0; task && i < was->n && i < is->n; i++) {
		char a = put[was->items[i].box], b = theirs[is->items[i].box];

		if (!below(was, i, task))
			continue;
		nth++;
		if ((a == ' ') == (b == ' '))
			continue;
		strv_pushf(&ret->moved, "%zu", nth);
		strv_push(&ret->moved_to, b == ' ' ? " " : "x");
	}
}

static int apply(const char *text, size_t len, const char *id, const struct proposals *p,
		 struct buf *ret)
{
	cleanup_plan struct plan plan = {0};
	const struct plan_item *task;
	size_t nth = 0, start = ret->len;
	int r = plan_scan(text, len, &plan);

	task = r == 0 ? find(&plan, id) : NULL;
	if (r == 0)
		r = task ? buf_append(ret, text, len) : -ENOENT;
	for (size_t i = 0; r == 0 && i < plan.n; i++) {
		uint64_t want = 0;

		if (!below(&plan, i, task))
			continue;
		nth++;
		for (size_t k = 0; k < p->moved.n; k++)
			if (parse_uint(p->moved.v[k], 1, PLAN_ITEMS_MAX, &want) == 0 && want == nth)
				ret->data[start + plan.items[i].box] = p->moved_to.v[k][0];
	}
	return r;
}

void plan_judge(const char *put, size_t put_len, const char *theirs, size_t len, const char *id,
		struct proposals *ret)
{
	cleanup_plan struct plan was = {0}, is = {0};
	struct err ignored = {0};
	unsigned line;

	if (text_check("", theirs, len, WORK_FILE_MAX, &ignored) < 0 ||
	    plan_scan(theirs, len, &is) < 0) {
		proposals_offence(ret,
				  "the plan is no UTF-8 text any more, or far too long; it was "
				  "put back");
		return;
	}
	if (plan_scan(put, put_len, &was) < 0)
		return; /* cannot happen: this text was parsed before */
	compare_tasks(&was, &is, id, ret);
	line = first_difference(&was, put, put_len, &is, theirs, len);
	if (line == 0)
		ticks(&was, put, &is, theirs, id, ret);
	else if (ret->n_offences == 0)
		proposals_offence(ret,
				  "the text of the plan was changed, first at line %u; it was "
				  "put back",
				  line);
}

const struct format format_plan = {
	.read = plan_read, .mark = mark, .judge = plan_judge, .apply = apply};
