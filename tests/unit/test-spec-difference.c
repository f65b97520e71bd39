#include "tests.h"

#include "base/mem.h"
#include "spec-sample.h"

typedef void change_fn(struct sandbox_spec *s);

static void replace(char **to, const char *value)
{
	free(*to);
	*to = xstrdup(value);
}

/* A command wants `change`d settings: the difference names `word`, or there is none. */
static void check(change_fn *change, const char *word)
{
	cleanup_(spec_freep) struct sandbox_spec *live = sample_spec(), *want = sample_spec();
	cleanup_free char *d = NULL;

	change(want);
	d = spec_difference(live, want, NULL);
	if (!word)
		assert_null(d);
	else if (!d || !strstr(d, word))
		fail_msg("wanted '%s', got '%s'", word, d ? d : "none");
}

static void nothing(struct sandbox_spec *s)
{
}

static void other_engine(struct sandbox_spec *s)
{
	replace(&s->engine, "docker");
}

static void other_workspace(struct sandbox_spec *s)
{
	replace(&s->workspace, "/home/u/other");
}

static void other_user(struct sandbox_spec *s)
{
	s->uid++;
}

static void more_memory(struct sandbox_spec *s)
{
	s->limits.memory++;
}

static void less_pids(struct sandbox_spec *s)
{
	s->limits.pids--;
}

static void other_files_in_the_workspace(struct sandbox_spec *s)
{
	for (size_t i = 0; i < s->n_mounts; i++) {
		struct spec_mount *m = &s->mounts[i];

		if (m->kind == SPEC_PIN || m->kind == SPEC_PROTECT || m->kind == SPEC_HIDE)
			replace(&m->target, "/home/u/work/other");
		if (m->of_tree)
			replace(&m->data, "/other\n");
	}
	spec_watch_add(s, SPEC_WATCH_GIT, "/home/u/work/sub/.git");
}

static void less_quarantine(struct sandbox_spec *s)
{
	s->quarantine = SPEC_QUARANTINE_NONE;
}

static void other_time_and_environment(struct sandbox_spec *s)
{
	s->limits.timeout_ms = 1;
	spec_env_set(s, "NEW", "x", SPEC_USER, "--env");
}

static void writable_mount(struct sandbox_spec *s)
{
	(void)spec_mount_add(s, SPEC_BIND_RW, "/data", "/data", "asked for");
}

static void readonly_mount(struct sandbox_spec *s)
{
	(void)spec_mount_add(s, SPEC_BIND_RO, "/data", "/data", "asked for");
}

static void readonly_instead_of_writable(struct sandbox_spec *s)
{
	for (size_t i = 0; i < s->n_mounts; i++)
		if (s->mounts[i].source && streq(s->mounts[i].source, s->workspace))
			s->mounts[i].kind = SPEC_BIND_RO;
}

static void other_tier(struct sandbox_spec *s)
{
	s->net.tier = POLICY_FULL;
}

static void another_rule(struct sandbox_spec *s)
{
	(void)net_policy_add(&s->net, false, "more.example", "--allow");
}

static void rule_without_method(struct sandbox_spec *s)
{
	strv_done(&s->net.rules[1].methods);
}

static void denied_becomes_allowed(struct sandbox_spec *s)
{
	s->net.rules[0].deny = false;
}

static void difference_same_spec_has_none(void **state)
{
	check(nothing, NULL);
}

static void difference_what_belongs_to_commands_does_not_count(void **state)
{
	check(other_time_and_environment, NULL);
}

static void difference_what_lies_in_the_workspace_does_not_count(void **state)
{
	check(other_files_in_the_workspace, NULL);
}

static void difference_names_what_differs(void **state)
{
	check(other_engine, "engine");
	check(other_workspace, "workspace");
	check(other_user, "user");
	check(more_memory, "limits");
	check(less_pids, "limits");
	check(less_quarantine, "quarantine");
	check(writable_mount, "/data");
	check(readonly_mount, "/data");
	check(readonly_instead_of_writable, "/home/u/work");
	check(other_tier, "network");
	check(another_rule, "more.example");
	check(rule_without_method, "api.example");
	check(denied_becomes_allowed, "evil.example");
}

