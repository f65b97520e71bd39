#include "cli/frame/command.h"
#include "cli/commands.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/text/table.h"
#include "live/live.h"
#include "cli/show/quarantine-ask.h"
#include "workspace/gitdir.h"
#include "workspace/quarantine.h"

#define SHOW_MAX (256 * KiB) /* of one file */
#define SHOW_FILES_MAX 200
#define SHOW_DEPTH_MAX 16
#define DIFF_MAX (4 * MiB) /* of two files of SHOW_MAX, escaped */
#define DIFF_MS 10000

struct ls_args {
	bool json;
};

static const struct opt ls_opts[] = {
	{"json", 0, OPT_BOOL, offsetof(struct ls_args, json), NULL, "print JSON"},
};

static const char *text_of(const json_t *row, const char *key)
{
	const char *s = json_string_value(json_object_get(row, key));

	return s ? s : "-";
}

static void when_of(const json_t *row, char *buf, size_t size)
{
	time_t at = (time_t)json_integer_value(json_object_get(row, "time"));
	struct tm tm;

	(void)localtime_r(&at, &tm);
	if (strftime(buf, size, "%Y-%m-%d %H:%M:%S", &tm) == 0)
		buf[0] = '\0';
}

static void print_rows(struct cli *cli, json_t *rows)
{
	static const struct table_column columns[] = {
		{"ID", .keep = true}, {"WHEN", .keep = true}, {"SANDBOX"}, {"PATH"}, {"WHY"},
	};
	cleanup_(table_freep) struct table *t = table_new(columns, ARRAY_SIZE(columns));
	json_t *row;
	size_t i;

	json_array_foreach (rows, i, row) {
		char when[40];

		when_of(row, when, sizeof(when));
		table_cell(t, text_of(row, "id"));
		table_cell(t, when);
		table_cell(t, text_of(row, "sandbox"));
		table_cell(t, text_of(row, "path"));
		table_cell(t, text_of(row, "why"));
	}
	table_print(t, stdout, term_width(STDOUT_FILENO), cli_color(cli, STDOUT_FILENO));
}

static int cmd_ls_run(struct cli *cli, void *args_, int argc, char **argv)
{
	const struct ls_args *args = args_;
	cleanup_(places_done) struct places p = {0};
	cleanup_json json_t *rows = json_array();
	cleanup_strv struct strv ids;
	int r = places_find(&p, &cli->err);

	strv_init(&ids);
	if (r == 0)
		r = quarantine_list(&p, SHELF_QUARANTINE, &ids, &cli->err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < ids.n; i++) {
		json_t *row = NULL;
		struct err err = {0};

		if (quarantine_meta(&p, SHELF_QUARANTINE, ids.v[i], &row, &err) < 0)
			row = json_pack("{ss ss}", "id", ids.v[i], "why", "its record is damaged");
		(void)json_array_append_new(rows, row);
	}
	if (args->json) {
		(void)json_show(rows, stdout, JSON_INDENT(2));
		(void)putchar('\n');
	} else {
		print_rows(cli, rows);
	}
	return 0;
}

static const struct command cmd_quarantine_ls = {
	.name = "ls",
	.summary = "list what was moved there",
	OPTIONS(ls_opts, struct ls_args),
	.run = cmd_ls_run,
};

/* Line by line, escaped: an agent wrote it. */
static void show_text(int fd)
{
	cleanup_buf struct buf b;
	int r;

	buf_init(&b, SHOW_MAX);
	r = fd_read_all(fd, &b);
	if (memchr(buf_str(&b), '\0', b.len)) {
		(void)puts("    (not text)");
		return;
	}
	for (char *line = b.data, *end; line && *line; line = end) {
		end = strchr(line, '\n');
		if (end)
			*end++ = '\0';
		(void)fputs("    ", stdout);
		term_puts(stdout, line);
		(void)putchar('\n');
	}
	if (r < 0)
		(void)puts("    …");
}

