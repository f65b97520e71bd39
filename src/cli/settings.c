#include "cli/settings.h"

#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "cli/show/image-show.h"
#include "cli/project-trust.h"
#include "compose/cred-check.h"

extern char **environ;

int settings_sources_find(struct cli *cli, const char *project, struct settings_sources *ret)
{
	struct places *p = &ret->places;
	int r = places_find(p, &cli->err);

	if (r < 0)
		return r;
	ret->user = path_join(p->config, "config.yaml");
	ret->profiles = path_join(p->config, "profiles");
	ret->shipped = path_join(p->data, "profiles");
	ret->project = path_join(project ? project : ".", ".ralph/config.yaml");
	ret->src = (struct config_sources){
		.user_file = ret->user,
		.profile_dir = ret->profiles,
		.shipped_dir = ret->shipped,
		.project_file = ret->project,
		.environ = environ,
		.flags = &cli->config,
		.home = p->home,
	};
	return 0;
}

void settings_sources_done(struct settings_sources *s)
{
	places_done(&s->places);
	free(s->user);
	free(s->profiles);
	free(s->shipped);
	free(s->project);
	*s = (struct settings_sources){0};
}

void settings_notices(const struct config *c)
{
	for (size_t i = 0; i < c->notices.n; i++)
		log_warn("config", "%s", c->notices.v[i]);
}

int settings_load(struct cli *cli, const char *project, struct settings *ret)
{
	cleanup_sources struct settings_sources from = {0};
	cleanup_trust struct trust_state trust = {0};
	int r = settings_sources_find(cli, project, &from);

	if (r == 0)
		r = trust_look(&from.places, &from.src, &trust, &cli->err);
	if (r == 0)
		r = trust_settle(cli, &from.src, &trust);
	if (r == 0)
		r = config_load(&from.src, &ret->config, &cli->err);
	if (r < 0)
		return r;
	log_setup(ret->config->log.level, ret->config->log.format);
	settings_notices(ret->config);
	ret->places = from.places;
	from.places = (struct places){0};
	return 0;
}

int settings_operands(struct cli *cli, int argc, char **argv, struct settings_target *ret,
		      int *ret_rest)
{
	int before = cli->dashdash >= 0 ? cli->dashdash : argc, used = 0;
	const char *other = strv_env_get(&cli->config, "agent");

	ret->agent = agent_find(cli->word);
	if (!ret->agent && before > 0) {
		ret->agent = agent_find(argv[0]);
		used = ret->agent != NULL;
	}
	if (before - used > 1 && ret->agent)
		return cli_usage(cli, "one PATH at most; arguments of %s come behind '--'",
				 ret->agent->name);
	if (before > 1 && !ret->agent)
		return cli_usage(cli, "one PATH at most before '--'; the command comes behind it");
	if (ret->agent && other && !streq(other, ret->agent->name))
		return cli_usage(cli, "%s and --agent %s exclude each other", ret->agent->name,
				 other);
	ret->path = before > used ? argv[used] : NULL;
	ret->argv0 = argc > before ? argv[before] : NULL;
	ret->alone = cli->dashdash < 0;
	*ret_rest = before;
	return 0;
}

/* The agent that was named is run; that of the settings only where there is no command: with
 * --agent, or `agent:` in a file, a command runs in that agent's sandbox. */
static const struct agent *agent_to_run(const struct settings_target *t, const struct config *c)
{
	const struct agent *a = t->agent;

	if (!a && t->alone)
		a = agent_find(c->agent);
	return a && a->program ? a : NULL;
}

int settings_build(struct cli *cli, const struct settings_target *t, struct settings *ret,
		   struct build *ret_build)
{
	struct build_input in = {.path = t->path,
				 .name = t->name,
				 .clone = t->clone,
				 .home_of = t->home_of,
				 .every_agent = t->every_agent,
				 .stays = t->stays,
				 .environ = environ,
				 .make_image = t->starts && !cli->dry_run,
				 .begun = t->begun,
				 .arg = t->arg};
	cleanup_image_show struct image_show show = {0};
	int r;

	image_show_init(&show);
	in.image_told = image_show_step;
	in.image_arg = &show;

	if (cli->sandbox && cli->no_sandbox)
		return cli_usage(cli, "--sandbox and --no-sandbox exclude each other");
	if (cli->no_sandbox && strv_env_get(&cli->config, "engine"))
		return cli_usage(cli, "--no-sandbox and an engine exclude each other");
	in.direct = cli->no_sandbox;
	if (t->agent)
		strv_env_set(&cli->config, "agent", t->agent->name);
	r = settings_load(cli, t->path, ret);
	if (r < 0)
		return r;
	ret->agent = agent_to_run(t, ret->config);
	in.places = &ret->places;
	in.config = ret->config;
	in.run_agent = in.asks = ret->agent != NULL;
	in.argv0 = ret->agent ? ret->agent->program : t->argv0;
	r = build_spec(&in, ret_build, &cli->err);
	/* A command that starts a sandbox exits with the payload's codes. */
	if (r < 0 && t->starts && cli->err.exit_code == CRED_EXIT)
		cli->err.exit_code = EXIT_RALPH;
	return r;
}

enum filter_wish settings_terminal(const struct config *c)
{
	return (c->terminal.clipboard ? FILTER_CLIPBOARD : 0) |
	       (c->terminal.notify ? FILTER_NOTIFY : 0);
}

void settings_done(struct settings *s)
{
	places_done(&s->places);
	s->config = config_free(s->config);
}

static bool is_option(const char *origin)
{
	return origin && strncmp(origin, "--", 2) == 0;
}

enum live_flags settings_join(const struct config *c)
{
	if (is_option(config_origin(c, "network.tier")))
		return 0;
	for (size_t i = 0; i < c->network.deny.n; i++)
		if (is_option(config_item_origin(c, "network.deny", i)))
			return 0;
	return LIVE_WIDER;
}
