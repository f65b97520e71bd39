#include "policy/git-admit.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "policy/gitconfig.h"

#define REF_LEN_MAX 1024

enum admit_kind {
	ADMIT,
	ADMIT_RELATIVE, /* only a path that begins in the working tree */
};

/*
 * "*" is every key of the section. Nothing else of a repository's settings is seen inside:
 * credential.*, http.*, include.*, url.*, gpg.* and core.sshCommand name secrets, files of the host
 * or programs of the host.
 */
/* clang-format off */
static const struct {
	const char *section, *key;
	enum admit_kind kind;
} admitted[] = {
	{"alias", "*", ADMIT}, {"branch", "*", ADMIT}, {"core", "abbrev", ADMIT},
	{"core", "autocrlf", ADMIT}, {"core", "bigfilethreshold", ADMIT},
	{"core", "checkstat", ADMIT}, {"core", "commentchar", ADMIT}, {"core", "eol", ADMIT},
	{"core", "filemode", ADMIT}, {"core", "hookspath", ADMIT_RELATIVE},
	{"core", "ignorecase", ADMIT}, {"core", "logallrefupdates", ADMIT},
	{"core", "precomposeunicode", ADMIT}, {"core", "protecthfs", ADMIT},
	{"core", "protectntfs", ADMIT}, {"core", "quotepath", ADMIT},
	{"core", "repositoryformatversion", ADMIT}, {"core", "safecrlf", ADMIT},
	{"core", "sparsecheckout", ADMIT}, {"core", "sparsecheckoutcone", ADMIT},
	{"core", "splitindex", ADMIT}, {"core", "symlinks", ADMIT}, {"core", "trustctime", ADMIT},
	{"core", "untrackedcache", ADMIT}, {"diff", "*", ADMIT}, {"extensions", "*", ADMIT},
	{"feature", "*", ADMIT}, {"fetch", "*", ADMIT}, {"filter", "*", ADMIT},
	{"index", "*", ADMIT}, {"lfs", "*", ADMIT}, {"merge", "*", ADMIT}, {"pull", "*", ADMIT},
	{"push", "*", ADMIT}, {"rebase", "*", ADMIT}, {"remote", "fetch", ADMIT},
	{"remote", "partialclonefilter", ADMIT}, {"remote", "promisor", ADMIT},
	{"remote", "prune", ADMIT}, {"remote", "push", ADMIT}, {"remote", "pushurl", ADMIT},
	{"remote", "tagopt", ADMIT}, {"remote", "url", ADMIT}, {"rerere", "*", ADMIT},
	{"submodule", "*", ADMIT}, {"user", "email", ADMIT}, {"user", "name", ADMIT},
};
/* clang-format on */

static bool is_admitted(const struct gitconfig_entry *e)
{
	/* Where git-lfs keeps its files is a path of the host. */
	if (streq(e->section, "lfs") && streq(e->key, "storage"))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(admitted); i++) {
		if (!streq(admitted[i].section, e->section) ||
		    (admitted[i].key[0] != '*' && !streq(admitted[i].key, e->key)))
			continue;
		return admitted[i].kind != ADMIT_RELATIVE ||
		       (e->value && e->value[0] && !strchr("/~", e->value[0]));
	}
	return false;
}

/* The length of "user:password@" at the start of what follows "scheme://". */
static size_t userinfo_len(const char *authority, size_t n)
{
	for (size_t i = n; i > 0; i--)
		if (authority[i - 1] == '@')
			return i;
	return 0;
}

static bool is_service_user(const char *p, size_t n)
{
	return n == strlen("git@") && strncmp(p, "git@", n) == 0;
}

/* A port has digits only: else a password with a slash in it was cut apart. */
static bool has_odd_port(const char *host, size_t n)
{
	const char *end = host + n, *colon = NULL;

	if (n && host[0] == '[')
		host = memchr(host, ']', n) ? (const char *)memchr(host, ']', n) : end;
	colon = memchr(host, ':', (size_t)(end - host));
	for (const char *p = colon ? colon + 1 : end; p < end; p++)
		if (!isdigit((unsigned char)*p))
			return true;
	return false;
}

