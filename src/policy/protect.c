#include "policy/protect.h"

#include <assert.h>
#include <ctype.h>
#include <fnmatch.h>
#include <string.h>
#include <strings.h>

#include "base/path.h"

/* .git itself has no row: it is looked into, and what it points to, by those who know it. */
/* clang-format off */
static const struct protect_rule tree_rules[] = {
	{".claude/settings*.json", "hooks and permissions of Claude Code"},
	{".claude/hooks",          "programs that Claude Code runs"},
	{".claude/commands",       "commands of Claude Code"},
	{".claude/agents",         "agents of Claude Code"},
	{".claude/skills",         "skills of Claude Code"},
	{".mcp.json",              "servers that agents start"},
	{".vscode",                "tasks and settings of the editor"},
	{".idea",                  "run configurations of the editor"},
	{".devcontainer",          "commands that the editor runs"},
	{".envrc",                 "a script that direnv runs"},
	{".husky",                 "hooks that git runs"},
	{".github/workflows",      "jobs that run with the repository's secrets"},
	{".gitmodules",            "where submodules are fetched from"},
	{".ralph",                 "settings of ralph"},
	{0},
};

static const struct protect_rule git_rules[] = {
	{"config",          "settings of git, which name programs"},
	{"config.worktree", "settings of git, which name programs"},
	{"hooks",           "programs that git runs"},
	{"info",            "attributes, which choose filters"},
	{"commondir",       "where git takes settings and hooks from"},
	{0},
};

static const struct protect_rule worktree_rules[] = {
	{"config.worktree", "settings of git, which name programs"},
	{"commondir",       "where git takes settings and hooks from"},
	{"gitdir",          "which directory this worktree is"},
	{"hooks",           "programs that git runs"},
	{"config",          "settings of git, which name programs"},
	{"info",            "attributes, which choose filters"},
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

/* fnmatch(3) takes its time, and a start asks it about every name of a tree: the first and the last
 * character decide nearly always. */
static bool matches(const char *pattern, const char *name, int flags)
{
	size_t n = strlen(pattern), m = strlen(name);
	char first = pattern[0], last = n ? pattern[n - 1] : '\0';

	if (n == 0 || m == 0)
		return n == m;
	if (!strchr("*?[\\", first) &&
	    tolower((unsigned char)first) != tolower((unsigned char)name[0]))
		return false;
	if (!strchr("*?]\\", last) &&
	    tolower((unsigned char)last) != tolower((unsigned char)name[m - 1]))
		return false;
	return fnmatch(pattern, name, flags) == 0;
}

const struct protect_rule *protect_match(enum protect_base base, const char *parent,
					 const char *name)
{
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

bool protect_holds(const char *name)
{
	size_t n = strlen(name);

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
