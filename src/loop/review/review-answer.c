#include "loop/review/review.h"

#include <string.h>

#include "base/json/json.h"

#define FENCE "```"

static bool is_blank(const char *p, size_t n)
{
	return strspn(p, " \t\r") >= n;
}

static bool is_fence(const char *p, size_t n)
{
	return n >= strlen(FENCE) && memcmp(p, FENCE, strlen(FENCE)) == 0 &&
	       is_blank(p + strlen(FENCE), n - strlen(FENCE));
}

/* Returns the last line that says something; *ret_n is 0 without one. */
static const char *last_line(const char *text, size_t *ret_n)
{
	const char *found = text;

	*ret_n = 0;
	while (*text) {
		size_t n = strcspn(text, "\n");

		if (!is_blank(text, n) && !is_fence(text, n)) {
			found = text;
			*ret_n = n;
		}
		text += n + (text[n] == '\n');
	}
	return found;
}

static bool put_reasons(const json_t *reasons, struct buf *b)
{
	const json_t *reason;
	size_t i;

	if (!json_is_array(reasons) || json_array_size(reasons) > REVIEW_REASONS_MAX)
		return false;
	json_array_foreach (reasons, i, reason) {
		size_t n = json_string_length(reason);

		if (!json_is_string(reason) || n == 0 || n > REVIEW_REASON_MAX ||
		    strlen(json_string_value(reason)) != n)
			return false;
		(void)buf_printf(b, "- %s\n", json_string_value(reason));
	}
	return !b->full;
}

static bool read_object(const json_t *j, const char *key, struct review_answer *ret)
{
	const char *its = json_string_value(json_object_get(j, "review"));
	const char *verdict = json_string_value(json_object_get(j, "verdict"));
	cleanup_buf struct buf b;

	buf_init(&b, REVIEW_FEEDBACK_MAX);
	if (!json_is_object(j) || json_object_size(j) != 3 || !its || !streq(its, key) ||
	    !verdict || !put_reasons(json_object_get(j, "reasons"), &b))
		return false;
	ret->approves = streq(verdict, "approve");
	if (!ret->approves && (!streq(verdict, "changes") || b.len == 0))
		return false;
	ret->feedback = b.len ? buf_take(&b) : NULL;
	return true;
}

bool review_answer_read(const char *text, const char *key, struct review_answer *ret)
{
	cleanup_json json_t *j = NULL;
	struct err ignored = {0};
	const char *line;
	size_t n;

	*ret = (struct review_answer){0};
	if (!text)
		return false;
	line = last_line(text, &n);
	return n > 0 && json_parse(line, n, &j, &ignored) == 0 && read_object(j, key, ret);
}

void review_answer_done(struct review_answer *a)
{
	free(a->feedback);
	*a = (struct review_answer){0};
}
