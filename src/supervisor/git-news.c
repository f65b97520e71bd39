#include "supervisor/git-news.h"

#include <string.h>

#include "supervisor/supervisor.h"

#define LINES_MAX 8 /* of each kind; the events have all */

struct git_news {
	struct supervisor *sup;
	json_t *taken, *held; /* REF: its row */
	char *head;	      /* the branch that HEAD went to */
	char *head_held;      /* a sentence */
};

struct git_news *git_news_new(struct supervisor *s)
{
	struct git_news *n = xcalloc(1, sizeof(*n));

	n->sup = s;
	n->taken = json_object();
	n->held = json_object();
	return n;
}

static const char *text(const json_t *row, const char *key)
{
	const char *s = json_string_value(json_object_get(row, key));

	return s ? s : "";
}

static long long number(const json_t *row, const char *key)
{
	return (long long)json_integer_value(json_object_get(row, key));
}

static void event(const struct git_news *n, const char *type, const json_t *row)
{
	json_t *j = json_object();

	(void)json_object_update(j, (json_t *)(uintptr_t)row);
	events_link_limited(n->sup, type, j);
}

/* References of a submodule have its name, too. */
static char *key_of(const json_t *row)
{
	const char *module = text(row, "module");

	return xasprintf("%s%s%s", module, *module ? ": " : "", text(row, "ref"));
}

static void take_one(struct git_news *n, json_t *row)
{
	cleanup_free char *ref = key_of(row);
	const json_t *before = json_object_get(n->taken, ref);
	cleanup_json json_t *sum = json_deep_copy(row);

	event(n, "git-import", row);
	(void)json_object_set_new(sum, "commits",
				  json_integer(number(before, "commits") + number(row, "commits")));
	if (streq(text(before, "how"), "rewrite"))
		(void)json_object_set_new(sum, "how", json_string("rewrite"));
	(void)json_object_set(n->taken, ref, sum);
	(void)json_object_del(n->held, ref);
}

static void hold_one(struct git_news *n, json_t *row)
{
	cleanup_free char *ref = key_of(row);

	if (!json_is_true(json_object_get(row, "new")))
		return;
	event(n, "git-held", row);
	(void)json_object_set(n->held, ref, row);
}

static void take_rows(struct git_news *n, const json_t *answer, const char *module)
{
	json_t *row;
	size_t i;

	json_array_foreach (json_object_get(answer, "taken"), i, row) {
		if (module)
			(void)json_object_set_new(row, "module", json_text(module));
		take_one(n, row);
	}
	json_array_foreach (json_object_get(answer, "held"), i, row) {
		if (module)
			(void)json_object_set_new(row, "module", json_text(module));
		hold_one(n, row);
	}
}

void git_news_take(struct git_news *n, const json_t *answer)
{
	const json_t *head = json_object_get(answer, "head_held");
	json_t *module;
	size_t i;

	json_array_foreach (json_object_get(answer, "modules"), i, module)
		take_rows(n, module, text(module, "module"));
	take_rows(n, answer, NULL);
	if (text(answer, "head")[0]) {
		free(n->head);
		n->head = xstrdup(text(answer, "head"));
		event(n, "git-head", json_object_get(answer, "head") ? answer : NULL);
	}
	if (head) {
		free(n->head_held);
		n->head_held = xasprintf("the agent is on branch '%s', and you are not: %s",
					 text(head, "ref"), text(head, "why"));
	}
}

bool git_news_any(const struct git_news *n)
{
	return json_object_size(n->taken) || json_object_size(n->held) || n->head || n->head_held;
}

/* "main" of refs/heads/main */
static const char *plain(const char *ref)
{
	static const char *const starts[] = {"refs/heads/", "refs/tags/", "refs/"};

	for (size_t i = 0; i < ARRAY_SIZE(starts); i++)
		if (strncmp(ref, starts[i], strlen(starts[i])) == 0)
			return ref + strlen(starts[i]);
	return ref;
}

static char *commits(long long n)
{
	return xasprintf("%lld commit%s", n, n == 1 ? "" : "s");
}

static char *taken_line(const struct git_news *n, const char *ref, const json_t *row)
{
	cleanup_free char *count = commits(number(row, "commits"));

	if (strncmp(ref, "refs/heads/", 11) != 0)
		return xasprintf("tag %s: imported", plain(ref));
	if (streq(text(row, "how"), "rewrite"))
		return xasprintf("%s: imported, rewritten by the agent; the tip before is "
				 "refs/ralph/%s/was/%s",
				 plain(ref), n->sup->spec->name, ref + strlen("refs/"));
	return number(row, "commits") > 0 ? xasprintf("%s: %s imported", plain(ref), count)
					  : xasprintf("%s: imported", plain(ref));
}

static char *held_line(const struct git_news *n, const char *ref, const json_t *row)
{
	cleanup_free char *count = commits(number(row, "commits"));
	const char *name = n->sup->spec->name;
	bool branch = strncmp(ref, "refs/heads/", 11) == 0;
	cleanup_free char *what = branch && number(row, "commits") > 0
					  ? xasprintf("%s on '%s' %s held", count, plain(ref),
						      number(row, "commits") == 1 ? "is" : "are")
					  : xasprintf("'%s' is held", plain(ref));

	return xasprintf("%s: %s; see: ralph diff %s, ralph apply %s", what, text(row, "why"), name,
			 name);
}

typedef char *line_fn(const struct git_news *n, const char *ref, const json_t *row);
typedef void tell_fn(struct supervisor *s, const char *text);

static void tell_row(struct git_news *n, const json_t *row, line_fn *fn, tell_fn *tell)
{
	static const char below[] = "modules/";
	const char *module = text(row, "module");
	cleanup_free char *line = fn(n, text(row, "ref"), row), *whole = NULL;

	if (strncmp(module, below, strlen(below)) == 0)
		module += strlen(below);
	whole = *module ? xasprintf("submodule %s: %s", module, line) : take_ptr(line);
	tell(n->sup, whole);
}

static void tell_all(struct git_news *n, json_t *rows, line_fn *fn, tell_fn *tell)
{
	const char *key;
	json_t *row;
	size_t i = 0;

	json_object_foreach (rows, key, row) {
		if (i < LINES_MAX)
			tell_row(n, row, fn, tell);
		i++;
	}
	if (i > LINES_MAX) {
		cleanup_free char *line = xasprintf("%zu more references; see: ralph events %s",
						    i - LINES_MAX, n->sup->spec->name);

		tell(n->sup, line);
	}
	(void)json_object_clear(rows);
}

void git_news_tell(struct git_news *n)
{
	tell_all(n, n->taken, taken_line, client_news_all);
	tell_all(n, n->held, held_line, client_notice_all);
	if (n->head) {
		cleanup_free char *line =
			xasprintf("your repository is on branch '%s' now", plain(n->head));

		client_news_all(n->sup, line);
	}
	if (n->head_held)
		client_notice_all(n->sup, n->head_held);
	free(take_ptr(n->head));
	free(take_ptr(n->head_held));
}
