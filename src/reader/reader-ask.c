/* What the agent asks a person for, as requests to the proxy port itself: see gateway/exchange/ask-route.h. */
#include "reader/reader.h"

#include <jansson.h>
#include <string.h>

#include "base/parse.h"

static const char asks_path[] = "/_ralph/asks";

static bool say(struct buf *why, const char *text)
{
	(void)buf_puts(why, text);
	return false;
}

static const char *member(const json_t *j, const char *key)
{
	const char *s = json_string_value(json_object_get(j, key));

	return s ? s : "";
}

static bool read_choices(const json_t *j, struct strv *ret)
{
	const json_t *all = json_object_get(j, "choices"), *one;
	size_t i;

	if (json_array_size(all) > GW_ASK_CHOICES_MAX)
		return false;
	json_array_foreach (all, i, one) {
		if (!json_is_string(one))
			return false;
		strv_push(ret, json_string_value(one));
	}
	return true;
}

static bool read_put(const struct reader_ask *q, json_t **ret_doc, struct gw_ask *ret,
		     struct buf *why)
{
	json_t *j = json_loadb(q->body, q->n, JSON_REJECT_DUPLICATES, NULL);

	*ret_doc = j;
	ret->verb = GW_ASK_PUT;
	ret->kind = member(j, "kind");
	ret->what = member(j, "what");
	ret->why = member(j, "why");
	if (!json_is_object(j) || !read_choices(j, &ret->choices) ||
	    strlen(ret->kind) > GW_NAME_MAX || strlen(ret->what) > GW_ASK_TEXT_MAX ||
	    strlen(ret->why) > GW_ASK_TEXT_MAX)
		return say(why, "an ask is a JSON object with kind, what and why");
	return true;
}

/* "name=N" and nothing else; false: malformed. No query is 0. */
static bool read_query(const char *query, const char *name, uint64_t max, uint64_t *ret)
{
	size_t n = strlen(name);

	*ret = 0;
	return !query || (strncmp(query, name, n) == 0 && parse_uint(query + n, 0, max, ret) == 0);
}

unsigned int reader_ask(const struct reader_ask *q, json_t **ret_doc, struct gw_ask *ret,
			struct buf *why)
{
	size_t n = sizeof(asks_path) - 1, path_n = strcspn(q->target, "?");
	const char *query = q->target[path_n] ? q->target + path_n + 1 : NULL;
	bool is_get = streq(q->method, "GET");
	uint64_t wait;

	*ret = (struct gw_ask){0};
	*ret_doc = NULL;
	if (strncmp(q->target, asks_path, n) != 0 && is_get) {
		ret->verb = GW_ASK_REFUSED;
		if (read_query(query, "since=", INT64_MAX, &ret->since))
			return 0;
		(void)say(why, "since is a number");
		return 400;
	}
	if (path_n == n && streq(q->method, "POST"))
		return read_put(q, ret_doc, ret, why) ? 0 : 400;
	if (path_n <= n + 1 || path_n > n + GW_ASK_ID_MAX || !is_get ||
	    strncmp(q->target, asks_path, n) != 0) {
		(void)say(why, "POST /_ralph/asks, or GET /_ralph/asks/ID");
		return 405;
	}
	ret->verb = GW_ASK_GET;
	if (!read_query(query, "wait=", GW_ASK_WAIT_MAX_S, &wait)) {
		(void)say(why, "wait is a number of seconds, at most 30");
		return 400;
	}
	ret->wait_s = (uint32_t)wait;
	*ret_doc = json_stringn(q->target + n + 1, path_n - n - 1);
	ret->what = *ret_doc ? json_string_value(*ret_doc) : "";
	return 0;
}
