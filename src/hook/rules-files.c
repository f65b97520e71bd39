/* Rules for files that are opened without a program: by redirections, and by the agent's own
 * tools. */
#include <string.h>

#include "base/mem.h"
#include "hook/shell/expand.h"
#include "hook/paths.h"
#include "hook/rules.h"

struct file_rule {
	unsigned int class;
	bool write;
	enum category category;
	enum severity severity;
	const char *why;
};

/* clang-format off */
static const struct file_rule file_rules[] = {
	{PATH_DEVICE,     true,  CAT_FILES,       SEV_BLOCK, "it writes to a disk directly"},
	{PATH_KERNEL,     true,  CAT_KERNEL,      SEV_BLOCK, "it changes settings of the kernel"},
	{PATH_ACCOUNTS,   true,  CAT_ACCOUNTS,    SEV_BLOCK, "it changes users of the machine"},
	{PATH_LOG,        true,  CAT_TRACES,      SEV_BLOCK, "it changes logs or history"},
	{PATH_TRUSTED,    true,  CAT_WRITES,      SEV_BLOCK, "it changes what the host runs or trusts"},
	{PATH_SYSTEM,     true,  CAT_WRITES,      SEV_BLOCK, "it changes the system"},
	{PATH_GITDIR,     true,  CAT_GIT,         SEV_BLOCK, "it changes the repository behind git's back"},
	{PATH_PROJECT,    true,  CAT_WRITES,      SEV_WARN,  "it changes settings that run on the user's machine"},
	{PATH_DEVICE,     false, CAT_FILES,       SEV_BLOCK, "it reads a disk directly"},
	{PATH_CRED,       false, CAT_CREDENTIALS, SEV_BLOCK, "it reads a credential"},
	{PATH_SECRETFILE, false, CAT_CREDENTIALS, SEV_WARN,  "the file looks like one that holds secrets"},
};

/* Files that programs read and execute. */
static const char *const run_by_others[] = {
	"PAGER", "GIT_PAGER", "MANPAGER", "EDITOR", "VISUAL", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "GIT_SSH_COMMAND",
	"GIT_SSH", "GIT_EXTERNAL_DIFF", "GIT_PROXY_COMMAND", "GIT_ASKPASS", "SSH_ASKPASS", "PROMPT_COMMAND", "BASH_ENV", "ENV",
	"LESSOPEN", "LESSCLOSE", "BROWSER", "RSYNC_RSH", "PS4", "PYTHONSTARTUP", "PERL5OPT", "RUBYOPT", "NODE_OPTIONS",
};
/* clang-format on */

void rules_file(struct judge *j, const char *path, bool write)
{
	unsigned int c = path_classes(j, path);

	for (size_t i = 0; i < ARRAY_SIZE(file_rules); i++)
		if (file_rules[i].write == write && (c & file_rules[i].class)) {
			judge_add(j, file_rules[i].category, file_rules[i].severity, path,
				  file_rules[i].why);
			return;
		}
}

void rules_redirect(struct judge *j, const char *path, bool write)
{
	if (strncmp(path, "/dev/tcp/", 9) == 0 || strncmp(path, "/dev/udp/", 9) == 0) {
		judge_add(j, CAT_NETWORK, SEV_BLOCK, path,
			  "the shell opens a connection that nobody sees into");
		return;
	}
	rules_file(j, path, write);
}

/* Directories of programs that anybody may fill: temporary ones, and wherever the shell is. One of
 * the project's own, or of the home, is a usual part of the work. */
static void check_path(struct judge *j, const char *dirs, const char *line)
{
	for (const char *p = dirs;; p++) {
		size_t n = strcspn(p, ":");
		const char *dir = arena_strndup(j->arena, p, n);

		if (n == 0 || streq(dir, ".") || (path_classes(j, dir) & PATH_TMP)) {
			judge_add(j, CAT_WRITES, SEV_WARN, line,
				  "it changes which programs are run by their names");
			return;
		}
		p += n;
		if (!*p)
			return;
	}
}

void rules_assignment(struct judge *j, const char *name, const struct values *v)
{
	const char *text = v->n ? v->v[0] : "";
	const char *line = arena_printf(j->arena, "%s=%.200s", name, text);

	if (streq(name, "HISTFILE") ||
	    ((streq(name, "HISTSIZE") || streq(name, "HISTFILESIZE")) && streq(text, "0")))
		judge_add(j, CAT_TRACES, SEV_BLOCK, line, "it switches the history off");
	else if (streq(name, "LD_PRELOAD") || streq(name, "LD_AUDIT") ||
		 streq(name, "DYLD_INSERT_LIBRARIES"))
		judge_add(j, CAT_PRIVILEGE, SEV_BLOCK, line,
			  "it puts code into every program that is started");
	else if (streq(name, "PATH"))
		check_path(j, text, line);
	for (size_t i = 0; i < ARRAY_SIZE(run_by_others); i++)
		if (streq(name, run_by_others[i]))
			judge_values(j, v);
}
