#include "config-tests.h"

#include <dirent.h>

#include "base/buf.h"

static void assert_from(struct place *p, const char *key, const char *origin)
{
	const char *from = config_origin(p->c, key);

	if (strncmp(from, p->dir, strlen(p->dir)) == 0)
		from += strlen(p->dir) + 1;
	assert_string_equal(from, origin);
}

static void assert_item_from(struct place *p, const char *key, size_t i, const char *origin)
{
	const char *from = config_item_origin(p->c, key, i);

	assert_non_null(from);
	if (strncmp(from, p->dir, strlen(p->dir)) == 0)
		from += strlen(p->dir) + 1;
	assert_string_equal(from, origin);
}

static void nothing_configured_gives_the_defaults(void **state)
{
	struct place *p = *state;

	load_ok(p);
	assert_string_equal(p->c->agent, "command");
	assert_string_equal(p->c->engine, "auto");
	assert_null(p->c->profile);
	assert_int_equal(p->c->network.tier, POLICY_ALLOWLIST);
	assert_int_equal(p->c->limits.memory, 0);
	assert_int_equal(p->c->limits.pids, 4096);
	assert_int_equal(p->c->limits.cpu, 0);
	assert_int_equal(p->c->limits.tmp, 1 * GiB);
	assert_int_equal(p->c->limits.open_files, 16384);
	assert_int_equal(p->c->limits.timeout_ms, 0);
	assert_int_equal(p->c->log.level, LOG_INFO);
	assert_int_equal(p->c->log.format, LOG_TEXT);
	assert_int_equal(p->c->env.set.n + p->c->env.pass.n + p->c->n_mounts, 0);
	assert_int_equal(p->c->network.allow.n + p->c->network.deny.n + p->c->network.n_rules, 0);
	assert_from(p, "limits.pids", "default");
}

static void no_sources_at_all_gives_the_defaults(void **state)
{
	struct config_sources none = {0};
	struct config *c = NULL;
	struct err e = {0};

	assert_int_equal(config_load(&none, &c, &e), 0);
	assert_int_equal(c->limits.pids, 4096);
	(void)config_free(c);
}

static void every_key_of_a_file_lands_in_its_place(void **state)
{
	struct place *p = *state;

	put(p->user, "agent: claude\nengine: native\nenv: {set: [A=1, \"B=x y\"], pass: [FOO]}\n"
		     "mounts: [{path: ~/.cache/go, mode: rw, target: /x}, {path: /opt/y}]\n"
		     "network: {tier: full, allow: [a.example, \"*.b.example:8443\"], deny: [c],\n"
		     "  rules: [{host: h, methods: [GET], paths: [/x], git: [fetch], "
		     "credential: gh}]}\n"
		     "limits: {memory: 8G, pids: 2048, cpu: 200, tmp: 2G, open_files: 4096, "
		     "timeout: 2h}\n"
		     "log: {level: debug, format: json}\n");
	load_ok(p);
	assert_string_equal(p->c->agent, "claude");
	assert_string_equal(p->c->engine, "native");
	assert_string_equal(p->c->env.set.v[0], "A=1");
	assert_string_equal(p->c->env.set.v[1], "B=x y");
	assert_string_equal(p->c->env.pass.v[0], "FOO");
	assert_int_equal(p->c->n_mounts, 2);
	assert_string_equal(p->c->mounts[0].path, "/home/u/.cache/go");
	assert_string_equal(p->c->mounts[0].target, "/x");
	assert_true(p->c->mounts[0].writable);
	assert_null(p->c->mounts[1].target);
	assert_false(p->c->mounts[1].writable);
	assert_int_equal(p->c->network.tier, POLICY_FULL);
	assert_string_equal(p->c->network.allow.v[1], "*.b.example:8443");
	assert_string_equal(p->c->network.deny.v[0], "c");
	assert_int_equal(p->c->network.n_rules, 1);
	assert_string_equal(p->c->network.rules[0].pattern, "h");
	assert_string_equal(p->c->network.rules[0].methods.v[0], "GET");
	assert_string_equal(p->c->network.rules[0].paths.v[0], "/x");
	assert_string_equal(p->c->network.rules[0].git.v[0], "fetch");
	assert_string_equal(p->c->network.rules[0].credential, "gh");
	assert_int_equal(p->c->limits.memory, 8 * GiB);
	assert_int_equal(p->c->limits.pids, 2048);
	assert_int_equal(p->c->limits.cpu, 200);
	assert_int_equal(p->c->limits.tmp, 2 * GiB);
	assert_int_equal(p->c->limits.open_files, 4096);
	assert_int_equal(p->c->limits.timeout_ms, 2 * 3600 * 1000);
	assert_int_equal(p->c->log.level, LOG_DEBUG);
	assert_int_equal(p->c->log.format, LOG_JSON);
	assert_from(p, "limits.memory", "user.yaml:7");
	assert_from(p, "log.format", "user.yaml:8");
	assert_item_from(p, "mounts", 1, "user.yaml:4");
}

