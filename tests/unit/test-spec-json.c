#include "tests.h"

#include <sys/resource.h>

#include "base/buf.h"
#include "base/mem.h"
#include "spec-sample.h"

static char *text_of(const struct sandbox_spec *s)
{
	cleanup_json json_t *j = spec_to_json(s);

	return json_dumps(j, JSON_INDENT(1));
}

static void spec_json_round_trip_keeps_every_field(void **state)
{
	cleanup_(spec_freep) struct sandbox_spec *s = sample_spec(), *back = NULL;
	cleanup_json json_t *j = spec_to_json(s);
	cleanup_free char *before = text_of(s), *after = NULL, *difference = NULL;
	struct err e = {0};

	assert_int_equal(spec_from_json(j, &back, &e), 0);
	after = text_of(back);
	assert_string_equal(before, after);
	difference = spec_difference(s, back, NULL);
	assert_null(difference);
	assert_int_equal(back->mounts[2].mode, 0444);
	assert_int_equal(back->limits.controllers, 7);
	assert_string_equal(back->net.rules[1].git.v[0], "fetch");
}

static void spec_json_has_no_value_that_the_user_or_the_host_gave(void **state)
{
	cleanup_(spec_freep) struct sandbox_spec *s = sample_spec(), *back = NULL;
	cleanup_strv struct strv values = {0}, less = {0};
	cleanup_json json_t *j = NULL;
	cleanup_free char *text = NULL;
	struct err e = {0};

	spec_env_set(s, "PLAIN", "hunter2-hunter2", SPEC_USER, "env.pass");
	text = text_of(s);
	assert_null(strstr(text, "hunter2-hunter2"));
	assert_null(strstr(text, "xterm"));
	assert_non_null(strstr(text, "PLAIN"));
	/* They go to the supervisor beside it. */
	j = spec_to_json(s);
	assert_int_equal(spec_from_json(j, &back, &e), 0);
	spec_values(s, &values);
	assert_int_equal(spec_take_values(back, &values, &e), 0);
	assert_string_equal(spec_env_find(back, "PLAIN")->value, "hunter2-hunter2");
	assert_string_equal(spec_env_find(back, "A")->value, "b=c\nd \"e\"");
	assert_string_equal(spec_env_find(back, "HOME")->value, "/home/u");
	strv_push(&less, "A=b");
	assert_int_equal(spec_take_values(back, &less, &e), -EPROTO);
}

/* A spec in which no field is left out of JSON. */
static struct sandbox_spec *full_spec(void)
{
	struct sandbox_spec *s = sample_spec();
	struct spec_mount *m = spec_mount_add(s, SPEC_FILE, "/a", "/b", "all that a mount has");

	m->data = xstrdup("data");
	m->size = 1;
	m->mode = 0400;
	m->of_tree = true;
	s->project = xstrdup("/home/u/work/.git");
	s->home_key = xstrdup("work-0123456789abcdef");
	s->home_of = SPEC_HOME_WORKER;
	s->template = xstrdup("image:1");
	s->inbox = xstrdup("/home/u/inbox");
	s->inbox_every_ms = 60000;
	s->keepalive_ms = 120000;
	s->port = 4242;
	strv_push(&s->prices, "model=1/2");
	s->limits.cgroup = SPEC_CGROUP_V1;
	s->limits.cgroups[0] = (struct spec_cgroup){.dir = xstrdup("/sys/a"), .controllers = 3};
	s->limits.cgroups[1] = (struct spec_cgroup){.dir = xstrdup("/sys/b"), .controllers = 4};
	s->limits.n_cgroups = 2;
	s->limits.rlimits[0] = (struct spec_rlimit){.resource = RLIMIT_CORE};
	s->limits.rlimits[1] = (struct spec_rlimit){.resource = RLIMIT_NOFILE, .value = 1024};
	s->limits.n_rlimits = 2;
	s->container = (struct spec_container){
		.image = xstrdup("image:1"),
		.line = xstrdup("/run/line"),
		.volume = xstrdup("volume"),
		.volume_dir = xstrdup("/var/volume"),
		.as_root = true,
		.remote_listen = xstrdup("192.0.2.1"),
		.remote_dial = xstrdup("host"),
	};
	return s;
}

