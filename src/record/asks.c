#include "record/asks.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"

#define LOCK_FILE "asks.lock"
#define FILE_MAX (1 * MiB)
#define LOCK_TRIES 50
#define LOCK_PAUSE_NS (2 * 1000 * 1000)
#define MINUTE_S 60
#define DAY_S 86400

static const char *const kinds[] = {
	[ASK_HOST] = "host",
	[ASK_FILE] = "file",
	[ASK_DECIDE] = "decide",
};
static_assert(ARRAY_SIZE(kinds) == ASK_KIND_N, "one name per kind");

const char *ask_kind_name(enum ask_kind k)
{
	return k < ASK_KIND_N ? kinds[k] : "?";
}

enum ask_kind ask_kind_of(const char *name)
{
	unsigned i = 0;

	while (i < ASK_KIND_N && !streq(kinds[i], name))
		i++;
	return (enum ask_kind)i;
}

static const char *text_of(const json_t *ask, const char *key)
{
	const char *s = json_string_value(json_object_get(ask, key));

	return s ? s : "";
}

static uint64_t time_of(const json_t *ask, const char *key)
{
	json_int_t v = json_integer_value(json_object_get(ask, key));

	return v > 0 ? (uint64_t)v : 0;
}

static void set_text(json_t *ask, const char *key, const char *value)
{
	(void)json_object_set_new(ask, key, json_text(value));
}

static void set_time(json_t *ask, const char *key, uint64_t value)
{
	(void)json_object_set_new(ask, key, json_integer((json_int_t)value));
}

bool ask_is_open(const json_t *ask)
{
	return streq(text_of(ask, "state"), "open");
}

int asks_read(int record, json_t **ret, struct err *err)
{
	cleanup_json json_t *j = NULL;
	cleanup_buf struct buf b;
	int r;

	buf_init(&b, FILE_MAX);
	r = path_read(record, ASKS_FILE, &b);
	if (r == -ENOENT) {
		*ret = json_array();
		return 0;
	}
	if (r < 0)
		return err_sys(err, -r, "cannot read the sandbox's asks");
	r = json_parse(buf_str(&b), b.len, &j, err);
	if (r == 0 && !json_is_array(j))
		r = err_set(err, EINVAL, "it is no list");
	if (r < 0)
		return err_wrap(err, r, "the sandbox's asks are damaged");
	*ret = take_ptr(j);
	return 0;
}

json_t *asks_find(const json_t *asks, const char *id)
{
	json_t *a;
	size_t i;

	json_array_foreach (asks, i, a)
		if (streq(text_of(a, "id"), id))
			return a;
	return NULL;
}

uint64_t ask_waits_until(const json_t *ask)
{
	return time_of(ask, "waits");
}

bool asks_any_waits(const json_t *asks, uint64_t now)
{
	json_t *a;
	size_t i;

	json_array_foreach (asks, i, a)
		if (ask_is_open(a) && time_of(a, "waits") > now)
			return true;
	return false;
}

