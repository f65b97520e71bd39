#include "live/live.h"

#include <string.h>

#include "events/events.h"
#include "record/store.h"

#define TRIES 40
#define LOCK_MS 500 /* for one that starts or ends just now; then it is asked again */

/* For a sandbox that is not live: with its record's locks held nobody else writes. */
static int add_to_record(const struct places *p, const char *name, const char *type,
			 json_t *details, struct err *err)
{
	cleanup_store struct store_entry e = STORE_ENTRY_INIT;
	struct events log = EVENTS_INIT;
	int r = store_open(p, name, false, &e, err);

	if (r == 0)
		r = store_lock(p, &e, LOCK_MS, err);
	if (r == 0)
		r = store_lock_live(p, &e, LOCK_MS, err);
	if (r == 0)
		r = events_open(e.dir, &log, err);
	if (r < 0)
		return r;
	(void)json_object_set_new(details, "by", json_string("host"));
	r = events_add(&log, type, json_incref(details));
	events_close(&log);
	return r < 0 ? err_sys(err, -r, "cannot write the event log of '%s'", name) : 0;
}

int live_event(const struct places *p, const char *name, const char *type, json_t *details,
	       struct err *err)
{
	cleanup_json json_t *owned = details ? details : json_object();
	cleanup_free char *text = json_dumps(owned, JSON_COMPACT);
	cleanup_buf struct buf b;
	int r = -EAGAIN;

	buf_init(&b, WIRE_BODY_MAX);
	if (!text)
		return err_set(err, EINVAL, "an event cannot be written as JSON");
	wire_put_str(&b, type);
	wire_put_str(&b, text);
	for (int i = 0; i < TRIES; i++) {
		cleanup_json json_t *answer = NULL;

		r = live_ask(p, name, WIRE_EVENT, &b, &answer, err);
		if (r < 0 || answer)
			return r;
		r = add_to_record(p, name, type, owned, err);
		if (r != -ETIMEDOUT && r != -EWOULDBLOCK && r != -ESTALE)
			return r;
	}
	return r;
}
