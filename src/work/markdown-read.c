#include "work/markdown.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "work/text.h"

/* Returns the text after "Verify:" at the start of a line, with any bullet or asterisks around
 * the word; NULL for any other line. */
static const char *behind_word(const char *p, size_t n, const char *word, size_t *ret_n)
{
	const char *end = p + n;
	bool colon = false;

	while (p < end && strchr(" \t-*+>", *p))
		p++;
	if ((size_t)(end - p) < strlen(word) || strncasecmp(p, word, strlen(word)) != 0)
		return NULL;
	p += strlen(word);
	for (; p < end && strchr(" \t*:", *p); p++)
		colon |= *p == ':';
	while (end > p && isspace((unsigned char)end[-1]))
		end--;
	*ret_n = (size_t)(end - p);
	return colon ? p : NULL;
}

/* A command stands between backquotes, alone on its line; other text is for people. */
static void read_commands(const char *p, size_t n, struct strv *ret)
{
	cleanup_strv struct strv found = {0};
	size_t i = 0;

	while (i < n) {
		const char *close = p[i] == '`' ? memchr(p + i + 1, '`', n - i - 1) : NULL;

		if (close && close > p + i + 1) {
			strv_take(&found, xstrndup(p + i + 1, (size_t)(close - p) - i - 1));
			i = (size_t)(close - p) + 1;
		} else if (strchr(" \t,;.", p[i])) {
			i++;
		} else {
			return;
		}
	}
	for (size_t k = 0; k < found.n && ret->n < WORK_LIST_MAX; k++)
		strv_push(ret, found.v[k]);
}

/* "Step 1, 2" and "step-1" name steps; other words name boxes. */
static void read_depends(const char *p, size_t n, struct strv *ret)
{
	cleanup_free char *text = xstrndup(p, n);
	cleanup_strv struct strv parts = {0};

	strv_split(&parts, text, ',');
	for (size_t i = 0; i < parts.n && ret->n < WORK_LIST_MAX; i++) {
		cleanup_free char *slug = text_slug(parts.v[i], 200);
		const char *s = strncmp(slug, "steps-", 6) == 0 ? slug + 6 : slug;

		if (!*s || streq(s, "none") || streq(s, "nothing"))
			continue;
		if (isdigit((unsigned char)*s))
			strv_pushf(ret, "step-%s", s);
		else
			strv_push(ret, s);
	}
}

/* Returns the lines below a task with every box unticked, so that ticking a box does not change
 * the fingerprint of the task. */
static char *description(const struct plan *p, size_t at, const char *text)
{
	const struct plan_item *it = &p->items[at];
	size_t from = it->body;
	char *ret;

	ret = xstrndup(text + from, it->end - from);
	for (size_t i = at + 1; i < p->n && p->items[i].owner == at; i++)
		ret[p->items[i].box - from] = ' ';
	for (size_t n = strlen(ret); n && isspace((unsigned char)ret[n - 1]); n--)
		ret[n - 1] = '\0';
	from = strspn(ret, "\r\n");
	memmove(ret, ret + from, strlen(ret + from) + 1);
	return ret;
}

static void read_body(const struct plan_item *it, const char *text, struct task *t)
{
	size_t at = it->body, line, n, value_n = 0;
	struct plan_fence fence = {0};

	while (plan_line(text, it->end, &at, &line, &n)) {
		const char *value;

		if (plan_fenced(&fence, text + line, n))
			continue;
		value = behind_word(text + line, n, "verify", &value_n);
		if (value)
			read_commands(value, value_n, &t->verify);
		value = behind_word(text + line, n, "depends on", &value_n);
		if (!value)
			value = behind_word(text + line, n, "depends", &value_n);
		if (value)
			read_depends(value, value_n, &t->depends);
	}
}

static int read_task(const char *name, const struct plan *p, size_t at, const char *text,
		     struct listing *l, struct err *err)
{
	const struct plan_item *it = &p->items[at];
	struct task *t = listing_add(l);

	t->id = xstrdup(it->id);
	t->line = it->line;
	if (it->title_n == 0)
		return err_usage(err,
				 "%s:%u: %s has no title; say in a few words what is to be "
				 "done",
				 name, it->line, it->step ? "the step" : "the box");
	if (it->title_n > WORK_TEXT_MAX || it->end - it->body > WORK_FILE_MAX / 4)
		return err_usage(err, "%s:%u: is too long for one task; split it", name, it->line);
	t->title = xstrndup(text + it->title, it->title_n);
	t->description = description(p, at, text);
	t->said = t->state = it->said;
	if (it->said == TASK_BLOCKED)
		t->why = xstrndup(text + it->why, it->why_n);
	for (size_t i = at + 1; i < p->n && p->items[i].owner == at; i++) {
		if (t->criteria.n == WORK_LIST_MAX)
			return err_usage(err, "%s:%u: has more than %d boxes; split it", name,
					 it->line, WORK_LIST_MAX);
		strv_take(&t->criteria, xstrndup(text + p->items[i].title, p->items[i].title_n));
	}
	read_body(it, text, t);
	return 0;
}

/* The first heading of level one ("# Title") is the name of the plan. */
static void read_name(const char *text, size_t len, size_t body, struct listing *l)
{
	size_t at = body, line, n;

	while (!l->project && plan_line(text, len, &at, &line, &n))
		if (n > 2 && n < 500 && text[line] == '#' && text[line + 1] == ' ') {
			while (n && isspace((unsigned char)text[line + n - 1]))
				n--;
			l->project = xstrndup(text + line + 2, n > 2 ? n - 2 : 0);
		}
}

int plan_read(const char *name, const char *text, size_t len, struct listing *ret, struct err *err)
{
	cleanup_listing struct listing l = {0};
	cleanup_plan struct plan p = {0};
	size_t body = 0;
	int r = text_check(name, text, len, WORK_FILE_MAX, err);

	if (r == 0)
		r = front_read(name, text, len, &l, &body, err);
	if (r < 0)
		return r;
	if (plan_scan(text, len, &p) < 0)
		return err_usage(err, "%s: has more than %d tasks or %d boxes; split it", name,
				 WORK_TASKS_MAX, PLAN_ITEMS_MAX);
	read_name(text, len, body, &l);
	for (size_t i = 0; r == 0 && i < p.n; i++)
		if (p.items[i].id)
			r = read_task(name, &p, i, text, &l, err);
	if (r == 0 && l.n == 0)
		r = err_usage(err,
			      "%s: there is no task in it; write '- [ ] what is to be done' or "
			      "'### Step 1: what is to be done'",
			      name);
	if (r == 0)
		r = listing_check(&l, name, err);
	if (r < 0)
		return r;
	*ret = l;
	l = (struct listing){0};
	return 0;
}
