#include "cli/settings.h"

#include <stdlib.h>

#include "base/path.h"

extern char **environ;

int settings_load(struct cli *cli, const char *project, struct settings *ret)
{
	cleanup_(places_done) struct places p = {0};
	cleanup_free char *user = NULL, *profiles = NULL, *shipped = NULL, *file = NULL;
	struct config_sources src = {.environ = environ, .flags = &cli->config};
	int r = places_find(&p, &cli->err);

	if (r < 0)
		return r;
	user = path_join(p.config, "config.yaml");
	profiles = path_join(p.config, "profiles");
	shipped = path_join(p.data, "profiles");
	file = path_join(project ? project : ".", ".ralph/config.yaml");
	src.user_file = user;
	src.profile_dir = profiles;
	src.shipped_dir = shipped;
	src.project_file = file;
	src.home = p.home;
	r = config_load(&src, &ret->config, &cli->err);
	if (r < 0)
		return r;
	log_setup(ret->config->log.level, ret->config->log.format);
	ret->places = p;
	p = (struct places){0};
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
