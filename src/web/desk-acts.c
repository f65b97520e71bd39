#include "web/desk.h"

#include <sha256.h>
#include <stdio.h>
#include <string.h>

#include "policy/host.h"
#include "view/log-view.h"

/* What can be shown of a thing, and the words for its acts. The same functions serve the page and
 * the hand's question, so a hash that does not match means that the thing has changed. */
struct thing {
	json_t *shown;
	json_t *args; /* as struct verb_args, by name */
};

static void digest(const char *text, uint8_t ret[SHA256_DIGEST_LENGTH])
{
	SHA2_CTX ctx;

	SHA256Init(&ctx);
	SHA256Update(&ctx, (const uint8_t *)text, strlen(text));
	SHA256Final(ret, &ctx);
}

void desk_key(const char *text, char ret[ROUTE_KEY_LEN + 1])
{
	uint8_t d[SHA256_DIGEST_LENGTH];

	digest(text, d);
	for (size_t i = 0; i < ROUTE_KEY_LEN / 2; i++)
		(void)snprintf(ret + 2 * i, 3, "%02x", d[i]);
}

char *desk_seen(const json_t *shown)
{
	cleanup_free char *text =
		json_dumps(shown, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENSURE_ASCII);
	uint8_t d[SHA256_DIGEST_LENGTH];
	char *ret = xcalloc(2 * sizeof(d) + 1, 1);

	digest(text ? text : "", d);
	for (size_t i = 0; i < sizeof(d); i++)
		(void)snprintf(ret + 2 * i, 3, "%02x", d[i]);
	return ret;
}

void desk_put_act(json_t *acts, const char *verb, const char *id, json_t *shown,
		  const struct verb_args *args)
{
	const struct verb *v = verb_find(verb);
	cleanup_json json_t *owned = shown;
	cleanup_free char *line = verb_line(v, args), *seen = desk_seen(owned);

	/* An argument that the hand would refuse is not offered. */
	if (line)
		(void)json_array_append_new(
			acts, json_pack("{ss ss ss so ss}", "verb", verb, "id", id, "seen", seen,
					"cmd", json_text(line), "level", level_name(v->level)));
}

static json_t *loop_shown(const struct survey_loop *l)
{
	return json_pack("{so sb ss sI}", "workspace", json_text(l->workspace), "running",
			 l->running, "state", l->running ? "" : survey_loop_state(l), "started",
			 (json_int_t)log_number(l->status, "started"));
}

json_t *desk_loop_acts(const struct survey_loop *l)
{
	const struct verb_args args = {.workspace = l->workspace};
	json_t *acts = json_array();
	char key[ROUTE_KEY_LEN + 1];

	desk_key(l->workspace, key);
	if (l->running) {
		desk_put_act(acts, "pause", key, loop_shown(l), &args);
		desk_put_act(acts, "stop", key, loop_shown(l), &args);
	} else if (!streq(survey_loop_state(l), "done")) {
		desk_put_act(acts, "resume", key, loop_shown(l), &args);
	}
	return acts;
}

/* The rule that would let it through: a name and its port. NULL: it is none that can be asked for
 * here; a rule that denies, an address and a private range are for the command line. */
static char *askable(const struct sandbox_log_refused *r)
{
	char text[HOST_PORT_TEXT_SIZE];
	struct err ignored;
	struct host h;

	if (!strstr(r->reason, "no rule allows it") || r->port < 1 || r->port > UINT16_MAX ||
	    host_parse(r->host, strlen(r->host), &h, &ignored) < 0 || h.kind != HOST_NAME)
		return NULL;
	host_format(&h, (uint16_t)r->port, text);
	return xstrdup(text);
}

static json_t *refusal_shown(const struct survey_sandbox *b, const char *host)
{
	return json_pack("{ss ss}", "sandbox", b->name, "host", host);
}

json_t *desk_refusal_acts(const struct survey_sandbox *b, const struct sandbox_log_refused *r)
{
	cleanup_free char *host = askable(r), *id = NULL;
	const struct verb_args args = {.workspace = b->workspace, .sandbox = b->name, .host = host};
	static const char *const names[] = {"deny", "allow-once", "allow-sandbox", "allow-project"};
	json_t *acts = json_array();
	char key[ROUTE_KEY_LEN + 1];

	if (!host)
		return acts;
	desk_key(host, key);
	id = xasprintf("%s/%s", b->name, key);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!streq(names[i], "allow-once") || b->live)
			desk_put_act(acts, names[i], id, refusal_shown(b, host), &args);
	return acts;
}

/* ---- the hand's question ---- */

static void add_text(json_t *args, const char *name, const char *value)
{
	if (value)
		(void)json_object_set_new(args, name, json_text(value));
}