static void a_stronger_source_wins_one_by_one(void **state)
{
	struct place *p = *state;

	put(p->user, "limits: {pids: 1001, tmp: 8M, open_files: 1001, memory: 1001M, cpu: 90}\n"
		     "profile: mine\n");
	put_profile(p->profiles, "mine.yaml",
		    "limits:\n  pids: 1002\n  tmp: 7M\n  open_files: 1002\n  memory: 1002M\n");
	put(p->project, "limits:\n  pids: 903\n  tmp: 6M\n  open_files: 903\n");
	strv_push(&p->env, "RALPH_LIMITS_TMP=5M");
	strv_push(&p->env, "RALPH_LIMITS_PIDS=1004");
	strv_push(&p->flags, "limits.pids=1005");
	load_ok(p);
	assert_int_equal(p->c->limits.pids, 1005);
	assert_from(p, "limits.pids", "--pids");
	assert_int_equal(p->c->limits.tmp, 5 * MiB);
	assert_from(p, "limits.tmp", "RALPH_LIMITS_TMP");
	assert_int_equal(p->c->limits.open_files, 903);
	assert_from(p, "limits.open_files", "work/.ralph/config.yaml:4");
	assert_int_equal(p->c->limits.memory, 1002 * MiB);
	assert_from(p, "limits.memory", "profiles/mine.yaml:5");
	assert_int_equal(p->c->limits.cpu, 90);
	assert_from(p, "limits.cpu", "user.yaml:1");
	assert_from(p, "limits.timeout", "default");
	assert_from(p, "profile", "user.yaml:2");
}

static void lists_append_and_remember_where_each_entry_came_from(void **state)
{
	struct place *p = *state;

	put(p->user, "network: {deny: [a, b]}\n");
	put_profile(p->profiles, "mine.yaml", "network:\n  deny:\n  - c\n  - a\n");
	put(p->project, "\nnetwork: {deny: [d]}\n");
	strv_push(&p->env, "RALPH_NETWORK_DENY=e,b");
	strv_push(&p->flags, "profile=mine");
	strv_push(&p->flags, "network.deny=f");
	load_ok(p);
	assert_int_equal(p->c->network.deny.n, 6);
	for (size_t i = 0; i < 6; i++)
		assert_int_equal(p->c->network.deny.v[i][0], "abcdef"[i]);
	assert_item_from(p, "network.deny", 0, "profiles/mine.yaml:4");
	assert_item_from(p, "network.deny", 1, "RALPH_NETWORK_DENY");
	assert_item_from(p, "network.deny", 2, "profiles/mine.yaml:3");
	assert_item_from(p, "network.deny", 3, "work/.ralph/config.yaml:2");
	assert_item_from(p, "network.deny", 4, "RALPH_NETWORK_DENY");
	assert_item_from(p, "network.deny", 5, "--deny");
	assert_from(p, "network.deny", "--deny");
	assert_null(config_item_origin(p->c, "network.deny", 6));
	assert_null(config_origin(p->c, "network.dney"));
}

static void a_variable_set_twice_takes_the_stronger_value(void **state)
{
	struct place *p = *state;

	put(p->user, "env: {set: [AB=2, A=1]}\n");
	strv_push(&p->flags, "env.set=A=x,y=z");
	load_ok(p);
	assert_int_equal(p->c->env.set.n, 2);
	assert_string_equal(p->c->env.set.v[0], "AB=2");
	assert_string_equal(p->c->env.set.v[1], "A=x,y=z");
	assert_item_from(p, "env.set", 1, "--env");
}

