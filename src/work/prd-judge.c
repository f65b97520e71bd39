#include "work/prd.h"

#include <string.h>

#include "work/text.h"

#define REVIEW_FIELDS_MAX 16
#define REVIEW_MAX (16 * KiB) /* of one, as JSON */
/* The agent's additions are limited, so that the host always has room for its own marks. */
#define APPLIED_MAX (WORK_FILE_MAX - 128 * KiB)

struct judge {
	const char *id; /* the only task that may change */
	unsigned n_reviews;
	struct proposals *p;
};

/* The agent may write its own words about a review: review, reviewNotes … The result of a review is
 * the host's. */
static bool is_review(const char *key)
{
	return strncmp(key, "review", 6) == 0 && !streq(key, PRD_REVIEW_STATUS) &&
	       !streq(key, PRD_REVIEW_COUNT) && !streq(key, PRD_REVIEW_FEEDBACK);
}

static bool plain_key(const char *key)
{
	for (const char *p = key; *p; p++)
		if ((*p < '0' || *p > '9') && (*p < 'A' || *p > 'Z') && (*p < 'a' || *p > 'z') &&
		    *p != '_' && *p != '-')
			return false;
	return strlen(key) <= 64;
}

static void accept(struct judge *j, const char *key, const json_t *value, size_t max)
{
	char *text = json_dumps(value, JSON_ENCODE_ANY);

	if (text && strlen(text) <= max) {
		strv_push(&j->p->moved, key);
		strv_push(&j->p->moved_to, text);
	} else
		proposals_offence(j->p, "'%.80s' of %.80s is too long; it was put back", key,
				  j->id);
	free(text);
}

static void accept_notes(struct judge *j, const json_t *value)
{
	if (!json_is_string(value)) {
		proposals_offence(j->p, "the notes of %.80s are no text; they were put back",
				  j->id);
		return;
	}
	if (json_string_length(value) > WORK_TEXT_MAX / 2) {
		proposals_offence(j->p, "the notes of %.80s are too long; they were put back",
				  j->id);
		return;
	}
	free(j->p->notes);
	j->p->notes = xstrdup(json_string_value(value));
	accept(j, "notes", value, WORK_TEXT_MAX);
}

static void claim(struct judge *j, bool done)
{
	j->p->claims_done |= done;
	j->p->claims_undone |= !done;
}

/* Judges a changed value in the agent's own story. */
static void own_field(struct judge *j, const char *key, const json_t *value)
{
	if (streq(key, "passes") && json_is_boolean(value))
		claim(j, json_is_true(value));
	else if (streq(key, "status") && json_is_string(value))
		claim(j, prd_status(json_string_value(value)) == TASK_DONE);
	else if (streq(key, "notes"))
		accept_notes(j, value);
	else if (is_review(key) && plain_key(key) && j->n_reviews++ < REVIEW_FIELDS_MAX)
		accept(j, key, value, REVIEW_MAX);
	else if (streq(key, "acceptanceCriteria"))
		proposals_offence(j->p, "the criteria of %.80s were changed; they were put back",
				  j->id);
	else
		proposals_offence(j->p, "'%.80s' of %.80s was changed; it was put back", key,
				  j->id);
}

static void compare_story(struct judge *j, const char *id, const json_t *was, json_t *is)
{
	bool own = streq(id, j->id);
	const char *key;
	json_t *value;

	json_object_foreach (is, key, value) {
		if (json_equal(json_object_get(was, key), value))
			continue;
		if (own)
			own_field(j, key, value);
		else
			proposals_offence(j->p,
					  "'%.80s' of %.80s was changed, which was not the task; "
					  "it was put back",
					  key, id);
	}
	json_object_foreach ((json_t *)(uintptr_t)was, key, value)
		if (!json_object_get(is, key))
			proposals_offence(j->p, "'%.80s' of %.80s was removed; it was put back",
					  key, id);
}

static char *story_id(const json_t *story)
{
	const json_t *id = json_object_get(story, "id");

	if (json_is_string(id))
		return xstrdup(json_string_value(id));
	return json_is_integer(id) ? xasprintf("%lld", (long long)json_integer_value(id)) : NULL;
}

/* Returns the agent's version of the story with this id. A duplicate id is handled in
 * compare_stories(). */
