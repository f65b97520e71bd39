#include "config-tests.h"

#define TIGHTEN "a project file may only tighten, unless you trust it: ralph trust"

/* Each: what the user has, what the project asks for, where that is refused (NULL: it is not). */
static const struct {
	const char *user, *project, *message;
} cases[] = {
	/* clang-format off */
	{ "", "network: {tier: none}", NULL },
	{ "", "network: {tier: allowlist}", NULL },
	{ "", "network: {tier: inet}",
	  "1:17: network.tier: 'inet' is wider than your own setting; " TIGHTEN },
	{ "network: {tier: full}", "network: {tier: inet}", NULL },
	{ "network: {tier: none}", "network: {tier: allowlist}",
	  "1:17: network.tier: 'allowlist' is wider than your own setting; " TIGHTEN },
	{ "", "network: {deny: [a.example]}", NULL },
	{ "", "network: {allow: [a.example]}",
	  "1:19: network.allow: 'a.example' is not in your own settings; " TIGHTEN },
	{ "network: {allow: [a.example]}", "network: {allow: [a.example]}", NULL },
	{ "network: {allow: [a.example]}", "network:\n  allow:\n  - a.example\n  - b.example\n",
	  "4:5: network.allow: 'b.example' is not in your own settings; " TIGHTEN },
	{ "", "network: {rules: [{host: h}]}",
	  "1:19: network.rules: 'h' is not in your own settings; " TIGHTEN },
	{ "", "mounts: [{path: /etc}]",
	  "1:10: mounts: '/etc' is not in your own settings; " TIGHTEN },
	{ "", "env: {pass: [AWS_SECRET_ACCESS_KEY]}",
	  "1:14: env.pass: 'AWS_SECRET_ACCESS_KEY' is not in your own settings; " TIGHTEN },
	{ "env: {pass: [FOO]}", "env: {pass: [FOO]}", NULL },
	{ "", "env: {set: [A=1]}", NULL },
	{ "env: {set: [A=1]}", "env: {set: [A=1, B=2]}", NULL },
	{ "env: {set: [A=1]}", "env: {set: [A=2]}",
	  "1:13: env.set: 'A' is not in your own settings; " TIGHTEN },
	{ "env: {pass: [A]}", "env: {set: [A=2]}",
	  "1:13: env.set: 'A' is not in your own settings; " TIGHTEN },
	{ "limits: {memory: 2G}", "limits: {memory: 1G}", NULL },
	{ "limits: {memory: 2G}", "limits: {memory: 3G}",
	  "1:18: limits.memory: '3G' is wider than your own setting; " TIGHTEN },
	{ "limits: {memory: 2G}", "limits: {memory: 0}",
	  "1:18: limits.memory: '0' is wider than your own setting; " TIGHTEN },
	{ "", "limits: {memory: 1G}",
	  "1:18: limits.memory: you have set no limit to compare with; set limits.memory in your own "
	  "config.yaml" },
	{ "", "limits: {pids: 4096, open_files: 16384, tmp: 1G}", NULL },
	{ "", "limits: {pids: 4097}",
	  "1:16: limits.pids: '4097' is wider than your own setting; " TIGHTEN },
	{ "", "limits: {tmp: 1025M}",
	  "1:15: limits.tmp: '1025M' is wider than your own setting; " TIGHTEN },
	{ "", "limits: {open_files: 16385}",
	  "1:22: limits.open_files: '16385' is wider than your own setting; " TIGHTEN },
	{ "", "limits: {cpu: 100, timeout: 5m}", NULL },
	{ "limits: {cpu: 100}", "limits: {cpu: 101}",
	  "1:15: limits.cpu: '101' is wider than your own setting; " TIGHTEN },
	{ "limits: {cpu: 100}", "limits: {cpu: 0}",
	  "1:15: limits.cpu: '0' is wider than your own setting; " TIGHTEN },
	{ "limits: {timeout: 5m}", "limits: {timeout: 0}",
	  "1:19: limits.timeout: '0' is wider than your own setting; " TIGHTEN },
	{ "limits: {timeout: 5m}", "limits: {timeout: 4m}", NULL },
	{ "", "budget: {usd: 0.5, tokens: 1000}", NULL },
	{ "budget: {usd: 20}", "budget: {usd: 20.01}",
	  "1:15: budget.usd: '20.01' is wider than your own setting; " TIGHTEN },
	{ "budget: {tokens: 100}", "budget: {tokens: 0}",
	  "1:18: budget.tokens: '0' is wider than your own setting; " TIGHTEN },
	{ "", "network: {provider_tools: none}", NULL },
	{ "network: {provider_tools: all}", "network: {provider_tools: [web_fetch]}", NULL },
	{ "network: {provider_tools: [a, b]}", "network: {provider_tools: [b]}", NULL },
	{ "network: {provider_tools: [a, b]}", "network: {provider_tools: []}", NULL },
	{ "network: {provider_tools: [a, b]}", "network: {provider_tools: [b, c]}",
	  "1:27: network.provider_tools: 'b,c' is wider than your own setting; " TIGHTEN },
	{ "", "network: {provider_tools: [web_search]}",
	  "1:27: network.provider_tools: 'web_search' is wider than your own setting; " TIGHTEN },
	{ "network: {provider_tools: none}", "network: {provider_tools: agent}",
	  "1:27: network.provider_tools: 'agent' is wider than your own setting; " TIGHTEN },
	{ "", "engine: podman", NULL },
	{ "engine: native", "engine: native", NULL },
	{ "engine: native", "engine: docker",
	  "1:9: engine: 'docker' is wider than your own setting; " TIGHTEN },
	{ "engine: native", "engine: auto",
	  "1:9: engine: 'auto' is wider than your own setting; " TIGHTEN },
	{ "", "engine: none",
	  "1:9: engine: 'none' is not known; use one of auto, native, gvisor, docker, podman, vm, vm:emulated, sbx, docker-sandbox" },
	{ "agent: claude", "agent: claude", NULL },
	{ "", "agent: claude",
	  "1:8: agent: 'claude' is wider than your own setting; " TIGHTEN },
	{ "", "log: {level: error}",
	  "1:14: log.level: 'error' is wider than your own setting; " TIGHTEN },
	{ "", "profile: open",
	  "1:10: profile: 'open' is wider than your own setting; " TIGHTEN },
	{ "", "limits: {pids: 010}",
	  "1:16: limits.pids: '010' is not a whole number; write it in base 10 without sign or "
	  "leading zero" },
	/* clang-format on */
};

