#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json/jpick.h"
#include "base/path.h"
#include "base/proc.h"
#include "hook/hook.h"

#define STATUS_MS 20000
#define STATUS_MAX (1 * MiB)
#define SHOWN_MAX (2 * KiB)

#define TASKS_MAX (8 * MiB)

extern char **environ;

/*
 * git status, with all settings disabled that could make git run a program. The agent has the same
 * rights as this hook; the only purpose is that the check has no side effects.
 */
static char *const status_argv[] = {"git",
				    "-c",
				    "core.fsmonitor=false",
				    "-c",
				    "core.hooksPath=/dev/null",
				    "-c",
				    "status.showUntrackedFiles=normal",
				    "status",
				    "--porcelain",
				    "--ignore-submodules=all",
				    "--", /* ralph itself writes to .ralph */
				    ":/",
				    ":(exclude,top).ralph",
				    NULL};

/* Returns the changes as git lists them, cut to a reminder's length; NULL: none, or unknown. */
static char *changes(const char *cwd)
{
	struct run run = RUN_INIT;
	struct err err = {0};
	char *out = NULL;
	int code = 0, r;

	(void)setenv("GIT_OPTIONAL_LOCKS", "0", 1);
	run.argv = status_argv;
	run.env = environ;
	run.dir = cwd;
	run.flags = RUN_SEARCH_PATH | RUN_DIE_WITH_US;
	r = run_collect(&run, STATUS_MS, STATUS_MAX, &out, &code, &err);
	/* Output beyond the limit means many changes. */
	if (r == -ENOBUFS)
		return xstrdup("(many files)\n");
	if (r < 0 || code != 0 || !out || !*out) {
		free(out);
		return NULL;
	}
	if (strlen(out) > SHOWN_MAX)
		out[SHOWN_MAX] = '\0';
	return out;
}

static bool story_is_valid(struct jtext story)
{
	static const char *const names[] = {"id", "passes"};
	struct jtext v[2];

	return jpick(story, names, v, 2) && v[0].p &&
	       (!v[1].p || jtext_true(v[1]) || (v[1].n == 5 && memcmp(v[1].p, "false", 5) == 0));
}

/* Returns NULL for a valid or missing list. */
static const char *tasks_fault(const char *path)
{
	cleanup_buf struct buf b;
	struct jtext stories, story;
	size_t at = 0;
	int r;

	buf_init(&b, TASKS_MAX);
	r = path_read(AT_FDCWD, path, &b);
	if (r == -ENOENT || r == -ENOTDIR || r == -EACCES)
		return NULL;
	if (r < 0)
		return "cannot be read";
	stories = jpick_one((struct jtext){b.data, b.len}, "userStories");
	if (!jtext_is_array(stories))
		return "is no JSON object with userStories";
	while (jpick_each(stories, &at, &story))
		if (!story_is_valid(story))
			return "has a story without an id, or whose \"passes\" is neither true nor "
			       "false";
	return NULL;
}

static bool put_tasks_fault(const char *cwd, struct buf *reason)
{
	static const char *const files[] = {".ralph/prd.json", "prd.json"};

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		cleanup_free char *path = path_join(cwd, files[i]);
		const char *fault = tasks_fault(path);

		if (!fault)
			continue;
		(void)buf_printf(reason, "%s %s: repair it. ", files[i], fault);
		return true;
	}
	return false;
}

int hook_stop(const struct hook_input *in, int read_error)
{
	cleanup_free char *changed = NULL;
	cleanup_buf struct buf reason, out;
	bool wrong;

	buf_init(&reason, 8 * KiB);
	buf_init(&out, 64 * KiB);
	if (read_error < 0)
		hook_say("stop: what the agent sent is not understood, ignoring it");
	/* After one reminder, the agent may stop as it is. */
	if (read_error < 0 || in->stop_active || !in->cwd || !hook_in_loop(in->cwd) ||
	    session_level(in->session) == SESSION_OVER)
		return 0;
	wrong = put_tasks_fault(in->cwd, &reason);
	changed = changes(in->cwd);
	if (!wrong && !changed)
		return 0;
	if (changed) {
		(void)buf_puts(&reason, "There are changes that are not committed; commit what "
					"belongs to the task and "
					"put back the rest:\n");
		(void)buf_puts(&reason, changed);
	}
	(void)buf_puts(&out, "{\"decision\":\"block\",\"reason\":");
	(void)buf_put_quoted(&out, buf_str(&reason));
	(void)buf_puts(&out, "}\n");
	(void)fd_write_all(STDOUT_FILENO, out.data, out.len);
	return 0;
}
