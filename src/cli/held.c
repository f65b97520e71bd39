#include "cli/held.h"

#include <stdlib.h>
#include <string.h>

#include "base/text/term.h"
#include "compose/build.h"
#include "live/git-repo.h"
#include "record/store.h"
#include "workspace/gitdir.h"
#include "workspace/private/private-git.h"

void held_done(struct held *h)
{
	places_done(&h->places);
	free(h->root);
	strv_done(&h->named);
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
	return build_named(&ret->places, &git, &ret->named, &cli->err);
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
	strv_extend(&ret->named, &spec->git.named);
	return 0;
}

int held_ask(struct cli *cli, const struct held *h, const char *const *args, json_t **ret)
{
	cleanup_strv struct strv all = {0};

	for (; *args; args++)
		strv_push(&all, *args);
	strv_extend(&all, &h->named);
	return git_repo_ask(&h->places, (const char *const *)all.v, ret, &cli->err);
}

void held_print_ref(const json_t *row, FILE *out)
{
	static const char below[] = "modules/", branch[] = "heads/";
	const char *module = json_string_value(json_object_get(row, "module"));
	const char *ref = json_string_value(json_object_get(row, "ref"));

	if (module) {
		bool plain = strncmp(module, below, strlen(below)) == 0;

		term_puts(out, plain ? module + strlen(below) : module);
		(void)fputs(": ", out);
	}
	term_puts(out,
		  ref && strncmp(ref, branch, strlen(branch)) == 0 ? ref + strlen(branch) : ref);
}

void held_print_protected(const json_t *row, const char *indent, FILE *out)
{
	json_t *file;
	size_t i;

	json_array_foreach (json_object_get(row, "protected"), i, file) {
		(void)fputs(indent, out);
		term_puts(out, json_string_value(json_object_get(file, "path")));
		(void)fprintf(out, ": %s\n", json_string_value(json_object_get(file, "why")));
	}
}
