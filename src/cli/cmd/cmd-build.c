#include "cli/frame/command.h"
#include "cli/commands.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/fd.h"
#include "base/json/json.h"
#include "base/log.h"
#include "base/path.h"
#include "cli/agent-choice.h"
#include "cli/settings.h"
#include "cli/project-trust.h"

/*
 * The loop's commands. This file checks the arguments and executes libexec/ralph/loop in place of
 * this process: signals and the terminal belong to the loop from then on.
 */
struct build_args {
	const char *name, *tasks, *prompt, *branch;
	uint64_t parallel;
	bool no_wait, stash, worktree, push, json;
};

#define AT(member) offsetof(struct build_args, member)

/* clang-format off */
static const struct opt build_opts[] = {
	{"max-iterations", 'n', OPT_STR, 0, "N", "how many iterations, or unlimited (10; plan: 1)", .key = "loop.max_iterations"},
	{"max-cost", 0, OPT_STR, 0, "USD", "what the loop may spend at providers", .key = "loop.max_cost"},
	{"max-duration", 0, OPT_DURATION, 0, "TIME", "how long it may work", .key = "loop.max_duration"},
	{"max-outage", 0, OPT_DURATION, 0, "TIME", "how long to wait for a provider that is down (4h)", .key = "loop.max_outage"},
	{"max-stuck", 0, OPT_UINT, 0, "N", "iterations without progress before a task is left (3)", .key = "loop.max_stuck"},
	{"max-attempts", 0, OPT_UINT, 0, "N", "iterations that one task may take (5)", .key = "loop.max_attempts"},
	{"iteration-cost", 0, OPT_STR, 0, "USD", "what one iteration may spend", .key = "loop.iteration_cost"},
	{"iteration-time", 0, OPT_DURATION, 0, "TIME", "how long one iteration may take (1h)", .key = "loop.iteration_time"},
	{"idle-time", 0, OPT_DURATION, 0, "TIME", "how long an agent may say nothing (15m)", .key = "loop.idle_time"},
	{"grace", 0, OPT_DURATION, 0, "TIME", "how long it may take to end after its result (10s)", .key = "loop.grace"},
	{"verify", 0, OPT_STRV, 0, "CMD", "a command that must succeed before a task is done", .key = "loop.verify"},
	{"verify-time", 0, OPT_DURATION, 0, "TIME", "how long such a command may take (10m)", .key = "loop.verify_time"},
	{"setup", 0, OPT_STRV, 0, "CMD", "a command that prepares each sandbox, such as npm ci", .key = "loop.setup"},
	{"model", 'm', OPT_STR, 0, "MODEL", "the agent's model", .key = "loop.model"},
	{"fallback", 0, OPT_STR, 0, "AGENTS", "agents that go on when the provider is not available", .key = "loop.fallback"},
	{"fallback-after", 0, OPT_DURATION, 0, "TIME", "how long to wait for the provider before that (15m)", .key = "loop.fallback_after"},
	{"weekly-reserve", 0, OPT_STR, 0, "PERCENT", "how much of the weekly limit is left alone", .key = "loop.weekly_reserve"},
	{"submodules", 0, OPT_STR, 0, "WHAT", "a submodule that commits move: refuse or take it", .key = "loop.submodules"},
	{"review", 0, OPT_CHOICE, 0, "AGENT", "an agent that reviews each task before it is done", .key = "loop.review", .choices = agent_programs},
	{"review-model", 0, OPT_STR, 0, "MODEL", "the reviewer's model", .key = "loop.review_model"},
	{"review-cap", 0, OPT_UINT, 0, "N", "how often it may ask for changes to a task (5)", .key = "loop.review_cap"},
	{"notify", 0, OPT_STR, 0, "HOW", "how you are told: a command, command:CMD or desktop:", .key = "loop.notify"},
	{"no-wait", 0, OPT_BOOL, AT(no_wait), NULL, "end with 7 instead of waiting for the provider"},
	{"tasks", 'f', OPT_STR, AT(tasks), "SOURCE", "where the work is: prd.json, a plan, an issue",
	 .complete = COMPLETE_FILE},
	{"prompt", 0, OPT_STR, AT(prompt), "FILE", "what the agent is told", .complete = COMPLETE_FILE},
	{"branch", 0, OPT_STR, AT(branch), "NAME", "the branch to work on"},
	{"worktree", 0, OPT_BOOL, AT(worktree), NULL, "work in a worktree of that branch, next to the repository"},
	{"stash", 0, OPT_BOOL, AT(stash), NULL, "put changes that are not committed away first"},
	{"push", 0, OPT_BOOL, AT(push), NULL, "push what was verified, from the host"},
	{"parallel", 0, OPT_UINT, AT(parallel), "N", "tasks at once, as far as memory and disk allow", .def = "1", .min = 1, .max = 1000},
	{"place", 0, OPT_STR, 0, "NAME", "the placement where they run, of fleet.places", .key = "fleet.place"},
	{"json", 0, OPT_BOOL, AT(json), NULL, "print the summary as JSON"},
	{"name", 0, OPT_STR, AT(name), "NAME", "name of the sandbox instead of one made from the branch",
	 .complete = COMPLETE_SANDBOX},
	SETTINGS_OPTS,
};
/* clang-format on */

