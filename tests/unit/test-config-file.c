#include "tests.h"

#include <stdio.h>

#include "base/buf.h"
#include "base/err.h"
#include "config/config.h"

/* What is wrong with a file is said with its place, its key and a remedy; exit 2. */
static void expect_text(const char *text, size_t len, const char *message)
{
	struct err e = {0};

	assert_int_equal(config_check("f.yaml", text, len, &e), -EINVAL);
	assert_string_equal(e.msg, message);
	assert_int_equal(err_exit_code(&e, EXIT_RALPH), EXIT_USAGE);
}

static void expect(const char *text, const char *message)
{
	expect_text(text, strlen(text), message);
}

static void expect_fine(const char *text)
{
	struct err e = {0};

	if (config_check("f.yaml", text, strlen(text), &e) < 0)
		fail_msg("%s", e.msg);
}

static void unknown_key_is_named_with_place_and_nearest_key(void **state)
{
	expect("agent: claude\nengin: native\n",
	       "f.yaml:2:1: engin: unknown key; did you mean 'engine'?");
	expect("limits:\n  pids: 20\n  memroy: 8G\n",
	       "f.yaml:3:3: limits.memroy: unknown key; did you mean 'limits.memory'?");
	expect("netwrok: {tier: none}\n",
	       "f.yaml:1:1: netwrok: unknown key; did you mean 'network'?");
	expect("zzzzzzzz: 1\n",
	       "f.yaml:1:1: zzzzzzzz: unknown key; ralph-config(5) lists the keys");
}

static void known_key_in_the_wrong_place_is_pointed_to_the_right_one(void **state)
{
	expect("memory: 8G\n", "f.yaml:1:1: memory: unknown key; did you mean 'limits.memory'?");
	expect("limits: {engine: native}\n",
	       "f.yaml:1:10: limits.engine: unknown key; did you mean 'engine'?");
	expect("limits.memory: 8G\n",
	       "f.yaml:1:1: limits.memory: unknown key; write it as 'limits: {memory: …}'");
}

static void unknown_key_of_an_entry_is_named_with_its_place(void **state)
{
	expect("mounts:\n  - {path: /a, mod: rw}\n",
	       "f.yaml:2:16: mounts.mod: unknown key; did you mean 'mode'?");
	expect("network:\n  rules:\n    - host: h\n      path: [/x]\n",
	       "f.yaml:4:7: network.rules.path: unknown key; did you mean 'paths'?");
}

static void duplicate_keys_are_refused_at_every_level(void **state)
{
	expect("agent: a\nengine: auto\nagent: b\n",
	       "f.yaml:3:1: agent: given twice; remove one of them");
	expect("limits: {pids: 20}\nlog: {level: info}\nlimits: {cpu: 3}\n",
	       "f.yaml:3:1: limits: given twice; remove one of them");
	expect("limits: {pids: 20, cpu: 1, pids: 30}\n",
	       "f.yaml:1:28: limits.pids: given twice; remove one of them");
	expect("mounts: [{path: /a, path: /b}]\n",
	       "f.yaml:1:21: mounts.path: given twice; remove one of them");
}

static void wrong_types_are_refused(void **state)
{
	expect("agent: [claude]\n",
	       "f.yaml:1:8: agent: one value is expected, not a list or section");
	expect("limits: 5\n", "f.yaml:1:9: limits: is a section; put its keys below it, indented");
	expect("network:\n  allow: a.example\n",
	       "f.yaml:2:10: network.allow: a list is expected; write [a, b], or [] for none");
	expect("network:\n  allow:\n  - a.example\n  - {b: c}\n",
	       "f.yaml:4:5: network.allow: one value is expected, not a list or section");
	expect("mounts: [/a]\n", "f.yaml:1:10: mounts: each entry has keys; write {path: …}");
	expect("- agent\n", "f.yaml:1:1: the file must hold keys; write 'key: value'");
	expect("{[a]: b}\n", "f.yaml:1:2: a key must be a plain word");
}

static void missing_values_are_refused(void **state)
{
	expect("agent: claude\nlimits:\n  pids: null\n",
	       "f.yaml:3:9: limits.pids: has no value; give one or remove the key");
	expect("engine: ~\n", "f.yaml:1:9: engine: has no value; give one or remove the key");
	expect("mounts:\n  - mode: rw\n", "f.yaml:2:5: mounts: 'path' is missing; add it");
	expect("network: {rules: [{methods: [GET]}]}\n",
	       "f.yaml:1:19: network.rules: 'host' is missing; add it");
}