/* The keys of an object, each followed by those of its value; of a list, those of the last item. */
static void put_keys(json_t *obj, struct buf *to)
{
	const char *key;
	json_t *value;

	json_object_foreach (obj, key, value) {
		(void)buf_printf(to, "%s ", key);
		if (json_is_array(value))
			value = json_array_get(value, json_array_size(value) - 1);
		if (json_is_object(value)) {
			(void)buf_puts(to, "{ ");
			put_keys(value, to);
			(void)buf_puts(to, "} ");
		}
	}
}

/* People and earlier versions have files with these keys. */
static void spec_json_keys_keep_their_names_and_order(void **state)
{
	cleanup_(spec_freep) struct sandbox_spec *s = full_spec();
	cleanup_json json_t *j = spec_to_json(s);
	cleanup_buf struct buf keys;

	buf_init(&keys, 4 * KiB);
	put_keys(j, &keys);
	assert_string_equal(
		buf_str(&keys),
		"name engine agent workspace branch clone instance home project home_key home_of "
		"hostname template inbox "
		"inbox_every_ms keepalive_ms uid gid port env { name value origin source "
		"credential } "
		"mounts { kind source target data reason size mode of_tree } watches { kind dir } "
		"quarantine "
		"network { tier rules { verdict pattern source methods paths git credential } } "
		"credentials { name provider way source origin ca_file endpoint phantom private "
		"requests options expires_ms } budget { micro_usd tokens } prices "
		"limits { memory pids cpu tmp open_files timeout_ms method controllers cgroup "
		"cgroups { dir controllers } rlimits { core nofile } } "
		"container { image line volume volume_dir as_root far_listen far_dial } ");
}

static void spec_json_round_trip_keeps_what_only_containers_have(void **state)
{
	cleanup_(spec_freep) struct sandbox_spec *s = full_spec(), *back = NULL;
	cleanup_json json_t *j = spec_to_json(s);
	cleanup_free char *before = text_of(s), *after = NULL;
	struct err e = {0};

	assert_int_equal(spec_from_json(j, &back, &e), 0);
	after = text_of(back);
	assert_string_equal(before, after);
	assert_int_equal(back->port, 4242);
	assert_true(back->container.as_root);
	assert_string_equal(back->container.remote_dial, "host");
	assert_string_equal(back->limits.cgroups[1].dir, "/sys/b");
	assert_int_equal(back->limits.rlimits[1].value, 1024);
}

static void spec_json_absent_branch_stays_absent(void **state)
{
	cleanup_(spec_freep) struct sandbox_spec *s = sample_spec(), *back = NULL;
	cleanup_json json_t *j = NULL;
	struct err e;

	free(s->branch);
	s->branch = NULL;
	j = spec_to_json(s);
	assert_null(json_object_get(j, "branch"));
	assert_int_equal(spec_from_json(j, &back, &e), 0);
	assert_null(back->branch);
}

/* Whatever is taken away or of another type is refused; nothing but these may be absent. */
static void spec_json_without_or_with_a_wrong_member_is_refused(void **state)
{
	static const char *const optional[] = {"branch", "instance", "clone", "home_of"};
	cleanup_(spec_freep) struct sandbox_spec *s = sample_spec();
	cleanup_json json_t *whole = spec_to_json(s);
	const char *key;
	json_t *value;

	json_object_foreach (whole, key, value) {
		cleanup_json json_t *without = json_copy(whole), *wrong = json_copy(whole);
		struct sandbox_spec *back = NULL;
		struct err e = {0};
		bool may = false;

		for (size_t i = 0; i < ARRAY_SIZE(optional); i++)
			may = may || streq(key, optional[i]);

		(void)json_object_del(without, key);
		if (spec_from_json(without, &back, &e) == 0 && !may)
			fail_msg("a spec without '%s' was taken", key);
		back = spec_free(back);
		(void)json_object_set_new(wrong, key, json_real(0.5));
		if (spec_from_json(wrong, &back, &e) == 0)
			fail_msg("a spec with a number for '%s' was taken", key);
		assert_null(back);
		assert_non_null(strstr(e.msg, key));
	}
}

static void refused(const char *path, json_t *value)
{
	cleanup_(spec_freep) struct sandbox_spec *s = sample_spec(), *back = NULL;
	cleanup_json json_t *j = spec_to_json(s);
	cleanup_strv struct strv parts;
	struct err e = {0};
	json_t *at = j;

	strv_init(&parts);
	strv_split(&parts, path, '.');
	for (size_t i = 0; i + 1 < parts.n; i++)
		at = json_is_array(at) ? json_array_get(at, (size_t)(parts.v[i][0] - '0'))
				       : json_object_get(at, parts.v[i]);
	assert_non_null(at);
	(void)json_object_set_new(at, parts.v[parts.n - 1], value);
	if (spec_from_json(j, &back, &e) == 0)
		fail_msg("'%s' was taken", path);
	assert_true(e.msg[0]);
}

