#include "policy/protect.h"

#include <assert.h>
#include <ctype.h>
#include <fnmatch.h>
#include <string.h>
#include <strings.h>

#include "base/path.h"

/*
 * .git itself has no row: it is looked into, and what it points to, by those who know it. CLAUDE.md,
 * AGENTS.md, package.json and Makefile are none either: they are work, and run when they are asked.
 */
#define AGENT_STARTS "when you start it here"
#define EDITOR_OPENS "when you open the directory in it"
#define GIT_WORKS "when you commit, check out, merge or push"
#define SHELL_ENTERS "when your shell enters the directory"
/* clang-format off */
static const struct protect_rule tree_rules[] = {
	{".claude/settings*.json", "hooks and permissions of Claude Code", "Claude Code", AGENT_STARTS},
	{".claude/hooks",          "programs that Claude Code runs", "Claude Code", AGENT_STARTS},
	{".claude/commands",       "commands of Claude Code", "Claude Code", "when you use them"},
	{".claude/agents",         "agents of Claude Code", "Claude Code", AGENT_STARTS},
	{".claude/skills",         "skills of Claude Code", "Claude Code", AGENT_STARTS},
	{".mcp.json",              "servers that agents start", "Claude Code and others", AGENT_STARTS},
	{"opencode.json*",         "settings, servers and commands of OpenCode", "OpenCode", AGENT_STARTS},
	{".opencode",              "agents, commands and plugins of OpenCode", "OpenCode", AGENT_STARTS},
	{".gemini",                "settings and servers of Gemini CLI", "Gemini CLI", AGENT_STARTS},
	{".codex",                 "settings and servers of Codex", "Codex", AGENT_STARTS},
	{".aider*",                "settings of aider, which name commands", "aider", AGENT_STARTS},
	{".cursor",                "servers, hooks and rules of Cursor", "Cursor", EDITOR_OPENS},
	{".windsurf",              "rules and workflows of Windsurf", "Windsurf", EDITOR_OPENS},
	{".continue",              "servers and settings of Continue", "Continue", EDITOR_OPENS},
	{".zed",                   "tasks and settings of Zed", "Zed", EDITOR_OPENS},
	{".vscode",                "tasks and settings of the editor", "VS Code", EDITOR_OPENS},
	{".idea",                  "run configurations of the editor", "JetBrains IDEs", EDITOR_OPENS},
	{".devcontainer*",         "commands that the editor runs", "VS Code and others", EDITOR_OPENS},
	{".envrc",                 "a script that direnv runs", "direnv", SHELL_ENTERS},
	{"mise*.toml",             "environment and tasks of mise", "mise", SHELL_ENTERS},
	{".mise*",                 "environment and tasks of mise", "mise", SHELL_ENTERS},
	{".tool-versions",         "tools that asdf or mise choose", "asdf and mise", SHELL_ENTERS},
	{".husky",                 "hooks that git runs", "git", GIT_WORKS},
	{".pre-commit-config.yaml", "hooks that pre-commit runs", "pre-commit", GIT_WORKS},
	{"lefthook*.y*ml",         "hooks that lefthook runs", "lefthook", GIT_WORKS},
	{".lefthook*",             "hooks that lefthook runs", "lefthook", GIT_WORKS},
	{".lfsconfig",             "where Git LFS fetches from", "Git LFS", GIT_WORKS},
	{".gitmodules",            "where submodules are fetched from", "git", "when you update submodules"},
	{".github/workflows",      "jobs that run with the repository's secrets", "GitHub", "when you push"},
	{".ralph",                 "settings of ralph", "ralph", "when you start it here"},
	{0},
};

static const struct protect_rule git_rules[] = {
	{"config",          "settings of git, which name programs", "git", "whenever it runs"},
	{"config.worktree", "settings of git, which name programs", "git", "whenever it runs"},
	{"hooks",           "programs that git runs", "git", GIT_WORKS},
	{"info",            "attributes, which choose filters", "git", "whenever it runs"},
	{"commondir",       "where git takes settings and hooks from", "git", "whenever it runs"},
	{0},
};

static const struct protect_rule worktree_rules[] = {
	{"config.worktree", "settings of git, which name programs", "git", "whenever it runs"},
	{"commondir",       "where git takes settings and hooks from", "git", "whenever it runs"},
	{"gitdir",          "which directory this worktree is", "git", "whenever it runs"},
	{"hooks",           "programs that git runs", "git", GIT_WORKS},
	{"config",          "settings of git, which name programs", "git", "whenever it runs"},
	{"info",            "attributes, which choose filters", "git", "whenever it runs"},
	{0},
};
/* clang-format on */

static const struct protect_rule *const rules[] = {
	[PROTECT_TREE] = tree_rules,
	[PROTECT_GIT] = git_rules,
	[PROTECT_WORKTREE] = worktree_rules,
};
static_assert(ARRAY_SIZE(rules) == PROTECT_BASE_N, "rules for every base");

