#include "cli/net-common.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "live/net-change.h"

extern char **environ;

struct rules_args {
	const char *sandbox;
	bool project, user, once;
};

#define AT(member) offsetof(struct rules_args, member)

static const struct opt rules_opts[] = {
	{"sandbox", 's', OPT_STR, AT(sandbox), "NAME", "for this sandbox only",
	 .complete = COMPLETE_SANDBOX},
	{"once", 0, OPT_BOOL, AT(once), NULL, "with --sandbox: until that sandbox stops"},
	{"project", 0, OPT_BOOL, AT(project), NULL,
	 "for every sandbox of the current project (the default)"},
	{"user", 0, OPT_BOOL, AT(user), NULL, "for every sandbox of yours"},
};

static int choose_scope(struct cli *cli, const struct rules_args *args, struct net_change *c)
{
	if ((args->sandbox != NULL) + args->project + args->user > 1)
		return cli_usage(cli, "--sandbox, --project and --user exclude each other");
	if (args->once && !args->sandbox)
		return cli_usage(cli, "--once needs --sandbox NAME; ralph ls shows the names");
	c->sandbox = args->sandbox;
	c->scope = args->once	   ? NET_SCOPE_ONCE
		   : args->sandbox ? NET_SCOPE_SANDBOX
		   : args->user	   ? NET_SCOPE_USER
				   : NET_SCOPE_PROJECT;
	return 0;
}

/* A directory that cannot be a workspace has no project; other scopes do not need one. */
static int find_project(struct cli *cli, struct net_change *c, struct sandbox_spec *here)
{
	const struct build_input in = {.places = c->places, .environ = environ, .config = NULL};
	struct err err = {0};
	int r = build_identity(&in, here, &err);

	if (r == 0) {
		c->instance = here->instance;
		c->workspace = here->workspace;
	} else if (c->scope == NET_SCOPE_PROJECT) {
		cli->err = err;
		return err_wrap(&cli->err, r, "no project here (see --user and --sandbox)");
	}
	return 0;
}

static void report(const struct net_change *c, const struct net_changed *done)
{
	static const char *const verbs[] = {
		[NET_ALLOW] = "allow", [NET_DENY] = "deny", [NET_DROP] = "removed"};

	for (size_t i = 0; i < done->patterns.n; i++) {
		(void)printf("%s ", verbs[c->verb]);
		term_puts(stdout, done->patterns.v[i]);
		if (c->sandbox)
			(void)printf(" (sandbox %s%s)\n", c->sandbox,
				     c->scope == NET_SCOPE_ONCE ? ", until it stops" : "");
		else
			(void)printf(" (%s)\n", net_scope_name(c->scope));
	}
	for (size_t i = 0; i < done->sandboxes.n; i++)
		(void)printf("in force in %s\n", done->sandboxes.v[i]);
	(void)fflush(stdout);
	for (size_t i = 0; i < done->notes.n; i++)
		log_warn("net", "%s", done->notes.v[i]);
}

static int change(struct cli *cli, const struct rules_args *args, enum net_verb verb, int argc,
		  char **argv)
{
	cleanup_(net_changed_done) struct net_changed done = {0};
	cleanup_(spec_freep) struct sandbox_spec *here = spec_new();
	cleanup_(places_done) struct places p = {0};
	struct net_change c = {
		.places = &p,
		.environ = environ,
		.verb = verb,
		.patterns = argv,
		.n_patterns = (size_t)argc,
	};
	int r = choose_scope(cli, args, &c);

	if (r == 0)
		r = places_find(&p, &cli->err);
	if (r == 0)
		r = find_project(cli, &c, here);
	if (r < 0)
		return r;
	r = net_change(&c, &done, &cli->err);
	if (r == 0)
		report(&c, &done);
	return r;
}

static int cmd_allow_run(struct cli *cli, void *args, int argc, char **argv)
{
	return change(cli, args, NET_ALLOW, argc, argv);
}

static int cmd_deny_run(struct cli *cli, void *args, int argc, char **argv)
{
	return change(cli, args, NET_DENY, argc, argv);
}

static int cmd_rm_run(struct cli *cli, void *args, int argc, char **argv)
{
	return change(cli, args, NET_DROP, argc, argv);
}

static const char rules_details[] =
	"PATTERN is a host, HOST:PORT, *.HOST, an address, a range, localhost:PORT for\n"
	"a service of this machine, or a group such as @npm (see ralph net groups). The\n"
	"rule is kept outside the project, holds in running sandboxes at once and in\n"
	"later ones too; with --once it goes when the sandbox stops.";

const struct command cmd_net_allow = {
	.name = "allow",
	.operands = "PATTERN…",
	.summary = "let sandboxes reach hosts",
	.details = rules_details,
	OPTIONS(rules_opts, struct rules_args),
	.min_operands = 1,
	.max_operands = OPERANDS_ANY,
	.complete = COMPLETE_GROUP,
	.run = cmd_allow_run,
};

const struct command cmd_net_deny = {
	.name = "deny",
	.operands = "PATTERN…",
	.summary = "keep sandboxes from hosts",
	.details = rules_details,
	OPTIONS(rules_opts, struct rules_args),
	.min_operands = 1,
	.max_operands = OPERANDS_ANY,
	.complete = COMPLETE_GROUP,
	.run = cmd_deny_run,
};

const struct command cmd_net_rm = {
	.name = "rm",
	.operands = "PATTERN…",
	.summary = "remove rules that allow or deny added",
	OPTIONS(rules_opts, struct rules_args),
	.min_operands = 1,
	.max_operands = OPERANDS_ANY,
	.complete = COMPLETE_GROUP,
	.run = cmd_rm_run,
};
