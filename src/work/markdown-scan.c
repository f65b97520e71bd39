#include "work/markdown.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "work/text.h"

#define SLUG_MAX 48
#define NUMBER_MAX 20

bool plan_line(const char *text, size_t len, size_t *at, size_t *ret, size_t *ret_n)
{
	const char *nl;

	if (*at >= len)
		return false;
	nl = memchr(text + *at, '\n', len - *at);
	*ret = *at;
	*ret_n = (nl ? (size_t)(nl - text) : len) - *at;
	*at += *ret_n + (nl ? 1 : 0);
	return true;
}

static size_t blanks(const char *p, size_t n)
{
	size_t i = 0;

	while (i < n && (p[i] == ' ' || p[i] == '\t'))
		i++;
	return i;
}

/* Returns the length of the line without trailing white space. */
static size_t trimmed(const char *p, size_t n)
{
	while (n && (p[n - 1] == ' ' || p[n - 1] == '\t' || p[n - 1] == '\r'))
		n--;
	return n;
}

bool plan_fenced(struct plan_fence *f, const char *line, size_t n)
{
	size_t i = blanks(line, n), run = i;

	if (i < n && (line[i] == '`' || line[i] == '~'))
		while (run < n && line[run] == line[i])
			run++;
	if (f->n == 0) {
		if (run - i < 3)
			return false;
		*f = (struct plan_fence){line[i], (unsigned)(run - i)};
		return true;
	}
	if (run - i >= f->n && line[i] == f->c && trimmed(line, n) == run)
		f->n = 0;
	return true;
}

/* Finds "[done]" or "[blocked: why]" at the very end. Returns the offset of its bracket, or
 * `end` when there is no mark. */
static size_t mark_before(const char *text, size_t from, size_t end, bool step,
			  enum task_state *ret)
{
	size_t open = end, n;

	if (end == from || text[end - 1] != ']')
		return end;
	while (open > from && text[open - 1] != '[')
		open--;
	if (open == from)
		return end;
	n = end - 1 - open;
	if (step && n == 4 && strncasecmp(text + open, "done", 4) == 0)
		*ret = TASK_DONE;
	else if (n >= 7 && strncasecmp(text + open, "blocked", 7) == 0 &&
		 (n == 7 || text[open + 7] == ':'))
		*ret = TASK_BLOCKED;
	else
		return end;
	return open - 1;
}

/* The last mark of a line counts. Earlier marks are not part of the title either; otherwise
 * removing the last mark would expose an earlier one. */
static void read_mark(const char *text, size_t from, size_t end, struct plan_item *it)
{
	enum task_state said = TASK_READY, ignored;
	size_t open = mark_before(text, from, end, it->step, &said), next = open;

	it->mark = end;
	if (open == end)
		return;
	if (it->said != TASK_DONE)
		it->said = said;
	if (said == TASK_BLOCKED) {
		it->why = open + strlen("[blocked");
		it->why += text[it->why] == ':';
		it->why += blanks(text + it->why, end - 1 - it->why);
		it->why_n = end - 1 - it->why;
	}
	do {
		open = next;
		it->mark = from + trimmed(text + from, open - from);
		next = mark_before(text, from, it->mark, it->step, &ignored);
	} while (next != it->mark);
	it->mark_n = end - it->mark;
}

static void read_title(const char *text, size_t from, size_t end, struct plan_item *it)
{
	end = from + trimmed(text + from, end - from);
	read_mark(text, from, end, it);
	it->title = from;
	it->title_n = it->mark - from;
}

/* A separator follows "Step 3": ": ", ". ", " - ", " — " … */
static size_t behind_number(const char *p, size_t n)
{
	size_t i = blanks(p, n);

	if (i < n && strchr(":.)-", p[i]))
		i++;
	else if (i + 3 <= n && memcmp(p + i, "\xe2\x80", 2) == 0)
		i += 3;
	return i + blanks(p + i, n - i);
}

