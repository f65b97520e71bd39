#include "work/prd.h"

#include <string.h>

#include "work/jedit.h"

/* Words in use for each state; the first one is written to a file that does not use any yet. */
static const struct {
	const char *word;
	enum task_state state;
} words[] = {
	{"open", TASK_READY},
	{"pending", TASK_READY},
	{"todo", TASK_READY},
	{"ready", TASK_READY},
	{"not-started", TASK_READY},
	{"not_started", TASK_READY},
	{"in-progress", TASK_BUSY},
	{"in_progress", TASK_BUSY},
	{"busy", TASK_BUSY},
	{"doing", TASK_BUSY},
	{"active", TASK_BUSY},
	{"done", TASK_DONE},
	{"completed", TASK_DONE},
	{"complete", TASK_DONE},
	{"passed", TASK_DONE},
	{"closed", TASK_DONE},
	{"blocked", TASK_BLOCKED},
	{"stuck", TASK_BLOCKED},
	{"needs-attention", TASK_BLOCKED},
};

enum task_state prd_status(const char *word)
{
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (streq(words[i].word, word))
			return words[i].state;
	return TASK_STATE_N;
}

const char *prd_status_word(struct jtext text, enum task_state s)
{
	struct jtext stories = jpick_one(text, PRD_STORIES), story;
	const char *first = NULL;
	size_t at = 0;

	while (jpick_each(stories, &at, &story)) {
		struct jtext v = jpick_one(story, "status");

		for (size_t i = 0; i < ARRAY_SIZE(words); i++)
			if (words[i].state == s && jtext_eq(v, words[i].word))
				return words[i].word;
	}
	for (size_t i = 0; !first && i < ARRAY_SIZE(words); i++)
		if (words[i].state == s)
			first = words[i].word;
	return first;
}

char *prd_id(struct jtext value)
{
	if (jtext_is_string(value))
		return jtext_dup(value, WORK_TEXT_MAX);
	for (size_t i = 0; i < value.n; i++)
		if (value.p[i] < '0' || value.p[i] > '9')
			return NULL;
	return value.n ? xstrndup(value.p, value.n) : NULL;
}

#define BOM "\xef\xbb\xbf"

static size_t bom(const char *text, size_t len)
{
	return len >= strlen(BOM) && memcmp(text, BOM, strlen(BOM)) == 0 ? strlen(BOM) : 0;
}

struct jtext prd_object(const char *text, size_t len)
{
	size_t at = bom(text, len);

	while (at < len &&
	       (text[at] == ' ' || text[at] == '\t' || text[at] == '\n' || text[at] == '\r'))
		at++;
	return (struct jtext){text + at, len - at};
}

int prd_parse(const char *text, size_t len, json_t **ret, struct err *err)
{
	size_t at = bom(text, len); /* white space is not skipped: lines are counted from here */

	return json_parse(text + at, len - at, ret, err);
}

struct jtext prd_story(struct jtext text, const char *id)
{
	struct jtext stories = jpick_one(text, PRD_STORIES), story;
	size_t at = 0;

	while (jpick_each(stories, &at, &story)) {
		cleanup_free char *its = prd_id(jpick_one(story, "id"));

		if (its && streq(its, id))
			return story;
	}
	return (struct jtext){0};
}

int prd_set(struct buf *text, const char *id, const char *key, const char *value)
{
	struct jtext story = prd_story(prd_object(text->data, text->len), id);
	struct buf new;
	int r;

	if (!story.p)
		return -ENOENT;
	buf_init(&new, WORK_FILE_MAX);
	r = jedit_set((struct jtext){text->data, text->len}, story, key, value, &new);
	if (r < 0) {
		buf_done(&new);
		return r;
	}
	buf_done(text);
	*text = new;
	return 0;
}

bool prd_review_pending(struct jtext story)
{
	struct jtext v = jpick_one(story, PRD_REVIEW_STATUS);

	return jtext_eq(v, review_status_name(REVIEW_NEEDED)) ||
	       jtext_eq(v, review_status_name(REVIEW_CHANGES));
}

static bool has(const struct buf *text, const char *id, const char *key)
{
	return jpick_one(prd_story(prd_object(text->data, text->len), id), key).p;
}

static int mark_status(struct buf *text, const struct task *t)
{
	enum task_state s =
		t->state == TASK_DONE || t->state == TASK_BLOCKED ? t->state : TASK_READY;
	struct jtext all = prd_object(text->data, text->len);
	cleanup_free char *old = jtext_dup(jpick_one(prd_story(all, t->id), "status"), 64);
	cleanup_free char *word = NULL;

	if (old && prd_status(old) == s)
		return 0;
	word = xasprintf("\"%s\"", prd_status_word(all, s));
	return prd_set(text, t->id, "status", word);
}

static int mark(const char *text, size_t len, const struct task *t, struct buf *ret)
{
	bool done = t->state == TASK_DONE;
	struct buf b;
	int r = 0;

	buf_init(&b, WORK_FILE_MAX);
	(void)buf_append(&b, text, len);
	if (!prd_story(prd_object(text, len), t->id).p)
		r = -ENOENT;
	/* A story that only uses "status" does not get "passes". */
	if (r == 0 && (has(&b, t->id, "passes") || (done && !has(&b, t->id, "status"))))
		r = prd_set(&b, t->id, "passes", done ? "true" : "false");
	if (r == 0 && has(&b, t->id, "status"))
		r = mark_status(&b, t);
	/* A loop without reviews, or the user, finished a task that waited for a review. */
	if (r == 0 && done && prd_review_pending(prd_story(prd_object(b.data, b.len), t->id)))
		r = prd_set(&b, t->id, PRD_REVIEW_STATUS, "null");
	if (r == 0)
		r = buf_append(ret, b.data, b.len);
	buf_done(&b);
	return r;
}

const struct format format_prd = {
	.read = prd_read, .mark = mark, .judge = prd_judge, .apply = prd_apply};
