#include "work/prd.h"

#include <assert.h>
#include <limits.h>
#include <string.h>

#include "base/json/json.h"
#include "work/text.h"

/* State of the parser, with the current position for messages. */
struct reader {
	const char *name, *base;
	const char *counted; /* the story before, at `line` */
	unsigned line;
	struct jtext text; /* the object in it */
	struct err *err;
	char where[48];	 /* "userStories[3]", or "" */
	struct jtext of; /* the object whose members are in `members` */
	struct jtext members[JPICK_MAX];
};

static const char *const keys[] = {
	/* clang-format off */
	"project", "name", "branchName", "branch", "baseBranch", "base", "description", "verifyCommands",
	"qualityGates", PRD_STORIES, "id", "title", "acceptanceCriteria", "dependsOn", "priority", "notes",
	"passes", "status", PRD_REVIEW_STATUS,
	/* clang-format on */
};
static_assert(ARRAY_SIZE(keys) <= JPICK_MAX, "one pass finds all members");

/* One pass over the object instead of one for each key: a loop reads its list several times for
 * each task, and a list of 200 stories is long. */
static struct jtext member(struct reader *r, struct jtext obj, const char *key)
{
	if (r->of.p != obj.p) {
		(void)jpick(obj, keys, r->members, ARRAY_SIZE(keys));
		r->of = obj;
	}
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (streq(keys[i], key))
			return r->members[i];
	return jpick_one(obj, key);
}

static int bad(struct reader *r, const char *at, const char *key, const char *rule)
{
	return err_usage(r->err, "%s:%u: %s%s%s: %s", r->name, text_line(r->base, at), r->where,
			 *r->where && *key ? "." : "", key, rule);
}

static bool absent(struct jtext v)
{
	return !v.p || (v.n == 4 && memcmp(v.p, "null", 4) == 0);
}

/* Reads an optional string; an empty one counts as missing. */
static int read_text(struct reader *r, struct jtext obj, const char *key, char **ret)
{
	struct jtext v = member(r, obj, key);

	if (absent(v) || *ret)
		return 0;
	if (!jtext_is_string(v))
		return bad(r, v.p, key, "is not a string; put it in quotes");
	if (v.n > WORK_TEXT_MAX)
		return bad(r, v.p, key, "is longer than 64 KiB; shorten it");
	if (v.n > 2)
		*ret = jtext_dup(v, WORK_TEXT_MAX);
	return 0;
}

/* Reads a list entry: a string, a number in a list of ids, or {"command": …} in a list of
 * commands. */
static char *entry(struct jtext v, bool ids)
{
	struct jtext command = jtext_is_object(v) ? jpick_one(v, "command") : v;

	return ids ? prd_id(v) : jtext_dup(command, WORK_TEXT_MAX);
}

static int read_list(struct reader *r, struct jtext obj, const char *key, bool ids,
		     struct strv *ret)
{
	struct jtext v = member(r, obj, key), item;
	size_t at = 0;

	if (absent(v))
		return 0;
	if (!jtext_is_array(v))
		return bad(r, v.p, key, "is not a list; write [\"…\", \"…\"]");
	while (jpick_each(v, &at, &item)) {
		cleanup_free char *s = item.n > WORK_TEXT_MAX ? NULL : entry(item, ids);

		if (!s || !*s)
			return bad(r, item.p, key,
				   "has an entry that is no text (or is empty, or longer than 64 "
				   "KiB); write each as a string");
		if (ret->n == WORK_LIST_MAX)
			return bad(r, item.p, key, "has more than 200 entries; split the story");
		strv_take(ret, take_ptr(s));
	}
	return 0;
}

static int read_priority(struct reader *r, struct jtext story, struct task *t)
{
	struct jtext v = member(r, story, "priority");
	cleanup_json json_t *j = NULL;

	t->priority = INT64_MAX; /* after all tasks that have a priority */
	if (absent(v))
		return 0;
	j = json_loadb(v.p, v.n, JSON_DECODE_ANY, NULL);
	if (!json_is_integer(j))
		return bad(r, v.p, "priority", "is not a whole number; 1 comes before 2");
	t->priority = json_integer_value(j);
	return 0;
}

/* The state comes from "passes", or else from "status". A story with a pending review is not done. */
static int read_state(struct reader *r, struct jtext story, struct task *t)
{
	struct jtext passes = member(r, story, "passes"), status = member(r, story, "status");
	cleanup_free char *word = NULL;
	enum task_state s = TASK_READY;

	if (!absent(passes) && !jtext_true(passes) && passes.p[0] != 'f')
		return bad(r, passes.p, "passes", "is neither true nor false; write one of them");
	if (!absent(status)) {
		word = jtext_dup(status, 64);
		s = word ? prd_status(word) : TASK_STATE_N;
		if (s == TASK_STATE_N)
			return bad(r, status.p, "status",
				   "is no word that ralph knows; write open, in-progress, done or "
				   "blocked");
	}
	if (!absent(passes) && (jtext_true(passes) || s == TASK_DONE))
		s = jtext_true(passes) ? TASK_DONE : TASK_READY;
	if (s == TASK_DONE && prd_review_pending(story))
		s = TASK_READY;
	t->said = t->state = s == TASK_BUSY ? TASK_READY : s;
	return 0;
}

