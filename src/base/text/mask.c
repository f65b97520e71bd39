#include "base/text/mask.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"

#define SHOWN_FIRST 4 /* characters: which key it is, and little help in guessing it */
#define SHOWN_MIN 16  /* a shorter value shows nothing */
#define RANDOM_MIN 32 /* letters and digits mixed, in one word: nobody writes that by hand */

/* Words of a name, between underscores. */
static const char *const name_words[] = {
	"KEY",	  "KEYS",	"APIKEY",      "TOKEN",		"TOKENS", "SECRET", "SECRETS",
	"PASS",	  "PASSWORD",	"PASSWD",      "PASSPHRASE",	"PWD",	  "PW",	    "AUTH",
	"BEARER", "CREDENTIAL", "CREDENTIALS", "CREDS",		"COOKIE", "JWT",    "PAT",
	"DSN",	  "SESSION",	"SIGNATURE",   "AUTHORIZATION", "NETRC",
};

/* Ends of a word that has no underscores: GHTOKEN, dbpassword. */
static const char *const name_ends[] = {"TOKEN",  "SECRET",	"PASSWORD",   "PASSWD",
					"APIKEY", "PASSPHRASE", "CREDENTIALS"};

/* A variable whose name ends in one of these words names the place of a secret, not the secret. */
static const char *const place_words[] = {"FILE", "PATH", "DIR", "SOCK", "SOCKET", "HOME"};

/* A word that contains one of these is one: OPENAIKEY, MYSECRETS. */
static const char *const name_parts[] = {"KEY", "SECRET"};
/* Except these words. */
static const char *const everyday_words[] = {
	"KEYBOARD", "KEYMAP",	"KEYPAD",   "KEYCODE",	 "KEYBIND", "KEYBINDINGS",
	"KEYWORD",  "KEYWORDS", "KEYFRAME", "KEYFRAMES", "HOTKEY",  "HOTKEYS",
	"MONKEY",   "TURKEY",	"HOCKEY",   "JOCKEY",
};

static bool is_word(const char *p, size_t n, const char *const *words, size_t n_words)
{
	for (size_t i = 0; i < n_words; i++)
		if (strlen(words[i]) == n && strncasecmp(words[i], p, n) == 0)
			return true;
	return false;
}

static bool has_end(const char *p, size_t n)
{
	for (size_t i = 0; i < ARRAY_SIZE(name_ends); i++) {
		size_t len = strlen(name_ends[i]);

		if (n >= len && strncasecmp(name_ends[i], p + n - len, len) == 0)
			return true;
	}
	return false;
}

static bool has_part(const char *p, size_t n)
{
	for (size_t i = 0; i < ARRAY_SIZE(name_parts); i++)
		for (size_t at = 0, len = strlen(name_parts[i]); at + len <= n; at++)
			if (strncasecmp(name_parts[i], p + at, len) == 0)
				return !is_word(p, n, everyday_words, ARRAY_SIZE(everyday_words));
	return false;
}

static bool name_is_secret(const char *name, const char *value)
{
	const char *last = strrchr(name, '_');

	/* A directory, and the name of a setting of git. */
	if (streq(name, "PWD") || streq(name, "OLDPWD") ||
	    strncmp(name, "GIT_CONFIG_KEY_", strlen("GIT_CONFIG_KEY_")) == 0)
		return false;
	last = last ? last + 1 : name;
	if (value[0] == '/' && is_word(last, strlen(last), place_words, ARRAY_SIZE(place_words)))
		return false;
	for (const char *p = name; *p;) {
		size_t n = strcspn(p, "_-.");

		if (is_word(p, n, name_words, ARRAY_SIZE(name_words)) || has_end(p, n) ||
		    has_part(p, n))
			return true;
		p += n + (p[n] != '\0');
	}
	return false;
}

/* The beginnings of vendors' keys, and the least length of such a key. */
static const struct {
	const char *start;
	size_t least;
} starts[] = {
	{"sk-", 16},	{"sk_live_", 16},    {"sk_test_", 16}, {"rk_live_", 16},
	{"ghp_", 20},	{"gho_", 20},	     {"ghu_", 20},     {"ghs_", 20},
	{"ghr_", 20},	{"github_pat_", 20}, {"glpat-", 16},   {"xoxb-", 16},
	{"xoxp-", 16},	{"xoxa-", 16},	     {"xapp-", 16},    {"AKIA", 20},
	{"ASIA", 20},	{"AIza", 30},	     {"ya29.", 16},    {"1//0", 20},
	{"npm_", 20},	{"pypi-", 20},	     {"hf_", 20},      {"dop_v1_", 20},
	{"shpat_", 20}, {"SG.", 20},	     {"sq0", 20},      {"AGE-SECRET-KEY-", 20},
	{"eyJ", 24},	{"lin_api_", 16},
};

