#include "cli/frame/command.h"
#include "cli/commands.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/path.h"
#include "base/text/quote-word.h"
#include "cli/agent-choice.h"
#include "cli/terminal/ask.h"
#include "cli/settings.h"
#include "cli/project-trust.h"
#include "config/trust.h"

#define DIR_NAME ".ralph"
#define TEMPLATE_MAX (256 * KiB)

/* The files that `ralph init` copies from DATA/init into .ralph. */
static const struct {
	const char *template, *name;
} files[] = {
	{"gitignore", ".gitignore"},	      {"prompt.md", "prompt.md"},
	{"PROMPT_plan.md", "PROMPT_plan.md"}, {"prd.json", "prd.json"},
	{"progress.txt", "progress.txt"},
};

/* Lists of work that are there already: then an example would only be in their way. */
static const char *const lists[] = {
	"prd.json", "ralph/prd.json", "scripts/ralph/prd.json", "plans/prd.json",
	"plan.md",  "PLAN.md",	      "IMPLEMENTATION_PLAN.md"};

/* By which file a language is known, and what work in it needs; see data/profiles. */
struct language {
	const char *file, *profile, *group;
};

static const struct language languages[] = {
	{"package.json", "node", "@npm"},      {"Cargo.toml", "rust", "@crates"},
	{"pyproject.toml", "python", "@pypi"}, {"requirements.txt", "python", "@pypi"},
	{"setup.py", "python", "@pypi"},       {"go.mod", "go", "@go"},
};

struct init {
	struct cli *cli;
	struct settings_sources from;
	const char *path; /* that was typed; NULL: the current directory */
	char *workspace;
	int root, dir;
};

