#include "config/keys.h"

#include <string.h>

#include "base/parse.h"
#include "base/path.h"
#include "policy/refused-env.h"

/* These functions check the form of single values. The policy layer judges if a pattern is wise. */
#define NAME_MAX_LEN 32
#define IMAGE_MAX_LEN 512
#define PROFILE_MAX_LEN 64
#define PATTERN_MAX_LEN 255
#define PATH_MAX_LEN 4095
#define ENV_MAX_LEN (64 * KiB)

#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"

static bool made_of(const char *s, const char *first, const char *rest, size_t max)
{
	size_t len = strlen(s);

	return len > 0 && len <= max && strchr(first, s[0]) && strspn(s, rest) == len;
}

static bool has_control(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			return true;
	return false;
}

const char *check_agent(const char *s)
{
	if (made_of(s, LOWER, LOWER DIGITS "-", NAME_MAX_LEN))
		return NULL;
	return "is no agent's name; use at most 32 of a-z, 0-9 and '-', beginning with a letter";
}

const char *check_reviewer(const char *s)
{
	return *s ? check_agent(s) : NULL;
}

/* It becomes one argument of the agent, which must not read it as an option. */
const char *check_model(const char *s)
{
	if (!*s || made_of(s, LOWER UPPER DIGITS, LOWER UPPER DIGITS "._-/:@[]", IMAGE_MAX_LEN))
		return NULL;
	return "is no name of a model; use letters, digits, '.', '_', '-', '/', ':', '@', '[' and "
	       "']'";
}

const char *check_fallback(const char *s)
{
	if (!*s || made_of(s, LOWER, LOWER DIGITS "-,", IMAGE_MAX_LEN))
		return NULL;
	return "is no list of agents; write AGENT or AGENT,AGENT";
}

/* An image has a name as container engines take it: REGISTRY/PATH:TAG@DIGEST. */
const char *check_image(const char *s)
{
	if (!*s || made_of(s, LOWER UPPER DIGITS, LOWER UPPER DIGITS "._-/:@", IMAGE_MAX_LEN))
		return NULL;
	return "is no name of an image; use letters, digits, '.', '_', '-', '/', ':' and '@'";
}

const char *check_profile(const char *s)
{
	if (!*s || made_of(s, LOWER UPPER DIGITS, LOWER UPPER DIGITS "._-", PROFILE_MAX_LEN))
		return NULL;
	return "is no profile's name; use letters, digits, '.', '_' and '-', not a path";
}

static bool env_name_ok(const char *s, size_t len)
{
	return len > 0 && strchr(LOWER UPPER "_", s[0]) && strspn(s, LOWER UPPER DIGITS "_") == len;
}

const char *check_env_name(const char *s)
{
	size_t len = strlen(s);

	if (len <= PATTERN_MAX_LEN && env_name_ok(s, len))
		return NULL;
	return "is no variable's name; use letters, digits and '_', not beginning with a digit";
}

const char *check_env_entry(const char *s)
{
	const char *eq = strchr(s, '=');

	if (!eq)
		return "has no '='; write NAME=VALUE";
	if (!env_name_ok(s, (size_t)(eq - s)) || (size_t)(eq - s) > PATTERN_MAX_LEN)
		return "does not begin with a variable's name; write NAME=VALUE";
	if (strlen(s) > ENV_MAX_LEN)
		return "is too long; a variable holds at most 64 KiB";
	return NULL;
}

const char *check_program(const char *s)
{
	if (made_of(s, LOWER UPPER DIGITS, LOWER UPPER DIGITS "._+-", PROFILE_MAX_LEN))
		return NULL;
	return "is no program's name; use letters, digits, '.', '_', '+' and '-', not a path";
}

const char *check_refuse(const char *s)
{
	/* A pattern that matches everything would refuse every variable. It is a typing error. */
	if (strspn(s, "*") == strlen(s))
		return "matches everything; name what is to be refused";
	return has_control(s) ? "holds a control character" : refused_env_wrong(s);
}

const char *check_identity(const char *s)
{
	if (!*s || strlen(s) > PATTERN_MAX_LEN || has_control(s) || strchr(s, ' '))
		return "is no pattern of e-mail addresses; write it like me@example.org or "
		       "*@example.org";
	return NULL;
}

const char *check_pattern(const char *s)
{
	size_t len = strlen(s);

	if (len == 0)
		return "is empty; name a host or a group";
	if (len > PATTERN_MAX_LEN)
		return "is too long; a host pattern has at most 255 characters";
	if (has_control(s) || strchr(s, ' '))
		return "holds a blank or a control character; write one host per entry";
	return NULL;
}

