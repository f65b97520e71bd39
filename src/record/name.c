#include "record/name.h"

#include <sha256.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"

#define PREFIX "agent-loop-"
#define SUFFIX_LEN 9 /* a dash and eight hex digits */
#define AGENT_MAX 16 /* of the name; a longer agent is cut */

static bool is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
}

static char to_plain(char c)
{
	if (c >= 'A' && c <= 'Z')
		return (char)(c - 'A' + 'a');
	return is_plain(c) ? c : '-';
}

/* Keeps [a-z0-9-] of in, no dash at either end, at most max characters; "x" when nothing is
 * left. *changed: the result differs from the input. */
static char *sanitise(const char *in, size_t max, bool *changed)
{
	cleanup_free char *s = xstrdup(in);
	char *start = s;
	size_t n;

	for (char *p = s; *p; p++)
		*p = to_plain(*p);
	while (*start == '-')
		start++;
	n = strlen(start);
	if (n > max)
		n = max;
	while (n > 0 && start[n - 1] == '-')
		n--;
	start[n] = '\0';
	if (!streq(start, in))
		*changed = true;
	return xstrdup(n ? start : "x");
}

char *name_part(const char *text, size_t max)
{
	bool ignored;

	return sanitise(text, max, &ignored);
}

static bool looks_suffixed(const char *name)
{
	size_t n = strlen(name);

	return n > SUFFIX_LEN && name[n - SUFFIX_LEN] == '-' &&
	       strspn(name + n - SUFFIX_LEN + 1, "0123456789abcdef") == SUFFIX_LEN - 1;
}

/* Each part is hashed with its terminator, so that different parts never give the same bytes. */
static void suffix(const char *agent, const char *branch, const char *dir, const char *identity,
		   char ret[SUFFIX_LEN + 1])
{
	const char *parts[] = {identity, agent, branch ? "branch" : "directory",
			       branch ? branch : dir};
	char hex[SHA256_DIGEST_STRING_LENGTH];
	SHA2_CTX ctx;

	SHA256Init(&ctx);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		SHA256Update(&ctx, (const uint8_t *)parts[i], strlen(parts[i]) + 1);
	(void)SHA256End(&ctx, hex);
	ret[0] = '-';
	memcpy(ret + 1, hex, SUFFIX_LEN - 1);
	ret[SUFFIX_LEN] = '\0';
}

char *name_make(const char *agent, const char *branch, const char *dir, const char *identity,
		bool force_suffix)
{
	bool changed = force_suffix || strchr(agent, '-');
	cleanup_free char *a = sanitise(agent, AGENT_MAX, &changed);
	size_t room = NAME_LEN_MAX - strlen(PREFIX) - strlen(a) - 1;
	cleanup_free char *b = sanitise(branch ? branch : dir, room, &changed);
	cleanup_free char *plain = xasprintf(PREFIX "%s-%s", a, b);
	char digits[SUFFIX_LEN + 1];

	if (!changed && !looks_suffixed(plain))
		return take_ptr(plain);
	suffix(agent, branch, dir, identity, digits);
	free(b);
	b = sanitise(branch ? branch : dir, room - SUFFIX_LEN, &changed);
	return xasprintf(PREFIX "%s-%s%s", a, b, digits);
}
