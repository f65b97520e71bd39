/*
 * migrate-dies NAME: makes the homes of the project of sandbox NAME the project's, as its next start
 * would (live/home-migrate.h). Linked with die-at.c, so that it can be killed at any step.
 */
#include <stdio.h>

#include "base/fd.h"
#include "live/home-migrate.h"
#include "record/home.h"
#include "workspace/gitdir.h"

static int migrate(const struct places *p, const char *name, struct err *err)
{
	cleanup_(spec_freep) struct sandbox_spec *spec = NULL;
	cleanup_store struct store_entry e = STORE_ENTRY_INIT;
	cleanup_(gitdir_done) struct gitdir g = {0};
	cleanup_fd int lock = -1;
	int r = store_open(p, name, false, &e, err);

	if (r == 0)
		r = store_read_spec(&e, &spec, err);
	if (r == 0)
		r = gitdir_find(spec->workspace, p->home, &g, err);
	if (r < 0)
		return r;
	spec->project = xstrdup(g.common ? g.common : spec->workspace);
	spec->home_key = home_key(spec->project, spec->instance);
	r = home_lock_alone(p, spec->home_key, 0, &lock, err);
	if (r == 0)
		r = home_migrate(p, NULL, spec, err);
	return r < 0 ? r : home_make(p, spec->home_key, spec->project, err);
}

int main(int argc, char **argv)
{
	cleanup_(places_done) struct places p = {0};
	struct err err = {0};
	int r = argc == 2 ? places_find(&p, &err) : -EINVAL;

	if (r == 0)
		r = migrate(&p, argv[1], &err);
	if (r < 0)
		(void)fprintf(stderr, "%s\n", err.msg);
	return r < 0;
}