const struct protect_rule *protect_rules(enum protect_base base)
{
	return rules[base];
}

bool protect_is_pattern(const struct protect_rule *rule)
{
	return strpbrk(rule->path, "*?[") != NULL;
}

/* The characters that names of the rules begin with. A start asks about every name of a tree, and
 * this answers nearly all. */
struct starts {
	bool known, leaf[256], dir[256];
};

static unsigned char lower(const char *s)
{
	return (unsigned char)tolower((unsigned char)s[0]);
}

static const struct starts *starts_of(enum protect_base base)
{
	static struct starts all[PROTECT_BASE_N];
	struct starts *s = &all[base];

	for (const struct protect_rule *r = rules[base]; !s->known && r->path; r++)
		(strchr(r->path, '/') ? s->dir : s->leaf)[lower(r->path)] = true;
	s->known = true;
	return s;
}

static bool is_wild(char c)
{
	return c == '*' || c == '?' || c == '[' || c == ']' || c == '\\';
}

/* fnmatch(3) takes its time: the first and the last character decide nearly always. */
static bool matches(const char *pattern, const char *name, int flags)
{
	size_t n, m;

	if (!pattern[0] || !name[0])
		return pattern[0] == name[0];
	if (!is_wild(pattern[0]) && lower(pattern) != lower(name))
		return false;
	n = strlen(pattern);
	m = strlen(name);
	if (!is_wild(pattern[n - 1]) && lower(pattern + n - 1) != lower(name + m - 1))
		return false;
	return fnmatch(pattern, name, flags) == 0;
}

const struct protect_rule *protect_match(enum protect_base base, const char *parent,
					 const char *name)
{
	const struct starts *s = starts_of(base);

	if (!s->leaf[lower(name)] && !s->dir[lower(parent)])
		return NULL;
	for (const struct protect_rule *r = rules[base]; r->path; r++) {
		const char *leaf = path_base(r->path);
		size_t n = leaf == r->path ? 0 : (size_t)(leaf - r->path - 1);

		/* There are file systems where .VSCode is .vscode. */
		if (n && (strlen(parent) != n || strncasecmp(parent, r->path, n) != 0))
			continue;
		if (matches(leaf, name, FNM_CASEFOLD))
			return r;
	}
	return NULL;
}

const struct protect_rule *protect_link(const char *name)
{
	static const struct protect_rule rule = {
		.path = "",
		.why = "a link in the place of a directory of settings",
		.who = "its program",
		.when = AGENT_STARTS,
	};

	return protect_holds(name) ? &rule : NULL;
}

bool protect_holds(const char *name)
{
	size_t n = strlen(name);

	if (!starts_of(PROTECT_TREE)->dir[lower(name)])
		return false;
	for (const struct protect_rule *r = rules[PROTECT_TREE]; r->path; r++)
		if (strncasecmp(r->path, name, n) == 0 && r->path[n] == '/')
			return true;
	return false;
}

/* Keys and the files programs read them from; not what only shows how such a file looks. */
static const char *const masks[] = {
	".env*",       "!.env*.example", "!.env*.sample", "!.env*.template", "!.env*.defaults",
	"!.env*.dist", "*.pem",		 "!cacert.pem",	  "!*.pub.pem",	     "*.p12",
	"*.pfx",       "id_rsa",	 "id_ecdsa",	  "id_ed25519",	     NULL,
};

static void judge(const char *pattern, const char *name, bool *masked)
{
	bool back = pattern[0] == '!';

	if (matches(pattern + back, name, 0))
		*masked = !back;
}

bool protect_masked(const char *name, char *const *patterns, size_t n)
{
	bool masked = false;

	for (const char *const *m = masks; *m; m++)
		judge(*m, name, &masked);
	for (size_t i = 0; i < n; i++)
		judge(patterns[i], name, &masked);
	return masked;
}

static bool has_part(const char *path, const char *name)
{
	size_t n = strlen(name);

	for (const char *p = path; p; p = strchr(p, '/')) {
		p += *p == '/';
		if (strncasecmp(p, name, n) == 0 && (p[n] == '/' || !p[n]))
			return true;
	}
	return false;
}

bool protect_may_change_below(const char *dir, char *const *patterns, size_t n)
{
	size_t len = strlen(dir);

	if (has_part(dir, ".git") || has_part(dir, ".ralph"))
		return false;
	for (size_t i = 0; i < n; i++) {
		size_t plain = strcspn(patterns[i], "*?[\\");
		size_t both = plain < len ? plain : len;

		if (strncmp(patterns[i], dir, both) == 0 &&
		    (plain <= len ? patterns[i][plain] : patterns[i][len] == '/'))
			return true;
	}
	return false;
}

bool protect_may_change(const char *path, char *const *patterns, size_t n)
{
	if (has_part(path, ".git") || has_part(path, ".ralph"))
		return false;
	for (size_t i = 0; i < n; i++)
		if (path_under(path, patterns[i]) || fnmatch(patterns[i], path, 0) == 0)
			return true;
	return false;
}
