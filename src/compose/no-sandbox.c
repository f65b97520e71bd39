#include "compose/no-sandbox.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/proc.h"
#include "hook/hook-settings.h"

extern char **environ;

#define HOOK_MS 10000
#define HOOK_BLOCKS 2 /* exit code */
#define SETTINGS_MAX (1 * MiB)
#define ANSWER_MAX (4 * KiB)

const char direct_warning[] =
	"NO SANDBOX: the agent runs as you, with your files, keys and network; only a list of "
	"dangerous commands stands in between, and it is no wall";

/* Something that no list of dangerous commands can be without. */
static const char question[] = "{\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"Bash\","
			       "\"tool_input\":{\"command\":\"rm -rf /\"}}";

/* The program is asked once: one that is not there, or says yes to everything, is no blocklist. */
static int try_hook(const char *program, const char *workspace, struct err *err)
{
	cleanup_fd int in = fd_memfd("question", question, strlen(question));
	char *argv[] = {(char *)(uintptr_t)program, (char *)"pre-tool-use", NULL};
	cleanup_free char *out = NULL;
	struct run run = RUN_INIT;
	int code = 0, r;

	if (in < 0)
		return err_sys(err, -in, "cannot create a memory file");
	run.argv = argv;
	run.env = environ;
	run.dir = workspace;
	run.stdio[0] = in;
	run.flags = RUN_DIE_WITH_US;
	r = run_collect(&run, HOOK_MS, ANSWER_MAX, &out, &code, err);
	if (r < 0)
		return err_wrap(err, r, "--no-sandbox: the blocklist does not answer");
	return code == HOOK_BLOCKS
		       ? 0
		       : err_set(err, EPERM,
				 "--no-sandbox: the blocklist let through what it must not (exit "
				 "code %d); nothing is run without it",
				 code);
}

/* A file that says so switches every hook off, ours too. */
static int check_file(const char *dir, const char *name, struct err *err)
{
	cleanup_free char *path = path_join(dir, name);
	cleanup_buf struct buf b;
	int r;

	buf_init(&b, SETTINGS_MAX);
	r = path_read(AT_FDCWD, path, &b);
	if (r == -ENOENT || r == -ENOTDIR)
		return 0;
	if (r < 0 || hook_settings_disabled(buf_str(&b), b.len))
		return err_set(
			err, EPERM,
			"--no-sandbox: '%s' switches hooks off (disableAllHooks), or cannot "
			"be read: without its blocklist the agent is not run; take it out, or "
			"use a sandbox",
			path);
	return 0;
}

static int check_files(const struct places *p, const char *workspace, struct err *err)
{
	int r = check_file(workspace, ".claude/settings.json", err);

	if (r == 0)
		r = check_file(workspace, ".claude/settings.local.json", err);
	return r < 0 ? r : check_file(p->home, ".claude/settings.json", err);
}

/* Options of the agent's that would take ours back. */
static int check_rest(const struct strv *rest, struct err *err)
{
	static const char *const options[] = {"--settings", "--bare", "--setting-sources"};

	for (size_t i = 0; i < rest->n; i++)
		for (size_t k = 0; k < ARRAY_SIZE(options); k++) {
			size_t n = strlen(options[k]);

			if (strncmp(rest->v[i], options[k], n) == 0 &&
			    (rest->v[i][n] == '\0' || rest->v[i][n] == '='))
				return err_usage(err,
						 "--no-sandbox: %s could switch the blocklist off; "
						 "leave it out, or use a sandbox",
						 options[k]);
		}
	return 0;
}

int no_sandbox_wire(const struct places *p, const struct agent *a, const char *workspace,
		    const struct strv *rest, struct strv *ret, struct err *err)
{
	cleanup_free char *program = places_program(p, "hook");
	cleanup_buf struct buf b;
	int r;

	buf_init(&b, SETTINGS_MAX);
	if (!a)
		return err_usage(err, "--no-sandbox runs an agent and nothing else: name one, as "
				      "in 'ralph --no-sandbox run claude'");
	if (!a->settings)
		return err_set(err, ENOTSUP,
			       "--no-sandbox: %s takes no hooks, so nothing would stand between it "
			       "and this machine; use a sandbox",
			       a->title);
	r = check_rest(rest, err);
	if (r == 0)
		r = check_files(p, workspace, err);
	if (r == 0)
		r = try_hook(program, workspace, err);
	if (r < 0)
		return r;
	r = hook_settings_document(&b, HOOK_SET_DIRECT, program);
	if (r < 0)
		return err_sys(err, -r, "--no-sandbox: the blocklist cannot be wired");
	strv_push(ret, a->settings);
	strv_push(ret, buf_str(&b));
	return 0;
}
