#include "loop/tree/modules.h"

#include <string.h>

#include "base/text/quote-word.h"
#include "loop/loop.h"
#include "repo/repo-modules.h"

#define PATH_SHOWN_MAX (64 * KiB)
#define TAKE "to take what agents do to submodules: --submodules take"

struct modules {
	struct loop *l;
	enum repo_module_flags flags;
	size_t done;
};

static int put_back(void *arg, struct repo *module, const char *path, json_t *noted,
		    struct err *err)
{
	struct modules *m = arg;
	cleanup_free char *kept = NULL;
	bool done = false;
	int r = repo_module_put_back(module, m->l->build.spec->name, m->flags, noted, &kept, &done,
				     err);

	if (done) {
		m->done++;
		show_line(&m->l->show, STYLE_YELLOW, "submodule '%s' is put back%s%s; " TAKE, path,
			  kept ? "; what was there is kept in it at " : "", kept ? kept : "");
	}
	return r;
}

/* The commits go on from the submodule's own: its branch, or its HEAD, moves to them. */
static int take(void *arg, struct repo *module, const char *path, json_t *noted, struct err *err)
{
	struct modules *m = arg;
	struct loop *l = m->l;
	cleanup_(repo_proposal_done) struct repo_proposal p = {0};
	int r = repo_proposal(module, l->build.spec->name, &p, err);

	if (r < 0 || !p.commit.hex[0] || p.apart)
		return r;
	r = proposal_advance(l, repo_root(module), &p, p.commit.hex, err);
	return r == 0 ? repo_proposal_settle(module, l->build.spec->name, p.commit.hex, NULL, err)
		      : r;
}

/* A submodule in which the user had uncommitted files is not put back: names the command for it. */
static void tell_remedy(struct loop *l, const struct repo_check_result *c)
{
	for (size_t i = 0; i < c->n_findings; i++) {
		cleanup_buf struct buf b;

		buf_init(&b, PATH_SHOWN_MAX);
		if (!streq(c->findings[i].rule, "submodule"))
			continue;
		quote_word(&b, c->findings[i].path);
		show_line(&l->show, STYLE_YELLOW,
			  "the submodule is as it was in the commit; its files come back with: git "
			  "submodule update --force -- %s; " TAKE,
			  buf_str(&b));
		return;
	}
}

int modules_put_back(struct loop *l, const struct repo_check_result *c, struct err *err)
{
	struct modules m = {.l = l, .flags = REPO_MODULE_FILES};
	int r = repo_modules_each(l->repo, put_back, &m, err);

	if (r == 0 && m.done == 0)
		tell_remedy(l, c);
	return r;
}

int modules_settle(struct loop *l, struct err *err)
{
	struct modules m = {.l = l};

	return repo_modules_each(l->repo, l->config->loop.submodules ? take : put_back, &m, err);
}
