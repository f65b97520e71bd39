#include "cli/clone.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/parse.h"
#include "base/proc.h"
#include "live/live.h"
#include "record/store.h"

extern char **environ;

#define ANSWER_MAX (4 * MiB)
#define TIPS_MS 30000
#define COUNT_MS 300000 /* of a large tree, on a slow disk */
#define COUNT_TEXT_MAX KiB

/*
 * Prints all branches, then a pack of the objects that they have and the commits in the arguments
 * do not. With "work" as the first argument, the branch of HEAD has one commit more, of all files as
 * they are; the clone's own branch stays. The script runs in the sandbox, so hostile git settings
 * have no effect on the host.
 */
static const char take_script[] =
	"work=$1; shift\n"
	"refs=$(git for-each-ref --format='%(objectname) %(refname)' refs/heads) || exit\n"
	"if [ -n \"$work\" ] && head=$(git symbolic-ref -q HEAD) && [ -n \"$(git status "
	"--porcelain)\" ]; then\n"
	"	GIT_INDEX_FILE=$(mktemp -u) && export GIT_INDEX_FILE || exit\n"
	"	git read-tree HEAD && git add -A && tree=$(git write-tree) &&\n"
	"		new=$(git commit-tree \"$tree\" -p HEAD -m 'uncommitted work') || exit\n"
	"	rm -f \"$GIT_INDEX_FILE\"; unset GIT_INDEX_FILE\n"
	"	refs=$(printf '%s\\n' \"$refs\" | while read -r oid ref; do\n"
	"		[ \"$ref\" != \"$head\" ] || oid=$new; echo \"$oid $ref\"; done)\n"
	"fi\n"
	"printf '%s\\n\\n' \"$refs\"\n"
	"{ printf '%s\\n' \"$refs\" | cut -d' ' -f1; for tip; do echo \"^$tip\"; done; } |\n"
	"git pack-objects -q --revs --stdout\n";

static const char count_script[] = "git status --porcelain | wc -l";
static const char commit_script[] = "git add -A && git commit -q --no-verify -m \"$1\"";

int clone_open(struct cli *cli, const char *name, struct clone *ret)
{
	cleanup_store struct store_entry e = STORE_ENTRY_INIT;
	int r = places_find(&ret->places, &cli->err);

	if (r == 0)
		r = store_open(&ret->places, name, false, &e, &cli->err);
	if (r == 0)
		r = store_read_spec(&e, &ret->spec, &cli->err);
	if (r == 0 && !ret->spec->clone)
		r = err_usage(&cli->err,
			      "sandbox '%s' does not work in a clone: what it did is in '%s'", name,
			      ret->spec->workspace);
	return r;
}

void clone_done(struct clone *c)
{
	places_done(&c->places);
	c->spec = spec_free(c->spec);
}

/* The commits of the user's repository, as arguments for git inside. */
static int push_tips(struct cli *cli, const struct clone *c, struct strv *out)
{
	cleanup_free char *program = places_program(&c->places, "repo"), *text = NULL;
	char *argv[] = {program, "tips", c->spec->workspace, NULL};
	cleanup_json json_t *j = NULL;
	json_t *tip;
	size_t i;
	int code = 0, r;

	r = run_capture(argv, NULL, TIPS_MS, ANSWER_MAX, &text, &code, &cli->err);
	if (r == 0 && code != 0)
		r = err_set(&cli->err, EIO, "cannot read the repository '%s'", c->spec->workspace);
	if (r == 0)
		r = json_parse(text, strlen(text), &j, &cli->err);
	if (r < 0)
		return r;
	json_array_foreach (json_object_get(j, "tips"), i, tip)
		strv_push(out, json_string_value(tip));
	return 0;
}

/* In the sandbox as it runs, or else in one without network for the moment. The script's arguments
 * follow. */
static int make_command(struct cli *cli, const struct clone *c, const char *script,
			struct strv *argv)
{
	static const char *const start[] = {"run",	"--clone", "--agent", "command",
					    "--no-tty", "--net",   "none",    "--name"};
	cleanup_fd int conn = -1;
	int r = live_connect(&c->places, c->spec->name, &conn, &cli->err);

	if (r < 0)
		return r;
	strv_take(argv, places_program(&c->places, "cli"));
	if (conn >= 0) {
		strv_push(argv, "exec");
		strv_push(argv, "--no-tty");
		strv_push(argv, c->spec->name);
	} else {
		for (size_t i = 0; i < ARRAY_SIZE(start); i++)
			strv_push(argv, start[i]);
		strv_push(argv, c->spec->name);
		strv_push(argv, c->spec->workspace);
		strv_push(argv, "--");
	}
	strv_push(argv, "sh");
	strv_push(argv, "-c");
	strv_push(argv, script);
	strv_push(argv, "sh");
	return 0;
}

