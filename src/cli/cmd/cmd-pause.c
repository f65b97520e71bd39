#include "cli/frame/command.h"
#include "cli/commands.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/json/json.h"
#include "base/parse.h"
#include "base/path.h"
#include "base/text/quote-word.h"
#include "cli/loop-stop.h"
#include "cli/terminal/ask.h"
#include "record/asks.h"
#include "record/loops.h"
#include "record/places.h"
#include "record/store.h"
#include "view/log-view.h"

#define STATE_MAX (16 * MiB)
#define ANSWER_MAX (64 * KiB)
#define GONE_MS 60000 /* a loop that is stopped ends its sandbox first */

static int find_place(const char *path, struct loop_path *ret, struct err *err)
{
	cleanup_(places_done) struct places p = {0};
	int r = places_find(&p, err);

	if (r == 0)
		r = loops_find(&p, path ? path : ".", ret, err);
	if (r == 0 && ret->active < 0)
		r = err_usage(err, "there is no loop in '%s': it has no .ralph", path ? path : ".");
	return r;
}

static int find_active(const char *path, struct loop_active *ret, struct err *err)
{
	cleanup_loop_place struct loop_path at = LOOP_PLACE_INIT;
	int r = find_place(path, &at, err);

	if (r == 0 && loops_read_active(at.active, ret) < 0)
		r = err_usage(err, "no loop runs in '%s'", path ? path : ".");
	return r;
}

int loops_stop(const char *path, struct err *err)
{
	const struct timespec pause = {.tv_nsec = 20 * 1000 * 1000};
	uint64_t end = now_ms() + GONE_MS;
	struct loop_active a = {0};
	int r = find_active(path, &a, err);

	if (r < 0)
		return r;
	r = loops_signal(&a, SIGTERM);
	if (r < 0 && r != -ESRCH)
		return err_sys(err, -r, "cannot stop the loop (process %d)", (int)a.pid);
	while (loops_start_time(a.pid) == a.start && now_ms() < end)
		(void)nanosleep(&pause, NULL);
	return loops_start_time(a.pid) == a.start
		       ? err_set(err, ETIMEDOUT, "the loop (process %d) does not end", (int)a.pid)
		       : 0;
}

static int cmd_pause_run(struct cli *cli, void *args, int argc, char **argv)
{
	struct loop_active a = {0};
	int r = find_active(argc > 0 ? argv[0] : NULL, &a, &cli->err);

	if (r < 0)
		return r;
	r = loops_signal(&a, SIGINT);
	if (r < 0)
		return err_sys(&cli->err, -r, "cannot reach the loop (process %d)", (int)a.pid);
	(void)printf("the loop pauses after this iteration; go on with: ralph resume\n");
	return 0;
}

const struct command cmd_pause = {
	.name = "pause",
	.operands = "[PATH]",
	.summary = "let a loop finish its iteration, and no more",
	.details = "The loop of the workspace PATH (the current directory) ends with 9 after the\n"
		   "iteration that runs; 'ralph resume' goes on.",
	.group = GROUP_LOOP,
	.max_operands = 1,
	.complete = COMPLETE_LOOP,
	.run = cmd_pause_run,
};

/* ---- logs ---- */

struct logs_args {
	bool follow, raw, json;
	const char *workspace;
};

#define AT(member) offsetof(struct logs_args, member)

/* clang-format off */
static const struct opt logs_opts[] = {
	{"follow", 'f', OPT_BOOL, AT(follow), NULL, "wait for more, until the loop has ended"},
	{"raw", 0, OPT_BOOL, AT(raw), NULL, "the agent's stream as it came"},
	{"json", 0, OPT_BOOL, AT(json), NULL, "print a JSON object for each line"},
	{"workspace", 'C', OPT_STR, AT(workspace), "PATH", "of this workspace instead of the current directory",
	 .complete = COMPLETE_LOOP},
};
/* clang-format on */