static void a_mount_on_the_same_target_takes_the_stronger_one(void **state)
{
	struct place *p = *state;

	put(p->user, "mounts: [{path: /a}, {path: /b, target: /c}]\n");
	strv_push(&p->flags, "mounts=/a:rw");
	strv_push(&p->flags, "mounts=~/d:/c");
	strv_push(&p->flags, "mounts=/e:/f:ro");
	load_ok(p);
	assert_int_equal(p->c->n_mounts, 3);
	assert_true(p->c->mounts[0].writable);
	assert_string_equal(p->c->mounts[1].path, "/home/u/d");
	assert_string_equal(p->c->mounts[1].target, "/c");
	assert_string_equal(p->c->mounts[2].target, "/f");
	assert_item_from(p, "mounts", 1, "--mount");
}

static void tilde_without_a_home_is_refused(void **state)
{
	struct place *p = *state;

	p->src.home = NULL;
	put(p->user, "mounts: [{path: ~/x}]\n");
	load_fails(p,
		   "user.yaml:1:17: mounts.path: '~' cannot be resolved without a home directory; "
		   "write the path out");
}

static void profile_of_the_user_hides_the_shipped_one(void **state)
{
	struct place *p = *state;

	put_profile(p->profiles, "a.yaml", "agent: mine\n");
	put_profile(p->shipped, "a.yaml", "agent: shipped\n");
	put_profile(p->shipped, "b.yaml", "agent: shipped\n");
	strv_push(&p->env, "RALPH_PROFILE=a");
	load_ok(p);
	assert_string_equal(p->c->agent, "mine");
	assert_string_equal(p->c->profile, "a");
	assert_from(p, "profile", "RALPH_PROFILE");
	strv_push(&p->flags, "profile=b");
	load_ok(p);
	assert_string_equal(p->c->agent, "shipped");
	strv_push(&p->flags, "profile=");
	load_ok(p);
	assert_string_equal(p->c->agent, "command");
	assert_null(p->c->profile);
}

static void profile_that_is_not_there_is_an_error(void **state)
{
	struct place *p = *state;

	strv_push(&p->flags, "profile=nope");
	load_fails(p, "profile: there is no profile 'nope'; 'ralph profile ls' lists them, 'ralph "
		      "profile new nope' makes it");
	put_profile(p->profiles, "node.yaml", "");
	load_fails(p, "profile: there is no profile 'nope'; did you mean 'node'?");
}

static void profile_name_is_never_a_path(void **state)
{
	struct place *p = *state;

	put_profile(p->dir, "x.yaml", "agent: x\n");
	strv_push(&p->flags, "profile=../x");
	load_fails(p, "--profile: profile: '../x' is no profile's name; use letters, digits, '.', "
		      "'_' and '-', not a path");
}

static void profile_cannot_name_a_profile(void **state)
{
	struct place *p = *state;

	put_profile(p->profiles, "a.yaml", "# x\nprofile: b\n");
	strv_push(&p->flags, "profile=a");
	load_fails(p, "profiles/a.yaml:2:10: profile: a profile cannot name a profile; remove it");
}

static void wrong_variables_name_the_variable_and_the_key(void **state)
{
	struct place *p = *state;

	strv_push(&p->env, "RALPH_LIMITS_PIDS=010");
	load_fails(p,
		   "RALPH_LIMITS_PIDS: limits.pids: '010' is not a whole number; write it in base "
		   "10 without sign or leading zero");
}

static void unknown_variables_of_a_known_section_are_refused(void **state)
{
	struct place *p = *state;

	strv_push(&p->env, "RALPH_LIMITS_MEMROY=8G");
	load_fails(p, "RALPH_LIMITS_MEMROY: unknown setting; did you mean 'RALPH_LIMITS_MEMORY'?");
	p->env.v[0][0] = 'X';
	strv_push(&p->env, "RALPH_NETWORK_SOMETHING_ELSE=1");
	load_fails(p, "RALPH_NETWORK_SOMETHING_ELSE: unknown setting; unset it, or see "
		      "ralph-config(5)");
}

static void variables_of_other_parts_are_let_through(void **state)
{
	static const char *const others[] = {
		"RALPH_DOCKER=1",	"RALPH_INBOX=/x",
		"RALPH_FAULT=open:1",	"RALPH_SANDBOX=name",
		"RALPH_TEST_REQUIRE=x", "RALPH_LIBEXEC=/x",
		"RALPH_LIMITS=x",	"RALPH=1",
		"RALPH_LIMITSMEMORY=1", "XRALPH_LIMITS_PIDS=1",
		"RALPH_LOGS=1",		"PATH=/bin",
	};
	struct place *p = *state;

	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		strv_push(&p->env, others[i]);
	load_ok(p);
	assert_from(p, "limits.pids", "default");
}

