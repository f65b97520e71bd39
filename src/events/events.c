#include "events/events.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "events/usage.h"

#define TAIL_MAX (2 * EVENTS_LINE_MAX) /* length of the end that is searched for the last record */
#define STRING_KEPT 512		       /* of each string in a record that is too long */
#define DETAILS_MAX (EVENTS_LINE_MAX - 1024)

const char *events_name(unsigned i, char ret[EVENTS_NAME_SIZE])
{
	if (i == 0)
		(void)snprintf(ret, EVENTS_NAME_SIZE, EVENTS_FILE);
	else
		(void)snprintf(ret, EVENTS_NAME_SIZE, "events.%u.jsonl", i);
	return ret;
}

static json_t *head_of(uint64_t seq, const char *type)
{
	struct timespec ts;
	struct tm tm;
	char when[40], ms[32];

	(void)clock_gettime(CLOCK_REALTIME, &ts);
	(void)gmtime_r(&ts.tv_sec, &tm);
	(void)strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S", &tm);
	(void)snprintf(ms, sizeof(ms), ".%03ldZ", ts.tv_nsec / 1000000);
	return json_pack("{sI ss+ ss}", "seq", (json_int_t)seq, "time", when, ms, "type", type);
}

static json_t *shortened(json_t *j)
{
	const char *s = json_string_value(j), *key;
	json_t *ret, *v;
	size_t i;

	if (json_is_object(j)) {
		ret = json_object();
		json_object_foreach (j, key, v)
			(void)json_object_set_new(ret, key, shortened(v));
		return ret;
	}
	if (json_is_array(j)) {
		ret = json_array();
		json_array_foreach (j, i, v)
			(void)json_array_append_new(ret, shortened(v));
		return ret;
	}
	if (s && strlen(s) > STRING_KEPT) {
		cleanup_free char *cut = xasprintf("%.*s…", STRING_KEPT, s);

		return json_text(cut);
	}
	return json_incref(j);
}

/* Returns the record's text without its chain; never longer than a line may be. */
static char *text_of(uint64_t seq, const char *type, json_t *details)
{
	cleanup_json json_t *j = head_of(seq, type), *cut = NULL;
	char *text;

	(void)json_object_update_missing(j, details);
	(void)json_object_del(j, "chain");
	/* The text is ASCII only: a terminal that prints the file gets no control sequence. */
	text = json_dumps(j, JSON_COMPACT | JSON_ENSURE_ASCII);
	if (text && strlen(text) <= DETAILS_MAX)
		return text;
	free(text);
	cut = shortened(j);
	text = json_dumps(cut, JSON_COMPACT | JSON_ENSURE_ASCII);
	if (text && strlen(text) <= DETAILS_MAX)
		return text;
	free(text);
	json_decref(cut);
	cut = head_of(seq, type);
	(void)json_object_set_new(cut, "cut", json_true());
	return json_dumps(cut, JSON_COMPACT);
}

static void write_head(struct events *e)
{
	const struct head h = {e->chain, e->first};

	/* A failed write leaves the head behind, which the next record corrects; the head is
	 * never ahead. */
	(void)head_write(e->head, &h);
}

/* Appends one record to the open file. */
static int append(struct events *e, uint64_t seq, const char *type, json_t *details)
{
	cleanup_free char *text = text_of(seq, type, details), *line = NULL;
	struct chain next = {.seq = seq};
	size_t n;
	int r;

	if (!text)
		return -EINVAL;
	n = strlen(text) - 1;
	chain_of(e->chain.hash, text, n, next.hash);
	/* The chain is the last member, so that a verifier can cut it off. */
	text[n] = '\0';
	line = xasprintf("%s,\"chain\":\"%s\"}\n", text, next.hash);
	r = fd_write_all(e->fd, line, strlen(line));
	if (r < 0) {
		e->torn = true;
		return r;
	}
	e->size += (off_t)strlen(line);
	e->chain = next;
	write_head(e);
	return 0;
}

static int open_newest(struct events *e, int flags)
{
	closep(&e->fd);
	e->size = 0;
	e->fd = openat(e->dir, EVENTS_FILE,
		       O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | flags, 0600);
	return e->fd < 0 ? -errno : 0;
}

static json_t *place_of(const struct chain *c)
{
	return json_pack("{sI ss}", "seq", (json_int_t)c->seq, "chain", c->hash);
}

/* Writes the first record of a file that continues another one; notes holds further members. */
static int append_continued(struct events *e, uint64_t seq, json_t *notes)
{
	cleanup_json json_t *j =
		json_pack("{ss so sI so}", "what", "continued", "from", place_of(&e->chain),
			  "first", (json_int_t)e->first, "usage", usage_carry(e->dir));

	if (!j)
		return -ENOMEM;
	(void)json_object_update_missing(j, notes);
	return append(e, seq, "log", j);
}