static int check_review(struct reader *r, struct jtext story)
{
	struct jtext v = member(r, story, PRD_REVIEW_STATUS);

	if (absent(v) || prd_review_pending(story) ||
	    jtext_eq(v, review_status_name(REVIEW_APPROVED)))
		return 0;
	return bad(r, v.p, PRD_REVIEW_STATUS,
		   "is no result of a review; write null, needs_review, changes_requested or "
		   "approved");
}

static bool has_control(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			return true;
	return false;
}

static int read_id(struct reader *r, struct jtext story, struct task *t)
{
	struct jtext v = member(r, story, "id");

	if (absent(v))
		return bad(r, story.p, "id", "is missing; give each story an id, such as \"US-1\"");
	t->id = prd_id(v);
	if (!t->id || !*t->id || strlen(t->id) > 200 || has_control(t->id))
		return bad(r, v.p, "id",
			   "is no short text; write one of at most 200 bytes, such as \"US-1\"");
	return 0;
}

static int read_story(struct reader *r, struct jtext story, struct listing *l)
{
	struct task *t;
	int n;

	if (!jtext_is_object(story))
		return bad(r, story.p, "", "is not an object; write { \"id\": …, \"title\": … }");
	t = listing_add(l);
	if (!t)
		return bad(r, story.p, "", "is one story too many; at most 1000");
	/* Stories come in the order of the text: counting each from its beginning would take the square of it. */
	r->line += text_line(r->counted, story.p) - 1;
	r->counted = story.p;
	t->line = r->line;
	n = read_id(r, story, t);
	if (n == 0)
		n = read_text(r, story, "title", &t->title);
	if (n == 0)
		n = read_text(r, story, "name", &t->title);
	if (n == 0 && !t->title)
		n = bad(r, story.p, "title", "is missing; say in a few words what is to be done");
	if (n == 0)
		n = read_text(r, story, "description", &t->description);
	if (n == 0)
		n = read_list(r, story, "acceptanceCriteria", false, &t->criteria);
	if (n == 0)
		n = read_list(r, story, "dependsOn", true, &t->depends);
	if (n == 0)
		n = read_list(r, story, "verifyCommands", false, &t->verify);
	if (n == 0)
		n = read_list(r, story, "qualityGates", false, &t->verify);
	if (n == 0)
		n = read_priority(r, story, t);
	if (n == 0)
		n = read_text(r, story, "notes", &t->notes);
	if (n == 0)
		n = check_review(r, story);
	return n < 0 ? n : read_state(r, story, t);
}

static int read_head(struct reader *r, struct listing *l)
{
	/* For a field with two names, the first one present counts. */
	const struct {
		const char *key;
		char **to;
	} texts[] = {{"project", &l->project},	      {"name", &l->project},
		     {"branchName", &l->branch},      {"branch", &l->branch},
		     {"baseBranch", &l->base},	      {"base", &l->base},
		     {"description", &l->description}};
	int n = 0;

	for (size_t i = 0; n == 0 && i < ARRAY_SIZE(texts); i++)
		n = read_text(r, r->text, texts[i].key, texts[i].to);
	if (n == 0)
		n = read_list(r, r->text, "verifyCommands", false, &l->verify);
	if (n == 0)
		n = read_list(r, r->text, "qualityGates", false, &l->verify);
	return n;
}

static int read_stories(struct reader *r, struct listing *l)
{
	struct jtext v = member(r, r->text, PRD_STORIES), story;
	size_t at = 0;
	int n = 0;

	if (!v.p)
		return bad(r, r->text.p, PRD_STORIES,
			   "is missing; list the stories there: [{ \"id\": …, \"title\": … }]");
	if (!jtext_is_array(v))
		return bad(r, v.p, PRD_STORIES, "is not a list; write [{ \"id\": …, … }]");
	for (size_t i = 0; n == 0 && jpick_each(v, &at, &story); i++) {
		(void)snprintf(r->where, sizeof(r->where), PRD_STORIES "[%zu]", i);
		n = read_story(r, story, l);
	}
	r->where[0] = '\0';
	if (n == 0 && l->n == 0)
		return bad(r, v.p, PRD_STORIES, "is empty; write at least one story");
	return n;
}

int prd_read(const char *name, const char *text, size_t len, struct listing *ret, struct err *err)
{
	cleanup_listing struct listing l = {0};
	cleanup_json json_t *doc = NULL;
	struct reader r = {.name = name,
			   .base = text,
			   .counted = text,
			   .line = 1,
			   .text = prd_object(text, len),
			   .err = err};
	struct err why = {0};
	int n = text_check(name, text, len, WORK_FILE_MAX, err);

	if (n < 0)
		return n;
	n = prd_parse(text, len, &doc, &why);
	if (n < 0)
		return err_usage(err, "%s: is not valid JSON: %.200s; correct it there", name,
				 why.msg);
	if (!json_is_object(doc))
		return err_usage(err, "%s:1: is not an object; write { \"userStories\": […] }",
				 name);
	n = read_head(&r, &l);
	if (n == 0)
		n = read_stories(&r, &l);
	if (n == 0)
		n = listing_check(&l, name, err);
	if (n < 0)
		return n;
	*ret = l;
	l = (struct listing){0};
	return 0;
}
