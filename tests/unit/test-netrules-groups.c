#include "tests.h"

#include "base/buf.h"
#include "base/path.h"
#include "policy/pattern.h"
#include "netrules/groups-clients.h"
#include "netrules/groups.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* A made-up machine: home, etc, a directory of clients, a workspace. */
struct box {
	char dir[32];
	char *workspace;
	struct strv environ;
	struct groups_env env;
};

static void put(const struct box *b, const char *name, mode_t mode, const char *text)
{
	cleanup_free char *path = path_join(b->dir, name), *dir = path_dir(path);
	struct err e = {0};

	if (path_mkdirs(dir, 0700, &e) < 0)
		fail_msg("%s", e.msg);
	assert_int_equal(path_write_atomic(AT_FDCWD, path, text, strlen(text), mode, 0), 0);
}

static void set(struct box *b, const char *name, const char *value)
{
	strv_env_set(&b->environ, name, value);
	b->env.environ = b->environ.v;
}

static int setup(void **state)
{
	struct box *b = xcalloc(1, sizeof(*b));
	cleanup_free char *home = NULL, *path = NULL;

	(void)snprintf(b->dir, sizeof(b->dir), "/tmp/groups-XXXXXX");
	assert_non_null(mkdtemp(b->dir));
	home = path_join(b->dir, "home");
	/* Only made-up clients: the machine's own must not answer. */
	path = xasprintf("%s/work/bin:bin:%s/bin", b->dir, b->dir);
	b->workspace = path_join(b->dir, "work");
	put(b, "work/bin/keep", 0600, "");
	put(b, "bin/keep", 0600, "");
	b->env.workspace = b->workspace;
	b->env.root = b->dir;
	set(b, "HOME", home);
	set(b, "PATH", path);
	*state = b;
	return 0;
}

static int teardown(void **state)
{
	struct box *b = *state;
	struct err e;

	(void)path_remove_tree(AT_FDCWD, b->dir, &e);
	free(b->workspace);
	strv_done(&b->environ);
	free(b);
	return 0;
}

static void expect(const struct box *b, const char *group, const char *want)
{
	cleanup_strv struct strv got = {0};
	cleanup_buf struct buf text;
	struct err e = {0};

	buf_init(&text, 4 * KiB);
	if (groups_expand(group, &b->env, &got, &e) < 0)
		fail_msg("%s", e.msg);
	for (size_t i = 0; i < got.n; i++)
		(void)buf_printf(&text, "%s%s", i ? " " : "", got.v[i]);
	assert_string_equal(buf_str(&text), want);
}

static void expect_error(const struct box *b, const char *group, const char *says)
{
	cleanup_strv struct strv got = {0};
	struct err e = {0};

	assert_int_equal(groups_expand(group, &b->env, &got, &e), -EINVAL);
	assert_int_equal(err_exit_code(&e, 1), EXIT_USAGE);
	assert_int_equal(got.n, 0);
	if (!strstr(e.msg, says))
		fail_msg("'%s' does not say '%s'", e.msg, says);
}

static void tables_of_agents_are_valid_patterns(void **state)
{
	static const char *const tables[] = {"@anthropic", "@openai", "@gemini", "@github"};

	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		cleanup_strv struct strv got = {0};
		struct box *b = *state;
		struct pattern p;
		struct err e;

		assert_int_equal(groups_expand(tables[i], &b->env, &got, &e), 0);
		assert_true(got.n > 0);
		for (size_t k = 0; k < got.n; k++)
			assert_int_equal(pattern_parse(got.v[k], false, &p, &e), 0);
	}
}

/* A host more is a way out for everybody who allows the group: it has to be added here as well. */
static void tables_hold_just_these_hosts(void **state)
{
	static const char *const tables[][2] = {
		{"@anthropic",
		 "api.anthropic.com console.anthropic.com platform.claude.com claude.ai "},
		{"@openai", "api.openai.com auth.openai.com chatgpt.com "},
		{"@gemini", "generativelanguage.googleapis.com cloudcode-pa.googleapis.com "
			    "oauth2.googleapis.com accounts.google.com "},
		{"@github",
		 "github.com github.com:22 api.github.com codeload.github.com "
		 "raw.githubusercontent.com objects.githubusercontent.com "
		 "release-assets.githubusercontent.com github-cloud.githubusercontent.com "},
	};

	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		cleanup_strv struct strv got = {0};
		cleanup_buf struct buf hosts;
		struct box *b = *state;
		struct err e;

		buf_init(&hosts, 4 * KiB);
		assert_int_equal(groups_expand(tables[i][0], &b->env, &got, &e), 0);
		for (size_t k = 0; k < got.n; k++)
			assert_int_equal(buf_printf(&hosts, "%s ", got.v[k]), 0);
		assert_string_equal(buf_str(&hosts), tables[i][1]);
	}
}