static int cmd_logs_run(struct cli *cli, void *args_, int argc, char **argv)
{
	const struct logs_args *args = args_;
	cleanup_free char *program = NULL, *workspace = NULL;
	cleanup_(places_done) struct places p = {0};
	uint64_t number = 0;
	int r = path_real(args->workspace ? args->workspace : ".", &workspace, &cli->err);

	if (r == 0 && argc > 0 && parse_uint(argv[0], 1, UINT32_MAX, &number) < 0)
		r = cli_usage(cli, "'%s' is no iteration: give its number", argv[0]);
	if (r == 0 && args->raw && args->json)
		r = cli_usage(cli, "--raw and --json exclude each other");
	if (r == 0)
		r = places_find(&p, &cli->err);
	if (r < 0)
		return r;
	program = places_program(&p, "loop");
	(void)fflush(NULL);
	(void)execv(program, (char *[]){program, "logs", workspace, argc > 0 ? argv[0] : "0",
					args->follow ? "1" : "0",
					args->raw    ? "raw"
					: args->json ? "json"
						     : "text",
					cli_color(cli, STDOUT_FILENO) ? "1" : "0", NULL});
	return err_sys(&cli->err, errno, "cannot run '%s'; is ralph installed completely?",
		       program);
}

const struct command cmd_logs = {
	.name = "logs",
	.operands = "[N]",
	.summary = "show what the agent did in an iteration",
	.details = "Shows iteration N of the workspace's loop, without N the last one: a line for\n"
		   "each call of a tool, and its last words.",
	.group = GROUP_LOOP,
	OPTIONS(logs_opts, struct logs_args),
	.max_operands = 1,
	.run = cmd_logs_run,
};

/* ---- answer ---- */

struct answer_args {
	const char *task, *workspace;
	bool note, json;
};

#undef AT
#define AT(member) offsetof(struct answer_args, member)

/* clang-format off */
static const struct opt answer_opts[] = {
	{"task", 't', OPT_STR, AT(task), "ID", "whose question is answered, where there are several",
	 .complete = COMPLETE_TASK},
	{"workspace", 'C', OPT_STR, AT(workspace), "PATH", "of this workspace instead of the current directory",
	 .complete = COMPLETE_LOOP},
	{"note", 0, OPT_BOOL, AT(note), NULL, "tell the task's next agent TEXT, though none asks"},
	{"json", 0, OPT_BOOL, AT(json), NULL, "without TEXT: print what is asked as JSON"},
};
/* clang-format on */

static int read_tasks(int state, json_t **ret, struct err *err)
{
	cleanup_fd int fd = path_open_beneath(state, "loop.json", O_RDONLY, 0);
	cleanup_buf struct buf b;
	int r;

	buf_init(&b, STATE_MAX);
	if (fd < 0)
		return err_usage(err, "there was no loop in this workspace");
	r = fd_read_all(fd, &b);
	return r < 0 ? err_sys(err, -r, "cannot read the loop's state")
		     : json_parse(buf_str(&b), b.len, ret, err);
}

/* The tasks that wait for a word; with `print` they are listed. */
static const char *find_question(const json_t *state, const char *task, bool print, size_t *ret_n)
{
	const char *id, *found = NULL, *question;
	json_t *t;
	size_t n = 0;

	json_object_foreach (json_object_get(state, "tasks"), id, t) {
		question = json_string_value(json_object_get(t, "question"));
		if (!question || (task && !streq(task, id)))
			continue;
		found = id;
		n++;
		if (print) {
			term_puts(stdout, *id ? id : "(the loop)");
			(void)fputs(": ", stdout);
			term_puts(stdout, question);
			(void)fputc('\n', stdout);
		}
	}
	*ret_n = n;
	return found;
}

/* A file of its own for each: the loop, which may run, takes them in. */
static int write_answer(int state, const char *task, const char *text, bool note, struct err *err)
{
	cleanup_json json_t *j = json_pack("{so so sb}", "task", json_text(task), "answer",
					   json_text(text), "note", note);
	cleanup_free char *dump = json_dumps(j, JSON_COMPACT), *name = NULL;
	cleanup_fd int answers = -1;
	struct timespec now;
	int r;

	if (mkdirat(state, "answers", 0700) < 0 && errno != EEXIST)
		return err_sys(err, errno, "cannot make a place for answers");
	answers = path_open_beneath(state, "answers", O_RDONLY | O_DIRECTORY, 0);
	(void)clock_gettime(CLOCK_REALTIME, &now);
	name = xasprintf("%010lld.%09ld.json", (long long)now.tv_sec, now.tv_nsec);
	r = answers < 0
		    ? answers
		    : path_write_atomic(answers, name, dump, strlen(dump), 0600, PATH_WRITE_SYNC);
	return r < 0 ? err_sys(err, -r, "cannot write the answer") : 0;
}