/* Does the scheme that ends at `end` go over ssh? */
static bool is_ssh(const char *start, const char *end)
{
	return end - start >= 3 && strncasecmp(end - 3, "ssh", 3) == 0;
}

/*
 * Every "scheme://user@host" in the text loses its user. false: of one it cannot be told where the
 * user ends.
 */
static bool put_without_users(const char *text, struct buf *out)
{
	const char *p = text, *found;

	while ((found = strstr(p, "://"))) {
		const char *host = found + 3;
		size_t n = strcspn(host, "/?# \t\n\"'`;|&<>()"), skip = userinfo_len(host, n);

		if (is_ssh(text, found) && is_service_user(host, skip))
			skip = 0;
		if (has_odd_port(host + skip, n - skip))
			return false;
		(void)buf_append(out, p, (size_t)(host - p));
		(void)buf_append(out, host + skip, n - skip);
		p = host + n;
	}
	(void)buf_puts(out, p);
	return !out->full;
}

/* "me@host:path" of ssh: the length of "me@"; 0: it is none. */
static size_t scp_user_len(const char *url)
{
	size_t n = strcspn(url, "/");
	size_t colon, skip;

	if (strstr(url, "://"))
		return 0;
	skip = userinfo_len(url, n);
	colon = skip + strcspn(url + skip, ":/");
	return skip && url[colon] == ':' && !is_service_user(url, skip) ? skip : 0;
}

char *git_admit_url(const char *url)
{
	struct buf b;
	bool web = strncasecmp(url, "http", 4) == 0;
	char *ret = NULL;

	buf_init(&b, strlen(url) + 1);
	if (put_without_users(url + scp_user_len(url), &b))
		ret = xstrdup(buf_str(&b));
	buf_done(&b);
	if (ret && web)
		ret[strcspn(ret, "?#")] = '\0';
	return ret;
}

static bool is_url_key(const char *key)
{
	static const char *const keys[] = {"url",    "pushurl",	   "lfsurl",
					   "remote", "pushremote", "lfspushurl"};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (streq(keys[i], key))
			return true;
	return false;
}

/* NULL: it is left out. */
static char *public_text(const char *text, bool url)
{
	struct buf b;
	char *ret = NULL;

	if (url)
		return git_admit_url(text);
	buf_init(&b, strlen(text) + 1);
	if (put_without_users(text, &b))
		ret = xstrdup(buf_str(&b));
	buf_done(&b);
	return ret;
}

/* Subsections have no newline, and their other bytes need no letter. */
static void put_escaped(struct buf *out, const char *s)
{
	(void)buf_putc(out, '"');
	for (; *s; s++) {
		char c = *s == '\n' ? 'n' : *s;

		if (*s == '"' || *s == '\\' || *s == '\n')
			(void)buf_putc(out, '\\');
		(void)buf_putc(out, c);
	}
	(void)buf_putc(out, '"');
}

static void put_entry(struct buf *out, const struct gitconfig_entry *e)
{
	(void)buf_printf(out, "[%s", e->section);
	if (e->sub) {
		(void)buf_putc(out, ' ');
		put_escaped(out, e->sub);
	}
	(void)buf_printf(out, "]\n\t%s", e->key);
	if (e->value) {
		(void)buf_puts(out, " = ");
		put_escaped(out, e->value);
	}
	(void)buf_putc(out, '\n');
}

static bool admit(const struct gitconfig_entry *e, void *arg)
{
	struct buf *out = arg;
	struct gitconfig_entry put = *e;
	cleanup_free char *sub = NULL, *value = NULL;

	if (!is_admitted(e))
		return false;
	sub = e->sub ? public_text(e->sub, false) : NULL;
	value = e->value ? public_text(e->value, is_url_key(e->key)) : NULL;
	if ((e->sub && !sub) || (e->value && !value))
		return false;
	put.sub = sub;
	put.value = value;
	put_entry(out, &put);
	return out->full;
}