static void spec_json_values_that_make_no_sense_are_refused(void **state)
{
	refused("mounts.0.kind", json_string("rwx"));
	refused("mounts.0.target", json_string("usr"));
	refused("mounts.0.target", json_string("/a/../etc"));
	refused("mounts.0.source", json_null());
	refused("mounts.2.data", json_null());
	refused("mounts.8.mode", json_integer(1LL << 40));
	refused("mounts.8.size", json_integer(-1));
	refused("env.0.origin", json_string("other"));
	refused("env.0.name", json_string("A=B"));
	refused("env.0.name", json_string(""));
	refused("network.tier", json_string("most"));
	refused("network.rules.0.verdict", json_string("maybe"));
	refused("limits.memory", json_integer(-5));
	refused("uid", json_integer(1LL << 33));
	refused("port", json_integer(1 << 16));
	refused("mounts.0.of_tree", json_string("true"));
	refused("limits.cgroup", json_string("v3"));
	refused("limits.rlimits", json_pack("{si}", "other", 1));
	refused("limits.cgroups", json_pack("[{},{},{},{}]"));
	refused("container", json_pack("{ss}", "image", "image:1"));
	refused("name", json_string("../x"));
	refused("name", json_string(""));
	refused("workspace", json_string("relative"));
}

static void spec_json_of_two_variables_of_one_name_the_last_holds(void **state)
{
	cleanup_(spec_freep) struct sandbox_spec *s = sample_spec(), *back = NULL;
	cleanup_json json_t *j = spec_to_json(s);
	json_t *env = json_object_get(j, "env");
	cleanup_strv struct strv got = {0};
	struct err e = {0};

	for (int i = 0; i < 2; i++)
		(void)json_array_insert_new(env, (size_t)i,
					    json_pack("{ss ss ss ss}", "name", "TERM", "value",
						      i ? "second" : "first", "origin", "user",
						      "source", "--env"));
	assert_int_equal(spec_from_json(j, &back, &e), 0);
	assert_int_equal(back->n_env, s->n_env);
	assert_string_equal(back->env[0].name, "TERM");
	assert_string_equal(back->env[0].source, "host");
	spec_environ(back, &got);
	assert_string_equal(got.v[1], "HOME=/home/u");
}

static void spec_check_path_that_json_cannot_hold_is_refused(void **state)
{
	cleanup_(spec_freep) struct sandbox_spec *s = sample_spec();
	struct err e = {0};

	assert_int_equal(spec_check(s, &e), 0);
	free(s->workspace);
	s->workspace = xstrdup("/home/u/\xff");
	assert_true(spec_check(s, &e) < 0);
	assert_int_equal(e.exit_code, EXIT_USAGE);
	assert_non_null(strstr(e.msg, "UTF-8"));
}

static void spec_environ_is_name_and_value(void **state)
{
	cleanup_(spec_freep) struct sandbox_spec *s = sample_spec();
	cleanup_strv struct strv env;

	strv_init(&env);
	spec_env_set(s, "A", "again", SPEC_USER, "--env");
	spec_environ(s, &env);
	assert_int_equal(env.n, 3);
	assert_string_equal(strv_env_get(&env, "A"), "again");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spec_json_round_trip_keeps_every_field),
		cmocka_unit_test(spec_json_has_no_value_that_the_user_or_the_host_gave),
		cmocka_unit_test(spec_json_keys_keep_their_names_and_order),
		cmocka_unit_test(spec_json_round_trip_keeps_what_only_containers_have),
		cmocka_unit_test(spec_json_absent_branch_stays_absent),
		cmocka_unit_test(spec_json_without_or_with_a_wrong_member_is_refused),
		cmocka_unit_test(spec_json_values_that_make_no_sense_are_refused),
		cmocka_unit_test(spec_json_of_two_variables_of_one_name_the_last_holds),
		cmocka_unit_test(spec_check_path_that_json_cannot_hold_is_refused),
		cmocka_unit_test(spec_environ_is_name_and_value),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
