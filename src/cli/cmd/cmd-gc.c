#include "cli/frame/command.h"
#include "cli/commands.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/json/json.h"
#include "base/path.h"
#include "base/text/term.h"
#include "config/trust.h"
#include "live/dead.h"
#include "live/live.h"
#include "record/home.h"
#include "record/runtime.h"
#include "record/store.h"

struct gc_args {
	bool dry_run, json;
};

#define AT(member) offsetof(struct gc_args, member)

static const struct opt gc_opts[] = {
	{"dry-run", 'n', OPT_BOOL, AT(dry_run), NULL,
	 "say what would be removed, and remove nothing"},
	{"json", 0, OPT_BOOL, AT(json), NULL, "print JSON"},
};

struct gc {
	const struct places *p;
	bool dry, json;
	json_t *rows;
	struct err *err;
};

static void report(struct gc *g, const char *what, const char *path)
{
	if (g->json) {
		(void)json_array_append_new(g->rows,
					    json_pack("{ss so sb}", "what", what, "path",
						      json_text(path), "removed", !g->dry));
		return;
	}
	(void)printf("%s %s: ", g->dry ? "would remove" : "removed", what);
	term_puts(stdout, path);
	(void)putchar('\n');
}

static int remove_all(struct gc *g, const struct strv *paths, const char *what)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < paths->n; i++) {
		if (!g->dry)
			r = path_remove_tree(AT_FDCWD, paths->v[i], g->err);
		if (r == 0)
			report(g, what, paths->v[i]);
	}
	return r;
}

/* Records and homes whose removal was killed half-way. */
static int leftovers(struct gc *g)
{
	cleanup_strv struct strv records = {0}, of_homes = {0};
	int r = store_leftovers(g->p, &records, g->err);

	if (r == 0)
		r = home_leftovers(g->p, &of_homes, g->err);
	if (r == 0)
		r = remove_all(g, &records, "half-removed sandbox");
	return r < 0 ? r : remove_all(g, &of_homes, "half-removed home");
}

/* Clears away the remains of sandboxes whose supervisor was killed. */
static int killed(struct gc *g, const struct strv *names)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < names->n; i++) {
		bool found = false;

		r = g->dry ? dead_find(g->p, names->v[i], &found, g->err)
			   : dead_clean(g->p, names->v[i], 0, &found, g->err);
		if (r == -ENOENT)
			r = 0; /* removed meanwhile */
		if (r == 0 && found)
			report(g, "remains of a killed supervisor", names->v[i]);
	}
	return r;
}

/* Sockets of sandboxes that have no record any more. */
static int sockets(struct gc *g)
{
	cleanup_strv struct strv names = {0};
	int r = runtime_list(g->p, &names, g->err);

	for (size_t i = 0; r == 0 && i < names.n; i++) {
		cleanup_store struct store_entry e = STORE_ENTRY_INIT;
		struct err ignored = {0};
		int conn = -1;

		/* A socket that answers belongs to a record under another state directory. */
		if (store_open(g->p, names.v[i], false, &e, &ignored) != -ENOENT ||
		    runtime_connect(g->p, names.v[i], &conn, &ignored) < 0 || conn >= 0) {
			closep(&conn);
			continue;
		}
		if (!g->dry)
			runtime_remove(g->p, names.v[i]);
		report(g, "socket without a sandbox", names.v[i]);
	}
	return r;
}

/* Trust in projects that are not there any more. */
static int trusts(struct gc *g)
{
	cleanup_free char *dir = path_join(g->p->state, "trust");
	struct trust *all = NULL;
	size_t n = 0;
	int r = trust_list(dir, &all, &n, g->err);

	for (size_t i = 0; r == 0 && i < n; i++) {
		struct stat st;

		if (lstat(all[i].project, &st) == 0 || (errno != ENOENT && errno != ENOTDIR))
			continue;
		if (!g->dry)
			r = trust_revoke(dir, all[i].project, g->err);
		if (r == 0 || r == -ENOENT)
			report(g, "trust in a project that is gone", all[i].project);
		r = r == -ENOENT ? 0 : r;
	}
	trust_list_free(all, n);
	return r;
}

