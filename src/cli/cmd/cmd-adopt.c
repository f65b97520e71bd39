#include "cli/frame/command.h"
#include "cli/commands.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/text/table.h"
#include "cli/adopt-stream.h"
#include "cli/terminal/ask.h"
#include "live/live.h"
#include "policy/git-admit.h"
#include "record/store.h"
#include "workspace/quarantine.h"

#define CONFIG_MAX (1 * MiB)
#define ANSWER_MAX (4 * MiB)
#define IMPORT_MS (20 * 60 * 1000)
#define HEAD_MAX 1024

extern char **environ;

struct adopt_args {
	bool mine, drop, json;
};

#define AT(member) offsetof(struct adopt_args, member)

static const struct opt adopt_opts[] = {
	{"mine", 0, OPT_BOOL, AT(mine), NULL, "it is yours: put it back as it was"},
	{"drop", 0, OPT_BOOL, AT(drop), NULL, "remove it for good"},
	{"json", 0, OPT_BOOL, AT(json), NULL, "without PATH: print JSON"},
};

/* ---- which one ---- */

/* Does somebody who says `said` mean `path`? The directory that holds it will do, and then .git
 * comes before anything else in there. */
static bool means(const char *path, const char *said, const char *rest)
{
	size_t n = strlen(said);

	if (n && said[n - 1] == '/')
		n--;
	return strncmp(path, said, n) == 0 && streq(path + n, rest);
}

static const struct nested *find(const struct nested_list *l, const char *said)
{
	static const char *const rests[] = {"", "/.git", "/.GIT", "/HEAD"};
	cleanup_free char *cwd = getcwd(NULL, 0);
	cleanup_free char *absolute = path_plain(cwd ? cwd : "/", said);

	for (size_t k = 0; k < ARRAY_SIZE(rests); k++)
		for (size_t i = l->n; i-- > 0;)
			if (streq(l->v[i].id, said) || means(l->v[i].path, absolute, rests[k]) ||
			    means(nested_name(&l->v[i]), said, rests[k]))
				return &l->v[i];
	return NULL;
}

/* ---- nothing runs there ---- */

static bool can_write(const struct sandbox_spec *spec, const char *root)
{
	for (size_t i = 0; i < spec->n_mounts; i++) {
		const struct spec_mount *m = &spec->mounts[i];

		if (m->kind == SPEC_BIND_RW && m->source &&
		    (path_under(m->source, root) || path_under(root, m->source)))
			return true;
	}
	return false;
}

static int check_live(const struct places *p, const char *name, const char *root, struct err *err)
{
	cleanup_(spec_freep) struct sandbox_spec *spec = NULL;
	cleanup_store struct store_entry e = STORE_ENTRY_INIT;
	cleanup_fd int conn = -1;
	struct err ignored;

	if (live_connect_any(p, name, &conn, &ignored) < 0 || conn < 0 ||
	    store_open(p, name, false, &e, &ignored) < 0 ||
	    store_read_spec(&e, &spec, &ignored) < 0 || !can_write(spec, root))
		return 0;
	return err_set(err, EBUSY, "sandbox '%s' works in '%s'; run: ralph stop %s", name, root,
		       name);
}

/* Whoever runs inside could change the place while it is filled. */
static int check_quiet(const struct places *p, const char *root, struct err *err)
{
	cleanup_strv struct strv names = {0};
	int r = store_names(p, &names, err);

	for (size_t i = 0; r == 0 && i < names.n; i++)
		r = check_live(p, names.v[i], root, err);
	return r;
}

/* ---- taking it over ---- */

static int confirm(struct cli *cli, const struct nested *n)
{
	cleanup_free char *question =
		xasprintf("Did you make '%s'? Its hooks and settings will run again.", n->path);
	bool yes = true;
	int r = cli->yes || !ask_possible() ? 0 : ask(question, false, &yes, &cli->err);

	if (r == 0 && !yes)
		r = err_set(&cli->err, ECANCELED,
			    "it stays put away; without --mine its commits "
			    "are taken and nothing else");
	return r;
}

