#include "events/events-verify.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/json/jpick.h"

#define TORN_MAX (2 * EVENTS_LINE_MAX)

typedef unsigned long long ull;

void verify_init(struct verify *v, const struct head *head)
{
	*v = (struct verify){.has_head = head != NULL};
	if (head)
		v->head = *head;
	buf_init(&v->torn, TORN_MAX);
}

void verify_done(struct verify *v)
{
	buf_done(&v->torn);
}

static int broken(struct verify *v, uint64_t at, const char *where, const char *fmt, ...)
	printf_like(4, 5);

static int broken(struct verify *v, uint64_t at, const char *where, const char *fmt, ...)
{
	va_list ap;

	v->broken = true;
	v->at = at;
	(void)snprintf(v->where, sizeof(v->where), "%s", where);
	va_start(ap, fmt);
	(void)vsnprintf(v->how, sizeof(v->how), fmt, ap);
	va_end(ap);
	return 1;
}

static void note(struct verify *v, const char *fmt, ...) printf_like(2, 3);

static void note(struct verify *v, const char *fmt, ...)
{
	va_list ap;

	v->notes++;
	va_start(ap, fmt);
	(void)vsnprintf(v->note, sizeof(v->note), fmt, ap);
	va_end(ap);
}

static void where_is(const struct events_line *l, char ret[64])
{
	char name[EVENTS_NAME_SIZE];

	(void)snprintf(ret, 64, "%s:%u", events_name(l->file, name), l->number);
}

/* The statements of a "log" record about the log before it. */
struct admits {
	bool is_log;
	struct jtext torn, head, from, missed;
};

static struct admits admits_of(const struct events_line *l)
{
	static const char *const names[] = {"type", "torn", "head", "from", "missed"};
	struct jtext m[ARRAY_SIZE(names)];
	struct admits a = {0};

	/* Most records have other types and are not parsed. */
	if (!memmem(l->text, l->n, "\"type\":\"log\"", 12) ||
	    !jpick((struct jtext){l->text, l->n}, names, m, ARRAY_SIZE(names)) ||
	    !jtext_eq(m[0], "log"))
		return a;
	return (struct admits){true, m[1], m[2], m[3], m[4]};
}

static void place_of(struct jtext j, struct chain *ret)
{
	static const char *const names[] = {"seq", "chain"};
	struct jtext m[ARRAY_SIZE(names)];
	cleanup_free char *hash = NULL;

	*ret = (struct chain){0};
	if (!jpick(j, names, m, ARRAY_SIZE(names)))
		return;
	ret->seq = jtext_uint(m[0]);
	hash = jtext_dup(m[1], CHAIN_HASH_LEN);
	(void)snprintf(ret->hash, sizeof(ret->hash), "%s", hash ? hash : "");
}

/* A crash leaves a partial line. The record after it must give its exact length and hash. */
static int explain_torn(struct verify *v, const struct admits *a, uint64_t at)
{
	static const char *const names[] = {"bytes", "sha256"};
	struct jtext m[ARRAY_SIZE(names)] = {0};
	char hash[CHAIN_HASH_LEN + 1];
	bool claimed = a->torn.p != NULL;

	if (v->torn.len == 0 && !claimed)
		return 0;
	if (v->torn.len == 0)
		return broken(v, at, v->where,
			      "it says that half a line lies before it, and there is none: it was "
			      "removed");
	chain_hash(v->torn.data, v->torn.len, hash);
	if (!claimed || v->torn.full || !jpick(a->torn, names, m, ARRAY_SIZE(names)) ||
	    jtext_uint(m[0]) != v->torn.len || !jtext_eq(m[1], hash))
		return broken(v, at, v->torn_where,
			      "this is no record: a line was overwritten, cut or put in");
	note(v, "half a line at %s, left by a crash; record %llu says so", v->torn_where, (ull)at);
	buf_clear(&v->torn);
	return 0;
}

/* A record may state that the log was shorter than before, or different. */
static int explain_head(struct verify *v, const struct admits *a, uint64_t at, const char *where)
{
	struct chain head;

	if (!a->head.p)
		return 0;
	place_of(a->head, &head);
	if (head.seq == 0)
		return broken(v, at, where,
			      "events.head was missing or damaged when the sandbox started again: "
			      "records before this one may have been cut off");
	if (head.seq > v->last.seq)
		return broken(v, v->last.seq + 1, where,
			      "records %llu to %llu are missing: they were cut off before the "
			      "sandbox started again, as record %llu says",
			      (ull)v->last.seq + 1, (ull)head.seq, (ull)at);
	return broken(v, v->last.seq, where,
		      "record %llu was replaced before the sandbox started again, as record %llu "
		      "says",
		      (ull)v->last.seq, (ull)at);
}

/* The oldest kept file begins in the middle of the chain. */
static int begin(struct verify *v, const struct chain_record *r, const struct admits *a,
		 const char *where)
{
	struct chain from = {0};

	v->first = r->seq;
	if (r->seq == 1 && !a->from.p)
		return 0;
	place_of(a->from, &from);
	if (!a->is_log || !from.seq)
		return broken(v, 1, where,
			      "records before %llu are missing: the log begins in the middle",
			      (ull)r->seq);
	if (!v->has_head || v->head.first < r->seq)
		return broken(v, v->has_head ? v->head.first : 1, where,
			      "records before %llu are missing: an older file of the log was "
			      "taken away",
			      (ull)r->seq);
	v->last = from;
	return 0;
}