static bool has_start(const char *p, size_t n)
{
	for (size_t i = 0; i < ARRAY_SIZE(starts); i++)
		if (n >= starts[i].least && n > strlen(starts[i].start) &&
		    strncmp(p, starts[i].start, strlen(starts[i].start)) == 0)
			return true;
	return false;
}

/*
 * Tells whether the text is one random word of letters, digits and the signs of base64. Paths and
 * words with hyphens are not random: they do not mix cases with digits.
 */
static bool is_random(const char *p, size_t n)
{
	size_t lower = 0, upper = 0, digits = 0, hex = 0;

	if (n < RANDOM_MIN)
		return false;
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)p[i];

		lower += islower(c) != 0;
		upper += isupper(c) != 0;
		digits += isdigit(c) != 0;
		hex += isxdigit(c) != 0;
	}
	if (hex == n && digits && (lower || upper))
		return true;
	return lower && upper && digits;
}

/* scheme://user:password@host */
static bool has_userinfo(const char *value)
{
	const char *p = value;

	while ((p = strstr(p, "://"))) {
		const char *at;
		size_t n;

		p += 3;
		n = strcspn(p, "/?# \t\"'");
		at = memrchr(p, '@', n);
		if (at && memchr(p, ':', (size_t)(at - p)))
			return true;
	}
	return false;
}

/* A path may well hold a hash: "/nix/store/…", "~/.cache/…". */
static bool looks_like_path(const char *p, size_t n)
{
	return p[0] == '/' || (memchr(p, '/', n) && memchr(p, '.', n));
}

static bool is_secret_word(const char *p, size_t n)
{
	return has_start(p, n) || (!looks_like_path(p, n) && is_random(p, n));
}

/* '=' splits: "--key=abc…" is two words, and at the end of base64 it is no loss. */
static const char word[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
			   "+/_.-";

/* The same as a table: whole transcripts go through here. */
static const bool in_word[256] = {
	['a' ... 'z'] = true, ['A' ... 'Z'] = true, ['0' ... '9'] = true, ['+'] = true,
	['/'] = true,	      ['_'] = true,	    ['.'] = true,	  ['-'] = true,
};

size_t mask_word_len(const char *p, size_t n)
{
	size_t i = 0;

	while (i < n && in_word[(unsigned char)p[i]])
		i++;
	return i;
}

size_t mask_gap_len(const char *p, size_t n)
{
	size_t i = 0;

	while (i < n && !in_word[(unsigned char)p[i]])
		i++;
	return i;
}

bool mask_is_key_word(const char *p, size_t n)
{
	return n >= MASK_KEY_MIN && has_start(p, n);
}

static bool any_word(const char *value, bool (*is)(const char *p, size_t n))
{
	for (const char *p = value; *p;) {
		size_t n = strspn(p, word);

		if (is(p, n))
			return true;
		p += n;
		p += strcspn(p, word);
	}
	return false;
}

static bool shape_is_secret(const char *value)
{
	return strstr(value, "-----BEGIN ") || has_userinfo(value) ||
	       any_word(value, is_secret_word);
}

bool mask_is_key(const char *value)
{
	return strstr(value, "PRIVATE KEY-----") || any_word(value, has_start);
}

bool mask_is_secret(const char *name, const char *value)
{
	return value[0] && (name_is_secret(name, value) || shape_is_secret(value));
}

/* The length of the character at s; a byte that begins none counts as one. */
static size_t char_len(const char *s)
{
	unsigned char c = (unsigned char)*s;
	size_t n = c < 0xc2 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 1;

	for (size_t i = 1; i < n; i++)
		if (((unsigned char)s[i] & 0xc0) != 0x80)
			return 1;
	return n;
}

char *mask_text(const char *value)
{
	const char *head_end = value;
	size_t n = 0;

	for (const char *p = value; *p && n < SHOWN_MIN; p += char_len(p))
		if (n++ == SHOWN_FIRST)
			head_end = p;
	if (n < SHOWN_MIN)
		return xstrdup("***");
	return xasprintf("%.*s…", (int)(head_end - value), value);
}