/* Takes an answer to each question on the terminal; an empty line leaves one open. */
static int ask_each(const json_t *state, const char *task, int at, struct err *err)
{
	char *text = xcalloc(1, ANSWER_MAX + 1);
	const char *id;
	size_t n = 0;
	json_t *t;
	int r = 0;

	json_object_foreach (json_object_get(state, "tasks"), id, t) {
		if (r < 0 || !json_object_get(t, "question") || (task && !streq(task, id)))
			continue;
		(void)fflush(stdout);
		term_puts(stderr, *id ? id : "(the loop)");
		r = ask_text(", your answer:", text, ANSWER_MAX + 1, err);
		if (r == 0 && text[0]) {
			r = write_answer(at, id, text, false, err);
			n++;
		}
	}
	free(text);
	if (r == 0 && n > 0)
		(void)printf("the agent is told in its next iteration; go on with: ralph resume\n");
	return r;
}

/* Without a terminal: the command that answers each question. */
static void tell_commands(const json_t *state, const struct answer_args *args)
{
	const char *id;
	json_t *t;

	json_object_foreach (json_object_get(state, "tasks"), id, t) {
		cleanup_buf struct buf b;

		if (!json_object_get(t, "question") || (args->task && !streq(args->task, id)))
			continue;
		buf_init(&b, 64 * KiB);
		(void)buf_puts(&b, "answer with: ralph answer");
		if (args->workspace) {
			(void)buf_puts(&b, " -C ");
			quote_word(&b, args->workspace);
		}
		if (*id) {
			(void)buf_puts(&b, " --task ");
			quote_word(&b, id);
		}
		(void)buf_puts(&b, " 'what you decide'");
		term_puts(stderr, buf_str(&b));
		(void)fputc('\n', stderr);
	}
}

/* A word for the next prompt of a task that asks nothing. */
static int leave_note(struct cli *cli, const struct answer_args *args, int state,
		      const json_t *tasks, int argc, char **argv)
{
	int r;

	if (argc == 0 || strlen(argv[0]) == 0 || strlen(argv[0]) > ANSWER_MAX)
		return cli_usage(cli, "--note needs a text of at most 64 KiB");
	if (!args->task || !*args->task)
		return cli_usage(cli, "--note needs --task ID; see: ralph task ls");
	if (log_text(json_object_get(json_object_get(tasks, "tasks"), args->task), "question")[0])
		return err_usage(&cli->err, "task '%s' asks something; answer without --note",
				 args->task);
	r = write_answer(state, args->task, argv[0], true, &cli->err);
	if (r == 0)
		(void)printf("the agent is told in the task's next iteration\n");
	return r;
}

/* The open asks of agents in this workspace; the caller frees them. */
static json_t *asks_here(const char *workspace)
{
	cleanup_(places_done) struct places p = {0};
	cleanup_strv struct strv names = {0};
	cleanup_free char *here = NULL;
	struct err ignored = {0};
	json_t *rows = json_array(), *a;
	size_t k;

	if (places_find(&p, &ignored) < 0 || store_names(&p, &names, &ignored) < 0 ||
	    path_real(workspace ? workspace : ".", &here, &ignored) < 0)
		return rows;
	for (size_t i = 0; i < names.n; i++) {
		cleanup_store struct store_entry e = STORE_ENTRY_INIT;
		cleanup_free char *owner = store_owner(&p, names.v[i]);
		cleanup_json json_t *asks = NULL;

		if (!owner || !path_under(owner, here) ||
		    store_open(&p, names.v[i], false, &e, &ignored) < 0 ||
		    asks_read(e.dir, &asks, &ignored) < 0)
			continue;
		json_array_foreach (asks, k, a) {
			if (!ask_is_open(a))
				continue;
			(void)json_object_set_new(a, "sandbox", json_string(names.v[i]));
			(void)json_array_append(rows, a);
		}
	}
	return rows;
}