static void project_file_may_only_tighten(void **state)
{
	struct place *p = *state;

	put_profile(p->profiles, "open.yaml", "network: {tier: full, allow: [a.example]}\n");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char message[512];

		put(p->user, cases[i].user);
		put(p->project, cases[i].project);
		if (!cases[i].message) {
			load_ok(p);
			continue;
		}
		(void)snprintf(message, sizeof(message), "work/.ralph/config.yaml:%s",
			       cases[i].message);
		load_fails(p, message);
	}
}

static void trusted_project_file_may_widen(void **state)
{
	struct place *p = *state;

	put_profile(p->profiles, "open.yaml", "network: {tier: full}\n");
	put(p->project, "profile: open\nagent: claude\nnetwork: {allow: [a.example]}\n"
			"mounts: [{path: /x}]\nlimits: {memory: 1G, pids: 9999}\n");
	p->src.trusted = true;
	load_ok(p);
	assert_int_equal(p->c->network.tier, POLICY_FULL);
	assert_string_equal(p->c->network.allow.v[0], "a.example");
	assert_int_equal(p->c->limits.pids, 9999);
}

static void widenings_are_all_listed_with_their_lines(void **state)
{
	struct place *p = *state;
	struct config_widening *w = NULL;
	struct err err = {0};
	size_t n = 0;

	put_profile(p->profiles, "open.yaml", "network: {tier: full}\n");
	put(p->user, "network: {allow: [a.example]}\nlimits: {pids: 100}\n");
	put(p->project, "profile: open\nnetwork:\n  allow: [a.example, b.example]\n  deny: [c]\n"
			"limits: {pids: 101, timeout: 1m}\nmounts: [{path: /x}]\n");
	/* Trusted or not: it is the same question. */
	p->src.trusted = true;
	assert_int_equal(config_widenings(&p->src, &w, &n, &err), 0);
	assert_int_equal(n, 4);
	assert_string_equal(w[0].key, "profile");
	assert_string_equal(w[0].value, "open");
	assert_int_equal(w[0].line, 1);
	assert_string_equal(w[1].key, "mounts");
	assert_int_equal(w[1].line, 6);
	assert_string_equal(w[2].value, "b.example");
	assert_int_equal(w[2].line, 3);
	assert_string_equal(w[3].value, "101");
	config_widenings_free(w, n);
	put(p->project, "limits: {pids: 99}\n");
	assert_int_equal(config_widenings(&p->src, &w, &n, &err), 0);
	assert_int_equal(n, 0);
	config_widenings_free(w, n);
}

