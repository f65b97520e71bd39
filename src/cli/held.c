#include "cli/held.h"

#include <stdlib.h>

#include "record/store.h"
#include "workspace/gitdir.h"
#include "workspace/private/private-git.h"

void held_done(struct held *h)
{
	places_done(&h->places);
	free(h->root);
}

/* A sandbox that was removed leaves what is held in the repository. */
static int open_here(struct cli *cli, const char *name, struct held *ret)
{
	cleanup_free char *here = realpath(".", NULL);
	cleanup_(gitdir_done) struct gitdir git = {0};
	cleanup_strv struct strv held = {0};
	struct err ignored;

	if (!here || gitdir_find(here, NULL, &git, &ignored) < 0 || !git.root ||
	    private_git_held(&git, name, false, &held) < 0 || !held.n)
		return -ENOENT;
	cli->err = (struct err){0};
	ret->root = xstrdup(git.root);
	return 0;
}

int held_open(struct cli *cli, const char *name, struct held *ret)
{
	cleanup_(spec_freep) struct sandbox_spec *spec = NULL;
	cleanup_store struct store_entry e = STORE_ENTRY_INIT;
	int r = places_find(&ret->places, &cli->err);

	if (r == 0)
		r = store_open(&ret->places, name, false, &e, &cli->err);
	if (r == -ENOENT)
		return open_here(cli, name, ret);
	if (r == 0)
		r = store_read_spec(&e, &spec, &cli->err);
	if (r < 0 || !spec || spec->clone)
		return r;
	if (!spec->git.root)
		return err_usage(&cli->err,
				 "sandbox '%s' has no git directory of its own: what it did is in "
				 "'%s'",
				 name, spec->workspace);
	ret->root = xstrdup(spec->git.root);
	return 0;
}