/* Every number of a live sandbox that a command cannot have changed for itself. */
static void difference_every_limit_and_every_number_of_the_user_counts(void **state)
{
	cleanup_(spec_freep) struct sandbox_spec *live = sample_spec(), *want = sample_spec();
	struct spec_limits *l = &want->limits;
	const struct {
		void *at;
		size_t size;
		const char *word;
	} numbers[] = {
		{&l->memory, sizeof(l->memory), "limits"},
		{&l->pids, sizeof(l->pids), "limits"},
		{&l->cpu, sizeof(l->cpu), "limits"},
		{&l->tmp, sizeof(l->tmp), "limits"},
		{&l->open_files, sizeof(l->open_files), "limits"},
		{&want->uid, sizeof(want->uid), "user"},
		{&want->gid, sizeof(want->gid), "user"},
		{&want->budget.micro_usd, sizeof(want->budget.micro_usd), "budget"},
		{&want->budget.tokens, sizeof(want->budget.tokens), "budget"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		cleanup_free char *d = NULL;

		*(unsigned char *)numbers[i].at ^= 1;
		d = spec_difference(live, want, NULL);
		if (!d || !strstr(d, numbers[i].word))
			fail_msg("number %zu: wanted '%s', got '%s'", i, numbers[i].word,
				 d ? d : "none");
		*(unsigned char *)numbers[i].at ^= 1;
	}
}

/* Every text of a credential decides where a value comes from and where it goes. */
static void difference_every_part_of_a_credential_counts(void **state)
{
	cleanup_(spec_freep) struct sandbox_spec *live = sample_spec(), *want = sample_spec();
	struct spec_credential *c = want->credentials;
	char **const texts[] = {&c->name,    &c->provider, &c->source, &c->origin,
				&c->ca_file, &c->endpoint, &c->phantom};
	struct strv *const lists[] = {&c->requests, &c->options};

	assert_true(want->n_credentials > 0);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		cleanup_free char *d = NULL;
		char *before = *texts[i];

		*texts[i] = xstrdup("other");
		d = spec_difference(live, want, NULL);
		if (!d || !strstr(d, "credential"))
			fail_msg("text %zu: got '%s'", i, d ? d : "none");
		free(*texts[i]);
		*texts[i] = before;
	}
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		cleanup_free char *d = NULL;

		strv_push(lists[i], "other");
		d = spec_difference(live, want, NULL);
		if (!d || !strstr(d, "credential"))
			fail_msg("list %zu: got '%s'", i, d ? d : "none");
		free(lists[i]->v[--lists[i]->n]);
		lists[i]->v[lists[i]->n] = NULL;
	}
	assert_null(spec_difference(live, want, NULL));
}

/* What is there beyond what is wanted counts, unless it is read-only. */
static void difference_more_than_wanted_only_when_read_only(void **state)
{
	cleanup_(spec_freep) struct sandbox_spec *live = sample_spec(), *want = sample_spec();
	cleanup_free char *d = NULL;

	readonly_mount(live);
	assert_null(spec_difference(live, want, NULL));
	writable_mount(live);
	d = spec_difference(live, want, NULL);
	assert_non_null(d);
}

static void difference_fewer_rules_than_live_counts(void **state)
{
	cleanup_(spec_freep) struct sandbox_spec *live = sample_spec(), *want = sample_spec();
	cleanup_free char *d = NULL;

	another_rule(live);
	d = spec_difference(live, want, NULL);
	assert_non_null(d);
}

static void difference_more_hosts_and_mounts_are_named_beyond(void **state)
{
	cleanup_(spec_freep) struct sandbox_spec *live = sample_spec(), *want = sample_spec();
	cleanup_strv struct strv beyond = {0};
	cleanup_free char *d = NULL;

	another_rule(live);
	writable_mount(live);
	assert_null(spec_difference(live, want, &beyond));
	assert_int_equal(beyond.n, 2);
	assert_non_null(strstr(beyond.v[0], "mount "));
	assert_non_null(strstr(beyond.v[1], "network rule "));
	/* The other way round the sandbox lacks them. */
	d = spec_difference(want, live, &beyond);
	assert_non_null(d);
}

/* A deny of the live sandbox takes away what the command may ask for. */
static void difference_a_denied_host_is_never_beyond(void **state)
{
	cleanup_(spec_freep) struct sandbox_spec *live = sample_spec(), *want = sample_spec();
	cleanup_strv struct strv beyond = {0};
	cleanup_free char *d = NULL;

	another_rule(live);
	live->net.rules[live->net.n_rules - 1].deny = true;
	d = spec_difference(live, want, &beyond);
	assert_non_null(d);
	assert_int_equal(beyond.n, 0);
}

