#include "cli/run-operands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/find-program.h"
#include "base/parse.h"
#include "cli/agent-choice.h"
#include "cli/terminal/ask.h"

#define SUGGESTION_MAX 400
#define ANSWER_MAX 16

static bool is_dir(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

bool run_operand_ends(const char *operand)
{
	return agent_find(operand) || !is_dir(operand);
}

/* Agents have these two as well, and they change nothing about a sandbox. */
static bool is_shared(const char *name)
{
	return streq(name, "help") || streq(name, "version");
}

static bool has_long(const struct opt *opts, size_t n, const char *name, size_t len)
{
	for (size_t i = 0; i < n; i++) {
		const char *const names[] = {opts[i].name, opts[i].was};

		for (size_t k = 0; k < ARRAY_SIZE(names); k++)
			if (names[k] && strlen(names[k]) == len &&
			    memcmp(names[k], name, len) == 0 && !is_shared(names[k]))
				return true;
	}
	return false;
}

/* ralph took its options behind the agent once. One that stands there still is refused: the wall
 * that it asks for must not vanish without a word. */
static int check_own(struct cli *cli, const struct agent *a, int argc, char **argv)
{
	const struct command *c = cli->command;

	for (int i = 0; i < argc && !streq(argv[i], "--"); i++) {
		const char *name = argv[i] + 2;
		size_t len;

		if (strncmp(argv[i], "--", 2) != 0)
			continue;
		len = strcspn(name, "=");
		if (!has_long(c->opts, c->n_opts, name, len) &&
		    !has_long(global_opts, n_global_opts, name, len))
			continue;
		if (streq(cli->word, c->name))
			return cli_usage(cli, "put --%.*s before %s, or after --", (int)len, name,
					 a->name);
		return cli_usage(cli,
				 "put --%.*s before %s, or after --; before it, the command is: "
				 "ralph run --%.*s … %s",
				 (int)len, name, a->name, (int)len, name, a->name);
	}
	return 0;
}

/* argv: what stands behind the agent. Returns how many of these words are ralph's. */
static int take_workspace(struct cli *cli, const struct agent *a, int argc, char **argv,
			  struct settings_target *ret)
{
	if (argc > 0 && streq(argv[0], "--"))
		return 1;
	if (argc == 0 || ret->path || argv[0][0] == '-' || !is_dir(argv[0]))
		return 0;
	if (argc > 1 && !streq(argv[1], "--"))
		return cli_usage(cli,
				 "'%s' is a directory: put -C %s before %s if it is the workspace, "
				 "or -- before it if it is an argument",
				 argv[0], argv[0], a->name);
	ret->path = argv[0];
	return argc > 1 ? 2 : 1;
}

/* used: the agent's own word among the operands. */
static int agent_operands(struct cli *cli, int used, int argc, char **argv,
			  struct settings_target *ret, int *ret_rest)
{
	const char *other = strv_env_get(&cli->config, "agent");
	int n, r = check_own(cli, ret->agent, argc - used, argv + used);

	if (r < 0)
		return r;
	if (other && !streq(other, ret->agent->name))
		return cli_usage(cli, "%s and --agent %s exclude each other", ret->agent->name,
				 other);
	n = take_workspace(cli, ret->agent, argc - used, argv + used, ret);
	if (n < 0)
		return n;
	ret->alone = argc == used;
	*ret_rest = used + n;
	return 0;
}

/* The first word is a command that was typed without "--". */
static int suggest_command(struct cli *cli, int argc, char **argv)
{
	cleanup_buf struct buf b;

	buf_init(&b, SUGGESTION_MAX);
	for (int i = 0; i < argc; i++)
		(void)buf_printf(&b, strpbrk(argv[i], " \t\n\"'\\$*?;&|<>()#") ? " '%s'" : " %s",
				 argv[i]);
	return cli_usage(cli,
			 "'%s' is neither an agent nor a directory; did you mean: ralph %s -- %s",
			 argv[0], cli->name, b.full ? argv[0] : buf_str(&b) + 1);
}

/* True for `PATH -- CMD…` with a PATH that is no directory: it ended the options, so that "--" is
 * an operand. */
static bool is_bad_path(const struct cli *cli, int argc, char **argv)
{
	return cli->dashdash < 0 && argc > 1 && streq(argv[1], "--");
}

static int command_operands(struct cli *cli, int argc, char **argv, struct settings_target *ret,
			    int *ret_rest)
{
	bool bad_path = is_bad_path(cli, argc, argv);
	int before = bad_path ? 1 : cli->dashdash >= 0 ? cli->dashdash : argc;
	int rest = before + bad_path;

	if (before > 0 && !bad_path && !is_dir(argv[0]) && !strchr(argv[0], '/'))
		return suggest_command(cli, argc, argv);
	if (before > 1)
		return cli_usage(cli, "one PATH at most before '--'; the command comes after it");
	if (before == 1 && ret->path)
		return cli_usage(cli, "'%s' and -C %s exclude each other", argv[0], ret->path);
	if (before == 1)
		ret->path = argv[0];
	ret->argv0 = argc > rest ? argv[rest] : NULL;
	ret->alone = cli->dashdash < 0 && !bad_path;
	*ret_rest = rest;
	return 0;
}

int run_operands(struct cli *cli, const char *dir, int argc, char **argv,
		 struct settings_target *ret, int *ret_rest)
{
	int used = 0;

	ret->path = dir;
	ret->agent = agent_find(cli->word);
	if (!ret->agent && argc > 0 && cli->dashdash != 0) {
		ret->agent = agent_find(argv[0]);
		used = ret->agent != NULL;
	}
	return ret->agent ? agent_operands(cli, used, argc, argv, ret, ret_rest)
			  : command_operands(cli, argc, argv, ret, ret_rest);
}

static size_t list_agents(const struct places *p, const struct agent **ret, size_t max)
{
	size_t n = 0;

	for (size_t i = 0; i < agent_count() && n < max; i++)
		if (agent_at(i)->program && agent_is_installed(p, agent_at(i)))
			ret[n++] = agent_at(i);
	return n;
}

int run_offer_agents(struct cli *cli, const struct agent **ret)
{
	cleanup_(places_done) struct places p = {0};
	const struct agent *found[ANSWER_MAX];
	char answer[ANSWER_MAX] = "";
	uint64_t choice = 0;
	size_t n;
	int r = 0;

	*ret = NULL;
	if (cli->yes || !ask_possible() || places_find(&p, &cli->err) < 0)
		return 0;
	n = list_agents(&p, found, ARRAY_SIZE(found));
	for (size_t i = 0; i < n; i++)
		(void)fprintf(stderr, "  %zu  ralph run %s\n", i + 1, found[i]->name);
	if (n > 0)
		r = ask_text("Which agent? ", answer, sizeof(answer), &cli->err);
	if (r == 0 && n > 0 && parse_uint(answer, 1, n, &choice) == 0)
		*ret = found[choice - 1];
	for (size_t i = 0; r == 0 && i < n && !*ret; i++)
		if (streq(answer, found[i]->name))
			*ret = found[i];
	return r;
}
