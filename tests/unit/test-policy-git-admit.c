#include "tests.h"

#include <errno.h>

#include "base/buf.h"
#include "policy/git-admit.h"
#include "policy/gitconfig.h"

static char *admitted(const char *text, const struct git_admit *with)
{
	struct buf b;

	buf_init(&b, 64 * KiB);
	assert_int_equal(git_admit_config(text, strlen(text), with, &b), 0);
	return buf_take(&b);
}

static void has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("'%s' is not in:\n%s", part, text);
}

static void has_not(const char *text, const char *part)
{
	if (strstr(text, part))
		fail_msg("'%s' is in:\n%s", part, text);
}

static void url_becomes(const char *url, const char *want)
{
	cleanup_free char *is = git_admit_url(url);

	if (!want) {
		assert_null(is);
		return;
	}
	assert_non_null(is);
	assert_string_equal(is, want);
}

static void a_url_loses_whoever_it_names(void **state)
{
	url_becomes("https://me:ghp_x@host.example/a/b.git", "https://host.example/a/b.git");
	url_becomes("https://ghp_x@host.example:8443/a", "https://host.example:8443/a");
	url_becomes("HTTPS://a:b@c@host.example/x@y", "HTTPS://host.example/x@y");
	url_becomes("https://host.example/a?private_token=x#y", "https://host.example/a");
	url_becomes("http://[::1]:80/a", "http://[::1]:80/a");
	url_becomes("ssh://me@host.example:22/a", "ssh://host.example:22/a");
	url_becomes("ssh://git@host.example/a", "ssh://git@host.example/a");
	url_becomes("ssh://git:word@host.example/a", "ssh://host.example/a");
	url_becomes("https://git@host.example/a", "https://host.example/a");
	url_becomes("me@host.example:a/b", "host.example:a/b");
	url_becomes("me:key@host.example:a/b", "host.example:a/b");
	url_becomes("git@host.example:a/b", "git@host.example:a/b");
	url_becomes("ext::https://me:key@host.example", "ext::https://host.example");
}

static void a_local_path_stays_as_it_is(void **state)
{
	url_becomes("/srv/git/a@b:c.git", "/srv/git/a@b:c.git");
	url_becomes("../lib.git", "../lib.git");
	url_becomes("dir@2", "dir@2");
	url_becomes("file:///srv/a@b", "file:///srv/a@b");
}

static void a_password_with_a_slash_is_not_passed_on_in_part(void **state)
{
	url_becomes("https://me:se/cret@host.example/a", NULL);
}

static void settings_that_name_secrets_or_the_host_are_left_out(void **state)
{
	static const struct git_admit plain = {0};
	cleanup_free char *text =
		admitted("[credential]\n\thelper = store\n[http \"https://x.example\"]\n"
			 "\textraHeader = Authorization: Basic abc\n[include]\n\tpath = /etc/x\n"
			 "[core]\n\tsshCommand = ssh -i key\n\tfsmonitor = /bin/x\n"
			 "\thooksPath = /home/me/hooks\n\tworktree = /elsewhere\n\tbare = true\n"
			 "[url \"https://tok@x.example/\"]\n\tinsteadOf = gh:\n"
			 "[gpg]\n\tprogram = gpg\n[lfs]\n\tstorage = /home/me/lfs\n"
			 "[user]\n\tsigningkey = ABC\n\tname = Me\n",
			 &plain);

	has(text, "name = \"Me\"");
	has(text, "bare = \"false\"");
	has(text, "fsmonitor = \"false\"");
	has(text, "gpgsign = \"false\"");
	has_not(text, "helper");
	has_not(text, "Basic");
	has_not(text, "/etc/x");
	has_not(text, "ssh -i");
	has_not(text, "/bin/x");
	has_not(text, "/home/me");
	has_not(text, "/elsewhere");
	has_not(text, "tok");
	has_not(text, "ABC");
}

static void no_value_and_no_subsection_holds_a_token(void **state)
{
	static const struct git_admit plain = {0};
	cleanup_free char *text = admitted(
		"[remote \"origin\"]\n\turl = https://u:tok1@x.example/a\n"
		"\tpushurl = tok2@x.example:a\n[lfs \"https://tok3@x.example/lfs\"]\n"
		"\taccess = basic\n[alias]\n\tf = !git fetch https://tok4@x.example/a main\n"
		"[branch \"m\"]\n\tremote = https://tok5@x.example/a\n"
		"[submodule \"s\"]\n\turl = https://a:tok6@x.example/s\n",
		&plain);

	has_not(text, "tok");
	has(text, "url = \"https://x.example/a\"");
	has(text, "[lfs \"https://x.example/lfs\"]");
	has(text, "!git fetch https://x.example/a main");
	has(text, "url = \"https://x.example/s\"");
}

struct want {
	const char *sub, *value;
	unsigned found;
};

static bool is_same(const struct gitconfig_entry *e, void *arg)
{
	struct want *w = arg;

	if (streq(e->section, "alias") && e->sub && streq(e->sub, w->sub) && e->value &&
	    streq(e->value, w->value))
		w->found++;
	return false;
}