static json_t *find(json_t *stories, const char *id, size_t hint)
{
	json_t *story = json_array_get(stories, hint);
	cleanup_free char *at_hint = story_id(story);
	size_t i;

	if (at_hint && streq(at_hint, id))
		return story;
	json_array_foreach (stories, i, story) {
		cleanup_free char *its = story_id(story);

		if (its && streq(its, id))
			return story;
	}
	return NULL;
}

static void compare_stories(struct judge *j, json_t *was, json_t *is)
{
	size_t i, found = 0;
	bool moved = false;
	json_t *story;

	json_array_foreach (was, i, story) {
		cleanup_free char *id = story_id(story);
		json_t *theirs = id ? find(is, id, i) : NULL;

		if (!id)
			continue;
		if (!theirs) {
			proposals_offence(j->p, "the story %.80s was removed; it was put back", id);
			continue;
		}
		found++;
		moved |= theirs != json_array_get(is, i);
		compare_story(j, id, story, theirs);
	}
	if (json_array_size(is) > found)
		proposals_offence(j->p, "%zu stories were added; they were taken out again",
				  json_array_size(is) - found);
	else if (moved && found == json_array_size(was))
		proposals_offence(j->p, "the stories were reordered; their order was put back");
}

static void compare_heads(struct judge *j, json_t *was, json_t *is)
{
	const char *key;
	json_t *value;

	json_object_foreach (is, key, value)
		if (!streq(key, PRD_STORIES) && !json_equal(json_object_get(was, key), value))
			proposals_offence(j->p, "'%.80s' was changed; it was put back", key);
	json_object_foreach (was, key, value)
		if (!json_object_get(is, key))
			proposals_offence(j->p, "'%.80s' was removed; it was put back", key);
}

static void compare(struct judge *j, json_t *was, json_t *is)
{
	json_t *stories = json_object_get(is, PRD_STORIES);

	compare_heads(j, was, is);
	if (stories && !json_is_array(stories))
		proposals_offence(j->p, "the list of stories is no list any more; it was put back");
	else if (json_array_size(stories) > WORK_TASKS_MAX)
		proposals_offence(j->p, "there are %zu stories; the list was put back",
				  json_array_size(stories));
	else
		compare_stories(j, json_object_get(was, PRD_STORIES), stories);
}

int prd_apply(const char *text, size_t len, const char *id, const struct proposals *p,
	      struct buf *ret)
{
	struct buf b;
	int r;

	buf_init(&b, WORK_FILE_MAX);
	r = buf_append(&b, text, len);
	for (size_t i = 0; r == 0 && i < p->moved.n; i++)
		r = prd_set(&b, id, p->moved.v[i], p->moved_to.v[i]);
	if (r == 0)
		r = buf_append(ret, b.data, b.len);
	buf_done(&b);
	return r;
}

/* The agent's changes must not prevent the host from reading or writing its own file. */
static void check_applied(const char *put, size_t len, const char *id, struct proposals *p)
{
	cleanup_listing struct listing l = {0};
	cleanup_buf struct buf b;
	struct err ignored = {0};

	buf_init(&b, APPLIED_MAX);
	if (p->moved.n == 0 ||
	    (prd_apply(put, len, id, p, &b) == 0 && prd_read("", b.data, b.len, &l, &ignored) == 0))
		return;
	proposals_offence(p, "what was written about %.80s cannot be kept; it was put back", id);
	strv_done(&p->moved);
	strv_done(&p->moved_to);
	free(p->notes);
	p->notes = NULL;
}

void prd_judge(const char *put, size_t put_len, const char *theirs, size_t len, const char *id,
	       struct proposals *ret)
{
	cleanup_json json_t *was = NULL, *is = NULL;
	struct judge j = {.id = id, .p = ret};
	struct err why = {0};

	if (prd_parse(put, put_len, &was, &why) < 0)
		return; /* cannot happen: ralph wrote and read this text before */
	if (len > WORK_FILE_MAX || prd_parse(theirs, len, &is, &why) < 0 || !json_is_object(is)) {
		proposals_offence(ret,
				  "the task file is no JSON any more (%.100s); it was put back",
				  is ? "no object" : why.msg);
		return;
	}
	compare(&j, was, is);
	check_applied(put, put_len, id, ret);
}