static void numbers_are_base_ten_only(void **state)
{
	static const char *const bad[] = {"010", "0x10", "1_000", "+5", "-5", "1e3", "5.0", "0o17"};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		char text[64], message[256];

		(void)snprintf(text, sizeof(text), "limits:\n  pids: %s\n", bad[i]);
		(void)snprintf(message, sizeof(message),
			       "f.yaml:2:9: limits.pids: '%s' is not a whole number; write it in "
			       "base 10 without sign or leading zero",
			       bad[i]);
		expect(text, message);
	}
	expect("limits: {memory: 010M}\n", "f.yaml:1:18: limits.memory: '010M' is not a size; "
					   "write it like 512, 64M or 8G");
	expect("budget: {usd: 1e3}\n",
	       "f.yaml:1:15: budget.usd: '1e3' is not an amount; write it like 20 or 0.5");
	expect("limits: {timeout: 2 h}\n", "f.yaml:1:19: limits.timeout: '2 h' is not a duration; "
					   "write it like 90, 500ms, 5m or 2h");
}

static void limits_outside_their_range_are_refused(void **state)
{
	expect("limits: {memory: 63M}", "f.yaml:1:18: limits.memory: '63M' is too small; "
					"use at least 64M");
	expect("limits: {pids: 15}",
	       "f.yaml:1:16: limits.pids: '15' is too small; use at least 16");
	expect("limits: {pids: 0}", "f.yaml:1:16: limits.pids: '0' is too small; use at least 16");
	expect("limits: {open_files: 63}",
	       "f.yaml:1:22: limits.open_files: '63' is too small; use at least 64");
	expect("limits: {open_files: 1048577}",
	       "f.yaml:1:22: limits.open_files: '1048577' is too large; use a smaller value");
	expect("limits: {cpu: 100001}",
	       "f.yaml:1:15: limits.cpu: '100001' is too large; use a smaller value");
	expect("limits: {tmp: 0}", "f.yaml:1:15: limits.tmp: '0' is too small; use at least 1M");
	expect("limits: {memory: 99999999999999999999G}",
	       "f.yaml:1:18: limits.memory: '99999999999999999999G' is too large; "
	       "use a smaller value");
	expect_fine("limits: {memory: 64M, pids: 16, open_files: 64, cpu: 1, tmp: 1M}");
	expect_fine("limits: {memory: 0, open_files: 1048576, cpu: 100000, timeout: 365d}");
}

static void choices_are_checked_with_a_suggestion(void **state)
{
	expect("engine: natve\n",
	       "f.yaml:1:9: engine: 'natve' is not known; did you mean 'native'?");
	expect("engine: none\n", "f.yaml:1:9: engine: 'none' is not known; "
				 "use one of auto, native, gvisor, docker, podman, vm, "
				 "vm:emulated, sbx, docker-sandbox");
	expect("network: {tier: everything}\n",
	       "f.yaml:1:17: network.tier: 'everything' is not known; "
	       "use one of none, allowlist, inet, full");
	expect("log: {level: trace}\n", "f.yaml:1:14: log.level: 'trace' is not known; "
					"use one of error, warning, info, debug");
	expect("log:\n  format: jsn\n",
	       "f.yaml:2:11: log.format: 'jsn' is not known; did you mean 'json'?");
}

static void names_are_checked(void **state)
{
	expect("agent: Claude\n",
	       "f.yaml:1:8: agent: 'Claude' is no agent's name; use at most 32 of "
	       "a-z, 0-9 and '-', beginning with a letter");
	expect("profile: ../x\n", "f.yaml:1:10: profile: '../x' is no profile's name; use letters, "
				  "digits, '.', '_' and '-', not a path");
	expect("env: {pass: [OK, 1X]}\n", "f.yaml:1:18: env.pass: '1X' is no variable's name; use "
					  "letters, digits and '_', not beginning with a digit");
	expect("env:\n  set:\n    - A=1\n    - B\n",
	       "f.yaml:4:7: env.set: 'B' has no '='; write NAME=VALUE");
}

static void value_of_a_wrong_env_entry_is_not_shown(void **state)
{
	expect("env: {set: [1TOKEN=hunter2]}\n",
	       "f.yaml:1:13: env.set: '1TOKEN' does not begin with a variable's name; "
	       "write NAME=VALUE");
}

static void mounts_are_checked(void **state)
{
	expect("mounts: [{path: a/b}]\n",
	       "f.yaml:1:17: mounts.path: 'a/b' is not absolute; begin it with '/' or '~/'");
	expect("mounts: [{path: ~/../x}]\n",
	       "f.yaml:1:17: mounts.path: '~/../x' is not a plain absolute path; "
	       "leave out '.', '..', '//' and a last '/'");
	expect("mounts:\n- path: /ok\n- path: /a/../b\n",
	       "f.yaml:3:9: mounts.path: '/a/../b' is not a plain absolute path; "
	       "leave out '.', '..', '//' and a last '/'");
	expect("mounts: [{path: /a, mode: w}]\n",
	       "f.yaml:1:27: mounts.mode: 'w' is no mode; use ro or rw");
	expect("mounts: [{path: /a, target: ~/x}]\n",
	       "f.yaml:1:29: mounts.target: '~/x' is not absolute; begin it with '/'");
}