/* Returns the level of a heading, or 0; *ret is the offset of its text. */
static unsigned heading(const char *p, size_t n, size_t *ret)
{
	unsigned level = 0;

	while (level < n && p[level] == '#')
		level++;
	if (level == 0 || level > 6 || level == n || (p[level] != ' ' && p[level] != '\t'))
		return 0;
	*ret = level + blanks(p + level, n - level);
	return level;
}

static bool read_step(const char *text, size_t line, size_t n, size_t at, struct plan_item *it)
{
	const char *p = text + line;
	size_t i = at + 4, gap, digits = 0;

	if (n < i || strncasecmp(p + at, "step", 4) != 0)
		return false;
	gap = blanks(p + i, n - i);
	i += gap;
	while (i + digits < n && (isalnum((unsigned char)p[i + digits]) ||
				  (p[i + digits] == '.' && i + digits + 1 < n &&
				   isdigit((unsigned char)p[i + digits + 1]))))
		digits++;
	if (!gap || !digits || digits > NUMBER_MAX || !isdigit((unsigned char)p[i]))
		return false;
	it->step = true;
	it->number = line + i;
	it->number_n = digits;
	i += digits;
	read_title(text, line + i + behind_number(p + i, n - i), line + n, it);
	return true;
}

/* Finds "- [ ] ", "* [x] " or "2. [ ] " after the indent at i. Returns the offset of the byte in
 * the box, or 0. */
static size_t box_at(const char *p, size_t n, size_t i)
{
	size_t from = i, gap;

	while (i < n && i - from < 9 && isdigit((unsigned char)p[i]))
		i++;
	if (i == n || (i == from ? !strchr("-*+", p[i]) : !strchr(".)", p[i])) || p[i] == '\0')
		return 0;
	gap = blanks(p + i + 1, n - i - 1);
	i += 1 + gap;
	if (!gap || i + 3 >= n || p[i] != '[' || p[i + 2] != ']' || !strchr(" xX", p[i + 1]) ||
	    (p[i + 3] != ' ' && p[i + 3] != '\t'))
		return 0;
	return i + 1;
}

static unsigned columns(const char *p, size_t n)
{
	unsigned c = 0;

	for (size_t i = 0; i < n; i++)
		c = p[i] == '\t' ? c / 4 * 4 + 4 : c + 1;
	return c;
}

static bool read_box(const char *text, size_t line, size_t n, struct plan_item *it)
{
	const char *p = text + line;
	size_t indent = blanks(p, n), box = box_at(p, n, indent);

	if (!box)
		return false;
	it->indent = columns(p, indent);
	it->box = line + box;
	it->said = p[box] == ' ' ? TASK_READY : TASK_DONE;
	read_title(text, line + box + 2 + blanks(p + box + 2, n - box - 2), line + n, it);
	return true;
}

/* State of the scan between lines. */
struct scan {
	struct plan *p;
	size_t top; /* the open task, or PLAN_NOBODY */
	size_t tasks;
};

static void close_top(struct scan *s, size_t at)
{
	if (s->top != PLAN_NOBODY)
		s->p->items[s->top].end = at;
	s->top = PLAN_NOBODY;
}

static int add(struct scan *s, const struct plan_item *it, bool task)
{
	struct plan *p = s->p;

	if (p->n == PLAN_ITEMS_MAX || (task && s->tasks++ == WORK_TASKS_MAX))
		return -E2BIG;
	if ((p->n & (p->n + 1)) == 0)
		p->items = xrealloc(p->items, 2 * (p->n + 1), sizeof(*p->items));
	p->items[p->n] = *it;
	if (task)
		s->top = p->n;
	p->items[p->n++].owner = s->top;
	return 0;
}

