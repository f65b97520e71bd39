#include "cli/net-common.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/json/json.h"
#include "netrules/net-check.h"

struct check_args {
	const char *method, *path, *sandbox;
	bool resolve, json;
};

#define AT(member) offsetof(struct check_args, member)

static const struct opt check_opts[] = {
	{"method", 'X', OPT_STR, AT(method), "METHOD", "a request with this method"},
	{"path", 0, OPT_STR, AT(path), "PATH", "a request for this path"},
	{"sandbox", 's', OPT_STR, AT(sandbox), "NAME", "by the rules of this sandbox",
	 .complete = COMPLETE_SANDBOX},
	{"resolve", 0, OPT_BOOL, AT(resolve), NULL,
	 "look an allowed name up and judge its addresses"},
	{"json", 0, OPT_BOOL, AT(json), NULL, "print JSON"},
};

static void set_text(json_t *j, const char *key, const char *text)
{
	(void)json_object_set_new(j, key, text && *text ? json_text(text) : json_null());
}

static void print_json(const struct sandbox_spec *spec, const struct net_answer *a)
{
	cleanup_json json_t *j = json_pack("{ss ss sI sb ss ss}", "sandbox", spec->name, "verdict",
					   a->allow ? "allow" : "deny", "port", (json_int_t)a->port,
					   "inspect", a->inspect, "tier",
					   policy_tier_name(spec->net.tier), "reason", a->reason);
	json_t *addresses = json_array();

	set_text(j, "host", a->host);
	set_text(j, "class", a->class);
	set_text(j, "why", a->why);
	set_text(j, "rule", a->rule);
	set_text(j, "source", a->source);
	set_text(j, "method", a->method);
	set_text(j, "path", a->path);
	set_text(j, "remedy", a->remedy);
	set_text(j, "note", a->note);
	for (size_t i = 0; i < a->n_addresses; i++)
		(void)json_array_append_new(
			addresses, json_pack("{ss ss so}", "address", a->addresses[i].text,
					     "verdict", a->addresses[i].allow ? "allow" : "deny",
					     "why", json_text(a->addresses[i].why)));
	(void)json_object_set_new(j, "addresses", addresses);
	(void)json_show(j, stdout, JSON_INDENT(2));
	(void)putchar('\n');
}

static void line(const char *label, const char *text)
{
	if (!text || !*text)
		return;
	(void)printf("  %-9s ", label);
	term_puts(stdout, text);
	(void)putchar('\n');
}

static void print_text(struct cli *cli, const struct sandbox_spec *spec, const struct net_answer *a)
{
	bool color = cli_color(cli, STDOUT_FILENO);

	term_styled(stdout, color, a->allow ? STYLE_GREEN : STYLE_RED, a->allow ? "allow" : "deny");
	(void)fputs("  ", stdout);
	term_puts(stdout, a->why);
	(void)putchar('\n');
	line("sandbox", spec->name);
	line("tier", policy_tier_name(spec->net.tier));
	line("rule", a->rule);
	line("from", a->source);
	line("class", a->class);
	line("method", a->method);
	line("path", a->path);
	if (a->inspect)
		line("inspected", "yes");
	for (size_t i = 0; i < a->n_addresses; i++) {
		cleanup_free char *text = xasprintf("%s (%s)", a->addresses[i].text,
						    a->addresses[i].allow ? "allow" : "deny");

		line("address", text);
	}
	line("note", a->note);
	line("remedy", a->remedy);
}

static int cmd_check_run(struct cli *cli, void *args_, int argc, char **argv)
{
	const struct check_args *args = args_;
	const struct net_question q = {
		.target = argv[0],
		.method = args->method,
		.path = args->path,
		.resolve = args->resolve,
	};
	cleanup_(net_answer_done) struct net_answer a = {0};
	cleanup_(spec_freep) struct sandbox_spec *spec = NULL;
	const char *state = NULL;
	int r = net_effective(cli, args->sandbox, &spec, &state);

	if (r == 0)
		r = net_check(&spec->net, &q, &a, &cli->err);
	if (r < 0) {
		/* 1 says "denied": what could not be asked must not look like an answer. */
		if (cli->err.exit_code == 0)
			cli->err.exit_code = EXIT_USAGE;
		return r;
	}
	if (args->json)
		print_json(spec, &a);
	else
		print_text(cli, spec, &a);
	return a.allow ? 0 : 1;
}

const struct command cmd_net_check = {
	.name = "check",
	.operands = "HOST[:PORT]|URL",
	.summary = "say what would happen to a connection, and why",
	.details = "Exits with 0 when it would be allowed, with 1 when not. Nothing is sent, and\n"
		   "no name is looked up unless --resolve is given and the rules allow it.",
	.flags = CMD_CONFIG,
	OPTIONS(check_opts, struct check_args),
	.min_operands = 1,
	.max_operands = 1,
	.run = cmd_check_run,
};