/* Returns the number of the first record of file i; 0: unknown. */
static uint64_t first_of(int dirfd, unsigned i)
{
	cleanup_fd int fd = -1;
	char name[EVENTS_NAME_SIZE], line[64] = "";
	static const char seq[] = "{\"seq\":";
	uint64_t v = 0;

	fd = openat(dirfd, events_name(i, name), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 || read(fd, line, sizeof(line) - 1) < (ssize_t)sizeof(seq) ||
	    strncmp(line, seq, sizeof(seq) - 1) != 0)
		return 0;
	for (const char *p = line + sizeof(seq) - 1; *p >= '0' && *p <= '9'; p++)
		v = v * 10 + (uint64_t)(*p - '0');
	return v;
}

/* Returns the first kept record after the oldest file is dropped; 0: no file will be dropped. */
static uint64_t first_after_drop(int dirfd)
{
	char name[EVENTS_NAME_SIZE];
	uint64_t first = 0;
	struct stat st;

	if (fstatat(dirfd, events_name(EVENTS_OLD_MAX, name), &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	for (unsigned i = EVENTS_OLD_MAX; first == 0 && i-- > 0;)
		first = first_of(dirfd, i);
	return first;
}

/* After a crash between any two of these steps, events_open() can continue the log. */
static int rotate(struct events *e)
{
	char from[EVENTS_NAME_SIZE], to[EVENTS_NAME_SIZE];
	uint64_t first = first_after_drop(e->dir);
	int r;

	if (first) {
		e->first = first;
		write_head(e);
	}
	(void)unlinkat(e->dir, events_name(EVENTS_OLD_MAX, to), 0);
	for (unsigned i = EVENTS_OLD_MAX; i-- > 0;)
		if (renameat(e->dir, events_name(i, from), e->dir, events_name(i + 1, to)) < 0 &&
		    errno != ENOENT)
			return -errno;
	r = open_newest(e, O_EXCL);
	return r < 0 ? r : append_continued(e, e->chain.seq + 1, NULL);
}

/* The end of a file: its last complete record, and the bytes after it. */
struct tail {
	char *text;
	size_t n;
	size_t rest; /* offset of the bytes that are no record */
	struct chain last;
};

static void tail_done(struct tail *t)
{
	free(t->text);
}

static int read_tail(int fd, struct tail *t, off_t *ret_size)
{
	off_t size = lseek(fd, 0, SEEK_END);
	off_t from = size > (off_t)TAIL_MAX ? size - (off_t)TAIL_MAX : 0;
	ssize_t n;

	t->text = xmalloc(TAIL_MAX + 1);
	n = size > 0 ? pread(fd, t->text, TAIL_MAX, from) : 0;
	if (size < 0 || n < 0)
		return -errno;
	t->n = t->rest = (size_t)n;
	*ret_size = size;
	while (t->rest > 0) {
		size_t end = t->rest - (t->text[t->rest - 1] == '\n');
		char *before = memrchr(t->text, '\n', end), *line = before ? before + 1 : t->text;
		struct chain_record r;

		/* A line without its newline is not complete, whatever its content. */
		if (end < t->rest && chain_split(line, (size_t)(t->text + end - line), &r)) {
			t->last.seq = r.seq;
			memcpy(t->last.hash, r.hash, sizeof(r.hash));
			return 0;
		}
		t->rest = (size_t)(line - t->text);
	}
	return 0;
}

/* Describes the damage after the last complete record, from a crash, a full disk or an edit. */
static json_t *gap_of(const struct events *e, const struct tail *t, const struct head *h)
{
	json_t *j = json_pack("{ss}", "what", "gap");
	char hash[CHAIN_HASH_LEN + 1];

	if (t->rest < t->n) {
		chain_hash(t->text + t->rest, t->n - t->rest, hash);
		(void)json_object_set_new(j, "torn",
					  json_pack("{sI ss}", "bytes",
						    (json_int_t)(t->n - t->rest), "sha256", hash));
	}
	if (h && (h->last.seq > e->chain.seq ||
		  (h->last.seq == e->chain.seq && !streq(h->last.hash, e->chain.hash))))
		(void)json_object_set_new(j, "head", place_of(&h->last));
	else if (!h && e->chain.seq)
		(void)json_object_set_new(j, "head", json_null());
	if (e->missed)
		(void)json_object_set_new(j, "missed", json_integer((json_int_t)e->missed));
	if (json_object_size(j) > 1)
		return j;
	json_decref(j);
	return NULL;
}

/* Records the damage in the log, which continues after it. older: the chain comes from another
 * file. */
static int settle(struct events *e, struct tail *t, const struct head *h, bool older)
{
	cleanup_json json_t *gap = NULL;
	uint64_t seq;
	int r = 0;

	if (t->rest < t->n && t->text[t->n - 1] != '\n') {
		t->text[t->n++] = '\n';
		r = fd_write_all(e->fd, "\n", 1);
		e->size++;
	}
	gap = gap_of(e, t, h);
	if (r < 0 || (!gap && !older))
		return r;
	seq = h && h->last.seq > e->chain.seq ? h->last.seq + 1 : e->chain.seq + 1;
	r = older ? append_continued(e, seq, gap) : append(e, seq, "log", gap);
	if (r == 0)
		e->missed = 0;
	return r;
}

/* The newest file has no record after a crash at its start, so older files are searched. */
static int find_older(struct events *e)
{
	for (unsigned i = 1; i <= EVENTS_OLD_MAX && !e->chain.seq; i++) {
		cleanup_(tail_done) struct tail t = {0};
		char name[EVENTS_NAME_SIZE];
		cleanup_fd int fd =
			openat(e->dir, events_name(i, name), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
		off_t ignored;
		int r = fd < 0 ? 0 : read_tail(fd, &t, &ignored);

		if (r < 0)
			return r;
		e->chain = t.last;
	}
	return 0;
}

/* Returns the number of missed events that a record accounts for. */
static uint64_t told_by(const char *line, size_t n)
{
	cleanup_json json_t *j = json_loadb(line, n, 0, NULL);
	const char *type = json_string_value(json_object_get(j, "type"));

	if (!type || !streq(type, "log"))
		return 1;
	return (uint64_t)json_integer_value(json_object_get(j, "missed"));
}

/*
 * A disk can be full at any byte, also at the newline. A record that lacks only its newline, and
 * that the head does not name, is completed by adding it: a verifier could not tell the difference.
 */
static int end_record(struct events *e, struct tail *t, const struct head *h)
{
	const char *before, *line;
	struct chain_record rec;
	uint64_t told;
	int r;

	if (t->rest == t->n || t->text[t->n - 1] == '\n')
		return 0;
	before = memrchr(t->text, '\n', t->n);
	line = before ? before + 1 : t->text;
	if (!chain_split(line, (size_t)(t->text + t->n - line), &rec) || rec.seq <= h->last.seq ||
	    !chain_fits(e->chain.hash, &rec))
		return 0;
	r = fd_write_all(e->fd, "\n", 1);
	if (r < 0)
		return r;
	told = told_by(line, (size_t)(t->text + t->n - line));
	e->missed -= told < e->missed ? told : e->missed;
	e->size++;
	t->rest = t->n;
	t->last.seq = rec.seq;
	memcpy(t->last.hash, rec.hash, sizeof(rec.hash));
	e->chain = t->last;
	return 0;
}

/* Continues the chain after the last complete record. */
static int resume(struct events *e)
{
	cleanup_(tail_done) struct tail t = {0};
	struct head h = {.first = 1};
	int known = head_read(e->dir, &h), r = open_newest(e, 0);

	if (r == 0 && e->head < 0) {
		e->head = head_open(e->dir);
		r = e->head < 0 ? e->head : 0;
	}
	if (r == 0)
		r = read_tail(e->fd, &t, &e->size);
	if (r < 0)
		return r;
	e->first = h.first ? h.first : 1;
	e->chain = t.last;
	if (!t.last.seq)
		r = find_older(e);
	/* The head is written with the first record, so that a full disk cannot prevent it
	 * later. */
	if (r == 0 && known < 0 && e->chain.seq == 0)
		known = r = head_write(e->head, &(struct head){.first = 1});
	if (r == 0 && known == 0)
		r = end_record(e, &t, &h);
	/* A damaged head counts as missing: it is written again, and the log says so. */
	if (r == 0)
		r = settle(e, &t, known == 0 ? &h : NULL, e->chain.seq != t.last.seq);
	if (r < 0)
		return r;
	write_head(e);
	e->torn = false;
	return 0;
}

int events_open(int dirfd, struct events *ret, struct err *err)
{
	struct events e = EVENTS_INIT;
	int r;

	e.max = EVENTS_FILE_MAX;
	e.dir = fcntl(dirfd, F_DUPFD_CLOEXEC, 3);
	r = e.dir < 0 ? -errno : resume(&e);
	if (r < 0) {
		events_close(&e);
		return err_sys(err, -r, "cannot open the event log");
	}
	*ret = e;
	return 0;
}

void events_close(struct events *e)
{
	closep(&e->fd);
	closep(&e->head);
	closep(&e->dir);
}

int events_add(struct events *e, const char *type, json_t *details)
{
	cleanup_json json_t *owned = details;
	int r = 0;

	if (e->dir < 0)
		return -EBADF;
	if (e->torn)
		r = resume(e);
	if (r == 0 && e->size >= e->max)
		r = rotate(e);
	if (r == 0)
		r = append(e, e->chain.seq + 1, type, owned);
	if (r < 0) {
		e->missed++;
		e->torn = true;
	}
	return r;
}