static int put_back(struct cli *cli, const struct places *p, const struct nested *n)
{
	int r = confirm(cli, n);

	if (r == 0)
		r = quarantine_release(p, SHELF_NESTED, n->id, &cli->err);
	if (r == 0) {
		term_puts(stdout, n->path);
		(void)putchar('\n');
	}
	return r;
}

static int drop(struct cli *cli, const struct places *p, const struct nested *n)
{
	cleanup_free char *question = xasprintf("Remove '%s' for good?", n->path);
	bool yes = true;
	int r = cli->yes || !ask_possible() ? 0 : ask(question, false, &yes, &cli->err);

	return r < 0 || !yes ? r : quarantine_drop(p, SHELF_NESTED, n->id, &cli->err);
}

/* The files are in the directory that holds .git. A bare one, a pointer and a link have none. */
static int find_files(const struct nested *n, int entry, char **ret, struct err *err)
{
	struct stat st;

	if (strcasecmp(path_base(n->path), ".git") != 0 ||
	    fstatat(entry, "content", &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(st.st_mode))
		return err_set(err, ENOTSUP,
			       "'%s' is no repository with files of its own; if it is yours: ralph "
			       "adopt --mine %s",
			       n->path, n->id);
	*ret = path_dir(n->path);
	return 0;
}

/* The agent's settings are read as text, and hardly any is taken. */
static void read_settings(int entry, struct buf *out)
{
	cleanup_buf struct buf text;
	struct stat st;

	buf_init(&text, CONFIG_MAX);
	if (fstatat(entry, "content/config", &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !S_ISREG(st.st_mode) || path_read(entry, "content/config", &text) < 0 ||
	    git_admit_remotes(buf_str(&text), text.len, out) < 0)
		buf_clear(out);
}

/* The branch that HEAD names inside, for the new repository to begin with. */
static char *read_head(int stream)
{
	static const char word[] = "HEAD ", heads[] = "refs/heads/";
	char text[HEAD_MAX];
	ssize_t n = pread(stream, text, sizeof(text) - 1, 0);
	char *name = text + strlen(word);

	text[n > 0 ? n : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	if (strncmp(text, word, strlen(word)) != 0 || strncmp(name, heads, strlen(heads)) != 0 ||
	    !git_ref_is_valid(name))
		return xstrdup("refs/heads/main");
	return xstrdup(name);
}

static int import(const struct places *p, const struct nested *n, const char *dir, int stream,
		  const char *settings, json_t **ret, struct err *err)
{
	cleanup_free char *program = places_program(p, "repo"), *head = read_head(stream);
	cleanup_free char *text = NULL;
	const char *const argv[] = {program, "adopt", dir, n->sandbox, head, settings, NULL};
	struct run run = RUN_INIT;
	int code = 0, r;

	run.argv = (char *const *)argv;
	run.env = environ;
	run.stdio[0] = stream;
	run.stdio[2] = STDERR_FILENO;
	r = run_collect(&run, IMPORT_MS, ANSWER_MAX, &text, &code, err);
	if (r == 0 && code != 0)
		r = err_set(err, EIO, "the commits of '%s' were not taken; it stays put away",
			    n->path);
	return r < 0 ? r : json_parse(text, strlen(text), ret, err);
}

static void print_rows(const json_t *rows, const char *word)
{
	json_t *row;
	size_t i;

	json_array_foreach (rows, i, row) {
		const char *ref = json_string_value(json_object_get(row, "ref"));

		(void)printf("%s ", word);
		term_puts(stdout, ref ? ref : "?");
		(void)putchar('\n');
	}
}

static int make_anew(struct cli *cli, const struct places *p, const struct nested *n, int entry,
		     const char *dir)
{
	cleanup_fd int stream = -1;
	cleanup_json json_t *result = NULL;
	cleanup_buf struct buf settings;
	int r = adopt_stream(p, n, dir, &stream, &cli->err);

	buf_init(&settings, CONFIG_MAX);
	if (r < 0)
		return r;
	read_settings(entry, &settings);
	r = import(p, n, dir, stream, buf_str(&settings), &result, &cli->err);
	if (r < 0)
		return r;
	print_rows(json_object_get(result, "taken"), "took");
	print_rows(json_object_get(result, "held"), "held");
	return quarantine_keep(p, n->id, &cli->err);
}

static int take_over(struct cli *cli, const struct places *p, const struct nested *n)
{
	cleanup_fd int entry = quarantine_open(p, SHELF_NESTED, n->id, &cli->err);
	cleanup_free char *dir = NULL;
	struct stat st;
	int r = entry < 0 ? entry : find_files(n, entry, &dir, &cli->err);

	if (r < 0)
		return r;
	if (lstat(n->path, &st) == 0)
		return err_set(&cli->err, EEXIST, "'%s' is there again; move it away first",
			       n->path);
	return make_anew(cli, p, n, entry, dir);
}

/* ---- the list ---- */

static void print_list(struct cli *cli, const struct nested_list *l)
{
	static const struct table_column columns[] = {{"ID", .keep = true}, {"SANDBOX"}, {"PATH"}};
	cleanup_(table_freep) struct table *t = table_new(columns, ARRAY_SIZE(columns));

	for (size_t i = 0; i < l->n; i++) {
		table_cell(t, l->v[i].id);
		table_cell(t, l->v[i].sandbox);
		table_cell(t, l->v[i].path);
	}
	table_print(t, stdout, term_width(STDOUT_FILENO), cli_color(cli, STDOUT_FILENO));
}

static int show(struct cli *cli, const struct adopt_args *args, const struct nested_list *l)
{
	cleanup_json json_t *rows = NULL;

	if (!args->json) {
		print_list(cli, l);
		return 0;
	}
	rows = nested_list_json(l);
	(void)json_show(rows, stdout, JSON_INDENT(2));
	(void)putchar('\n');
	return 0;
}

static int adopt(struct cli *cli, const struct adopt_args *args, const struct places *p,
		 const struct nested_list *l, const char *said)
{
	const struct nested *n = find(l, said);
	int r;

	if (!n)
		return err_set(&cli->err, ENOENT,
			       "no git directory was put away from '%s'; see: ralph adopt", said);
	r = check_quiet(p, n->root, &cli->err);
	if (r < 0)
		return r;
	if (args->drop)
		return drop(cli, p, n);
	return args->mine ? put_back(cli, p, n) : take_over(cli, p, n);
}

static int cmd_adopt_run(struct cli *cli, void *args_, int argc, char **argv)
{
	const struct adopt_args *args = args_;
	cleanup_(places_done) struct places p = {0};
	cleanup_(nested_done) struct nested_list l = {0};
	int r;

	if ((args->mine || args->drop) && (argc == 0 || (args->mine && args->drop)))
		return cli_usage(cli, "--mine and --drop need PATH, and exclude each other");
	r = places_find(&p, &cli->err);
	if (r == 0)
		r = nested_find(&p, NULL, &l, &cli->err);
	if (r < 0)
		return r;
	return argc == 0 ? show(cli, args, &l) : adopt(cli, args, &p, &l, argv[0]);
}

const struct command cmd_adopt = {
	.name = "adopt",
	.operands = "[PATH]",
	.summary = "keep a git directory that appeared while a sandbox ran",
	.details =
		"ralph moves git directories that appear in a workspace out of it, because git\n"
		"on the host would run what they say. This makes a new repository at PATH with\n"
		"the commits, branches and tags of the one that was there; hooks and settings\n"
		"are not taken. With --mine it is put back byte for byte: use that only for one\n"
		"that you made yourself. Without PATH the list of them is shown.",
	.group = GROUP_MANAGE,
	OPTIONS(adopt_opts, struct adopt_args),
	.max_operands = 1,
	.run = cmd_adopt_run,
};