static void trust_does_not_bring_an_engine_without_a_sandbox(void **state)
{
	struct place *p = *state;

	put(p->project, "engine: direct\n");
	p->src.trusted = true;
	load_fails(p,
		   "work/.ralph/config.yaml:1:9: engine: 'direct' is not known; use one of auto, "
		   "native, gvisor, docker, podman, vm, vm:emulated, sbx, docker-sandbox");
}

static void profile_of_the_user_is_what_a_project_is_compared_with(void **state)
{
	struct place *p = *state;

	put(p->user, "profile: open\nnetwork: {tier: none}\n");
	put_profile(p->profiles, "open.yaml", "network: {tier: full, allow: [a.example]}\n");
	put(p->project, "network: {tier: inet, allow: [a.example]}\n");
	load_ok(p);
	assert_int_equal(p->c->network.tier, POLICY_INET);
}

static void flag_of_the_user_is_above_the_project(void **state)
{
	struct place *p = *state;

	put(p->project, "network: {tier: none}\n");
	strv_push(&p->flags, "network.tier=full");
	load_ok(p);
	assert_int_equal(p->c->network.tier, POLICY_FULL);
}

static void memory_below_the_machines_share_tightens(void **state)
{
	struct place *p = *state;

	p->src.memory_share = 4 * GiB;
	put(p->project, "limits: {memory: 4G}\n");
	load_ok(p);
	assert_int_equal(p->c->limits.memory, 4 * GiB);
	put(p->project, "limits: {memory: 5G}\n");
	load_fails(p, "work/.ralph/config.yaml:1:18: limits.memory: '5G' is wider than your own "
		      "setting; " TIGHTEN);
}

static void project_text_is_what_is_loaded(void **state)
{
	struct place *p = *state;

	put(p->project, "limits: {pids: 100}\n");
	p->src.project_text = "limits: {pids: 99}\nnot read";
	p->src.project_len = strlen("limits: {pids: 99}\n");
	load_ok(p);
	assert_int_equal(p->c->limits.pids, 99);
	p->src.project_len = 256 * KiB + 1;
	load_fails(p, "work/.ralph/config.yaml: is larger than 256 KiB; shorten it");
}

static void project_file_behind_a_link_is_refused(void **state)
{
	struct place *p = *state;
	cleanup_free char *dir = path_dir(p->project);
	cleanup_free char *elsewhere = path_join(p->dir, "elsewhere/config.yaml");
	struct err e;

	put(elsewhere, "agent: x\n");
	assert_int_equal(path_mkdirs(dir, 0700, &e), 0);
	assert_int_equal(symlink(elsewhere, p->project), 0);
	load_fails(p, "work/.ralph/config.yaml: is or lies behind a symbolic link; a project's own "
		      "file must be a plain one");
	assert_int_equal(unlink(p->project), 0);
	assert_int_equal(rmdir(dir), 0);
	assert_int_equal(symlink("../elsewhere", dir), 0);
	load_fails(p, "work/.ralph/config.yaml: is or lies behind a symbolic link; a project's own "
		      "file must be a plain one");
}

static void project_file_that_is_a_fifo_does_not_hang(void **state)
{
	struct place *p = *state;
	cleanup_free char *dir = path_dir(p->project);
	struct err e;

	assert_int_equal(path_mkdirs(dir, 0700, &e), 0);
	assert_int_equal(mkfifo(p->project, 0600), 0);
	load_fails(p, "work/.ralph/config.yaml: is not a regular file; remove it");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_place(project_file_may_only_tighten),
		with_place(trusted_project_file_may_widen),
		with_place(widenings_are_all_listed_with_their_lines),
		with_place(trust_does_not_bring_an_engine_without_a_sandbox),
		with_place(profile_of_the_user_is_what_a_project_is_compared_with),
		with_place(flag_of_the_user_is_above_the_project),
		with_place(memory_below_the_machines_share_tightens),
		with_place(project_text_is_what_is_loaded),
		with_place(project_file_behind_a_link_is_refused),
		with_place(project_file_that_is_a_fifo_does_not_hang),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