static json_t *strings(char *const *v, size_t n)
{
	json_t *a = json_array();

	for (size_t i = 0; i < n; i++)
		(void)json_array_append_new(a, json_text(v[i]));
	return a;
}

static json_t *settings_json(struct cli *cli, const struct config_sources *src)
{
	return json_pack("{so ss ss ss ss* ss* sb sI}", "flags",
			 strings(cli->config.v, cli->config.n), "user", src->user_file, "profiles",
			 src->profile_dir, "shipped", src->shipped_dir, "project",
			 src->project_file, "project_text", src->project_text, "trusted",
			 src->trusted, "memory_share", (json_int_t)src->memory_share);
}

/* Settings are judged here, where the user can be asked; a bad one is said before anything runs. */
static int make_settings(struct cli *cli, const char *workspace, bool has_command, json_t **ret)
{
	cleanup_sources struct settings_sources from = {0};
	cleanup_trust struct trust_state trust = {0};
	cleanup_(config_freep) struct config *c = NULL;
	int r = settings_sources_find(cli, workspace, &from);

	if (r == 0)
		r = trust_look(&from.places, &from.src, &trust, &cli->err);
	if (r == 0)
		r = trust_settle(cli, &from.src, &trust);
	if (r == 0)
		r = config_load(&from.src, &c, &cli->err);
	if (r < 0)
		return r;
	settings_notices(c);
	if (!has_command && !streq(cli->name, "resume"))
		agent_settle(cli, &from.places, c, workspace, "");
	*ret = settings_json(cli, &from.src);
	return *ret ? 0 : err_usage(&cli->err, "the project's file is not UTF-8");
}

static int make_request(struct cli *cli, const struct build_args *a, const char *path,
			char *const *command, size_t n, json_t **ret)
{
	cleanup_free char *workspace = NULL;
	json_t *settings = NULL;
	int r = path_real(path ? path : ".", &workspace, &cli->err);

	if (r == 0)
		r = make_settings(cli, workspace, n > 0, &settings);
	if (r < 0)
		return r;
	*ret = json_pack("{sI ss ss ss* ss* ss* ss* sI so so sb sb sb sb sb sb sb}", "version",
			 (json_int_t)1, "mode", cli->name, "workspace", workspace, "sandbox",
			 a->name, "tasks", a->tasks, "prompt", a->prompt, "branch", a->branch,
			 "parallel", (json_int_t)a->parallel, "command", strings(command, n),
			 "settings", settings, "no_wait", a->no_wait, "stash", a->stash, "worktree",
			 a->worktree, "push", a->push, "json", a->json, "color",
			 cli_color(cli, STDERR_FILENO), "direct", cli->no_sandbox);
	return *ret ? 0 : err_usage(&cli->err, "what was typed is not UTF-8");
}

