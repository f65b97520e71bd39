#include "check/doctor.h"

#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/proc.h"
#include "engine/engine.h"

#define GIT_MS 5000
#define GIT_ANSWER_MAX (4 * KiB)

static const char *const state_names[DOCTOR_STATE_N] = {
	[DOCTOR_OK] = "ok",
	[DOCTOR_LIMITED] = "limited",
	[DOCTOR_MISSING] = "missing",
};

const char *doctor_state_name(enum doctor_state s)
{
	return state_names[s];
}

/* As git takes it from the user's settings, whatever directory this is. */
static char *git_setting(const char *name)
{
	char *const argv[] = {"git", "-C", "/", "config", "--get", (char *)name, NULL};
	cleanup_free char *text = NULL;
	struct err ignored;
	int code = 0;

	if (run_capture(argv, environ, GIT_MS, GIT_ANSWER_MAX, &text, &code, &ignored) < 0 ||
	    code > 1)
		return NULL;
	text[strcspn(text, "\n")] = '\0';
	return take_ptr(text);
}

/*
 * While a sandbox lives, a git directory that its agent makes in the tree lies where git of the
 * user's, and an editor, look. These two settings keep them from it.
 */
static void doctor_git(struct doctor_rows *rows)
{
	cleanup_free char *bare = git_setting("safe.bareRepository");

	if (!bare)
		return; /* no git, nothing to set */
	doctor_rows_add(rows, "git settings", streq(bare, "explicit") ? DOCTOR_OK : DOCTOR_LIMITED,
			"not to use git directories that an agent makes while its sandbox lives",
			"run: git config --global safe.bareRepository explicit; in VS Code, set "
			"git.autoRepositoryDetection to false",
			"safe.bareRepository is %s", bare[0] ? bare : "not set");
}

int doctor_examine(struct doctor *ret, struct err *err)
{
	struct doctor d = {0};
	int r = engine_doctor("native", &d.rows, &d.native, err);

	if (r == 0)
		doctor_git(&d.rows);
	if (r < 0)
		doctor_done(&d);
	else
		*ret = d;
	return r;
}

void doctor_done(struct doctor *d)
{
	doctor_rows_done(&d->rows);
	*d = (struct doctor){0};
}

json_t *doctor_to_json(const struct doctor *d)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < d->rows.n; i++) {
		const struct doctor_row *row = &d->rows.v[i];

		(void)json_array_append_new(
			rows,
			json_pack("{s:s, s:s, s:o, s:o, s:o}", "name", row->name, "state",
				  doctor_state_name(row->state), "detail", json_text(row->detail),
				  "use", json_text(row->use), "remedy",
				  row->remedy ? json_text(row->remedy) : json_null()));
	}
	return json_pack("{s:b, s:o}", "native", d->native, "checks", rows);
}
