#include "cli/settings.h"

#include <stdlib.h>

#include "base/path.h"
#include "cli/trust.h"

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
	ret->places = from.places;
	from.places = (struct places){0};
	return 0;
}

int settings_build(struct cli *cli, const struct settings_target *t, struct settings *ret,
		   struct build *ret_build)
{
	struct build_input in = {
		.path = t->path, .name = t->name, .argv0 = t->argv0, .environ = environ};
	int r = settings_load(cli, t->path, ret);

	if (r < 0)
		return r;
	in.places = &ret->places;
	in.config = ret->config;
	return build_spec(&in, ret_build, &cli->err);
}

void settings_done(struct settings *s)
{
	places_done(&s->places);
	s->config = config_free(s->config);
}