/* Returns only when it failed. */
static int become_loop(struct cli *cli, const json_t *request)
{
	cleanup_free char *text = json_dumps(request, JSON_COMPACT), *program = NULL,
			  *number = NULL;
	cleanup_(places_done) struct places p = {0};
	int fd, r = places_find(&p, &cli->err);

	if (r < 0)
		return r;
	fd = fd_memfd("request", text, strlen(text));
	if (fd < 0)
		return err_sys(&cli->err, -fd, "cannot make a memory file");
	(void)fd_set_cloexec(fd, false);
	program = places_program(&p, "loop");
	number = xasprintf("%d", fd);
	(void)execv(program, (char *[]){program, number, NULL});
	r = errno;
	(void)close(fd);
	return err_sys(&cli->err, r, "cannot run '%s'; is ralph installed completely?", program);
}

static int cmd_build_run(struct cli *cli, void *args_, int argc, char **argv)
{
	const struct build_args *args = args_;
	struct settings_target target = {.name = args->name};
	cleanup_json json_t *request = NULL;
	struct stat st;
	int rest, r = settings_operands(cli, argc, argv, &target, &rest);

	if (r < 0)
		return r;
	if (target.path && lstat(target.path, &st) < 0 && errno == ENOENT) {
		cleanup_free char *names = agent_names();

		return cli_usage(cli, "'%s' is neither a directory nor an agent (%s)", target.path,
				 names);
	}
	if (cli->sandbox && cli->no_sandbox)
		return cli_usage(cli, "--sandbox and --no-sandbox exclude each other");
	if (cli->no_sandbox && strv_env_get(&cli->config, "engine"))
		return cli_usage(cli, "--no-sandbox and an engine exclude each other");
	if (target.agent)
		strv_env_set(&cli->config, "agent", target.agent->name);
	r = make_request(cli, args, target.path, argv + rest, (size_t)(argc - rest), &request);
	return r < 0 ? r : become_loop(cli, request);
}

#define LOOP_COMMAND(kind)                                                                         \
	.operands = "[AGENT] [PATH] [-- CMD [ARG…]]", .group = GROUP_LOOP,                         \
	.flags = CMD_CONFIG | CMD_DIRECT, OPTIONS(build_opts, struct build_args),                  \
	.max_operands = OPERANDS_ANY, .complete = (kind), .words = agent_words,                    \
	.run = cmd_build_run

const struct command cmd_build = {
	.name = "build",
	.summary = "run an agent until every task is done and verified",
	.details =
		"A fresh agent is started for each iteration and works on one task of the list\n"
		"(prd.json, a plan, a spec, an issue). A task is done when the agent says so,\n"
		"the verify commands agree and there is a commit. With --agent command, CMD is\n"
		"the agent: it finds its prompt on stdin.\n"
		"\n"
		"0 all done, 3 a limit was reached, 4 stuck, 5 blocked, 6 a decision is needed,\n"
		"7 the provider is not available, 8 credentials, 9 paused. See ralph-loop(7).",
	LOOP_COMMAND(COMPLETE_DIR),
};

const struct command cmd_plan = {
	.name = "plan",
	.summary = "have an agent make or revise the plan: one iteration",
	.details = "As 'ralph build' with PROMPT_plan.md, for one iteration unless -n says more;\n"
		   "nothing is verified.",
	LOOP_COMMAND(COMPLETE_DIR),
};

const struct command cmd_loop = {
	.name = "loop",
	.summary = "run an agent or a command in a loop with any prompt",
	.details = "As 'ralph build', with the prompt of --prompt.",
	LOOP_COMMAND(COMPLETE_DIR),
};

const struct command cmd_resume = {
	.name = "resume",
	.summary = "go on with a loop that was paused, stopped or killed",
	.details = "The counters, limits and options of that loop hold; what is given here\n"
		   "replaces them.",
	LOOP_COMMAND(COMPLETE_LOOP),
};