/* The last value counts in git, so these stand behind what the file says. */
static void put_fixed(const struct git_admit *with, struct buf *out)
{
	const struct gitconfig_entry fixed[] = {
		{"core", NULL, "bare", with->bare ? "true" : "false"},
		{"core", NULL, "fsmonitor", "false"},
		{"commit", NULL, "gpgsign", "false"},
		{"tag", NULL, "gpgsign", "false"},
	};
	const struct gitconfig_entry place = {"core", NULL, "worktree", with->worktree};

	for (size_t i = 0; i < ARRAY_SIZE(fixed); i++)
		put_entry(out, &fixed[i]);
	if (with->worktree)
		put_entry(out, &place);
}

int git_admit_config(const char *text, size_t len, const struct git_admit *with, struct buf *out)
{
	int r = gitconfig_each(text, len, admit, out);

	if (r < 0)
		return r;
	put_fixed(with, out);
	return out->full ? -ENOBUFS : 0;
}

/* A name without anything that a shell, a path or a refspec takes for more. */
static bool is_plain(const char *s)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "._-";

	return s && isalnum((unsigned char)*s) && strspn(s, plain) == strlen(s);
}

/* Over the network, to a host: no path, no option, no helper ("ext::sh"). */
static bool is_remote_url(const char *url)
{
	static const char *const starts[] = {"https://", "http://", "ssh://", "git://", "git@"};

	if (!url || strstr(url, "::"))
		return false;
	for (const char *p = url; *p; p++)
		if (!isgraph((unsigned char)*p))
			return false;
	for (size_t i = 0; i < ARRAY_SIZE(starts); i++)
		if (strncmp(url, starts[i], strlen(starts[i])) == 0)
			return isalnum((unsigned char)url[strlen(starts[i])]);
	return false;
}

static void put_remote(struct buf *out, const struct gitconfig_entry *e)
{
	cleanup_free char *url = is_remote_url(e->value) ? git_admit_url(e->value) : NULL;
	cleanup_free char *fetch = xasprintf("+refs/heads/*:refs/remotes/%s/*", e->sub);
	const struct gitconfig_entry rows[] = {{"remote", e->sub, "url", url},
					       {"remote", e->sub, "fetch", fetch}};

	if (!is_remote_url(url))
		return;
	put_entry(out, &rows[0]);
	put_entry(out, &rows[1]);
}

static bool admit_remote(const struct gitconfig_entry *e, void *arg)
{
	cleanup_free char *ref = e->sub ? xasprintf("refs/heads/%s", e->sub) : NULL;
	bool branch = streq(e->section, "branch") && ref && git_ref_is_valid(ref);

	/* How objects are named is no choice of the new repository's. */
	if (streq(e->section, "extensions") && !e->sub && streq(e->key, "objectformat") &&
	    e->value && streq(e->value, "sha256"))
		put_entry(arg, e);

	if (streq(e->section, "remote") && is_plain(e->sub) && streq(e->key, "url"))
		put_remote(arg, e);
	else if (branch && ((streq(e->key, "remote") && is_plain(e->value)) ||
			    (streq(e->key, "merge") && e->value && git_ref_is_valid(e->value))))
		put_entry(arg, e);
	return ((struct buf *)arg)->full;
}

int git_admit_remotes(const char *text, size_t len, struct buf *out)
{
	int r = gitconfig_each(text, len, admit_remote, out);

	return r < 0 ? r : out->full ? -ENOBUFS : 0;
}

/* One part of a reference's name, between two slashes. */
static bool part_is_valid(const char *p, size_t n)
{
	static const char lock[] = ".lock";

	if (n == 0 || p[0] == '.' || p[n - 1] == '.')
		return false;
	if (n >= strlen(lock) && strncmp(p + n - strlen(lock), lock, strlen(lock)) == 0)
		return false;
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)p[i];

		if (c <= ' ' || c == 0x7f || strchr("~^:?*[\\", c) ||
		    (i + 1 < n && ((c == '.' && p[i + 1] == '.') || (c == '@' && p[i + 1] == '{'))))
			return false;
	}
	return true;
}

bool git_ref_is_valid(const char *name)
{
	if (strncmp(name, "refs/", 5) != 0 || strlen(name) > REF_LEN_MAX)
		return false;
	for (const char *p = name;; p++) {
		size_t n = strcspn(p, "/");

		if (!part_is_valid(p, n))
			return false;
		p += n;
		if (!*p)
			return true;
	}
}
