#include "work/progress.h"

#include <string.h>
#include <strings.h>

#include "work/markdown.h"
#include "work/text.h"

#define HEAD "## codebase patterns"

/* The head is n bytes at text + head; the body is everything before and after it. */
struct parts {
	const char *text;
	size_t len, head, n;
};

static bool ends_head(const char *line, size_t n)
{
	return (n >= 3 && memcmp(line, "---", 3) == 0) ||
	       (n >= 2 && line[0] == '#' &&
		(line[1] == ' ' || (n >= 3 && line[1] == '#' && line[2] == ' ')));
}

static struct parts split(const struct buf *b)
{
	struct parts p = {b->len ? b->data : "", b->len, 0, 0};
	size_t at = 0, line, n;
	bool in = false;

	while (plan_line(p.text, p.len, &at, &line, &n)) {
		if (in && ends_head(p.text + line, n)) {
			p.n = line - p.head;
			return p;
		}
		if (!in && n >= strlen(HEAD) &&
		    strncasecmp(p.text + line, HEAD, strlen(HEAD)) == 0) {
			in = true;
			p.head = line;
		}
	}
	p.n = in ? p.len - p.head : 0;
	return p;
}

static void put_body(const struct parts *p, struct buf *b)
{
	(void)buf_append(b, p->text, p->head);
	(void)buf_append(b, p->text + p->head + p->n, p->len - p->head - p->n);
}

static bool same_head(const struct parts *a, const struct parts *b)
{
	return a->n == b->n && memcmp(a->text + a->head, b->text + b->head, a->n) == 0;
}

static bool has_line(const struct parts *p, const char *line, size_t n)
{
	size_t at = 0, l, m;

	while (plan_line(p->text + p->head, p->n, &at, &l, &m))
		if (m == n && memcmp(p->text + p->head + l, line, n) == 0)
			return true;
	return false;
}

/* Merges the heads: the host's head, plus the lines that only the agent's head has. Another
 * agent may have edited the host's head meanwhile. */
static void join_heads(const struct parts *now, const struct parts *theirs, struct buf *b)
{
	size_t at = 0, line, n;

	(void)buf_append(b, now->text + now->head, now->n);
	if (b->len && b->data[b->len - 1] != '\n')
		(void)buf_putc(b, '\n');
	while (plan_line(theirs->text + theirs->head, theirs->n, &at, &line, &n)) {
		const char *p = theirs->text + theirs->head + line;

		if (n && !has_line(now, p, n)) {
			(void)buf_append(b, p, n);
			(void)buf_putc(b, '\n');
		}
	}
}

static void choose_head(const struct parts *put, const struct parts *theirs,
			const struct parts *now, struct buf *b, struct proposals *p)
{
	if (theirs->n == 0 && put->n)
		proposals_offence(p, "the head of progress.txt was removed; it was put back");
	else if (theirs->n > PROGRESS_HEAD_MAX)
		proposals_offence(p, "the head of progress.txt is too long; it was put back");
	else if (!same_head(put, theirs) && !same_head(put, now)) {
		join_heads(now, theirs, b);
		return;
	} else if (!same_head(put, theirs)) {
		(void)buf_append(b, theirs->text + theirs->head, theirs->n);
		return;
	}
	(void)buf_append(b, now->text + now->head, now->n);
}

/* Returns the text that the agent appended; NULL when the earlier text was changed. */
static const char *appended(const struct buf *put_body_, const struct buf *their_body)
{
	if (their_body->len < put_body_->len ||
	    (put_body_->len && memcmp(put_body_->data, their_body->data, put_body_->len) != 0))
		return NULL;
	return their_body->len ? their_body->data + put_body_->len : "";
}

bool progress_judge(const struct buf *put, const struct buf *theirs, const struct buf *now,
		    struct buf *ret, struct proposals *p)
{
	struct parts was = split(put), is = split(theirs), here = split(now);
	cleanup_buf struct buf was_body, is_body, head;
	const char *new;
	size_t n;

	buf_init(&was_body, WORK_PROGRESS_MAX);
	buf_init(&is_body, WORK_PROGRESS_MAX);
	buf_init(&head, 4 * WORK_PROGRESS_MAX);
	put_body(&was, &was_body);
	put_body(&is, &is_body);
	new = appended(&was_body, &is_body);
	n = new ? is_body.len - was_body.len : 0;
	if (!text_is_utf8(is.text, is.len)) {
		proposals_offence(p, "progress.txt is no UTF-8 text any more; it was put back");
		is = was;
		n = 0;
	} else if (!new) {
		proposals_offence(p, "progress.txt was changed above its end; it was put back");
	}
	choose_head(&was, &is, &here, &head, p);
	if (here.len - here.n + head.len + n > WORK_PROGRESS_MAX) {
		proposals_offence(p, "progress.txt is too long; what was added was taken out");
		(void)buf_append(ret, here.text, here.len);
		return false;
	}
	/* A new head goes to the top. */
	(void)buf_append(ret, here.text, here.n ? here.head : 0);
	(void)buf_append(ret, head.data, head.len);
	if (here.n == 0)
		(void)buf_append(ret, here.text, here.len);
	else
		(void)buf_append(ret, here.text + here.head + here.n,
				 here.len - here.head - here.n);
	if (n)
		(void)buf_append(ret, new, n);
	return ret->len != now->len || (ret->len && memcmp(ret->data, now->data, ret->len) != 0);
}