static const char *check_path(const char *s)
{
	if (strlen(s) > PATH_MAX_LEN)
		return "is too long";
	if (has_control(s))
		return "holds a control character; rename it";
	if (!path_is_normal(s))
		return "is not a plain absolute path; leave out '.', '..', '//' and a last '/'";
	return NULL;
}

const char *check_mount_path(const char *s)
{
	if (strncmp(s, "~/", 2) == 0)
		return check_path(s + 1);
	if (s[0] != '/')
		return "is not absolute; begin it with '/' or '~/'";
	return check_path(s);
}

const char *check_mount_target(const char *s)
{
	return s[0] == '/' ? check_path(s) : "is not absolute; begin it with '/'";
}

const char *check_method(const char *s)
{
	if (made_of(s, UPPER, UPPER "-", NAME_MAX_LEN))
		return NULL;
	return "is no HTTP method; write it in capitals, like GET";
}

const char *check_url_path(const char *s)
{
	if (s[0] != '/')
		return "does not begin with '/'; write the path as the request has it";
	if (strlen(s) > PATH_MAX_LEN || has_control(s) || strchr(s, ' '))
		return "is too long or holds a blank or a control character";
	return NULL;
}

const char *check_git(const char *s)
{
	size_t verb = strcspn(s, " ");
	const char *repo = s[verb] ? s + verb + 1 : NULL;

	if (!(verb == 5 && memcmp(s, "fetch", 5) == 0) && !(verb == 4 && memcmp(s, "push", 4) == 0))
		return "is no git access; use 'fetch' or 'push OWNER/REPO'";
	if (verb == 4 && !repo)
		return "names no repository; write 'push OWNER/REPO'";
	if (repo && (!*repo || strlen(repo) > PATTERN_MAX_LEN || has_control(repo) ||
		     strchr(repo, ' ') || !strchr(repo, '/')))
		return "names no repository; write OWNER/REPO";
	return NULL;
}

const char *check_credential(const char *s)
{
	if (made_of(s, LOWER UPPER DIGITS, LOWER UPPER DIGITS "._-", PROFILE_MAX_LEN))
		return NULL;
	return "is no credential's name; use letters, digits, '.', '_' and '-'";
}

/* https://HOST[:PORT][/PATH]: whoever reads it takes it apart with care; here it must look like
 * one.
 */
static bool is_https(const char *s)
{
	static const char scheme[] = "https://";
	size_t n = sizeof(scheme) - 1;

	return strncmp(s, scheme, n) == 0 && s[n] && s[n] != '/' && !strpbrk(s, "?#@ \\\"") &&
	       !has_control(s) && strlen(s) <= PATH_MAX_LEN;
}

const char *check_origin(const char *s)
{
	size_t n = strlen(s);

	if (is_https(s) && s[n - 1] != '/')
		return NULL;
	return "is no origin; write https://HOST, with :PORT and /PATH where they are needed";
}

const char *check_token_url(const char *s)
{
	return is_https(s) ? NULL : "is no address; write https://HOST/PATH";
}

const char *check_way(const char *s)
{
	static const char *const ways[] = {"phantom", "mount", "pipe", "env", "off"};

	for (size_t i = 0; i < ARRAY_SIZE(ways); i++)
		if (streq(s, ways[i]))
			return NULL;
	return "is no way; use phantom, mount, pipe, env or off";
}

const char *check_source(const char *s)
{
	const char *what = strchr(s, ':');
	size_t n = what ? (size_t)(what - s) : 0;

	if (n == 3 && memcmp(s, "env", n) == 0)
		return check_env_name(what + 1);
	if (n == 4 && memcmp(s, "file", n) == 0)
		return check_mount_path(what + 1);
	if (n == 7 && memcmp(s, "command", n) == 0)
		return what[1] && !has_control(what) ? NULL : "names no command";
	return "is no source; write env:NAME, file:PATH or command:LINE";
}

const char *check_price(const char *s)
{
	static const char form[] = "is no price; write MODEL=INPUT/OUTPUT or "
				   "MODEL=INPUT/OUTPUT/READ/WRITE, in US dollars for a million "
				   "tokens, as in claude-opus=5/25";
	const char *p = strrchr(s, '=');
	size_t n = 0;

	if (!p || p == s || has_control(s))
		return form;
	for (; *p; n++) {
		size_t len = strcspn(++p, "/");
		char number[24];
		uint64_t v;

		if (len >= sizeof(number))
			return form;
		memcpy(number, p, len);
		number[len] = '\0';
		if (parse_micro(number, &v) < 0 || v > UINT32_MAX)
			return form;
		p += len;
	}
	return n == 2 || n == 4 ? NULL : form;
}