static void show_link(int at, const char *name)
{
	char text[4096];
	ssize_t n = readlinkat(at, name, text, sizeof(text) - 1);

	text[n > 0 ? n : 0] = '\0';
	(void)fputs("    -> ", stdout);
	term_puts(stdout, text);
	(void)putchar('\n');
}

/*
 * The difference from the file that your repository has under this path, printed; false: it has none,
 * or the two cannot be compared. The repository is read by a program of its own, as everywhere.
 */
static bool show_diff(const struct places *p, int fd, const char *root, const char *path)
{
	cleanup_free char *program = places_program(p, "repo"), *text = NULL;
	cleanup_(gitdir_done) struct gitdir git = {0};
	struct run run = RUN_INIT;
	char *argv[] = {program, "file-diff", NULL, NULL, NULL};
	struct err ignored;
	struct stat st;
	int code = 0;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    gitdir_find(root, NULL, &git, &ignored) < 0 || !git.root || gitdir_is_bare(&git) ||
	    !path_under(path, git.root) || streq(path, git.root))
		return false;
	argv[2] = git.root;
	argv[3] = (char *)(uintptr_t)path + strlen(git.root) + 1;
	run.argv = argv;
	run.stdio[0] = fd;
	if (run_collect(&run, DIFF_MS, DIFF_MAX, &text, &code, &ignored) < 0 || code != 0 ||
	    !text[0])
		return false;
	(void)fputs(text, stdout);
	return true;
}

static void show_entry(int at, const char *name, const char *shown, unsigned *left, int depth);

static void show_dir(int fd, const char *shown, unsigned *left, int depth)
{
	DIR *d = depth < SHOW_DEPTH_MAX ? fdopendir(fd) : NULL;
	struct dirent *de;

	if (!d) {
		(void)close(fd);
		return;
	}
	while (*left > 0 && (de = readdir(d))) {
		cleanup_free char *path = NULL;

		if (streq(de->d_name, ".") || streq(de->d_name, ".."))
			continue;
		path = path_join(shown, de->d_name);
		show_entry(fd, de->d_name, path, left, depth + 1);
	}
	(void)closedir(d);
}

