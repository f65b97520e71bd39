/* Reads the records of a file, one per line, of any length. */
#include "transcript/transcript.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text/mask.h"

#define READ_SIZE ((size_t)1 * MiB)
#define UTF8_MAX 4 /* bytes of a character, which a cut keeps whole */

struct lines {
	struct buf b;
	size_t from;   /* start of the current record */
	size_t seen;   /* no newline before this */
	bool too_long; /* the rest of a record beyond the limit is skipped */
};

static void lines_done(struct lines *l)
{
	buf_done(&l->b);
}

typedef bool record_fn(struct tr *t, struct jtext record);

static void one(struct tr *t, record_fn *fn, const char *p, size_t n)
{
	/* Some agents leave NUL bytes in a file after a crash. */
	while (n && (*p == '\0' || *p == ' ' || *p == '\t')) {
		p++;
		n--;
	}
	if (n && p[n - 1] == '\r')
		n--;
	if (n == 0)
		return;
	t->head.records++;
	if (*p != '{' || !fn(t, (struct jtext){p, n}))
		t->head.skipped++;
}

/* Handles all complete records in the buffer. */
static void whole(struct tr *t, record_fn *fn, struct lines *l)
{
	for (;;) {
		char *p = l->b.data + l->seen, *nl = NULL;

		if (l->b.len > l->seen)
			nl = memchr(p, '\n', l->b.len - l->seen);
		if (!nl)
			break;
		if (l->too_long)
			t->head.skipped++;
		else
			one(t, fn, l->b.data + l->from, (size_t)(nl - l->b.data) - l->from);
		l->too_long = false;
		l->from = l->seen = (size_t)(nl - l->b.data) + 1;
	}
	l->seen = l->b.len;
}

/* Makes room: drops the handled records, and skips a record that fills the whole buffer. */
static void make_room(struct tr *t, struct lines *l)
{
	if (l->b.len - l->from >= TR_RECORD_MAX) {
		if (!l->too_long)
			t->head.records++;
		l->too_long = true;
		l->from = l->b.len;
	}
	buf_consume(&l->b, l->from);
	l->seen -= l->from;
	l->from = 0;
}

static int each_record(struct tr *t, const struct tr_reader *r, record_fn *fn, int fd,
		       struct err *err)
{
	cleanup_(lines_done) struct lines l = {0};
	ssize_t n;

	buf_init(&l.b, TR_RECORD_MAX + READ_SIZE);
	for (;;) {
		make_room(t, &l);
		if (buf_reserve(&l.b, READ_SIZE) < 0)
			return err_set(err, ENOBUFS, "a record is too long");
		n = read(fd, l.b.data + l.b.len, READ_SIZE);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		if (fn == r->record && t->bytes)
			t->bytes(t->bytes_arg, l.b.data + l.b.len, (size_t)n);
		l.b.len += (size_t)n;
		whole(t, fn, &l);
	}
	if (n == 0 && !l.too_long && l.b.len > l.from)
		one(t, fn, l.b.data + l.from, l.b.len - l.from);
	else if (n == 0 && l.too_long)
		t->head.skipped++;
	return n < 0 ? err_sys(err, errno, "cannot read the transcript") : 0;
}

int tr_read(struct tr *t, const struct tr_reader *r, int fd, struct err *err)
{
	int res = 0;

	if (r->prepare) {
		res = each_record(t, r, r->prepare, fd, err);
		t->head.records = t->head.skipped = 0;
		if (res == 0 && lseek(fd, 0, SEEK_SET) < 0)
			res = err_sys(err, errno, "cannot read the transcript again");
	}
	return res < 0 ? res : each_record(t, r, r->record, fd, err);
}

static void drop(char **s)
{
	free(*s);
	*s = NULL;
}

void tr_done(struct tr *t)
{
	struct tr_head *h = &t->head;

	drop(&h->model);
	drop(&h->id);
	drop(&h->workspace);
	drop(&h->branch);
	drop(&h->version);
	drop(&h->title);
	drop(&h->parent);
	drop(&h->start);
	drop(&h->end);
	free(t->places);
	t->places = NULL;
}

void tr_change(char **field, struct jtext value)
{
	char *s = jtext_dup(value, TR_WORD_MAX);
	size_t n = s ? strlen(s) : 0;

	if (!s)
		return;
	/* The last word of a text that was cut may be the beginning of a secret. */
	if (n + UTF8_MAX > TR_WORD_MAX)
		while (n && mask_word_len(s + n - 1, 1))
			s[--n] = '\0';
	free(*field);
	*field = s;
}

void tr_set(char **field, struct jtext value)
{
	if (!*field)
		tr_change(field, value);
}

void tr_time(struct tr *t, struct jtext time)
{
	tr_set(&t->head.start, time);
	tr_change(&t->head.end, time);
}

/* FNV-1a is enough: only the author of a conversation could cause a collision, and only in it. */
static uint64_t hash(struct jtext t)
{
	uint64_t h = 0xcbf29ce484222325;

	for (size_t i = 0; i < t.n; i++)
		h = (h ^ (unsigned char)t.p[i]) * 0x100000001b3;
	return h;
}

bool tr_count_once(struct tr *t, struct jtext id)
{
	uint64_t h = hash(id);

	if (id.n == 0)
		return true;
	for (size_t i = 0; i < TR_IDS && i < t->n_counted; i++)
		if (t->counted[i] == h)
			return false;
	t->counted[t->n_counted++ % TR_IDS] = h;
	return true;
}

#define PLACES_MAX (1U << 20)

struct tr_place {
	uint64_t id;	 /* 0: free */
	uint64_t record; /* counted from 1 */
};

static struct tr_place *place(const struct tr *t, uint64_t id)
{
	size_t i = id & (t->n_places - 1);

	while (t->places[i].id && t->places[i].id != id)
		i = (i + 1) & (t->n_places - 1);
	return &t->places[i];
}

static void grow_places(struct tr *t)
{
	struct tr_place *old = t->places;
	size_t n = t->n_places;

	t->n_places = n ? 2 * n : 256;
	t->places = xcalloc(t->n_places, sizeof(*t->places));
	for (size_t i = 0; i < n; i++)
		if (old[i].id)
			*place(t, old[i].id) = old[i];
	free(old);
}

void tr_last_place(struct tr *t, struct jtext id)
{
	struct tr_place *p;

	if (2 * t->places_used >= t->n_places && t->n_places < PLACES_MAX)
		grow_places(t);
	p = place(t, hash(id) | 1);
	if (!p->id && 4 * t->places_used >= 3 * t->n_places)
		return; /* the table is full: later ids are all shown */
	t->places_used += !p->id;
	*p = (struct tr_place){hash(id) | 1, t->head.records};
}

bool tr_is_last_place(const struct tr *t, struct jtext id)
{
	const struct tr_place *p = t->n_places ? place(t, hash(id) | 1) : NULL;

	return !p || !p->id || p->record == t->head.records;
}

void tr_say(struct tr *t, const struct tr_item *item)
{
	if (item->kind == TR_USER) {
		t->head.turns++;
		if (!t->head.title && jtext_is_string(item->text))
			tr_set(&t->head.title, item->text);
	}
	if (item->time.n)
		tr_time(t, item->time);
	t->writer->item(t->writer, item);
}
