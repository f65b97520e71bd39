#include "cli/stranger.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json/json.h"
#include "base/log.h"
#include "base/path.h"
#include "base/proc.h"
#include "config/trust.h"
#include "engine/engine.h"
#include "workspace/gitdir.h"

#define MINE_MS 10000
#define ANSWER_MAX (4 * KiB)
#define SAID "hints" /* in the state: a file for each project that was spoken of */

static bool was_trusted(const struct places *p, const char *root)
{
	cleanup_free char *dir = path_join(p->state, "trust");
	struct trust record = {0};
	struct err ignored;
	bool there = trust_get(dir, root, &record, &ignored) == 0;

	if (there)
		trust_done(&record);
	return there;
}

/* A repository that cannot be read is nobody's that is known. */
static bool has_mine(const struct places *p, const char *root)
{
	cleanup_free char *program = places_program(p, "repo"), *text = NULL;
	char *argv[] = {program, (char *)(uintptr_t) "mine", (char *)(uintptr_t)root, NULL};
	cleanup_json json_t *j = NULL;
	struct err ignored;
	int code = 0;

	return run_capture(argv, NULL, MINE_MS, ANSWER_MAX, &text, &code, &ignored) == 0 &&
	       code == 0 && json_parse(text, strlen(text), &j, &ignored) == 0 &&
	       json_is_true(json_object_get(j, "mine"));
}

static bool is_strangers(const struct places *p, const struct gitdir *git)
{
	cleanup_free char *origin = gitdir_origin(git);

	return origin && !was_trusted(p, git->root) && !has_mine(p, git->root);
}

/* What the user can type, with the sentence around it. */
static const char *remedy(void)
{
	struct err why;

	if (engine_probe("gvisor", &why) == 0)
		return "'--engine gvisor' runs it on a kernel in user space";
	if (engine_probe("vm", &why) == 0)
		return "'--engine vm' runs it on a kernel of its own";
	if (strstr(why.msg, "ralph engine setup vm"))
		return "'ralph engine setup vm' prepares a kernel of its own for it, and '--engine "
		       "vm' uses "
		       "it";
	return "'ralph engine ls' says what another kernel for it takes";
}

static void say(void)
{
	log_warn("run",
		 "this project was cloned, and none of its latest commits is yours; if you do not "
		 "trust its code: %s (said once)",
		 remedy());
}

/* -EEXIST: there was one. */
static int mark(const struct places *p, const char *key)
{
	cleanup_free char *dir = path_join(p->state, SAID), *path = path_join(dir, key);
	cleanup_fd int fd = -1;
	struct err ignored;
	int r = path_mkdirs(dir, 0700, &ignored);

	if (r < 0)
		return r;
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	return fd < 0 ? -errno : 0;
}

void stranger_hint(const struct settings *s, const struct sandbox_spec *spec)
{
	cleanup_(gitdir_done) struct gitdir git = {0};
	char key[GITDIR_KEY_LEN + 1];
	struct err ignored;

	if (!streq(s->config->engine, "auto") || !streq(spec->engine, "native") || spec->clone ||
	    gitdir_find(spec->workspace, s->places.home, &git, &ignored) < 0 || !git.root)
		return;
	gitdir_key(&git, spec->workspace, key);
	/* Each project is judged once, and one that is the user's own is not looked at again. */
	if (mark(&s->places, key) == 0 && is_strangers(&s->places, &git))
		say();
}