static void show_entry(int at, const char *name, const char *shown, unsigned *left, int depth)
{
	cleanup_fd int fd = path_open_beneath(at, name, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
	struct stat st;

	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	(*left)--;
	(void)printf("%c%04o ",
		     S_ISDIR(st.st_mode)   ? 'd'
		     : S_ISLNK(st.st_mode) ? 'l'
					   : '-',
		     st.st_mode & 07777);
	term_puts(stdout, shown);
	(void)putchar('\n');
	if (S_ISLNK(st.st_mode))
		show_link(at, name);
	else if (fd >= 0 && S_ISDIR(st.st_mode))
		show_dir(take_fd(fd), shown, left, depth);
	else if (fd >= 0 && S_ISREG(st.st_mode))
		show_text(fd);
}

int quarantine_show(struct cli *cli, const struct places *p, const char *id)
{
	cleanup_json json_t *meta = NULL;
	cleanup_fd int entry = -1, file = -1;
	unsigned left = SHOW_FILES_MAX;
	char when[40];
	int r = quarantine_meta(p, SHELF_QUARANTINE, id, &meta, &cli->err);

	if (r < 0)
		return r;
	entry = quarantine_open(p, SHELF_QUARANTINE, id, &cli->err);
	if (entry < 0)
		return entry;
	when_of(meta, when, sizeof(when));
	(void)printf("why:      ");
	term_puts(stdout, text_of(meta, "why"));
	(void)printf("\nsandbox:  %s\nwhen:     %s\n", text_of(meta, "sandbox"), when);
	file = path_open_beneath(entry, "content", O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
	if (!show_diff(p, file, text_of(meta, "root"), text_of(meta, "path")))
		show_entry(entry, "content", text_of(meta, "path"), &left, 0);
	if (left == 0)
		log_warn("quarantine", "only the first %d files are shown", SHOW_FILES_MAX);
	return 0;
}

static int cmd_show_run(struct cli *cli, void *args, int argc, char **argv)
{
	cleanup_(places_done) struct places p = {0};
	int r = places_find(&p, &cli->err);

	return r < 0 ? r : quarantine_show(cli, &p, argv[0]);
}

static const struct command cmd_quarantine_show = {
	.name = "show",
	.operands = "ID",
	.summary = "show what one holds and where it was",
	.min_operands = 1,
	.max_operands = 1,
	.run = cmd_show_run,
};

/*
 * Adds an event to the sandbox's log. A sandbox whose record is gone has no log, which is no error.
 */
static void tell_log(const struct places *p, const json_t *meta, const char *type, const char *id)
{
	struct err ignored = {0};

	if (meta)
		(void)live_event(p, text_of(meta, "sandbox"), type,
				 json_pack("{ss so}", "quarantine", id, "path",
					   json_text(text_of(meta, "path"))),
				 &ignored);
}

int quarantine_take_back(struct cli *cli, const struct places *p, const char *id)
{
	cleanup_json json_t *meta = NULL;
	int r = quarantine_meta(p, SHELF_QUARANTINE, id, &meta, &cli->err);

	if (r == 0)
		r = quarantine_release(p, SHELF_QUARANTINE, id, &cli->err);
	if (r == 0)
		tell_log(p, meta, "quarantine-release", id);
	return r;
}

static int cmd_release_run(struct cli *cli, void *args, int argc, char **argv)
{
	cleanup_(places_done) struct places p = {0};
	int r = places_find(&p, &cli->err);

	for (int i = 0; r == 0 && i < argc; i++) {
		r = quarantine_take_back(cli, &p, argv[i]);
		if (r == 0)
			(void)puts(argv[i]);
	}
	return r;
}

static const struct command cmd_quarantine_release = {
	.name = "release",
	.operands = "ID…",
	.summary = "put it back where it was",
	.min_operands = 1,
	.max_operands = OPERANDS_ANY,
	.run = cmd_release_run,
};

struct drop_args {
	bool all;
};

static const struct opt drop_opts[] = {
	{"all", 'a', OPT_BOOL, offsetof(struct drop_args, all), NULL, "everything in quarantine"},
};

static int cmd_drop_run(struct cli *cli, void *args_, int argc, char **argv)
{
	const struct drop_args *args = args_;
	cleanup_(places_done) struct places p = {0};
	cleanup_strv struct strv ids;
	int r = places_find(&p, &cli->err);

	strv_init(&ids);
	if (args->all == (argc > 0))
		return cli_usage(cli, "name what to drop, or use --all; see: ralph quarantine ls");
	for (int i = 0; i < argc; i++)
		strv_push(&ids, argv[i]);
	if (r == 0 && args->all)
		r = quarantine_list(&p, SHELF_QUARANTINE, &ids, &cli->err);
	for (size_t i = 0; r == 0 && i < ids.n; i++) {
		cleanup_json json_t *meta = NULL;
		struct err ignored = {0};

		(void)quarantine_meta(&p, SHELF_QUARANTINE, ids.v[i], &meta, &ignored);
		r = quarantine_drop(&p, SHELF_QUARANTINE, ids.v[i], &cli->err);
		if (r == 0)
			tell_log(&p, meta, "quarantine-drop", ids.v[i]);
		if (r == 0)
			(void)puts(ids.v[i]);
	}
	return r;
}

static const struct command cmd_quarantine_drop = {
	.name = "drop",
	.operands = "ID…",
	.summary = "remove it for good",
	OPTIONS(drop_opts, struct drop_args),
	.max_operands = OPERANDS_ANY,
	.run = cmd_drop_run,
};

static const struct command *const quarantine_subs[] = {
	&cmd_quarantine_ls,
	&cmd_quarantine_show,
	&cmd_quarantine_release,
	&cmd_quarantine_drop,
	NULL,
};

const struct command cmd_quarantine = {
	.name = "quarantine",
	.summary = "list, show and release files that the host would have run",
	.group = GROUP_MANAGE,
	.subs = quarantine_subs,
};
