#include "tests.h"

#include <stdlib.h>

#include "base/mem.h"
#include "config/keys.h"

/* What single values must look like: each check with what it takes, and what it does not and how it
 * says so. */
typedef const char *check_fn(const char *s);

struct row {
	check_fn *check;
	const char *value;
	const char *says; /* a part of it; NULL: it is taken */
};

static const struct row rows[] = {
	{check_provider_tools, "agent", NULL},
	{check_provider_tools, "web_search,web_fetch", NULL},
	{check_provider_tools, "web_search,all", "is no choice"},
	{check_provider_tools, "none,x", "is no choice"},
	{check_provider_tools, "", "is no choice"},
	{check_provider_tools, "a,,b", "is no choice"},
	{check_provider_tools, "a,", "is no choice"},
	{check_provider_tools, "a b", "is no choice"},
	{check_price, "claude-opus=5/25", NULL},
	{check_price, "claude-opus=5/25/0.5/6.25", NULL},
	{check_price, "a=b=1/2", NULL},
	{check_price, "claude-opus", "is no price"},
	{check_price, "=5/25", "is no price"},
	{check_price, "m=5", "is no price"},
	{check_price, "m=5/25/1", "is no price"},
	{check_price, "m=5/25/1/2/3", "is no price"},
	{check_price, "m=5/", "is no price"},
	{check_price, "m=/25", "is no price"},
	{check_price, "m=5/x", "is no price"},
	{check_price, "m=-5/25", "is no price"},
	{check_price, "m=5/99999999999999", "is no price"},
	{check_price, "m=5/0000000000000000000000000000001", "is no price"},
	{check_price, "m\n=5/25", "is no price"},
	{check_mask, "*.key", NULL},
	{check_mask, "!.env.example", NULL},
	{check_mask, "", "names no file"},
	{check_mask, "!", "names no file"},
	{check_mask, "secrets/*.key", "has a slash"},
	{check_mask, "!a/b", "has a slash"},
	{check_identity, "*@example.org", NULL},
	{check_identity, "", "is no pattern"},
	{check_identity, "me @example.org", "is no pattern"},
	{check_identity, "me\033@example.org", "is no pattern"},
	{check_refuse, "AWS_*", NULL},
	{check_refuse, "*", "matches everything"},
	{check_refuse, "***", "matches everything"},
	{check_refuse, "", "matches everything"},
	{check_refuse, "A\tB", "control character"},
	{check_program, "g++", NULL},
	{check_program, "/usr/bin/make", "not a path"},
	{check_program, "-rf", "not a path"},
	{check_url_path, "/v1/messages", NULL},
	{check_url_path, "v1", "does not begin with '/'"},
	{check_url_path, "/a b", "holds a blank"},
	{check_git, "fetch", NULL},
	{check_git, "fetch me/mine", NULL},
	{check_git, "push me/mine", NULL},
	{check_git, "push", "names no repository"},
	{check_git, "push mine", "names no repository"},
	{check_git, "push ", "names no repository"},
	{check_git, "clone me/mine", "is no git access"},
	{check_mount_path, "~/src", NULL},
	{check_mount_path, "/a\nb", "control character"},
	{check_mount_path, "/a/../b", "plain absolute path"},
	{check_mount_path, "src", "is not absolute"},
	{check_mount_target, "~/src", "is not absolute"},
	{check_origin, "https://example.org:8443/api", NULL},
	{check_origin, "https://example.org/", "is no origin"},
	{check_origin, "https://me@example.org", "is no origin"},
	{check_origin, "http://example.org", "is no origin"},
	{check_token_url, "https://example.org/token", NULL},
	{check_token_url, "https:///token", "is no address"},
	{check_way, "phantom", NULL},
	{check_way, "Phantom", "is no way"},
	{check_source, "env:TOKEN", NULL},
	{check_source, "file:~/.token", NULL},
	{check_source, "command:pass show token", NULL},
	{check_source, "command:", "names no command"},
	{check_source, "env:1X", "is no variable's name"},
	{check_source, "TOKEN", "is no source"},
	{check_inbox, "off", NULL},
	{check_inbox, "", NULL},
	{check_inbox, "inbox", "plain absolute path"},
	{check_command, "make test", NULL},
	{check_command, "make\ntest", "control character"},
	{check_refuse, "MYCORP|VENDOR", NULL},
	{check_refuse, "(a", "extended regular expression"},
	{check_refuse, "[a", NULL},
	{check_env_entry, "A=", NULL},
	{check_env_entry, "A", "has no '='"},
	{check_env_entry, "1A=x", "does not begin with a variable's name"},
};

static void each_value_is_taken_or_refused_with_its_reason(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *said = rows[i].check(rows[i].value);

		if (!rows[i].says != !said || (said && !strstr(said, rows[i].says)))
			fail_msg("'%s': %s", rows[i].value, said ? said : "taken");
	}
}

/* So many bytes that every check has its fill. */
static void nothing_may_be_endless(void **state)
{
	static const struct {
		check_fn *check;
		const char *begin;
		size_t ok, too_long; /* bytes behind the beginning */
	} limits[] = {
		{check_agent, "a", 31, 32},
		{check_image, "a", 511, 512},
		{check_profile, "a", 63, 64},
		{check_env_name, "A", 254, 255},
		{check_env_entry, "A=", 64 * 1024 - 2, 64 * 1024},
		{check_program, "a", 63, 64},
		{check_refuse, "a", 4094, 4095},
		{check_identity, "a", 254, 255},
		{check_pattern, "a", 254, 255},
		{check_mount_path, "/", 4094, 4095},
		{check_url_path, "/", 4094, 4095},
		{check_git, "push a/", 253, 254},
		{check_credential, "a", 63, 64},
		{check_token_url, "https://", 4087, 4088},
		{check_command, "", 4095, 4096},
	};

	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		size_t n = strlen(limits[i].begin);
		cleanup_free char *s = xcalloc(1, n + limits[i].too_long + 1);

		memcpy(s, limits[i].begin, n);
		memset(s + n, 'a', limits[i].ok);
		if (limits[i].check(s))
			fail_msg("row %zu: %s", i, limits[i].check(s));
		memset(s + n, 'a', limits[i].too_long);
		if (!limits[i].check(s))
			fail_msg("row %zu: %zu bytes are taken", i, strlen(s));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_value_is_taken_or_refused_with_its_reason),
		cmocka_unit_test(nothing_may_be_endless),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