static void names_of_the_published_designs_are_keys(void **state)
{
	struct place *p = *state;

	strv_push(&p->env, "RALPH_DOCKER_ENV=AWS_REGION,EDITOR");
	strv_push(&p->env, "SANDBOX_REFUSE_PATTERNS=*_CORP,acme");
	load_ok(p);
	assert_int_equal(p->c->env.pass.n, 2);
	assert_string_equal(p->c->env.pass.v[1], "EDITOR");
	assert_string_equal(config_item_origin(p->c, "env.pass", 0), "RALPH_DOCKER_ENV");
	assert_int_equal(p->c->env.refuse.n, 2);
	assert_string_equal(p->c->env.refuse.v[0], "*_CORP");
}

/* It is a regular expression in the system that it comes from. */
static void refuse_patterns_are_globs_and_one_expression(void **state)
{
	struct place *p = *state;

	strv_push(&p->env, "SANDBOX_REFUSE_PATTERNS=ACME_*,A(B,C){1,2}");
	load_ok(p);
	assert_int_equal(p->c->env.refuse.n, 3);
	assert_string_equal(p->c->env.refuse.v[0], "ACME_*");
	assert_string_equal(p->c->env.refuse.v[2], "(ACME_*,A(B,C){1,2})");
	strv_done(&p->env);
	strv_push(&p->env, "SANDBOX_REFUSE_PATTERNS=(MYCORP|VENDOR");
	load_fails(p, "SANDBOX_REFUSE_PATTERNS: env.refuse: '(MYCORP|VENDOR' is no valid extended "
		      "regular expression, which a pattern with one of |()^$\\ must be; back "
		      "references, long repeats and repeats of repeats are not taken");
}

static void empty_variable_counts_as_unset(void **state)
{
	struct place *p = *state;

	strv_push(&p->env, "RALPH_ENGINE=");
	strv_push(&p->env, "RALPH_PROFILE=");
	load_ok(p);
	assert_from(p, "engine", "default");
}

static void wrong_flags_are_refused_with_a_suggestion(void **state)
{
	struct place *p = *state;

	strv_push(&p->flags, "limits.memroy=8G");
	load_fails(p, "limits.memroy: unknown key; did you mean 'limits.memory'?");
	strv_done(&p->flags);
	strv_push(&p->flags, "engine");
	load_fails(p, "engine: has no value; write KEY=VALUE");
	strv_done(&p->flags);
	strv_push(&p->flags, "engine=none");
	load_fails(
		p,
		"--engine: engine: 'none' is not known; use one of auto, native, gvisor, docker, "
		"podman, vm, vm:emulated, sbx, docker-sandbox");
	strv_done(&p->flags);
	strv_push(&p->flags, "network.rules=x");
	load_fails(p, "--rule: network.rules: can only be given in a file; write it to config.yaml "
		      "or to a profile");
}

static void file_that_is_too_large_is_refused(void **state)
{
	struct place *p = *state;
	cleanup_free char *text = xmalloc(256 * KiB + 2);

	memset(text, '#', 256 * KiB + 1);
	text[256 * KiB] = '\0';
	put(p->user, text);
	load_ok(p);
	text[256 * KiB] = '#';
	text[256 * KiB + 1] = '\0';
	put(p->user, text);
	load_fails(p, "user.yaml: is larger than 256 KiB; shorten it");
}

static void file_that_is_no_file_is_refused(void **state)
{
	struct place *p = *state;

	assert_int_equal(mkfifo(p->user, 0600), 0);
	load_fails(p, "user.yaml: is not a regular file; remove it");
}

