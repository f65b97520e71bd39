#include "image/image-base.h"

#include <string.h>
#include <time.h>

#include "base/json/json.h"
#include "image/image-memo.h"

#define KIND "bases"

static char *about(const struct image_tool *t, const char *ref)
{
	return xasprintf("%s %s", t->engine, ref);
}

/* True for an image that cannot change (a digest) or that exists only on this machine. */
static bool is_fixed(const char *ref)
{
	return strchr(ref, '@') || strncmp(ref, "localhost/", 10) == 0;
}

static uint64_t when(const json_t *memo, const char *key)
{
	json_int_t v = json_integer_value(json_object_get(memo, key));

	return v > 0 ? (uint64_t)v : 0;
}

/* pulled: the pull succeeded; else it failed, and the earlier time of a pull is kept. Losing the
 * memo only causes another pull. */
static void remember(const struct places *p, const struct image_tool *t, const char *ref,
		     bool pulled)
{
	cleanup_free char *key = about(t, ref);
	cleanup_json json_t *old = image_memo_get(p, KIND, key), *memo = NULL;
	json_int_t now = (json_int_t)time(NULL);
	struct err ignored;

	memo = json_pack("{ss ss sI sI}", "engine", t->engine, "image", ref, "pulled",
			 pulled ? now : (json_int_t)when(old, "pulled"), "tried", now);
	(void)image_memo_set(p, KIND, key, memo, &ignored);
}

int image_base_look(const struct image_request *req, const struct image_tool *t, const char *ref,
		    struct image_facts *ret, bool *ret_due, struct err *err)
{
	cleanup_free char *key = about(t, ref);
	cleanup_json json_t *memo = NULL;
	uint64_t now = (uint64_t)time(NULL), fresh;
	int r = image_tool_inspect(t, ref, ret, err);

	*ret_due = r == -ENOENT;
	if (r < 0 || is_fixed(ref))
		return r;
	memo = image_memo_get(req->places, KIND, key);
	fresh = ret->created > when(memo, "pulled") ? ret->created : when(memo, "pulled");
	*ret_due = req->rebuild || (fresh + IMAGE_BASE_MAX_AGE < now &&
				    when(memo, "tried") + IMAGE_BASE_RETRY < now);
	return 0;
}

static void tell(const struct image_request *req, enum image_step_kind kind, const char *text)
{
	const struct image_step step = {.kind = kind, .text = text};

	if (req->told)
		req->told(req->arg, &step);
}

static void warn_of_old(const struct image_request *req, const char *ref,
			const struct image_facts *f, const char *why)
{
	cleanup_free char *text = NULL;
	char day[32] = "another time";
	time_t created = (time_t)f->created;
	struct tm tm;

	if (created && gmtime_r(&created, &tm))
		(void)strftime(day, sizeof(day), "%Y-%m-%d", &tm);
	text = xasprintf("cannot pull %s again, using the one of %s: %s", ref, day, why);
	tell(req, IMAGE_WARN, text);
}

int image_base_get(const struct image_request *req, const struct image_tool *t, const char *ref,
		   struct image_facts *ret, struct err *err)
{
	cleanup_image_facts struct image_facts old = {0};
	bool due = false;
	int there = image_base_look(req, t, ref, &old, &due, err), r = there;

	if (there < 0 && there != -ENOENT)
		return there;
	if (due) {
		tell(req, IMAGE_PULL, ref);
		r = image_tool_pull(t, ref, err);
		remember(req->places, t, ref, r == 0);
		if (r < 0 && there == 0)
			warn_of_old(req, ref, &old, err->msg);
		else if (r < 0)
			return err_hint(err,
					err_wrap(err, r,
						 "%s, which the image begins with, is not "
						 "here and cannot be pulled",
						 ref),
					"set image.base to one that you have");
	}
	if (!due || r < 0) {
		*ret = old;
		old = (struct image_facts){0};
		return 0;
	}
	r = image_tool_inspect(t, ref, ret, err);
	return r == -ENOENT ? err_set(err, EPROTO, "%s was pulled and is not here", ref) : r;
}
