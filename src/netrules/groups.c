#include "netrules/groups.h"

#include <string.h>

#include "netrules/groups-clients.h"

/* clang-format off */
static const char *const anthropic[] = {
	"api.anthropic.com", "console.anthropic.com", "platform.claude.com", "claude.ai", NULL};
static const char *const openai[] = {
	"api.openai.com", "auth.openai.com", "chatgpt.com", NULL};
static const char *const gemini[] = {
	"generativelanguage.googleapis.com", "cloudcode-pa.googleapis.com",
	"oauth2.googleapis.com", "accounts.google.com", NULL};
static const char *const github[] = {
	"github.com", "github.com:22", "api.github.com", "codeload.github.com",
	"raw.githubusercontent.com", "objects.githubusercontent.com",
	"release-assets.githubusercontent.com", "github-cloud.githubusercontent.com", NULL};

static const struct group groups[] = {
	{"@anthropic", "Claude: API and login"},
	{"@openai",    "OpenAI and Codex: API and login"},
	{"@gemini",    "Gemini: API and login"},
	{"@github",    "GitHub: https, ssh, API, downloads"},
	{"@npm",       "npm: from NPM_CONFIG_REGISTRY, ~/.npmrc, /etc/npmrc, or npm's own default"},
	{"@pypi",      "pip: from PIP_INDEX_URL, pip.conf, or pip's own default"},
	{"@crates",    "cargo: from ~/.cargo/config.toml"},
	{"@go",        "go: from GOPROXY, ~/.config/go/env, or go's own default"},
	{"@debian",    "apt: from /etc/apt/sources.list and sources.list.d"},
};

static const struct {
	const char *const *hosts; /* or: */
	groups_reader *read;
	const char *where;        /* for the sentence, when there was nothing */
} contents[] = {
	{anthropic, NULL, NULL}, {openai, NULL, NULL}, {gemini, NULL, NULL}, {github, NULL, NULL},
	{NULL, groups_read_npm,   "set 'registry' in ~/.npmrc, or install npm"},
	{NULL, groups_read_pip,   "set 'index-url' in ~/.config/pip/pip.conf, or install pip"},
	{NULL, groups_read_cargo, "name the registry's index under [registries] or [source] in "
				  "~/.cargo/config.toml, or list its hosts in network.allow"},
	{NULL, groups_read_go,    "set GOPROXY in ~/.config/go/env, or install go"},
	{NULL, groups_read_apt,   "/etc/apt/sources.list and sources.list.d name no host"},
};
/* clang-format on */

_Static_assert(ARRAY_SIZE(groups) == ARRAY_SIZE(contents), "one content per group");

const struct group *groups_list(size_t *ret_n)
{
	*ret_n = ARRAY_SIZE(groups);
	return groups;
}

static void merge(struct strv *ret, const struct strv *from)
{
	for (size_t i = 0; i < from->n; i++)
		if (!strv_has(ret, from->v[i]))
			strv_push(ret, from->v[i]);
}

static int read_group(size_t i, const struct groups_env *env, struct strv *ret, struct err *err)
{
	int r = contents[i].read(env, ret, err);

	if (r < 0)
		return err_wrap(err, r, "%s", groups[i].name);
	if (ret->n == 0)
		return err_usage(err, "%s: no host is configured; %s", groups[i].name,
				 contents[i].where);
	return 0;
}

int groups_expand(const char *name, const struct groups_env *env, struct strv *ret, struct err *err)
{
	cleanup_strv struct strv found = {0};
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(groups); i++) {
		if (!streq(name, groups[i].name))
			continue;
		for (const char *const *h = contents[i].hosts; h && *h; h++)
			strv_push(&found, *h);
		if (contents[i].read)
			r = read_group(i, env, &found, err);
		if (r == 0)
			merge(ret, &found);
		return r;
	}
	return err_usage(err, "'%s' is not a group; 'ralph net groups' lists them", name);
}
