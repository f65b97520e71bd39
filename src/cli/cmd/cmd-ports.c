#include "cli/frame/command.h"
#include "cli/commands.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/json/json.h"
#include "base/parse.h"
#include "base/log.h"
#include "base/text/table.h"
#include "cli/settings.h"
#include "live/live.h"
#include "web/web.h"

struct ports_args {
	bool json;
};

#define AT(member) offsetof(struct ports_args, member)
static const struct opt ports_opts[] = {
	{"json", 0, OPT_BOOL, AT(json), NULL, "print JSON"},
};

/* HOST[:INSIDE]; host 0 takes one that is free. */
static int read_ports(struct cli *cli, const char *text, bool both, uint16_t *ret_host,
		      uint16_t *ret_inside)
{
	const char *colon = strchr(text, ':');
	cleanup_free char *host = xstrndup(text, strcspn(text, ":"));
	uint64_t h, i;

	if (parse_uint(host, 0, UINT16_MAX, &h) < 0 || (colon && !both))
		return cli_usage(cli, "'%s' is no port", text);
	i = h;
	if (colon && parse_uint(colon + 1, 1, UINT16_MAX, &i) < 0)
		return cli_usage(cli, "'%s' is no port", colon + 1);
	if (i == 0)
		return cli_usage(cli, "say which port inside: 0:3000");
	*ret_host = (uint16_t)h;
	*ret_inside = (uint16_t)i;
	return 0;
}

static int print(struct cli *cli, const json_t *j, bool as_json)
{
	static const struct table_column columns[] = {{"URL"}, {"INSIDE"}};
	cleanup_(table_freep) struct table *t = table_new(columns, ARRAY_SIZE(columns));
	const json_t *all = json_object_get(j, "ports"), *row;
	size_t i;

	if (as_json) {
		if (json_show(all, stdout, JSON_INDENT(2)) < 0)
			return err_set(&cli->err, EIO, "cannot print the result");
		(void)putchar('\n');
		return 0;
	}
	json_array_foreach (all, i, row) {
		const char *url = json_string_value(json_object_get(row, "url"));

		table_cellf(t, "%s", url ? url : "");
		table_cellf(t, "%lld",
			    (long long)json_integer_value(json_object_get(row, "inside")));
	}
	table_print(t, stdout, term_width(STDOUT_FILENO), cli_color(cli, STDOUT_FILENO));
	return 0;
}

/* false: on the sandbox's own address alone. The page of `ralph web` shares nothing with a sandbox. */
static int is_shared(struct cli *cli, uint16_t host, bool *ret)
{
	cleanup_settings struct settings s = {0};
	int r = settings_load(cli, NULL, &s);

	*ret = r == 0 && s.config->ports.shared && host != WEB_PORT;
	return r;
}

/* A notice of what the next release changes, where it changes something. */
static void warn_shared(const json_t *ports, bool wanted)
{
	const json_t *all = json_object_get(ports, "ports");
	const json_t *row = json_array_get(all, json_array_size(all) - 1);
	const char *url = json_string_value(json_object_get(row, "url"));
	json_int_t port = json_integer_value(json_object_get(row, "host"));

	if (json_is_true(json_object_get(row, "shared")))
		log_warn("ports",
			 "127.0.0.1:%lld leads there too, where a browser sends the cookies of "
			 "every "
			 "local page; the next release leaves it out: open %s, or set "
			 "ports.shared: off",
			 (long long)port, url);
	else if (wanted && url)
		log_warn("ports", "127.0.0.1:%lld belongs to another program; only %s leads inside",
			 (long long)port, url);
}

static int cmd_ports_run(struct cli *cli, void *args_, int argc, char **argv)
{
	const struct ports_args *args = args_;
	const char *verb = argc > 1 ? argv[1] : "ls";
	enum wire_ports_verb what = WIRE_PORTS_LIST;
	cleanup_(places_done) struct places p = {0};
	cleanup_json json_t *j = NULL;
	uint16_t host = 0, inside = 0;
	bool shared = false;
	int r = 0;

	if (streq(verb, "publish"))
		what = WIRE_PORTS_PUBLISH;
	else if (streq(verb, "unpublish"))
		what = WIRE_PORTS_UNPUBLISH;
	else if (!streq(verb, "ls"))
		return cli_usage(cli, "'%s' is none of ls, publish and unpublish", verb);
	if ((argc == 3) != (what != WIRE_PORTS_LIST))
		return cli_usage(cli, "publish and unpublish take one PORT, ls none");
	if (argc == 3)
		r = read_ports(cli, argv[2], what == WIRE_PORTS_PUBLISH, &host, &inside);
	if (r == 0)
		r = places_find(&p, &cli->err);
	if (r == 0 && what == WIRE_PORTS_PUBLISH)
		r = is_shared(cli, host, &shared);
	if (shared)
		what = WIRE_PORTS_PUBLISH_SHARED;
	if (r == 0)
		r = live_ports(&p, argv[0], what, host, inside, &j, &cli->err);
	if (r == 0 && !j)
		r = err_set(&cli->err, ESRCH, "sandbox '%s' is not running", argv[0]);
	if (r == 0 && argc == 3)
		warn_shared(what == WIRE_PORTS_UNPUBLISH ? NULL : j, shared);
	return r < 0 ? r : print(cli, j, args->json);
}

const struct command cmd_ports = {
	.name = "ports",
	.operands = "NAME [ls | publish PORT[:INSIDE] | unpublish PORT]",
	.summary = "publish ports of a sandbox on this machine's loopback",
	.details = "The sandbox has a loopback address of its own on this machine, 127.X.Y.Z. A\n"
		   "connection to PORT of it leads to port INSIDE (the same when left out) of the\n"
		   "sandbox's own loopback. PORT 0 takes one that is free. In this release\n"
		   "127.0.0.1:PORT leads there too, unless ports.shared is off. Nothing inside\n"
		   "gains anything. Ports are published for as long as the sandbox runs. Prints\n"
		   "the URLs of those that are.",
	.group = GROUP_MANAGE,
	OPTIONS(ports_opts, struct ports_args),
	.min_operands = 1,
	.max_operands = 3,
	.complete = COMPLETE_SANDBOX,
	.run = cmd_ports_run,
};
