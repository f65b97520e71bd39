#include "cli/frame/command.h"
#include "cli/commands.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/path.h"
#include "base/text/term.h"
#include "cli/for-each-sandbox.h"
#include "cli/losses.h"
#include "cli/terminal/ask.h"
#include "compose/build.h"
#include "live/live.h"
#include "record/home.h"
#include "record/store.h"
#include "workspace/gitdir.h"
#include "workspace/nested.h"

#define LOCK_MS 2000 /* for a sandbox that is ending */
#define OLD "old/"

struct rm_args {
	bool all, force, home;
};

#define AT(member) offsetof(struct rm_args, member)

static const struct opt rm_opts[] = {
	{"all", 'a', OPT_BOOL, AT(all), NULL, "remove every sandbox, running ones too"},
	{"force", 'f', OPT_BOOL, AT(force), NULL, "also when it is running; ends its commands"},
	{"home", 0, OPT_BOOL, AT(home), NULL, "remove the project's home too; asks first"},
};

/* Git directories that appeared may be the user's: they stay. */
static void tell_kept(const struct places *p, const char *name)
{
	cleanup_(nested_done) struct nested_list l = {0};
	struct err ignored;
	size_t n = 0;

	if (nested_find(p, NULL, &l, &ignored) < 0)
		return;
	for (size_t i = 0; i < l.n; i++)
		n += streq(l.v[i].sandbox, name);
	if (n)
		log_warn("rm", "%zu git %s that appeared while '%s' ran %s kept; see: ralph adopt",
			 n, n == 1 ? "directory" : "directories", name, n == 1 ? "is" : "are");
}

static int rm_one(const struct places *p, const char *name, void *args_, struct err *err)
{
	const struct rm_args *args = args_;

	int r = live_remove(p, name, args->force || args->all, true, err);

	if (r == 0)
		tell_kept(p, name);
	return r;
}

/* On a terminal: says what goes for good and asks. A script said what it wants. */
static int ask_first(struct cli *cli, const struct places *p, const struct strv *names, void *args_)
{
	const struct rm_args *args = args_;
	cleanup_strv struct strv lost = {0};
	bool yes = true;
	int r = cli->yes || !ask_possible() ? 0 : losses_find(p, names, &lost, &cli->err);

	if (r < 0 || cli->yes || !ask_possible() || names->n == 0 || (lost.n == 0 && !args->all))
		return r;
	if (args->all)
		(void)fprintf(stderr, "ralph: this removes %zu %s\n", names->n,
			      names->n == 1 ? "sandbox" : "sandboxes");
	for (size_t i = 0; i < lost.n; i++) {
		(void)fputs("ralph: ", stderr);
		term_puts(stderr, lost.v[i]);
		(void)fputc('\n', stderr);
	}
	r = ask("Remove for good?", false, &yes, &cli->err);
	return r < 0 || yes ? r
			    : err_set(&cli->err, ECANCELED, "not confirmed: nothing is removed");
}

/* ---- homes ---- */