static void network_patterns_are_short_words(void **state)
{
	char text[400], *p = text;

	expect("network: {deny: [\"\"]}\n",
	       "f.yaml:1:18: network.deny: '' is empty; name a host or a group");
	expect("network: {allow: [a.example, \"b c\"]}\n",
	       "f.yaml:1:30: network.allow: 'b c' holds a blank or a control character; "
	       "write one host per entry");
	expect("network: {allow: [\"a\\tb\"]}\n",
	       "f.yaml:1:19: network.allow: 'a\\tb' holds a blank or a control character; "
	       "write one host per entry");
	p += snprintf(text, sizeof(text), "network: {allow: [");
	memset(p, 'a', 255);
	memcpy(p + 255, "]}", 3);
	expect_fine(text);
	memcpy(p + 255, "a]}", 4);
	memset(p, 'a', 256);
	expect(text, "f.yaml:1:19: network.allow: "
		     "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' is too long; "
		     "a host pattern has at most 255 characters");
}

static void rules_are_checked_down_to_the_last_entry(void **state)
{
	expect("network:\n  rules:\n    - host: h\n      methods: [GET, post]\n",
	       "f.yaml:4:22: network.rules.methods: 'post' is no HTTP method; "
	       "write it in capitals, like GET");
	expect("network: {rules: [{host: h, paths: [x]}]}\n",
	       "f.yaml:1:37: network.rules.paths: 'x' does not begin with '/'; "
	       "write the path as the request has it");
	expect("network: {rules: [{host: h, git: [clone]}]}\n",
	       "f.yaml:1:35: network.rules.git: 'clone' is no git access; "
	       "use 'fetch' or 'push OWNER/REPO'");
	expect("network: {rules: [{host: h, git: [push]}]}\n",
	       "f.yaml:1:35: network.rules.git: 'push' names no repository; write 'push "
	       "OWNER/REPO'");
	expect("network: {rules: [{host: \"\"}]}\n",
	       "f.yaml:1:26: network.rules.host: '' is empty; name a host or a group");
	expect("network: {rules: [{host: h, credential: \"a b\"}]}\n",
	       "f.yaml:1:41: network.rules.credential: 'a b' is no credential's name; "
	       "use letters, digits, '.', '_' and '-'");
	expect_fine("network: {rules: [{host: h, methods: [GET], paths: [/x], "
		    "git: [fetch, push a/b], credential: gh}]}");
}

static void columns_count_characters_not_bytes(void **state)
{
	expect("env: {set: [\"A=äöü\", B]}\n",
	       "f.yaml:1:22: env.set: 'B' has no '='; write NAME=VALUE");
}

static void aliases_anchors_and_tags_are_refused(void **state)
{
	expect("network: {allow: [*.example]}\n", "f.yaml:1:20: not valid YAML: did not find "
						  "expected alphabetic or numeric character; "
						  "quote a pattern that begins with '*'");
	expect("network: {allow: [*a]}\n",
	       "f.yaml:1:19: network.allow: an alias ('*a') is not allowed; "
	       "quote a pattern that begins with '*'");
	expect("agent: &a claude\n",
	       "f.yaml:1:8: agent: an anchor ('&a') is not allowed; quote it, "
	       "or write the value out");
	expect("agent: !!str claude\n",
	       "f.yaml:1:8: agent: a tag ('!…') is not allowed; remove it");
	expect("limits: &l {pids: 20}\n", "f.yaml:1:9: limits: an anchor ('&l') is not allowed; "
					  "quote it, or write the value out");
	expect("<<: {agent: x}\n", "f.yaml:1:1: <<: unknown key; ralph-config(5) lists the keys");
}

static void several_documents_are_refused(void **state)
{
	expect("agent: a\n---\nagent: b\n", "f.yaml:2:1: a second document; keep one per file");
}

static void syntax_errors_have_a_place_and_a_remedy(void **state)
{
	expect("network: {allow: [@npm]}\n",
	       "f.yaml:1:19: not valid YAML: found character that cannot start any token; "
	       "quote a value that begins with '@', '`' or '%', and indent with spaces");
	expect("agent: \"x\nengine: auto\n",
	       "f.yaml:3:1: not valid YAML: found unexpected end of stream; "
	       "check quotes, brackets and indentation");
	expect("limits:\n  pids: 20\n cpu: 3\n",
	       "f.yaml:3:2: not valid YAML: did not find expected key; "
	       "check quotes, brackets and indentation");
}