/* Handles one line outside of code fences. */
static int take_line(struct scan *s, const char *text, size_t line, size_t n, size_t next,
		     unsigned number)
{
	struct plan_item it = {.line = number, .body = next, .owner = PLAN_NOBODY};
	struct plan_item *top = s->top == PLAN_NOBODY ? NULL : &s->p->items[s->top];
	size_t at = 0;

	if (trimmed(text + line, n) == 0)
		return 0;
	it.level = heading(text + line, n, &at);
	if (it.level) {
		bool step = s->p->steps && read_step(text, line, n, at, &it);

		if (top && (step || !top->step || it.level <= top->level))
			close_top(s, line);
		return step ? add(s, &it, true) : 0;
	}
	if (read_box(text, line, n, &it)) {
		bool task = !s->p->steps && (!top || it.indent < top->indent + 2);

		if (task)
			close_top(s, line);
		return add(s, &it, task);
	}
	if (top && !top->step && columns(text + line, blanks(text + line, n)) <= top->indent)
		close_top(s, line);
	return 0;
}

static bool has_steps(const char *text, size_t len)
{
	size_t at = 0, line, n, where = 0;
	struct plan_fence fence = {0};
	struct plan_item it = {0};

	while (plan_line(text, len, &at, &line, &n))
		if (!plan_fenced(&fence, text + line, n) && heading(text + line, n, &where) &&
		    read_step(text, line, n, where, &it))
			return true;
	return false;
}

static char *step_id(const struct plan_item *it, const char *text)
{
	char *id = xasprintf("step-%.*s", (int)it->number_n, text + it->number);

	for (char *c = id; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	return id;
}

/* Hash table of used ids: an agent may give a thousand tasks the same name. */
#define IDS_SIZE 4096 /* a power of two, above 2 * WORK_TASKS_MAX */

static const char **id_slot(const char **ids, const char *id)
{
	uint32_t h = 2166136261U;

	for (const char *c = id; *c; c++)
		h = (h ^ (unsigned char)*c) * 16777619U;
	h %= IDS_SIZE;
	while (ids[h] && !streq(ids[h], id))
		h = (h + 1) % IDS_SIZE;
	return &ids[h];
}

/* Makes an id from the words of the title; a duplicate gets "-2" at its end. */
static char *box_id(const struct plan_item *it, const char *text, const char **ids)
{
	cleanup_free char *title = xstrndup(text + it->title, it->title_n);
	cleanup_free char *slug = text_slug(title, SLUG_MAX);
	char *id = xstrdup(*slug ? slug : "task");

	for (unsigned k = 2; *id_slot(ids, id); k++) {
		free(id);
		id = xasprintf("%s-%u", *slug ? slug : "task", k);
	}
	*id_slot(ids, id) = id;
	return id;
}

/* Ids must stay stable when other tasks are added or removed, so they come from a step's number
 * or a box's words. */
static void name_items(struct plan *p, const char *text)
{
	cleanup_free const char **ids = xcalloc(IDS_SIZE, sizeof(char *));

	for (size_t i = 0; i < p->n; i++) {
		struct plan_item *it = &p->items[i];

		if (it->owner == i)
			it->id = it->step ? step_id(it, text) : box_id(it, text, ids);
	}
}

static_assert(IDS_SIZE > 2 * WORK_TASKS_MAX, "there is always a free slot");

int plan_scan(const char *text, size_t len, struct plan *ret)
{
	cleanup_plan struct plan p = {.steps = has_steps(text, len)};
	struct scan s = {.p = &p, .top = PLAN_NOBODY};
	size_t at = 0, line, n;
	struct plan_fence fence = {0};
	int r = 0;

	for (unsigned number = 1; r == 0 && plan_line(text, len, &at, &line, &n); number++)
		if (!plan_fenced(&fence, text + line, n))
			r = take_line(&s, text, line, n, at, number);
	if (r < 0)
		return r;
	close_top(&s, len);
	name_items(&p, text);
	*ret = p;
	p = (struct plan){0};
	return 0;
}

void plan_done(struct plan *p)
{
	for (size_t i = 0; i < p->n; i++)
		free(p->items[i].id);
	free(p->items);
	*p = (struct plan){0};
}