int clone_uncommitted(struct cli *cli, const struct clone *c, uint64_t *ret)
{
	cleanup_strv struct strv argv = {0};
	cleanup_free char *text = NULL;
	int code = 0, r = make_command(cli, c, count_script, &argv);

	*ret = 0;
	if (r == 0)
		r = run_capture(argv.v, environ, COUNT_MS, COUNT_TEXT_MAX, &text, &code, &cli->err);
	if (r < 0 || code != 0)
		return r < 0 ? r
			     : err_set(&cli->err, EIO, "git in sandbox '%s' failed", c->spec->name);
	text[strcspn(text, "\n")] = '\0';
	return parse_uint(text + strspn(text, " "), 0, UINT32_MAX, ret) < 0
		       ? err_set(&cli->err, EIO, "git in sandbox '%s' says nonsense", c->spec->name)
		       : 0;
}

int clone_commit(struct cli *cli, const struct clone *c)
{
	cleanup_strv struct strv argv = {0};
	cleanup_free char *text = NULL;
	int code = 0, r = make_command(cli, c, commit_script, &argv);

	strv_pushf(&argv, "uncommitted work of sandbox %s", c->spec->name);
	if (r == 0)
		r = run_capture(argv.v, environ, COUNT_MS, COUNT_TEXT_MAX, &text, &code, &cli->err);
	if (r == 0 && code != 0)
		r = err_set(&cli->err, EIO, "git in sandbox '%s' did not commit", c->spec->name);
	return r;
}

static int start(struct cli *cli, struct strv *argv, int in, int out, struct child *ret)
{
	struct run run = RUN_INIT;

	run.argv = argv->v;
	run.env = environ;
	run.stdio[0] = in;
	run.stdio[1] = out;
	run.stdio[2] = STDERR_FILENO;
	return run_start(&run, ret, &cli->err);
}

static void make_reader(const struct clone *c, const char *const *args, struct strv *argv)
{
	strv_take(argv, places_program(&c->places, "repo"));
	for (; *args; args++)
		strv_push(argv, *args);
}

static int collect(struct cli *cli, int fd, char **ret)
{
	cleanup_buf struct buf b;
	int r;

	buf_init(&b, ANSWER_MAX);
	r = fd_read_all(fd, &b);
	if (r < 0)
		return err_sys(&cli->err, -r, "cannot read the answer");
	*ret = buf_take(&b);
	return 0;
}

int clone_take(struct cli *cli, const struct clone *c, const char *const *args, bool work,
	       char **ret_out)
{
	cleanup_strv struct strv writer_argv, reader_argv;
	struct child writer = {.pid = -1, .pidfd = -1}, reader = {.pid = -1, .pidfd = -1};
	int stream[2] = {-1, -1}, answer[2] = {-1, -1}, wrote = 0, read = 0, r;

	strv_init(&writer_argv);
	strv_init(&reader_argv);
	make_reader(c, args, &reader_argv);
	r = make_command(cli, c, take_script, &writer_argv);
	strv_push(&writer_argv, work ? "work" : "");
	if (r == 0)
		r = push_tips(cli, c, &writer_argv);
	if (r == 0 && (pipe2(stream, O_CLOEXEC) < 0 || pipe2(answer, O_CLOEXEC) < 0))
		r = err_sys(&cli->err, errno, "cannot create a pipe");
	if (r == 0)
		r = start(cli, &writer_argv, -1, stream[1], &writer);
	closep(&stream[1]);
	if (r == 0)
		r = start(cli, &reader_argv, stream[0], ret_out ? answer[1] : STDOUT_FILENO,
			  &reader);
	closep(&stream[0]);
	closep(&answer[1]);
	if (r == 0 && ret_out)
		r = collect(cli, answer[0], ret_out);
	closep(&answer[0]);
	if (reader.pid > 0)
		read = run_wait(&reader);
	if (writer.pid > 0)
		wrote = run_wait(&writer);
	if (r == 0 && read != 0)
		r = err_set(&cli->err, EIO, "the commits of sandbox '%s' were not taken",
			    c->spec->name);
	else if (r == 0 && wrote != 0)
		r = err_set(&cli->err, EIO, "git in sandbox '%s' failed", c->spec->name);
	return r;
}