/* Asks are answered by commands of their own; here they are only shown. */
static void show_asks(const json_t *asks)
{
	json_t *a;
	size_t i;

	json_array_foreach (asks, i, a) {
		(void)printf("%s asks (%s): ", log_text(a, "sandbox"), log_text(a, "kind"));
		term_puts(stdout, log_text(a, "what"));
		(void)fputs(log_text(a, "what")[0] ? ": " : "", stdout);
		term_puts(stdout, log_text(a, "why"));
		(void)printf("\n  answer with: ralph ask allow %s, or: ralph ask deny %s\n",
			     log_text(a, "id"), log_text(a, "id"));
	}
}

static int show_json(const json_t *state, const char *task, json_t *asks, struct err *err)
{
	cleanup_json json_t *j = json_pack("{s[] sO}", "questions", "asks", asks);
	json_t *t;
	const char *id;

	json_object_foreach (json_object_get(state, "tasks"), id, t)
		if (json_object_get(t, "question") && (!task || streq(task, id)))
			(void)json_array_append_new(json_object_get(j, "questions"),
						    json_pack("{so so}", "task", json_text(id),
							      "question",
							      json_text(log_text(t, "question"))));
	if (json_show(j, stdout, JSON_INDENT(2)) < 0)
		return err_set(err, EIO, "cannot print the result");
	(void)putchar('\n');
	return 0;
}

static int cmd_answer_run(struct cli *cli, void *args_, int argc, char **argv)
{
	const struct answer_args *args = args_;
	cleanup_json json_t *state = NULL;
	cleanup_loop_place struct loop_path at = LOOP_PLACE_INIT;
	const char *task = NULL;
	cleanup_json json_t *asks = NULL;
	size_t n = 0;
	int r = find_place(args->workspace, &at, &cli->err);

	if (r == 0)
		r = read_tasks(at.state, &state, &cli->err);
	if (r < 0)
		return r;
	if (args->note)
		return leave_note(cli, args, at.state, state, argc, argv);
	if (argc == 0 && !args->task)
		asks = asks_here(args->workspace);
	if (args->json && argc == 0)
		return show_json(state, args->task, asks ? asks : (asks = json_array()), &cli->err);
	show_asks(asks);
	task = find_question(state, args->task, argc == 0, &n);
	if (n == 0 && json_array_size(asks))
		return 0;
	if (n == 0)
		return err_usage(&cli->err,
				 args->task ? "task '%s' asks nothing" : "no task asks anything%s",
				 args->task ? args->task : "");
	if (argc == 0 && ask_possible() && !cli->yes)
		return ask_each(state, args->task, at.state, &cli->err);
	if (argc == 0) {
		tell_commands(state, args);
		return 0;
	}
	if (n > 1) {
		tell_commands(state, args);
		return err_usage(&cli->err, "%zu tasks ask something; say which with --task", n);
	}
	if (strlen(argv[0]) == 0 || strlen(argv[0]) > ANSWER_MAX)
		return cli_usage(cli, "the answer is empty or too long");
	r = write_answer(at.state, task, argv[0], false, &cli->err);
	if (r == 0)
		(void)printf("the agent is told in its next iteration; go on with: ralph resume\n");
	return r;
}

const struct command cmd_answer = {
	.name = "answer",
	.operands = "[TEXT]",
	.summary = "answer an agent's question, or unblock its task",
	.details = "Without TEXT, shows what is asked, and on a terminal asks for an answer to\n"
		   "each. With TEXT, the task is ready again, and the agent finds TEXT in its\n"
		   "next prompt. With --note, TEXT goes there though nothing is asked.",
	.group = GROUP_LOOP,
	OPTIONS(answer_opts, struct answer_args),
	.max_operands = 1,
	.run = cmd_answer_run,
};