static void an_unknown_group_is_an_error(void **state)
{
	expect_error(*state, "@nope", "ralph net groups");
	expect_error(*state, "npm", "not a group");
}

static void every_client_group_says_where_it_would_be_read_from(void **state)
{
	expect_error(*state, "@npm", "~/.npmrc");
	expect_error(*state, "@pypi", "pip.conf");
	expect_error(*state, "@crates", "~/.cargo/config.toml");
	expect_error(*state, "@go", "GOPROXY");
	expect_error(*state, "@debian", "/etc/apt/sources.list");
}

static void npm_is_read_from_the_users_own_files(void **state)
{
	struct box *b = *state;

	put(b, "home/.npmrc", 0600,
	    "# registry=https://comment.test/\n"
	    "registry = https://user:secret@npm.corp.test:8443/repo/\n"
	    "@team:registry=https://team.corp.test/\n"
	    "//npm.corp.test/:_authToken=abc\n");
	put(b, "etc/npmrc", 0644, "registry=http://global.corp.test/\n");
	expect(b, "@npm", "npm.corp.test:8443 team.corp.test global.corp.test");
}

static void npm_is_asked_when_only_scopes_are_configured(void **state)
{
	struct box *b = *state;

	put(b, "home/.npmrc", 0600, "@team:registry=https://team.corp.test/\n");
	put(b, "bin/npm", 0700,
	    "#!/bin/sh\n[ \"$*\" = 'config get registry' ] && echo https://builtin.test/\n");
	expect(b, "@npm", "team.corp.test builtin.test");
}

static void a_client_of_the_workspace_is_never_run(void **state)
{
	struct box *b = *state;

	put(b, "work/bin/npm", 0700, "#!/bin/sh\necho https://evil.test/\n");
	expect_error(b, "@npm", "no host is configured");
	put(b, "bin/npm", 0700, "#!/bin/sh\necho https://builtin.test/\n");
	expect(b, "@npm", "builtin.test");
}

static void a_link_into_the_workspace_is_never_followed(void **state)
{
	struct box *b = *state;
	cleanup_free char *file = path_join(b->dir, "work/npmrc");
	cleanup_free char *link = path_join(b->dir, "home/.npmrc");
	cleanup_free char *prog = path_join(b->dir, "work/bin/npm");
	cleanup_free char *prog_link = path_join(b->dir, "bin/npm");

	put(b, "work/npmrc", 0600, "registry=https://evil.test/\n");
	put(b, "home/keep", 0600, "");
	assert_int_equal(symlink(file, link), 0);
	put(b, "work/bin/npm", 0700, "#!/bin/sh\necho https://evil.test/\n");
	assert_int_equal(symlink(prog, prog_link), 0);
	expect_error(b, "@npm", "no host is configured");
}

static void a_client_is_started_outside_the_workspace(void **state)
{
	struct box *b = *state;

	put(b, "bin/npm", 0700, "#!/bin/sh\n[ \"$PWD\" = / ] && echo https://builtin.test/\n");
	expect(b, "@npm", "builtin.test");
}

static void a_client_that_fails_or_says_nothing_is_an_error(void **state)
{
	struct box *b = *state;

	put(b, "bin/npm", 0700, "#!/bin/sh\necho https://half.test/; exit 1\n");
	expect_error(b, "@npm", "no host is configured");
	put(b, "bin/npm", 0700, "#!/bin/sh\necho undefined\n");
	expect_error(b, "@npm", "no host is configured");
}

static void pip_is_read_with_its_extra_indexes(void **state)
{
	struct box *b = *state;

	put(b, "home/.config/pip/pip.conf", 0600,
	    "[global]\n"
	    "index-url = https://pip.corp.test/simple\n"
	    "extra-index-url =\n"
	    "    https://one.corp.test/simple\n"
	    "    https://two.corp.test:444/simple\n"
	    "trusted-host = other.test\n");
	expect(b, "@pypi", "one.corp.test two.corp.test:444 pip.corp.test");
	set(b, "PIP_INDEX_URL", "https://env.corp.test/simple");
	expect(b, "@pypi", "env.corp.test one.corp.test two.corp.test:444 pip.corp.test");
}