static bool find_refusal(struct desk *d, const char *name, const char *key, struct thing *ret)
{
	const struct survey_sandbox *b = desk_find_sandbox(d, name);

	for (size_t i = 0; b && i < b->log.n_hosts; i++) {
		cleanup_free char *host = askable(&b->log.hosts[i]);
		char own[ROUTE_KEY_LEN + 1];

		if (!host)
			continue;
		desk_key(host, own);
		if (!streq(own, key))
			continue;
		ret->shown = refusal_shown(b, host);
		add_text(ret->args, "sandbox", b->name);
		add_text(ret->args, "host", host);
		add_text(ret->args, "workspace", b->workspace);
		return true;
	}
	return false;
}

/* Finds the task behind its key in what desk_loop() shows. */
static bool find_task(struct desk *d, const char *verb, const char *loop, const char *key,
		      struct thing *ret)
{
	unsigned status = 200;
	cleanup_json json_t *page = desk_loop(d, loop, &status);
	json_t *task, *act;
	size_t i, k;

	json_array_foreach (json_object_get(page, "tasks"), i, task) {
		char own[ROUTE_KEY_LEN + 1];

		desk_key(log_text(task, "id"), own);
		if (!streq(own, key))
			continue;
		json_array_foreach (json_object_get(task, "acts"), k, act)
			if (streq(log_text(act, "verb"), verb)) {
				ret->shown = json_string(log_text(act, "seen"));
				add_text(ret->args, "workspace", log_text(page, "workspace"));
				add_text(ret->args, "task", log_text(task, "id"));
				add_text(ret->args, "sandbox", log_text(page, "sandbox"));
				return true;
			}
	}
	return false;
}

static bool find_loop(struct desk *d, const char *verb, const char *key, struct thing *ret)
{
	const struct survey_loop *l = desk_find_loop(d, key);
	cleanup_json json_t *acts = l ? desk_loop_acts(l) : NULL;
	json_t *act;
	size_t i;

	if (!l)
		return false;
	json_array_foreach (acts, i, act)
		if (streq(log_text(act, "verb"), verb)) {
			ret->shown = json_string(log_text(act, "seen"));
			add_text(ret->args, "workspace", l->workspace);
			add_text(ret->args, "sandbox", log_text(l->status, "sandbox"));
			return true;
		}
	return false;
}

static bool find_held(struct desk *d, const char *verb, const char *id, struct thing *ret)
{
	unsigned status = 200;
	cleanup_json json_t *page = desk_held(d, id, &status);
	json_t *act;
	size_t i;

	json_array_foreach (json_object_get(page, "acts"), i, act)
		if (streq(log_text(act, "verb"), verb)) {
			ret->shown = json_string(log_text(act, "seen"));
			add_text(ret->args, "quarantine", id);
			add_text(ret->args, "sandbox", log_text(page, "sandbox"));
			return true;
		}
	return false;
}

static bool find_asked(struct desk *d, const char *verb, const char *id, struct thing *ret)
{
	unsigned status = 200;
	cleanup_json json_t *row = desk_ask(d, id, &status);
	json_t *act;
	size_t i;

	json_array_foreach (json_object_get(row, "acts"), i, act)
		if (streq(log_text(act, "verb"), verb)) {
			ret->shown = json_string(log_text(act, "seen"));
			add_text(ret->args, "ask", id);
			add_text(ret->args, "sandbox", log_text(row, "sandbox"));
			return true;
		}
	return false;
}

json_t *desk_resolve(struct desk *d, const char *verb, const char *id, unsigned *status)
{
	const char *slash = strchr(id, '/');
	cleanup_free char *first = xstrndup(id, slash ? (size_t)(slash - id) : strlen(id));
	struct thing t = {.args = json_object()};
	cleanup_json json_t *args = t.args, *shown = NULL;
	cleanup_free char *seen = NULL;
	struct err err = {0};
	bool found;

	d->surveyed_ms = 0;
	if (desk_look(d, &err) < 0)
		return desk_error(status, 503, err.msg);
	if (strncmp(verb, "ask-", 4) == 0)
		found = find_asked(d, verb, id, &t);
	else if (streq(verb, "drop") || streq(verb, "release"))
		found = find_held(d, verb, id, &t);
	else if (streq(verb, "deny") || strncmp(verb, "allow-", 6) == 0)
		found = slash && find_refusal(d, first, slash + 1, &t);
	else if (slash)
		found = find_task(d, verb, first, slash + 1, &t);
	else
		found = find_loop(d, verb, id, &t);
	shown = t.shown;
	if (!found)
		return desk_error(status, 409, "it is not there any more, or needs no such act");
	seen = json_is_string(shown) ? xstrdup(json_string_value(shown)) : desk_seen(shown);
	return json_pack("{ss sO}", "seen", seen, "args", args);
}
