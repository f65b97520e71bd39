#include "work/task.h"

#include <string.h>

#include "base/buf.h"

/* More than a source may hold, see WORK_FILE_MAX. */
#define FINGERPRINT_MAX (16 * MiB)

static const char *const names[] = {
	[TASK_READY] = "ready",	    [TASK_BUSY] = "busy",   [TASK_DONE] = "done",
	[TASK_BLOCKED] = "blocked", [TASK_STUCK] = "stuck", [TASK_DECIDE] = "decide",
};

struct task *task_new(void)
{
	return xcalloc(1, sizeof(struct task));
}

struct task *task_free(struct task *t)
{
	if (!t)
		return NULL;
	free(t->id);
	free(t->title);
	free(t->description);
	strv_done(&t->criteria);
	strv_done(&t->depends);
	strv_done(&t->verify);
	free(t->why);
	free(t->notes);
	free(t->commit);
	free(t);
	return NULL;
}

const char *task_state_name(enum task_state s)
{
	return s < TASK_STATE_N ? names[s] : "unknown";
}

const char *review_status_name(enum review_status s)
{
	static const char *const words[] = {
		[REVIEW_NEEDED] = "needs_review",
		[REVIEW_CHANGES] = "changes_requested",
		[REVIEW_APPROVED] = "approved",
	};

	return s < REVIEW_STATUS_N ? words[s] : NULL;
}

int task_state_parse(const char *s, enum task_state *ret)
{
	for (size_t i = 0; i < TASK_STATE_N; i++)
		if (streq(s, names[i])) {
			*ret = (enum task_state)i;
			return 0;
		}
	return -EINVAL;
}

/* Each text is preceded by its kind and length, so that different tasks never give the same
 * bytes. */
static void add(struct buf *b, char kind, const char *s)
{
	(void)buf_printf(b, "%c%zu:%s\n", kind, s ? strlen(s) : 0, s ? s : "");
}

void task_fingerprint(struct task *t)
{
	cleanup_buf struct buf b;

	buf_init(&b, FINGERPRINT_MAX);
	add(&b, 'd', t->description);
	for (size_t i = 0; i < t->criteria.n; i++)
		add(&b, 'c', t->criteria.v[i]);
	for (size_t i = 0; i < t->verify.n; i++)
		add(&b, 'v', t->verify.v[i]);
	trust_hash(buf_str(&b), b.len, t->fingerprint);
}