static void nul_bytes_are_refused(void **state)
{
	static const char text[] = "agent: a\nengine: au\0to\n";

	expect_text(text, sizeof(text) - 1, "f.yaml:2:11: a NUL byte; save the file as text");
	expect("env: {set: [\"A=x\\0y\"]}\n",
	       "f.yaml:1:13: env.set: holds a NUL character; remove it");
}

static void invalid_utf8_is_refused(void **state)
{
	static const char *const bad[] = {
		"\x80",	    "\xc0\xaf",	    "\xe0\x80\xaf",	"\xed\xa0\x80",
		"\xff\xfe", "\xf5\x80\x80", "\xf0\x80\x80\x80", "\xe2\x82",
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		char text[64];

		(void)snprintf(text, sizeof(text), "agent: a\n# ä %s\n", bad[i]);
		expect(text, "f.yaml:2:5: not valid UTF-8; save the file as UTF-8");
	}
}

static void control_characters_are_refused_with_their_place(void **state)
{
	struct err e = {0};

	assert_int_equal(config_check("f.yaml", "agent: a\n# \x01\n", 13, &e), -EINVAL);
	assert_ptr_equal(strstr(e.msg, "f.yaml:2:3: not valid YAML: control characters"), e.msg);
}

static void lists_have_a_limit(void **state)
{
	struct buf b;

	buf_init(&b, 64 * KiB);
	(void)buf_puts(&b, "network:\n  deny:\n");
	for (int i = 0; i < 1024; i++)
		(void)buf_puts(&b, "  - a\n");
	expect_fine(buf_str(&b));
	(void)buf_puts(&b, "  - a\n");
	expect(buf_str(&b), "f.yaml:1027:5: network.deny: more than 1024 entries; shorten it");
	buf_done(&b);
}

static void deep_nesting_is_refused_at_the_first_wrong_level(void **state)
{
	struct buf b;

	buf_init(&b, 256 * KiB);
	(void)buf_puts(&b, "network: {allow: ");
	for (int i = 0; i < 100000; i++)
		(void)buf_puts(&b, "[");
	expect(buf_str(&b),
	       "f.yaml:1:19: network.allow: one value is expected, not a list or section");
	buf_done(&b);
}

static void empty_files_say_nothing(void **state)
{
	expect_fine("");
	expect_fine("# only words\n");
	expect_fine("---\n");
	expect_fine("---\n# x\n...\n");
	expect_fine("{}\n");
	expect_fine("limits: {}\nnetwork: {allow: [], rules: []}\nmounts: []\n");
}

static void json_is_yaml(void **state)
{
	expect_fine("{\"agent\": \"claude\", \"limits\": {\"memory\": \"8G\", \"pids\": 2048},\n"
		    " \"network\": {\"allow\": [\"a.example\", \"*.b.example:8443\"]},\n"
		    " \"mounts\": [{\"path\": \"/x\", \"mode\": \"rw\"}]}\n");
	expect("{\"limits\": {\n\t\"pids\": \"012\"}}\n",
	       "f.yaml:2:10: limits.pids: '012' is not a whole number; write it in base 10 without "
	       "sign or leading zero");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unknown_key_is_named_with_place_and_nearest_key),
		cmocka_unit_test(known_key_in_the_wrong_place_is_pointed_to_the_right_one),
		cmocka_unit_test(unknown_key_of_an_entry_is_named_with_its_place),
		cmocka_unit_test(duplicate_keys_are_refused_at_every_level),
		cmocka_unit_test(wrong_types_are_refused),
		cmocka_unit_test(missing_values_are_refused),
		cmocka_unit_test(numbers_are_base_ten_only),
		cmocka_unit_test(limits_outside_their_range_are_refused),
		cmocka_unit_test(choices_are_checked_with_a_suggestion),
		cmocka_unit_test(names_are_checked),
		cmocka_unit_test(value_of_a_wrong_env_entry_is_not_shown),
		cmocka_unit_test(mounts_are_checked),
		cmocka_unit_test(network_patterns_are_short_words),
		cmocka_unit_test(rules_are_checked_down_to_the_last_entry),
		cmocka_unit_test(columns_count_characters_not_bytes),
		cmocka_unit_test(aliases_anchors_and_tags_are_refused),
		cmocka_unit_test(several_documents_are_refused),
		cmocka_unit_test(syntax_errors_have_a_place_and_a_remedy),
		cmocka_unit_test(nul_bytes_are_refused),
		cmocka_unit_test(invalid_utf8_is_refused),
		cmocka_unit_test(control_characters_are_refused_with_their_place),
		cmocka_unit_test(lists_have_a_limit),
		cmocka_unit_test(deep_nesting_is_refused_at_the_first_wrong_level),
		cmocka_unit_test(empty_files_say_nothing),
		cmocka_unit_test(json_is_yaml),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
