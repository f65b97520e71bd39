#include "cli/losses.h"

#include <string.h>
#include <sys/stat.h>

#include "record/store.h"
#include "view/survey.h"

/* Nobody of the host reads the clone: its git directory is the agent's. So its commits count as
 * work that nobody else has. */
static void add_clone(const struct places *p, const char *name, struct strv *ret)
{
	cleanup_free char *clone = store_clone(p, name);
	struct stat st;

	if (lstat(clone, &st) == 0)
		strv_pushf(ret,
			   "%s: its clone, with all work that you have not applied; see: ralph "
			   "diff %s",
			   name, name);
}

static bool goes_on(const struct survey_loop *l)
{
	const char *state = survey_loop_state(l);

	return !streq(state, "done") && !streq(state, "unknown");
}

static void add_loop(const struct survey *s, const char *name, struct strv *ret)
{
	for (size_t i = 0; i < s->n_sandboxes; i++) {
		const struct survey_sandbox *b = s->sandboxes[i];

		if (streq(b->name, name) && b->loop && goes_on(b->loop))
			strv_pushf(ret,
				   "%s: the sandbox of a loop that is %s in %s; see: ralph status",
				   name, survey_loop_state(b->loop), b->loop->workspace);
	}
}

int losses_find(const struct places *p, const struct strv *names, struct strv *ret, struct err *err)
{
	struct survey s;
	int r;

	survey_init(&s, p);
	r = survey_refresh(&s, err);
	for (size_t i = 0; r == 0 && i < names->n; i++) {
		add_clone(p, names->v[i], ret);
		add_loop(&s, names->v[i], ret);
	}
	survey_done(&s);
	return r;
}