static void pip_tells_its_default_in_its_help(void **state)
{
	struct box *b = *state;

	put(b, "bin/pip3", 0700,
	    "#!/bin/sh\necho '  -i, --index-url <url>  Base URL (default'\n"
	    "echo '       https://builtin.test/simple). More.'\n");
	expect(b, "@pypi", "builtin.test");
}

static void cargo_is_read_from_sources_and_registries(void **state)
{
	struct box *b = *state;

	put(b, "home/.cargo/config.toml", 0600,
	    "[source.crates-io]\nreplace-with = \"corp\"\n"
	    "[source.corp]\nregistry = \"sparse+https://cargo.corp.test/index/\"\n"
	    "[registries.x]\nindex = \"https://x.corp.test/git\"\n"
	    "# index = \"https://comment.test\"\n");
	expect(b, "@crates", "cargo.corp.test x.corp.test");
}

static void go_is_read_from_variable_file_or_itself(void **state)
{
	struct box *b = *state;

	put(b, "bin/go", 0700, "#!/bin/sh\necho https://builtin.test,direct\n");
	expect(b, "@go", "builtin.test");
	put(b, "home/.config/go/env", 0600,
	    "GOPROXY=https://go.corp.test|https://b.corp.test,off\n");
	expect(b, "@go", "go.corp.test b.corp.test");
	set(b, "GOPROXY", "https://env.corp.test/go,direct");
	expect(b, "@go", "env.corp.test");
}

static void apt_is_read_in_both_of_its_formats(void **state)
{
	struct box *b = *state;

	put(b, "etc/apt/sources.list", 0644,
	    "deb [arch=amd64] http://apt.corp.test/debian stable main\n"
	    "# deb http://comment.test/ x y\n"
	    "deb cdrom:[x]/ stable main\n");
	put(b, "etc/apt/sources.list.d/a.sources", 0644,
	    "Types: deb\nURIs: https://deb822.corp.test:8080/x\n https://more.corp.test/\n"
	    "Suites: stable\nSigned-By: https://no.test\n");
	put(b, "etc/apt/sources.list.d/a.save", 0644, "deb http://old.test/ x y\n");
	expect(b, "@debian", "apt.corp.test deb822.corp.test:8080 more.corp.test");
}

static void urls_become_patterns_without_their_secrets(void **state)
{
	static const struct {
		const char *url, *want;
	} rows[] = {
		{"https://a.test", "a.test"},
		{"https://A.test.:443/x", "a.test"},
		{"http://a.test:80", "a.test"},
		{"https://u:p@a.test:8443/", "a.test:8443"},
		{"https://u:p@w@a.test/", "a.test"},
		{"https://[2001:db8::1]:8443/", "[2001:db8::1]:8443"},
		{"file:///srv/x", NULL},
		{"https:///x", NULL},
		{"https://127.1/", NULL},
		{"https://*.test/", NULL},
		{"a.test", NULL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cleanup_strv struct strv got = {0};

		groups_add_url(&got, rows[i].url);
		assert_int_equal(got.n, rows[i].want ? 1 : 0);
		if (rows[i].want)
			assert_string_equal(got.v[0], rows[i].want);
	}
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(tables_of_agents_are_valid_patterns),
		TEST(tables_hold_just_these_hosts),
		TEST(an_unknown_group_is_an_error),
		TEST(every_client_group_says_where_it_would_be_read_from),
		TEST(npm_is_read_from_the_users_own_files),
		TEST(npm_is_asked_when_only_scopes_are_configured),
		TEST(a_client_of_the_workspace_is_never_run),
		TEST(a_link_into_the_workspace_is_never_followed),
		TEST(a_client_is_started_outside_the_workspace),
		TEST(a_client_that_fails_or_says_nothing_is_an_error),
		TEST(pip_is_read_with_its_extra_indexes),
		TEST(pip_tells_its_default_in_its_help),
		TEST(cargo_is_read_from_sources_and_registries),
		TEST(go_is_read_from_variable_file_or_itself),
		TEST(apt_is_read_in_both_of_its_formats),
		TEST(urls_become_patterns_without_their_secrets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
