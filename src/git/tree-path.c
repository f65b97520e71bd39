#include "git/tree-path.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "git/tree-object.h"
#include "policy/protect.h"

#define NAME_LEN_MAX 255

/* The bytes of a code point that HFS+ leaves out when it compares names; 0: none stands here. */
static size_t ignored_len(const char *p, size_t n)
{
	static const struct {
		unsigned char a, b, first, last;
	} ranges[] = {
		{0xe2, 0x80, 0x8c, 0x8f}, /* joiners and marks of direction */
		{0xe2, 0x80, 0xaa, 0xae}, /* embeddings and overrides */
		{0xe2, 0x81, 0xaa, 0xaf}, /* shaping */
		{0xef, 0xbb, 0xbf, 0xbf}, /* byte order mark */
	};
	const unsigned char *u = (const unsigned char *)p;

	for (size_t i = 0; n >= 3 && i < ARRAY_SIZE(ranges); i++)
		if (u[0] == ranges[i].a && u[1] == ranges[i].b && u[2] >= ranges[i].first &&
		    u[2] <= ranges[i].last)
			return 3;
	return 0;
}

/* The name as the most generous file system sees it. */
static void fold(const char *name, size_t n, char ret[NAME_LEN_MAX + 1])
{
	size_t len = 0;

	for (size_t i = 0; i < n && len < NAME_LEN_MAX;) {
		size_t skip = ignored_len(name + i, n - i);

		/* Behind a colon NTFS has the streams of a file. */
		if (name[i] == ':' && len)
			break;
		if (!skip)
			ret[len++] = (char)tolower((unsigned char)name[i]);
		i += skip ? skip : 1;
	}
	while (len && (ret[len - 1] == '.' || ret[len - 1] == ' '))
		len--;
	ret[len] = '\0';
}

bool gitpath_is_dotgit(const char *name, size_t n)
{
	char folded[NAME_LEN_MAX + 1];

	fold(name, n, folded);
	return streq(folded, ".git") || streq(folded, "git~1");
}

/* The next part of a path, or of what NTFS takes for one; NULL: no more. */
static const char *next_part(const char **path, size_t *ret_n)
{
	const char *p = *path;

	if (!p)
		return NULL;
	*ret_n = strcspn(p, "/\\");
	*path = p[*ret_n] ? p + *ret_n + 1 : NULL;
	return p;
}

bool gitpath_is_odd(const char *path)
{
	const char *part;
	size_t n;

	while ((part = next_part(&path, &n)))
		if (n == 0 || n > NAME_LEN_MAX || (n <= 2 && memcmp(part, "..", n) == 0) ||
		    gitpath_is_dotgit(part, n))
			return true;
	return false;
}

const char *gitpath_protected(const char *path)
{
	char parent[NAME_LEN_MAX + 1] = "", name[NAME_LEN_MAX + 1];
	const char *part;
	size_t n;

	while ((part = next_part(&path, &n))) {
		const struct protect_rule *rule;

		fold(part, n, name);
		rule = protect_match(PROTECT_TREE, parent, name);
		if (rule)
			return rule->why;
		memcpy(parent, name, sizeof(parent));
	}
	return NULL;
}

const char *gitpath_protected_link(const char *path)
{
	const struct protect_rule *rule = NULL;
	char name[NAME_LEN_MAX + 1];
	const char *part;
	size_t n;

	while ((part = next_part(&path, &n))) {
		fold(part, n, name);
		rule = protect_link(name);
	}
	return rule ? rule->why : NULL;
}

/* Is PATH this one, or below it? Some file systems take "A" for "a". */
static bool is_at(const char *path, const char *at)
{
	size_t n = strlen(at);

	return strncasecmp(path, at, n) == 0 && (path[n] == '\0' || path[n] == '/');
}

bool gitpath_is_named(const char *row, const char *path, unsigned was, unsigned is)
{
	bool link = is == GITTREE_LINK;

	if (is_at(path, row + 1))
		return row[0] != 'm' || link || is == GITTREE_PROGRAM || was == GITTREE_PROGRAM;
	return link && is_at(row + 1, path);
}

bool gitpath_is_attributes(const char *path)
{
	char name[NAME_LEN_MAX + 1];
	const char *part;
	size_t n;

	while ((part = next_part(&path, &n))) {
		fold(part, n, name);
		if (streq(name, ".gitattributes"))
			return true;
	}
	return false;
}

bool gitpath_is_gits_own(const char *name)
{
	static const char *const own[] = {".gitmodules", ".gitattributes", ".gitignore", ".mailmap",
					  "gitmod~1"};
	char folded[NAME_LEN_MAX + 1];

	fold(name, strlen(name), folded);
	for (size_t i = 0; i < ARRAY_SIZE(own); i++)
		if (streq(folded, own[i]))
			return true;
	return false;
}

bool gitpath_link_stays(const char *path, const char *target, size_t n)
{
	size_t depth = 0;

	for (const char *p = path; *p; p++)
		depth += *p == '/';
	if (n == 0 || target[0] == '/' || memchr(target, '\0', n) || memchr(target, '\\', n))
		return false;
	for (size_t i = 0, len; i <= n; i += len + 1) {
		const char *end = memchr(target + i, '/', n - i);

		len = end ? (size_t)(end - (target + i)) : n - i;
		if (len == 0 || (len == 1 && target[i] == '.'))
			continue;
		if (gitpath_is_dotgit(target + i, len))
			return false;
		if (len == 2 && memcmp(target + i, "..", 2) == 0) {
			if (depth-- == 0)
				return false;
		} else {
			depth++;
		}
	}
	return true;
}

char *gitpath_shown(const char *p, size_t n, size_t max)
{
	struct buf b;

	buf_init(&b, max + 16);
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)p[i];
		/* 0xc2 0x80 … 0xc2 0x9f are control characters, too. */
		bool c1 = c == 0xc2 && i + 1 < n && (unsigned char)p[i + 1] < 0xa0;

		if (b.len >= max) {
			(void)buf_puts(&b, "…");
			break;
		}
		if (c < 0x20 || c == 0x7f || c1)
			(void)buf_printf(&b, "\\x%02x", c);
		else
			(void)buf_putc(&b, p[i]);
	}
	if (!b.len)
		(void)buf_puts(&b, "");
	return b.data ? buf_take(&b) : xstrdup("");
}

bool gitpath_may_change(const char *path, char *const *patterns, size_t n)
{
	return protect_may_change(path, patterns, n);
}