static int wrong_number(struct verify *v, const struct chain_record *r, const char *where)
{
	uint64_t want = v->last.seq + 1;

	if (r->seq > want)
		return broken(v, want, where,
			      r->seq == want + 1
				      ? "record %llu is missing: %llu stands in its place"
				      : "record %llu is missing: the next one here is %llu",
			      (ull)want, (ull)r->seq);
	return broken(v, r->seq, where,
		      "record %llu stands behind record %llu: it was put in, repeated or moved",
		      (ull)r->seq, (ull)v->last.seq);
}

static int suspect(struct verify *v, const char *where)
{
	v->suspect = true;
	(void)snprintf(v->suspect_where, sizeof(v->suspect_where), "%s", where);
	return 0;
}

/* A record does not fit: checks whether the next line fits in its place. */
static int judge_suspect(struct verify *v, const struct events_line *l)
{
	uint64_t at = v->last.seq + 1;
	struct chain_record next;

	if (l && chain_split(l->text, l->n, &next) && next.seq == at &&
	    chain_fits(v->last.hash, &next))
		return broken(v, at, v->suspect_where,
			      "this record was put in: the true record %llu follows it", (ull)at);
	return broken(v, at, v->suspect_where,
		      "record %llu was changed: its content does not fit its chain and record "
		      "%llu before it",
		      (ull)at, (ull)v->last.seq);
}

static void add_torn(struct verify *v, const struct events_line *l, const char *where)
{
	if (v->torn.len == 0)
		(void)snprintf(v->torn_where, sizeof(v->torn_where), "%s", where);
	(void)buf_append(&v->torn, l->text, l->n);
	if (!l->torn)
		(void)buf_putc(&v->torn, '\n');
	v->torn.full = v->torn.full || l->cut;
	v->torn_ended = !l->torn;
}

int verify_line(void *v_, const struct events_line *l)
{
	struct verify *v = v_;
	struct chain_record r;
	struct admits a;
	char where[64];
	int x = 0;

	if (v->suspect)
		return judge_suspect(v, l);
	where_is(l, where);
	if (l->torn || l->cut || memchr(l->text, '\0', l->n) || !chain_split(l->text, l->n, &r)) {
		add_torn(v, l, where);
		return 0;
	}
	a = admits_of(l);
	(void)snprintf(v->where, sizeof(v->where), "%s", where);
	x = explain_torn(v, &a, r.seq);
	if (x == 0 && v->records == 0)
		x = begin(v, &r, &a, where);
	if (x)
		return x;
	if (chain_fits(v->last.hash, &r)) {
		x = explain_head(v, &a, r.seq, where);
		if (x == 0 && r.seq != v->last.seq + 1)
			x = wrong_number(v, &r, where);
	} else {
		x = r.seq == v->last.seq + 1 ? suspect(v, where) : wrong_number(v, &r, where);
		return x;
	}
	if (x)
		return x;
	if (a.missed.p)
		note(v, "%llu events before record %llu could not be written",
		     (ull)jtext_uint(a.missed), (ull)r.seq);
	v->last.seq = r.seq;
	memcpy(v->last.hash, r.hash, sizeof(r.hash));
	v->records++;
	/* events.head names the hash of this record. */
	if (v->has_head && v->head.last.seq == r.seq && !streq(v->head.last.hash, r.hash))
		return broken(v, r.seq, where,
			      "record %llu is not the one that events.head knows: it and what is "
			      "before it was written anew",
			      (ull)r.seq);
	return 0;
}

void verify_end(struct verify *v)
{
	if (v->broken)
		return;
	if (v->suspect) {
		(void)judge_suspect(v, NULL);
		return;
	}
	if (v->records && !v->has_head)
		(void)broken(v, 0, "events.head",
			     "it is missing or damaged: records may have been cut off the end");
	else if (v->has_head && v->head.last.seq > v->last.seq)
		(void)broken(v, v->last.seq + 1, v->torn.len ? v->torn_where : "the end",
			     "records %llu to %llu are missing: the end of the log was cut off",
			     (ull)v->last.seq + 1, (ull)v->head.last.seq);
	else if (v->torn.len && v->torn_ended)
		(void)broken(v, 0, v->torn_where, "this is no record: a line was put in");
	else if (v->torn.len)
		note(v, "half a line at %s: a crash while it was written", v->torn_where);
}

int events_verify(int dirfd, struct verify *ret, struct err *err)
{
	struct events_files f = EVENTS_FILES_INIT;
	struct head head = {0}, after = {0};
	/* The head is read first: the records that it names are already written. */
	int known = head_read(dirfd, &head), r;

	r = events_files_open(dirfd, &f, err);
	/* The head is read again: files dropped meanwhile are not missing. */
	if (known == 0 && head_read(dirfd, &after) == 0)
		head.first = after.first;
	verify_init(ret, known == 0 ? &head : NULL);
	if (r == 0)
		r = events_each(&f, verify_line, ret, err);
	events_files_close(&f);
	if (r >= 0)
		verify_end(ret);
	return r < 0 ? r : 0;
}