static bool there(const struct init *in, const char *rel)
{
	struct stat st;

	return fstatat(in->root, rel, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static void say(const struct init *in, const char *what, const char *name)
{
	(void)printf("%s %s/%s\n", what, DIR_NAME, name);
}

/* Never over what is there. */
static int put(const struct init *in, const char *name, const struct buf *text)
{
	struct err *err = &in->cli->err;
	cleanup_fd int fd = -1;
	int r;

	if (in->cli->dry_run) {
		cleanup_free char *rel = path_join(DIR_NAME, name);

		say(in, there(in, rel) ? "keeps" : "would write", name);
		return 0;
	}
	fd = path_open_beneath(in->dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0644);
	if (fd == -EEXIST) {
		say(in, "keeps", name);
		return 0;
	}
	r = fd < 0 ? fd : fd_write_all(fd, text->data, text->len);
	if (r < 0)
		return err_sys(err, -r, "cannot write '%s/%s'", DIR_NAME, name);
	say(in, "wrote", name);
	return 1;
}

static int put_template(const struct init *in, const char *template, const char *name)
{
	cleanup_free char *dir = path_join(in->from.places.data, "init");
	cleanup_free char *path = path_join(dir, template);
	cleanup_buf struct buf text;
	int r;

	buf_init(&text, TEMPLATE_MAX);
	r = path_read(AT_FDCWD, path, &text);
	if (r < 0)
		return err_sys(&in->cli->err, -r,
			       "cannot read '%s'; is ralph installed completely?", path);
	r = put(in, name, &text);
	return r < 0 ? r : 0;
}

static const char *other_list(const struct init *in)
{
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		if (there(in, lists[i]))
			return lists[i];
	return NULL;
}

static int put_templates(const struct init *in)
{
	const char *list = other_list(in);
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(files); i++) {
		if (list && streq(files[i].name, "prd.json")) {
			(void)printf("keeps %s: that is the list of work here\n", list);
			continue;
		}
		r = put_template(in, files[i].template, files[i].name);
	}
	return r;
}

/* The languages that are found, each once: how they were known, and what they need. */
struct found {
	struct strv files, profiles, groups;
};

static void look_for_languages(const struct init *in, struct found *f)
{
	for (size_t i = 0; i < ARRAY_SIZE(languages); i++) {
		const struct language *l = &languages[i];

		if (!there(in, l->file) || strv_has(&f->profiles, l->profile))
			continue;
		strv_push(&f->files, l->file);
		strv_push(&f->profiles, l->profile);
		strv_push(&f->groups, l->group);
	}
}

static void put_words(struct buf *b, const struct strv *v, const char *between)
{
	for (size_t i = 0; i < v->n; i++)
		(void)buf_printf(b, "%s%s", i ? between : "", v->v[i]);
}

static char *words(const struct strv *v, const char *between)
{
	struct buf b;

	buf_init(&b, 4 * KiB);
	put_words(&b, v, between);
	return buf_take(&b);
}

/* For one language the file names its profile; for several it lists the groups of all of them. */
static void policy_text(const struct found *f, struct buf *b)
{
	if (f->profiles.n == 1) {
		(void)buf_printf(b, "profile: %s\n", f->profiles.v[0]);
		return;
	}
	(void)buf_puts(b, "network:\n  tier: allowlist\n  allow:\n");
	for (size_t i = 0; i < f->groups.n; i++)
		(void)buf_printf(b, "    - \"%s\"\n", f->groups.v[i]);
	(void)buf_puts(b, "    - \"@github\"\n");
}

/* The user has agreed to what was just written, and to nothing else. */
static int trust_policy(struct init *in)
{
	cleanup_trust struct trust_state t = {0};
	int r = trust_look(&in->from.places, &in->from.src, &t, &in->cli->err);

	if (r < 0 || !t.project || t.trusted || t.n_widenings == 0)
		return r;
	return trust_set(t.dir, t.project, buf_str(&t.text), t.text.len, &in->cli->err);
}

/* Asks for the network that the languages need; *ret_yes: it is allowed. */
static int offer_policy(const struct init *in, const struct found *f, bool *ret_yes)
{
	cleanup_free char *groups = words(&f->groups, " "), *found = words(&f->files, ", ");
	cleanup_free char *question =
		xasprintf("There is %s: let sandboxes here reach %s and @github?", found, groups);
	int r = 0;

	*ret_yes = f->files.n > 0 && in->cli->yes;
	if (f->files.n == 0)
		return 0;
	if (!*ret_yes && ask_possible() && !in->cli->dry_run)
		r = ask(question, true, ret_yes, &in->cli->err);
	if (r == 0 && !*ret_yes)
		(void)printf("no network policy: %s was found; 'ralph init --yes' allows %s and "
			     "@github\n",
			     found, groups);
	return r;
}

/* The agent that a loop here would take, unless the user's settings name one: it is written down, so
 * that a second agent on this machine changes nothing here. */
static const struct agent *find_agent(struct init *in)
{
	cleanup_(config_freep) struct config *c = NULL;
	struct err ignored = {0};

	if (config_load(&in->from.src, &c, &ignored) < 0 ||
	    !streq(config_origin(c, "agent"), "default"))
		return NULL;
	return agent_only(&in->from.places, c, in->workspace);
}

static int put_config(struct init *in)
{
	const struct agent *agent = NULL;
	struct found f = {0};
	bool yes = false;
	struct buf text;
	int r;

	look_for_languages(in, &f);
	buf_init(&text, TEMPLATE_MAX);
	if (there(in, DIR_NAME "/config.yaml")) {
		say(in, "keeps", "config.yaml");
		r = 0;
		goto out;
	}
	r = offer_policy(in, &f, &yes);
	agent = find_agent(in);
	if (r < 0 || (!yes && !agent))
		goto out;
	(void)buf_puts(&text, "# By 'ralph init'. See ralph-config(5).\n");
	if (agent)
		(void)buf_printf(&text, "agent: %s\n", agent->name);
	if (yes)
		policy_text(&f, &text);
	r = put(in, "config.yaml", &text);
	if (r > 0)
		r = trust_policy(in);
	if (r >= 0 && agent)
		(void)printf("agent: %s, the only one that is installed and logged in\n",
			     agent->name);
out:
	buf_done(&text);
	strv_done(&f.files);
	strv_done(&f.profiles);
	strv_done(&f.groups);
	return r;
}

static int open_dirs(struct init *in)
{
	struct err *err = &in->cli->err;

	in->root = open(in->workspace, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (in->root < 0)
		return err_sys(err, errno, "cannot open '%s'", in->workspace);
	if (in->cli->dry_run)
		return 0;
	if (mkdirat(in->root, DIR_NAME, 0755) < 0 && errno != EEXIST)
		return err_sys(err, errno, "cannot make '%s'", DIR_NAME);
	in->dir = path_open_beneath(in->root, DIR_NAME, O_RDONLY | O_DIRECTORY, 0);
	if (in->dir < 0)
		return err_sys(err, -in->dir,
			       "cannot open '%s', which must be a directory and no link", DIR_NAME);
	return 0;
}

static void say_next(const struct init *in)
{
	const char *list = other_list(in);
	cleanup_buf struct buf place;

	buf_init(&place, 4 * PATH_MAX + 16);
	if (in->path) {
		(void)buf_puts(&place, " ");
		quote_word(&place, in->path);
	}
	if (!there(in, ".git"))
		log_warn("init",
			 "this is no git repository, and the loop works with commits: git init");
	if (!in->cli->dry_run)
		(void)printf("edit %s: %s\nnext: ralph build%s\n", list ? list : ".ralph/prd.json",
			     list ? "that is the list of work" : "it is an example",
			     buf_str(&place));
}

static int cmd_init_run(struct cli *cli, void *args, int argc, char **argv)
{
	struct init in = {.cli = cli, .path = argc > 0 ? argv[0] : NULL, .root = -1, .dir = -1};
	int r = path_real(in.path ? in.path : ".", &in.workspace, &cli->err);

	if (r == 0)
		r = settings_sources_find(cli, in.workspace, &in.from);
	if (r == 0)
		r = open_dirs(&in);
	if (r == 0)
		r = put_templates(&in);
	if (r == 0)
		r = put_config(&in);
	if (r == 0)
		say_next(&in);
	settings_sources_done(&in.from);
	free(in.workspace);
	closep(&in.root);
	closep(&in.dir);
	return r;
}

const struct command cmd_init = {
	.name = "init",
	.operands = "[PATH]",
	.summary = "prepare a project for unattended work",
	.details = "Writes .ralph with a prompt, an example of a list of work, a file for what\n"
		   "iterations learn, and what git is to ignore. Nothing that is there is\n"
		   "changed. Where it finds a language, it offers the network that work in it\n"
		   "needs; it asks on a terminal only, and --yes is yes.",
	.group = GROUP_LOOP,
	.flags = CMD_DRY_RUN,
	.max_operands = 1,
	.complete = COMPLETE_DIR,
	.run = cmd_init_run,
};