const char *check_inbox(const char *s)
{
	cleanup_free char *path = NULL;

	if (!*s || streq(s, "off") || streq(s, "~"))
		return NULL;
	/* places_inbox() takes '~/' and slashes at the end. */
	path = xstrdup(strncmp(s, "~/", 2) == 0 ? s + 1 : s);
	for (size_t n = strlen(path); n > 1 && path[n - 1] == '/'; n--)
		path[n - 1] = '\0';
	return check_path(path);
}

const char *check_mask(const char *s)
{
	s += s[0] == '!';
	if (!*s)
		return "names no file; write a name or a pattern like *.key";
	if (strchr(s, '/'))
		return "has a slash; patterns are of names, wherever the file lies";
	return NULL;
}

const char *check_may_change(const char *s)
{
	if (!*s || *s == '/')
		return "is no path or pattern below the workspace, such as .github/workflows/*";
	return has_control(s) ? "has a control character" : NULL;
}

const char *check_command(const char *s)
{
	if (strlen(s) > PATH_MAX_LEN)
		return "is longer than 4095 bytes; put it into a script";
	return has_control(s) ? "has a control character; write one command line" : NULL;
}

const char *check_notify(const char *s)
{
	static const char webhook[] = NOTIFY_WEBHOOK "https://";

	if (strncmp(s, NOTIFY_WEBHOOK, strlen(NOTIFY_WEBHOOK)) == 0 &&
	    (strncmp(s, webhook, sizeof(webhook) - 1) != 0 || !s[sizeof(webhook) - 1] ||
	     strchr(s, ' ')))
		return "has no address; write " NOTIFY_WEBHOOK "https://HOST/PATH";
	if (strncmp(s, NOTIFY_DESKTOP, strlen(NOTIFY_DESKTOP)) == 0 && s[strlen(NOTIFY_DESKTOP)])
		return "has text after the colon; write " NOTIFY_DESKTOP;
	return check_command(s);
}

#define PLACE_NAME_MAX 32
#define PLACE_SLOTS_MAX 64 /* as wire/fleet.h has it */
const char *check_place(const char *s)
{
	if (strlen(s) > PLACE_NAME_MAX ||
	    strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-") != strlen(s))
		return "is no name of a placement; write up to 32 of a-z, 0-9 and -";
	return NULL;
}

/* A word of a placement's command; a placeholder that is not known would reach the command as it is. */
const char *check_place_word(const char *s)
{
	static const char *const names[] = {"{loop}", "{task}", "{name}", "{host}"};

	for (const char *p = s; (p = strchr(p, '{')); p++) {
		size_t n = 1 + strspn(p + 1, "abcdefghijklmnopqrstuvwxyz"), i = 0;

		if (n == 1 || p[n] != '}')
			continue;
		while (i < ARRAY_SIZE(names) && strncmp(p, names[i], n + 1) != 0)
			i++;
		if (i == ARRAY_SIZE(names))
			return "has a placeholder that is not known; use {loop}, {task}, {name} or "
			       "{host}";
	}
	return check_command(s);
}

/* The word must not become an option of the command that gets it. */
const char *check_place_host(const char *s)
{
	return !*s || *s == '-' || strlen(s) > 255 || strpbrk(s, " \t{}") || has_control(s)
		       ? "is no name of a host; write one without spaces that does not begin with "
			 "'-'"
		       : NULL;
}

const char *check_place_slots(const char *s)
{
	uint64_t n;

	return parse_uint(s, 1, PLACE_SLOTS_MAX, &n) < 0
		       ? "is no number of slots; write 1 to 64, as after 'worker --slots'"
		       : NULL;
}

const char *check_egress(const char *s)
{
	return streq(s, "home") || streq(s, "node") ? NULL : "is no way out; use home or node";
}

const char *check_dial(const char *s)
{
	return streq(s, "home") || streq(s, "relay") ? NULL
						     : "is no place for keys; use home or relay";
}

const char *check_provider_tools(const char *s)
{
	static const char form[] =
		"is no choice of provider tools; write agent, all, none, or names "
		"such as web_search,web_fetch";

	for (const char *p = s;; p++) {
		size_t n = strspn(p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "0123456789_-.");
		bool whole = p == s && p[n] == '\0';

		if (n == 0 || n > PROVIDER_TOOL_MAX || (p[n] && p[n] != ','))
			return form;
		if (!whole &&
		    ((n == 5 && memcmp(p, "agent", 5) == 0) ||
		     (n == 3 && memcmp(p, "all", 3) == 0) || (n == 4 && memcmp(p, "none", 4) == 0)))
			return form;
		p += n;
		if (!*p)
			return NULL;
	}
}