static bool is_there(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

/* The key of the home that a sandbox shares; NULL: it has none. */
static char *key_of(const struct places *p, const char *name)
{
	cleanup_(spec_freep) struct sandbox_spec *spec = NULL;
	cleanup_store struct store_entry e = STORE_ENTRY_INIT;
	struct err ignored;

	if (store_open(p, name, false, &e, &ignored) < 0 ||
	    store_read_spec(&e, &spec, &ignored) < 0 || !spec->home_key)
		return NULL;
	return xstrdup(spec->home_key);
}

/* The key of the home of the project here. */
static int key_here(const struct places *p, struct strv *ret, struct err *err)
{
	const struct build_input in = {.places = p};
	cleanup_(spec_freep) struct sandbox_spec *s = spec_new();
	cleanup_(gitdir_done) struct gitdir g = {0};
	int r = build_identity(&in, s, err);

	if (r == 0)
		r = gitdir_find(s->workspace, p->home, &g, err);
	if (r == 0)
		strv_take(ret, home_key(g.common ? g.common : s->workspace, s->instance));
	return r;
}

/* An operand is a sandbox, whose project's home is meant, or a home as `ralph gc -n` lists it. */
static int add_operand(const struct places *p, const char *name, struct strv *names,
		       struct strv *homes, struct err *err)
{
	cleanup_free char *path = home_path(p, name), *key = NULL;
	bool is_old = strncmp(name, OLD, strlen(OLD)) == 0 && !strchr(name + strlen(OLD), '/') &&
		      name[strlen(OLD)] != '.';

	if (is_old || (home_is_key(name) && is_there(path))) {
		if (!is_there(path))
			return err_usage(err, "there is no home '%s'; see: ralph gc -n", name);
		strv_push(homes, name);
		return 0;
	}
	strv_push(names, name);
	key = key_of(p, name);
	if (key && !strv_has(homes, key))
		strv_push(homes, key);
	return 0;
}

static int list_homes(const struct places *p, struct strv *ret, struct err *err)
{
	cleanup_strv struct strv old = {0};
	int r = home_list(p, ret, err);

	if (r == 0)
		r = home_list_old(p, &old, err);
	for (size_t i = 0; i < old.n; i++)
		strv_take(ret, xasprintf(OLD "%s", old.v[i]));
	return r;
}

static int find_homes(struct cli *cli, const struct rm_args *args, const struct places *p, int argc,
		      char **argv, struct strv *names, struct strv *homes)
{
	int r = 0;

	for (int i = 0; r == 0 && i < argc; i++)
		r = add_operand(p, argv[i], names, homes, &cli->err);
	if (args->all && argc > 0)
		return cli_usage(cli, "--all and names exclude each other");
	if (args->all) {
		r = list_homes(p, homes, &cli->err);
		return r < 0 ? r : store_list(p, names, &cli->err);
	}
	return r == 0 && argc == 0 ? key_here(p, homes, &cli->err) : r;
}

static void show_home(const struct places *p, const char *key)
{
	cleanup_free char *path = home_path(p, key), *project = home_project(p, key);

	(void)fputs("ralph: the home ", stderr);
	term_puts(stderr, path);
	if (project) {
		(void)fputs(" of ", stderr);
		term_puts(stderr, project);
	}
	(void)fputs(", with its conversations\n", stderr);
}

static int confirm(struct cli *cli, const struct places *p, const struct strv *homes)
{
	bool yes = cli->yes;
	int r = 0;

	for (size_t i = 0; !yes && i < homes->n; i++)
		show_home(p, homes->v[i]);
	if (!yes && !ask_possible())
		return err_usage(&cli->err,
				 "there is no terminal to ask on; if you agree, add --yes");
	if (!yes)
		r = ask("Remove for good?", false, &yes, &cli->err);
	return r < 0 || yes ? r
			    : err_set(&cli->err, ECANCELED, "not confirmed: nothing is removed");
}

static int rm_home(const struct places *p, const char *key, struct err *err)
{
	cleanup_free char *path = home_path(p, key);
	cleanup_fd int lock = -1;
	int r;

	if (strncmp(key, OLD, strlen(OLD)) == 0)
		return path_remove_tree(AT_FDCWD, path, err);
	if (!is_there(path))
		return err_set(err, ENOENT, "there is no home '%s'", path);
	r = home_lock_alone(p, key, LOCK_MS, &lock, err);
	if (r == -EBUSY)
		return err_set(err, EBUSY,
			       "a running sandbox has the home '%s'; stop it first: ralph ls", key);
	return r < 0 ? r : home_remove(p, key, err);
}

static int rm_homes(struct cli *cli, const struct rm_args *args, int argc, char **argv)
{
	cleanup_strv struct strv names = {0}, homes = {0};
	cleanup_(places_done) struct places p = {0};
	int r = places_find(&p, &cli->err);

	if (r == 0)
		r = find_homes(cli, args, &p, argc, argv, &names, &homes);
	if (r == 0)
		r = confirm(cli, &p, &homes);
	if (r == 0 && names.n)
		r = for_each_sandbox(cli, false, (int)names.n, names.v, rm_one,
				     (void *)(uintptr_t)args);
	for (size_t i = 0; r == 0 && i < homes.n; i++) {
		r = rm_home(&p, homes.v[i], &cli->err);
		if (r == 0)
			(void)puts(homes.v[i]);
	}
	return r;
}

static int cmd_rm_run(struct cli *cli, void *args_, int argc, char **argv)
{
	const struct rm_args *args = args_;

	if (args->home)
		return rm_homes(cli, args, argc, argv);
	return for_each_asked(cli, args->all, argc, argv, ask_first, rm_one, args_);
}

const struct command cmd_rm = {
	.name = "rm",
	.operands = "NAME…",
	.summary = "remove sandboxes; the workspaces and the project's home stay",
	.details = "With --home, the home of their project goes too, with all its conversations:\n"
		   "of the project here when no NAME is given. It asks first; --yes answers.\n"
		   "On a terminal, ralph also asks before work in a clone or a loop's sandbox\n"
		   "goes, and with --all.",
	.group = GROUP_MANAGE,
	OPTIONS(rm_opts, struct rm_args),
	.max_operands = OPERANDS_ANY,
	.complete = COMPLETE_SANDBOX,
	.run = cmd_rm_run,
};
