#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/path.h"
#include "hook/allow.h"
#include "hook/shell/expand.h"
#include "hook/hook.h"
#include "hook/judge.h"
#include "hook/shell/marks.h"
#include "hook/paths.h"
#include "hook/rules.h"
#include "hook/lock-file.h"
#include "hook/script-read.h"

#define SHOWN_MAX 3 /* findings in a message */

/* Tools that open files only to read or list them; any other tool with a file may write it. */
static const char *const readers[] = {"Read",
				      "Grep",
				      "Glob",
				      "LS",
				      "NotebookRead",
				      "read_file",
				      "read_many_files",
				      "list_directory",
				      "glob",
				      "search_file_content",
				      "grep",
				      "view",
				      "read",
				      "list",
				      "ls"};
/* Tools that are always a shell: without a command they cannot be judged. */
static const char *const shells[] = {"Bash",	    "bash",	    "shell",
				     "local_shell", "exec_command", "run_shell_command"};

static bool is_one_of(const char *name, const char *const *list, size_t n)
{
	for (size_t i = 0; name && i < n; i++)
		if (streq(name, list[i]))
			return true;
	return false;
}

static const char *environment(const char *name)
{
	return getenv(name);
}

/* Replaces marks by their readable form. */
static char *readable(const char *text)
{
	cleanup_buf struct buf b;

	buf_init(&b, 4 * KiB);
	for (; *text; text++) {
		if (*text == MARK_ANY)
			(void)buf_puts(&b, "…");
		else if (*text == MARK_STAR || *text == MARK_ONE)
			(void)buf_putc(&b, *text == MARK_STAR ? '*' : '?');
		else if (!mark_is(*text))
			(void)buf_putc(&b,
				       (unsigned char)*text < 0x20 || *text == 0x7f ? ' ' : *text);
	}
	return buf_take(&b);
}

/* Drops findings that the user has allowed; returns the worst severity that is left. */
static enum severity weigh(struct judge *j, const struct allow *a)
{
	enum severity worst = SEV_NONE;

	for (unsigned int i = 0; i < j->n_findings; i++) {
		struct finding *f = &j->findings[i];
		cleanup_free char *text = readable(f->text);

		if (allow_has(a, f->category, text ? text : ""))
			f->severity = SEV_NONE;
		if (f->severity > worst)
			worst = f->severity;
	}
	return worst;
}

static void tell(const struct judge *j, enum severity worst, const struct allow *a)
{
	unsigned int shown = 0;

	for (unsigned int i = 0; i < j->n_findings && shown < SHOWN_MAX; i++) {
		const struct finding *f = &j->findings[i];
		cleanup_free char *text = readable(f->text);

		if (f->severity != worst)
			continue;
		shown++;
		hook_say("%s (%s: %s): %s: %s", worst == SEV_BLOCK ? "blocked" : "careful",
			 category_info(f->category)->name, category_info(f->category)->title,
			 f->why, text ? text : "");
		if (worst == SEV_BLOCK && shown == 1)
			hook_say("only the user can allow it, with this line in %s: %s %s", a->path,
				 category_info(f->category)->name, text ? text : "");
	}
}

/* *** Update File: PATH, as apply_patch has them */
static void judge_patch(struct judge *j, const char *patch)
{
	for (const char *p = patch; (p = strstr(p, "*** ")); p += 4) {
		const char *file = strstr(p, "File: "), *move = strstr(p, "Move to: ");
		size_t line = strcspn(p, "\n");

		if (file && (size_t)(file - p) < line)
			rules_file(j,
				   arena_strndup(j->arena, file + 6, line - (size_t)(file - p) - 6),
				   true);
		else if (move && (size_t)(move - p) < line)
			rules_file(j,
				   arena_strndup(j->arena, move + 9, line - (size_t)(move - p) - 9),
				   true);
	}
}

/* Replaces bytes that would be taken for marks. */
static char *plain(struct judge *j, const char *text)
{
	char *to = arena_strndup(j->arena, text, strlen(text));

	for (char *p = to; *p; p++)
		*p = mark_plain(*p);
	return to;
}

static void judge_tool(struct judge *j, const struct hook_input *in)
{
	bool reads = is_one_of(in->tool, readers, ARRAY_SIZE(readers));

	for (size_t i = 0; i < in->commands.n; i++)
		judge_script(j, plain(j, in->commands.v[i]), strlen(in->commands.v[i]));
	for (size_t i = 0; i < in->patches.n; i++)
		judge_patch(j, plain(j, in->patches.v[i]));
	for (size_t i = 0; i < in->paths.n; i++) {
		const char *path = plain(j, in->paths.v[i]);

		rules_file(j, path, false);
		if (!reads)
			rules_file(j, path, true);
	}
}

static const char *config_dir(struct arena *a, const char *home)
{
	const char *xdg = getenv("XDG_CONFIG_HOME");

	return arena_printf(a, "%s%s/ralph", xdg && *xdg == '/' ? xdg : home,
			    xdg && *xdg == '/' ? "" : "/.config");
}

/* Returns the directory in which the agent was started; the command may run below it. */
static const char *project_of(const char *cwd)
{
	const char *dir = getenv("CLAUDE_PROJECT_DIR");

	return dir && *dir == '/' && path_under(cwd, dir) ? dir : cwd;
}

static int judge_input(const struct hook_input *in, struct arena *a)
{
	const char *home = getenv("HOME"),
		   *cwd = in->cwd && *in->cwd == '/' ? in->cwd : getcwd(NULL, 0);
	enum severity worst;
	struct allow allow;
	struct judge j;

	home = home && *home == '/' ? home : "/root";
	judge_init(&j, a, cwd ? cwd : "/", home);
	j.root = project_of(j.cwd);
	j.getenv = environment;
	j.read = script_read;
	j.locked = lock_file_has;
	judge_tool(&j, in);
	allow_load(&allow, config_dir(a, home), j.root);
	worst = weigh(&j, &allow);
	if (allow.notice && worst != SEV_NONE)
		hook_say("%s", allow.notice);
	tell(&j, worst, &allow);
	allow_done(&allow);
	return worst == SEV_BLOCK ? HOOK_EXIT_BLOCK : 0;
}

int hook_pre_tool_use(const struct hook_input *in, int read_error)
{
	struct arena a;
	int code;

	if (read_error < 0 || !in->tool || !in->has_tool_input) {
		hook_say("blocked: %s, so the tool cannot be judged",
			 read_error == -E2BIG ? "the command is too long"
					      : "what the agent sent is not understood");
		return HOOK_EXIT_BLOCK;
	}
	if (is_one_of(in->tool, shells, ARRAY_SIZE(shells)) && !in->commands.n) {
		hook_say("blocked: %s comes without a command, so it cannot be judged", in->tool);
		return HOOK_EXIT_BLOCK;
	}
	arena_init(&a, JUDGE_MEMORY);
	if (setjmp(a.out) == 0) {
		code = judge_input(in, &a);
	} else {
		hook_say("blocked: the command cannot be judged: %s; write it in a simpler way",
			 a.why);
		code = HOOK_EXIT_BLOCK;
	}
	arena_done(&a);
	return code;
}