/* What entries say, written to a file, is the same configuration. */
static void entries_read_back_as_they_were(void **state)
{
	struct place *p = *state;
	struct config_entry *e = NULL, *again = NULL;
	cleanup_buf struct buf b;
	size_t n = 0, m = 0;

	put_profile(p->shipped, "x.yaml", "");
	put(p->user,
	    "profile: x\nenv: {set: [\"A=q\\\"\\\\ \\n\\u00e4: #\", B=], pass: [\"null\"]}\n"
	    "mounts: [{path: \"/a b\", mode: rw}, {path: /c, target: /d}]\n"
	    "network: {allow: [\"@npm\", \"*.x\"], rules: [{host: h, paths: [\"/a,b\"],\n"
	    "  git: [push a/b], credential: c}]}\n"
	    "limits: {memory: 1536M, timeout: 1500ms, tmp: 1048577, cpu: 7}\n");
	load_ok(p);
	assert_int_equal(config_entries(p->c, &e, &n), 0);
	buf_init(&b, 64 * KiB);
	for (size_t i = 0; i < n; i++) {
		const char *dot = strchr(e[i].key, '.');

		/* One section may stand only once: open it at its first key. */
		if (!dot)
			(void)buf_printf(&b, "%s: %s\n", e[i].key, e[i].value);
		else if (i == 0 ||
			 strncmp(e[i - 1].key, e[i].key, (size_t)(dot - e[i].key) + 1) != 0)
			(void)buf_printf(&b, "%.*s:\n  %s: %s\n", (int)(dot - e[i].key), e[i].key,
					 dot + 1, e[i].value);
		else
			(void)buf_printf(&b, "  %s: %s\n", dot + 1, e[i].value);
	}
	put(p->user, buf_str(&b));
	load_ok(p);
	assert_int_equal(config_entries(p->c, &again, &m), 0);
	assert_int_equal(n, m);
	for (size_t i = 0; i < n; i++) {
		assert_string_equal(e[i].value, again[i].value);
		assert_true(strlen(e[i].help) > 0);
	}
	assert_string_equal(p->c->env.set.v[0], "A=q\"\\ \nä: #");
	assert_int_equal(p->c->limits.memory, 1536 * MiB);
	assert_int_equal(p->c->limits.timeout_ms, 1500);
	config_entries_free(e, n);
	config_entries_free(again, m);
}

static void shipped_profiles_load_cleanly(void **state)
{
	struct place *p = *state;
	DIR *dir = opendir(SOURCE_ROOT "/data/profiles");
	struct dirent *d;
	int n = 0;

	assert_non_null(dir);
	p->src.shipped_dir = SOURCE_ROOT "/data/profiles";
	while ((d = readdir(dir))) {
		char *dot = strrchr(d->d_name, '.');

		if (!dot || dot == d->d_name || !streq(dot, ".yaml"))
			continue;
		*dot = '\0';
		strv_done(&p->flags);
		strv_pushf(&p->flags, "profile=%s", d->d_name);
		load_ok(p);
		n++;
	}
	closedir(dir);
	assert_int_equal(n, 7);
}

static void default_profile_changes_nothing(void **state)
{
	struct place *p = *state;
	struct config_entry *plain = NULL, *e = NULL;
	size_t n = 0;

	load_ok(p);
	assert_int_equal(config_entries(p->c, &plain, &n), 0);
	p->src.shipped_dir = SOURCE_ROOT "/data/profiles";
	strv_push(&p->flags, "profile=default");
	load_ok(p);
	assert_int_equal(config_entries(p->c, &e, &n), 0);
	for (size_t i = 0; i < n; i++)
		if (!streq(e[i].key, "profile"))
			assert_string_equal(e[i].value, plain[i].value);
	config_entries_free(plain, n);
	config_entries_free(e, n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_place(nothing_configured_gives_the_defaults),
		cmocka_unit_test(no_sources_at_all_gives_the_defaults),
		with_place(every_key_of_a_file_lands_in_its_place),
		with_place(a_stronger_source_wins_one_by_one),
		with_place(lists_append_and_remember_where_each_entry_came_from),
		with_place(a_variable_set_twice_takes_the_stronger_value),
		with_place(a_mount_on_the_same_target_takes_the_stronger_one),
		with_place(tilde_without_a_home_is_refused),
		with_place(profile_of_the_user_hides_the_shipped_one),
		with_place(profile_that_is_not_there_is_an_error),
		with_place(profile_name_is_never_a_path),
		with_place(profile_cannot_name_a_profile),
		with_place(wrong_variables_name_the_variable_and_the_key),
		with_place(unknown_variables_of_a_known_section_are_refused),
		with_place(variables_of_other_parts_are_let_through),
		with_place(names_of_the_published_designs_are_keys),
		with_place(refuse_patterns_are_globs_and_one_expression),
		with_place(empty_variable_counts_as_unset),
		with_place(wrong_flags_are_refused_with_a_suggestion),
		with_place(file_that_is_too_large_is_refused),
		with_place(file_that_is_no_file_is_refused),
		with_place(entries_read_back_as_they_were),
		with_place(shipped_profiles_load_cleanly),
		with_place(default_profile_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