/* The order in which commands name hosts means nothing. */
static void difference_the_order_of_rules_does_not_count(void **state)
{
	cleanup_(spec_freep) struct sandbox_spec *live = sample_spec(), *want = sample_spec();
	struct net_rule first;

	another_rule(live);
	another_rule(want);
	assert_true(want->net.n_rules >= 2);
	first = want->net.rules[0];
	want->net.rules[0] = want->net.rules[want->net.n_rules - 1];
	want->net.rules[want->net.n_rules - 1] = first;
	assert_null(spec_difference(live, want, NULL));
}

/* What changed since sample_spec(): one line that has this text; NULL: nothing. */
static void check_changes(change_fn *change, const char *text)
{
	cleanup_(spec_freep) struct sandbox_spec *agreed = sample_spec(), *now = sample_spec();
	cleanup_strv struct strv lines = {0};

	change(now);
	spec_changes(agreed, now, &lines);
	assert_int_equal(lines.n, text ? 1 : 0);
	if (text)
		assert_string_equal(lines.v[0], text);
}

static void asked_mount(struct sandbox_spec *s)
{
	spec_mount_add(s, SPEC_BIND_RO, "/data", "/data", "asked for")->asked = true;
}

static void another_way(struct sandbox_spec *s)
{
	s->credentials[0].way = SPEC_WAY_MOUNT;
}

static void another_variable(struct sandbox_spec *s)
{
	spec_env_set(s, "MINE", "x", SPEC_USER, "--env");
}

static void other_values(struct sandbox_spec *s)
{
	spec_env_set(s, "A", SPEC_HIDDEN, SPEC_USER, "--env");
	spec_env_set(s, "HOME", "/elsewhere", SPEC_SET, "ralph");
	spec_env_set(s, "COLORTERM", "x", SPEC_PASSED, "host");
	s->limits.timeout_ms = 1;
	s->credentials[0].expires_ms++;
}

static void more_tools(struct sandbox_spec *s)
{
	strv_push(&s->provider_tools, "all");
}

static void changes_name_what_the_user_agrees_to(void **state)
{
	check_changes(other_engine, "changed: engine (native, now docker)");
	check_changes(more_memory, "changed: limits (memory)");
	check_changes(less_quarantine, "changed: quarantine (quarantine)");
	check_changes(writable_mount, "new: mount /data, writable");
	check_changes(asked_mount, "new: mount /data");
	check_changes(other_tier, "changed: network tier (allowlist, now full)");
	check_changes(another_rule, "new: host more.example");
	check_changes(another_way, "changed: credential token");
	check_changes(another_variable, "new: variable MINE");
	check_changes(more_tools, "changed: network (provider_tools)");
}

static void changes_of_the_day_do_not_count(void **state)
{
	check_changes(nothing, NULL);
	check_changes(other_files_in_the_workspace, NULL);
	check_changes(readonly_mount, NULL);
	check_changes(other_values, NULL);
}

static void changes_name_what_is_gone(void **state)
{
	cleanup_(spec_freep) struct sandbox_spec *agreed = sample_spec(), *now = sample_spec();
	cleanup_strv struct strv lines = {0};

	another_rule(agreed);
	writable_mount(agreed);
	another_variable(agreed);
	spec_changes(agreed, now, &lines);
	assert_int_equal(lines.n, 3);
	assert_string_equal(lines.v[0], "gone: host more.example");
	assert_string_equal(lines.v[1], "gone: mount /data, writable");
	assert_string_equal(lines.v[2], "gone: variable MINE");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(difference_same_spec_has_none),
		cmocka_unit_test(difference_what_belongs_to_commands_does_not_count),
		cmocka_unit_test(difference_what_lies_in_the_workspace_does_not_count),
		cmocka_unit_test(difference_names_what_differs),
		cmocka_unit_test(difference_every_limit_and_every_number_of_the_user_counts),
		cmocka_unit_test(difference_every_part_of_a_credential_counts),
		cmocka_unit_test(difference_more_than_wanted_only_when_read_only),
		cmocka_unit_test(difference_fewer_rules_than_live_counts),
		cmocka_unit_test(difference_more_hosts_and_mounts_are_named_beyond),
		cmocka_unit_test(difference_a_denied_host_is_never_beyond),
		cmocka_unit_test(difference_the_order_of_rules_does_not_count),
		cmocka_unit_test(changes_name_what_the_user_agrees_to),
		cmocka_unit_test(changes_of_the_day_do_not_count),
		cmocka_unit_test(changes_name_what_is_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