static void what_is_admitted_reads_as_it_was(void **state)
{
	static const struct git_admit plain = {0};
	struct want w = {.sub = "a \"b\\c", .value = " x\ty\n\"z\\ ;#"};
	cleanup_free char *text = admitted("[alias \"a \\\"b\\\\c\"]\n"
					   "\tk = \" x\\ty\\n\\\"z\\\\ ;#\"\n[pull]\n\trebase\n",
					   &plain);

	assert_int_equal(gitconfig_each(text, strlen(text), is_same, &w), 0);
	assert_int_equal(w.found, 1);
	has(text, "[pull]\n\trebase\n");
}

static void a_submodule_keeps_its_place_and_a_relative_hooks_path_too(void **state)
{
	static const struct git_admit module = {.worktree = "/w/sub"};
	cleanup_free char *text = admitted("[core]\n\thooksPath = .husky\n", &module);

	has(text, "worktree = \"/w/sub\"");
	has(text, "hookspath = \".husky\"");
}

static void settings_that_git_does_not_read_are_an_error(void **state)
{
	static const struct git_admit plain = {0};
	struct buf b;

	buf_init(&b, 64 * KiB);
	assert_int_equal(git_admit_config("[core\n", 6, &plain, &b), -EINVAL);
	buf_done(&b);
	buf_init(&b, 16);
	assert_int_equal(git_admit_config("", 0, &plain, &b), -ENOBUFS);
	buf_done(&b);
}

static void the_name_of_a_reference_is_what_git_allows(void **state)
{
	static const char *const good[] = {"refs/heads/a", "refs/heads/feature/x@y", "refs/stash",
					   "refs/heads/\xc3\xa4"};
	static const char *const bad[] = {
		"HEAD",	       "refs/heads/",	"refs/heads/a..b",   "refs/heads/.a",
		"refs/h/a.",   "refs/h/a.lock", "refs/h/a.lock/b",   "refs/heads/a b",
		"refs/h/a\nb", "refs/h/a~1",	"refs/heads/a@{1}",  "refs//a",
		"refs/h/a\\b", "refs/h/a\x7f",	"refs/heads/../../x"};

	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		assert_true(git_ref_is_valid(good[i]));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (git_ref_is_valid(bad[i]))
			fail_msg("%s", bad[i]);
}

static void of_an_agents_settings_only_remotes_and_upstreams_are_taken(void **state)
{
	static const char text[] =
		"[core]\n\tfsmonitor = x\n\thooksPath = h\n\tsshCommand = x\n[alias]\n\ta = !x\n"
		"[remote \"o\"]\n\turl = https://u:p@host/x?t=y\n\tfetch = +refs/*:refs/*\n"
		"\tuploadpack = x\n\tvcs = x\n\tpushurl = ext::x\n"
		"[remote \"s\"]\n\turl = git@host:x/y.git\n"
		"[remote \"ext\"]\n\turl = ext::sh -c x\n[remote \"path\"]\n\turl = /home/u/x\n"
		"[remote \"dash\"]\n\turl = ssh://-oProxyCommand=x/y\n[remote \"file\"]\n\turl = "
		"file:///x\n"
		"[remote \"-u\"]\n\turl = https://bad/x\n[remote \"a b\"]\n\turl = https://bad/x\n"
		"[branch \"main\"]\n\tremote = o\n\tmerge = refs/heads/main\n\tdescription = x\n"
		"[branch \"b\"]\n\tremote = ext::x\n\tmerge = -x\n[filter \"f\"]\n\tclean = x\n"
		"[include]\n\tpath = x\n[url \"x\"]\n\tinsteadOf = y\n";
	static const char want[] = "[remote \"o\"]\n\turl = \"https://host/x\"\n"
				   "[remote \"o\"]\n\tfetch = \"+refs/heads/*:refs/remotes/o/*\"\n"
				   "[remote \"s\"]\n\turl = \"git@host:x/y.git\"\n"
				   "[remote \"s\"]\n\tfetch = \"+refs/heads/*:refs/remotes/s/*\"\n"
				   "[branch \"main\"]\n\tremote = \"o\"\n[branch "
				   "\"main\"]\n\tmerge = \"refs/heads/main\"\n";
	struct buf b;

	buf_init(&b, 64 * KiB);
	assert_int_equal(git_admit_remotes(text, strlen(text), &b), 0);
	assert_string_equal(buf_str(&b), want);
	buf_done(&b);
	buf_init(&b, 64);
	assert_int_equal(git_admit_remotes(text, strlen(text), &b), -ENOBUFS);
	buf_done(&b);
	buf_init(&b, 64 * KiB);
	assert_int_equal(git_admit_remotes("[x", 2, &b), -EINVAL);
	buf_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_url_loses_whoever_it_names),
		cmocka_unit_test(a_local_path_stays_as_it_is),
		cmocka_unit_test(a_password_with_a_slash_is_not_passed_on_in_part),
		cmocka_unit_test(settings_that_name_secrets_or_the_host_are_left_out),
		cmocka_unit_test(no_value_and_no_subsection_holds_a_token),
		cmocka_unit_test(what_is_admitted_reads_as_it_was),
		cmocka_unit_test(a_submodule_keeps_its_place_and_a_relative_hooks_path_too),
		cmocka_unit_test(settings_that_git_does_not_read_are_an_error),
		cmocka_unit_test(the_name_of_a_reference_is_what_git_allows),
		cmocka_unit_test(of_an_agents_settings_only_remotes_and_upstreams_are_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
