/*
 * Requests by which a token of a forge or a registry gives birth to another, or to a key, a hook or
 * a secret that outlives the sandbox. A rule of the network that names such a credential says
 * which host, and may say which paths; these are refused whatever it says.
 */
#include "cred/bearer.h"

#include <string.h>
#include <strings.h>

#define PATH_MAX_LEN (8 * KiB)
#define ANY "*" /* one segment */

/* The segments that a path begins with if a request to it can mint a token or open a way in. */
static const char *const github[][5] = {
	{"user", "keys"},
	{"user", "gpg_keys"},
	{"user", "ssh_signing_keys"},
	{"user", "installations"},
	{"user", "codespaces", "secrets"},
	{"authorizations"},
	{"applications"},
	{"app"},
	{"app-manifests"},
	{"installation", "token"},
	{"repos", ANY, ANY, "keys"},
	{"repos", ANY, ANY, "hooks"},
	{"repos", ANY, ANY, "collaborators"},
	{"repos", ANY, ANY, "invitations"},
	{"repos", ANY, ANY, "dependabot"},
	{"repos", ANY, ANY, "codespaces"},
	{"repos", ANY, ANY, "environments"},
	{"repos", ANY, ANY, "actions", "secrets"},
	{"repos", ANY, ANY, "actions", "variables"},
	{"repos", ANY, ANY, "actions", "runners"},
	/* The same by its number, as GitHub's own links have it. */
	{"repositories", ANY, "keys"},
	{"repositories", ANY, "hooks"},
	{"repositories", ANY, "collaborators"},
	{"repositories", ANY, "invitations"},
	{"repositories", ANY, "dependabot"},
	{"repositories", ANY, "codespaces"},
	{"repositories", ANY, "environments"},
	{"repositories", ANY, "actions", "secrets"},
	{"repositories", ANY, "actions", "variables"},
	{"repositories", ANY, "actions", "runners"},
	{"orgs"},
	{"organizations"},
	{"enterprises"},
	{"login"},
	{"settings"},
	{"sessions"},
};

static const char *const npm[][5] = {
	{"-", "npm", ANY, "tokens"},
	{"-", "npm", ANY, "user"},
	{"-", "npm", ANY, "hooks"},
	{"-", "user"},
	{"-", "org"},
	{"-", "team"},
	{"-", "v1", "login"},
};

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The path with its escapes undone, so that no spelling differs from what a server makes of it. */
static bool plain_path(const char *target, struct buf *ret)
{
	size_t n = strcspn(target, "?#");

	for (size_t i = 0; i < n; i++) {
		int hi = target[i] == '%' && i + 2 < n ? hex(target[i + 1]) : -1;
		int lo = hi >= 0 ? hex(target[i + 2]) : -1;
		char c = lo >= 0 ? (char)(hi << 4 | lo) : target[i];

		if (c == '\\' || c == '%' || (unsigned char)c < ' ' || buf_putc(ret, c) < 0)
			return false;
		i += lo >= 0 ? 2 : 0;
	}
	return !strstr(buf_str(ret), "//");
}

static bool has_dots(const struct strv *path)
{
	return strv_has(path, ".") || strv_has(path, "..");
}

static bool begins(const struct strv *path, const char *const *row)
{
	size_t i = 0;

	for (; i < 5 && row[i]; i++)
		if (i >= path->n || (!streq(row[i], ANY) && strcasecmp(row[i], path->v[i]) != 0))
			return false;
	return i > 0;
}

bool bearer_is_minting(const char *provider, const char *target)
{
	bool is_npm = streq(provider, "npm"), is_github = streq(provider, "github");
	const char *const(*rows)[5] = is_npm ? npm : github;
	size_t n = is_npm ? ARRAY_SIZE(npm) : ARRAY_SIZE(github);
	cleanup_strv struct strv path = {0};
	cleanup_buf struct buf b;

	buf_init(&b, PATH_MAX_LEN);
	if (!is_npm && !is_github)
		return false;
	/*
	 * A server may read an ambiguous path as one that mints tokens, so such a path counts as
	 * one.
	 */
	if (!plain_path(target, &b))
		return true;
	strv_split(&path, buf_str(&b), '/');
	if (has_dots(&path))
		return true;
	/* GitHub Enterprise has its API below a prefix. */
	if (is_github && path.n > 2 && streq(path.v[0], "api") && streq(path.v[1], "v3")) {
		cleanup_free char *rest = xstrdup(strstr(buf_str(&b), "/v3") + 3);

		strv_done(&path);
		path = (struct strv){0};
		strv_split(&path, rest, '/');
	}
	for (size_t i = 0; i < n; i++)
		if (begins(&path, rows[i]))
			return true;
	return false;
}

bool bearer_is_git(const char *target)
{
	static const char *const ends[] = {"/info/refs", "/git-upload-pack", "/git-receive-pack"};
	size_t n = strcspn(target, "?");

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		size_t len = strlen(ends[i]);

		if (n >= len && memcmp(target + n - len, ends[i], len) == 0)
			return true;
	}
	return memmem(target, n, "/info/lfs/", 10) != NULL;
}