/* Only the user removes these: they hold conversations. They are listed with -n. */
static void offer(struct gc *g, const char *what, const char *key, const char *of)
{
	cleanup_free char *path = home_path(g->p, key);

	if (g->json) {
		(void)json_array_append_new(g->rows, json_pack("{ss so sb ss}", "what", what,
							       "path", json_text(path), "removed",
							       0, "remove", key));
		return;
	}
	(void)printf("keeps %s: ", what);
	term_puts(stdout, path);
	if (of) {
		(void)fputs(", of ", stdout);
		term_puts(stdout, of);
	}
	(void)printf("; to remove it: ralph rm --home %s\n", key);
}

/* ralph has no command for these: nothing of it uses them. */
static int volumes(struct gc *g)
{
	static const char what[] = "what agents in containers of version 0.2 remembered";
	cleanup_strv struct strv paths = {0};
	int r = home_list_volumes(g->p, &paths, g->err);

	for (size_t i = 0; r == 0 && i < paths.n; i++) {
		if (g->json) {
			(void)json_array_append_new(g->rows,
						    json_pack("{ss so sb}", "what", what, "path",
							      json_text(paths.v[i]), "removed", 0));
			continue;
		}
		(void)printf("keeps %s: ", what);
		term_puts(stdout, paths.v[i]);
		(void)fputs("; to remove it: rm -r that directory\n", stdout);
	}
	return r;
}

static bool is_gone(const char *path)
{
	struct stat st;

	return lstat(path, &st) < 0 && (errno == ENOENT || errno == ENOTDIR);
}

/* Offers the rests of homes that belonged to sandboxes, and homes of projects that are gone. */
static int homes(struct gc *g)
{
	cleanup_strv struct strv old = {0}, keys = {0};
	int r = home_list_old(g->p, &old, g->err);

	if (r == 0)
		r = home_list(g->p, &keys, g->err);
	for (size_t i = 0; r == 0 && i < old.n; i++) {
		cleanup_free char *key = path_join("old", old.v[i]);

		offer(g, "the rest of an old home", key, NULL);
	}
	for (size_t i = 0; r == 0 && i < keys.n; i++) {
		cleanup_free char *project = home_project(g->p, keys.v[i]);

		if (project && is_gone(project))
			offer(g, "the home of a project that is gone", keys.v[i], project);
	}
	return r;
}

static int cmd_gc_run(struct cli *cli, void *args_, int argc, char **argv)
{
	const struct gc_args *args = args_;
	cleanup_(places_done) struct places p = {0};
	cleanup_json json_t *rows = json_array();
	cleanup_strv struct strv names = {0};
	struct gc g = {
		.p = &p,
		.dry = args->dry_run || cli->dry_run,
		.json = args->json,
		.rows = rows,
		.err = &cli->err,
	};
	int r = places_find(&p, &cli->err);

	if (r == 0)
		r = leftovers(&g);
	if (r == 0)
		r = store_names(&p, &names, &cli->err);
	if (r == 0)
		r = killed(&g, &names);
	if (r == 0)
		r = sockets(&g);
	if (r == 0)
		r = trusts(&g);
	if (r == 0 && g.dry)
		r = homes(&g);
	if (r == 0 && g.dry)
		r = volumes(&g);
	if (r == 0 && args->json) {
		(void)json_show(rows, stdout, JSON_INDENT(2));
		(void)putchar('\n');
	}
	return r;
}

const struct command cmd_gc = {
	.name = "gc",
	.summary = "remove files that no sandbox needs any more",
	.details =
		"What was killed half-way left behind: removals, sockets, cgroups; and trust in\n"
		"projects that are gone. No sandbox is removed: that is 'ralph prune'. With -n,\n"
		"homes that nothing uses any more are listed; 'ralph rm --home' removes them.",
	.group = GROUP_MANAGE,
	.flags = CMD_DRY_RUN,
	OPTIONS(gc_opts, struct gc_args),
	.run = cmd_gc_run,
};
