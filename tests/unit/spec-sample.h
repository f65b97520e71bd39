#pragma once

/* One spec with something in every field, for tests. */
#include "spec/spec.h"

static inline struct sandbox_spec *sample_spec(void)
{
	struct sandbox_spec *s = spec_new();
	struct net_rule *rule;
	struct spec_credential *c;
	struct spec_mount *m;

	s->name = xstrdup("agent-loop-command-main");
	s->engine = xstrdup("native");
	s->agent = xstrdup("command");
	s->workspace = xstrdup("/home/u/work");
	s->branch = xstrdup("main");
	s->clone = xstrdup("/state/clone");
	s->instance = xstrdup("0123abcd");
	s->home = xstrdup("/home/u");
	s->hostname = xstrdup("agent-loop-command-main");
	s->uid = 1000;
	s->gid = 1001;
	spec_env_set(s, "HOME", "/home/u", SPEC_SET, "ralph");
	spec_env_set(s, "TERM", "xterm", SPEC_PASSED, "host");
	spec_env_set(s, "A", "b=c\nd \"e\"", SPEC_USER, "--env");
	(void)spec_mount_add(s, SPEC_BIND_RO, "/usr", "/usr", "programs of the system");
	(void)spec_mount_add(s, SPEC_SYMLINK, "usr/bin", "/bin", "programs of the system");
	m = spec_mount_add(s, SPEC_FILE, NULL, "/etc/hostname", "its own name");
	m->data = xstrdup("agent-loop-command-main\n");
	m->mode = 0444;
	(void)spec_mount_add(s, SPEC_COPY, "/etc/services", "/etc/services", "settings");
	(void)spec_mount_add(s, SPEC_PROC, NULL, "/proc", "its own processes");
	(void)spec_mount_add(s, SPEC_MASK, NULL, "/proc/kcore", "of the host's kernel");
	spec_mount_add(s, SPEC_MASK, NULL, "/proc/acpi", "of the host's kernel")->mode = 0040000;
	(void)spec_mount_add(s, SPEC_DEV, NULL, "/dev", "null and the like");
	m = spec_mount_add(s, SPEC_TMPFS, NULL, "/tmp", "temporary files");
	m->size = 64 * MiB;
	m->mode = 01777;
	spec_mount_add(s, SPEC_DIR, NULL, "/run/user/1000", "XDG_RUNTIME_DIR")->mode = 0700;
	(void)spec_mount_add(s, SPEC_BIND_RO, "/opt/ralph/guest", "/run/ralph/guest", "pid 1");
	(void)spec_mount_add(s, SPEC_BIND_RW, "/state/home", "/home/u", "its own home");
	(void)spec_mount_add(s, SPEC_BIND_RW, "/home/u/work", "/home/u/work", "the workspace");
	(void)spec_mount_add(s, SPEC_PIN, "/home/u/work/.git", "/home/u/work/.git", "stays");
	(void)spec_mount_add(s, SPEC_PROTECT, "/home/u/work/.git/config",
			     "/home/u/work/.git/config", "settings of git");
	(void)spec_mount_add(s, SPEC_HIDE, NULL, "/home/u/work/.env", "a secret");
	m = spec_mount_add(s, SPEC_FILE, NULL, "/run/ralph/gitignore", "what is hidden");
	m->data = xstrdup("/.env\n");
	m->of_tree = true;
	(void)spec_mount_add(s, SPEC_RO, NULL, "/", "nothing else can be written");
	spec_watch_add(s, SPEC_WATCH_TREE, "/home/u/work");
	spec_watch_add(s, SPEC_WATCH_GIT, "/home/u/work/.git");
	s->quarantine = SPEC_QUARANTINE_ALL;
	s->net.tier = POLICY_ALLOWLIST;
	(void)net_policy_add(&s->net, true, "evil.example", "network.deny");
	rule = net_policy_add(&s->net, false, "api.example", "network.rules");
	strv_push(&rule->methods, "GET");
	strv_push(&rule->paths, "/v1/");
	strv_push(&rule->git, "fetch");
	rule->credential = xstrdup("token");
	c = spec_credential_add(s, "token", "bearer");
	c->way = SPEC_WAY_PHANTOM;
	c->source = xstrdup("env:API_TOKEN");
	c->origin = xstrdup("https://api.example");
	c->ca_file = xstrdup("/etc/ssl/api.pem");
	c->endpoint = xstrdup("api");
	c->phantom = xstrdup("tok_");
	c->private = true;
	c->expires_ms = 1794794391454;
	strv_push(&c->requests, "POST /v1/");
	strv_push(&c->options, "region=here");
	spec_env_phantom(s, "API_TOKEN", SPEC_PHANTOM, "token");
	s->budget = (struct spec_budget){.micro_usd = 20000000, .tokens = 1000000};
	s->limits = (struct spec_limits){
		.memory = 512 * MiB,
		.pids = 64,
		.cpu = 50,
		.tmp = 64 * MiB,
		.open_files = 1024,
		.timeout_ms = 90000,
		.method = xstrdup("cgroup v1"),
		.controllers = 7,
	};
	return s;
}