/* Changes take a moment each, so the wait is short, and a holder that was stopped holds up nobody. */
static int lock(int record, struct err *err)
{
	const struct timespec pause = {.tv_nsec = LOCK_PAUSE_NS};
	cleanup_fd int fd =
		openat(record, LOCK_FILE, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return err_sys(err, errno, "cannot lock the sandbox's asks");
	for (int i = 0; i < LOCK_TRIES; i++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return take_fd(fd);
		(void)nanosleep(&pause, NULL);
	}
	return err_set(err, EAGAIN, "another process changes the sandbox's asks; try again");
}

static int save(int record, const json_t *asks, struct err *err)
{
	cleanup_free char *text = json_dumps(asks, JSON_COMPACT);
	int r = text ? path_write_atomic(record, ASKS_FILE, text, strlen(text), 0600, 0) : -ENOMEM;

	return r < 0 ? err_sys(err, -r, "cannot write the sandbox's asks") : 0;
}

/* ---- putting in ---- */

static bool is_same(const json_t *ask, const struct ask_wish *w)
{
	return streq(text_of(ask, "kind"), ask_kind_name(w->kind)) &&
	       streq(text_of(ask, "what"), w->what) &&
	       (w->kind != ASK_DECIDE || streq(text_of(ask, "why"), w->why));
}

static int may_put(const json_t *asks, const struct ask_wish *w, struct err *err)
{
	size_t open = 0, minute = 0, day = 0, denied = 0, i;
	json_t *a;

	json_array_foreach (asks, i, a) {
		uint64_t at = time_of(a, "at");

		open += ask_is_open(a);
		minute += at + MINUTE_S > w->now;
		day += at + DAY_S > w->now;
		denied += is_same(a, w) && streq(text_of(a, "state"), "denied");
	}
	if (denied >= ASKS_DENIALS_MAX)
		return err_set(err, EPERM, "this was denied %d times; it is not asked again",
			       ASKS_DENIALS_MAX);
	if (open >= ASKS_OPEN_MAX)
		return err_set(err, EDQUOT, "%d asks are open already; wait for an answer",
			       ASKS_OPEN_MAX);
	if (minute >= ASKS_MINUTE_MAX || day >= ASKS_DAY_MAX)
		return err_set(err, EDQUOT, "too many asks; go on with other work");
	return 0;
}

/* No secret, only a name: FNV-1a over what differs between two asks. */
static void make_id(const json_t *asks, const struct ask_wish *w, char ret[ASK_ID_LEN + 1])
{
	cleanup_free char *text = xasprintf(
		"%zu %llu %llu %d %s %s", json_array_size(asks), (unsigned long long)w->now,
		(unsigned long long)now_ms(), (int)getpid(), w->what, w->why);
	uint32_t h = 2166136261U;

	for (const char *p = text; *p; p++)
		h = (h ^ (unsigned char)*p) * 16777619U;
	for (; (void)snprintf(ret, ASK_ID_LEN + 1, "%08x", h), asks_find(asks, ret);)
		h++;
}

/* The oldest that is answered goes where there is no room. */
static void make_room(json_t *asks)
{
	for (size_t i = 0; json_array_size(asks) >= ASKS_KEPT_MAX && i < json_array_size(asks);)
		if (ask_is_open(json_array_get(asks, i)))
			i++;
		else
			(void)json_array_remove(asks, i);
}

static json_t *new_ask(const json_t *asks, const struct ask_wish *w)
{
	static const struct strv none;
	char id[ASK_ID_LEN + 1];

	make_id(asks, w, id);
	return json_pack("{ss ss so so so sI si ss}", "id", id, "kind", ask_kind_name(w->kind),
			 "what", json_text(w->what), "why", json_text(w->why), "choices",
			 json_strv(w->choices ? w->choices : &none), "at", (json_int_t)w->now,
			 "times", 1, "state", "open");
}

static int put(int record, json_t *asks, const struct ask_wish *w, json_t **ret, struct err *err)
{
	json_t *a;
	size_t i;
	int r;

	json_array_foreach (asks, i, a)
		if (ask_is_open(a) && is_same(a, w)) {
			set_time(a, "times", time_of(a, "times") + 1);
			*ret = json_incref(a);
			return save(record, asks, err);
		}
	r = may_put(asks, w, err);
	if (r < 0)
		return r;
	make_room(asks);
	a = new_ask(asks, w);
	(void)json_array_append_new(asks, a);
	r = save(record, asks, err);
	if (r == 0)
		*ret = json_incref(a);
	return r;
}

int asks_put(int record, const struct ask_wish *w, json_t **ret, struct err *err)
{
	cleanup_json json_t *asks = NULL;
	cleanup_fd int held = lock(record, err);
	int r = held < 0 ? held : asks_read(record, &asks, err);

	return r < 0 ? r : put(record, asks, w, ret, err);
}

/* ---- changes ---- */

/* With the queue locked: the ask, of which *ret_asks holds the only reference. */
static int open_ask(int record, const char *id, json_t **ret_asks, json_t **ret, struct err *err)
{
	int r = asks_read(record, ret_asks, err);

	if (r < 0)
		return r;
	*ret = asks_find(*ret_asks, id);
	return *ret ? 0 : err_set(err, ENOENT, "there is no ask '%s'", id);
}

int asks_wait(int record, const char *id, uint64_t until, struct err *err)
{
	cleanup_fd int held = lock(record, err);
	cleanup_json json_t *asks = NULL;
	uint64_t last;
	json_t *a;
	int r = held < 0 ? held : open_ask(record, id, &asks, &a, err);

	if (r < 0 || !ask_is_open(a))
		return r;
	last = time_of(a, "at") + ASK_WAIT_S;
	set_time(a, "waits", until < last ? until : last);
	return save(record, asks, err);
}

int asks_answer(int record, const struct ask_answer *w, json_t **ret, struct err *err)
{
	cleanup_fd int held = lock(record, err);
	cleanup_json json_t *asks = NULL;
	json_t *a;
	int r = held < 0 ? held : open_ask(record, w->id, &asks, &a, err);

	if (r == 0 && !ask_is_open(a))
		r = err_set(err, EALREADY, "ask '%s' has an answer: %s", w->id,
			    text_of(a, "state"));
	if (r < 0)
		return r;
	set_text(a, "state", w->allow ? "allowed" : "denied");
	set_text(a, "answer", w->text);
	set_text(a, "scope", w->scope);
	set_time(a, "answered", w->now);
	r = save(record, asks, err);
	if (r == 0 && ret)
		*ret = json_incref(a);
	return r;
}

int asks_heard(int record, const char *id, struct err *err)
{
	cleanup_fd int held = lock(record, err);
	cleanup_json json_t *asks = NULL;
	json_t *a;
	size_t i;
	int r = held < 0 ? held : asks_read(record, &asks, err);

	if (r < 0)
		return r;
	json_array_foreach (asks, i, a)
		if (!ask_is_open(a) && (!id || streq(text_of(a, "id"), id)))
			(void)json_object_set_new(a, "heard", json_true());
	return save(record, asks, err);
}
