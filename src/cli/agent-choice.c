#include "cli/agent-choice.h"

#include <stdlib.h>
#include <string.h>

#include "base/find-program.h"
#include "compose/agent-path.h"
#include "base/log.h"
#include "cli/frame/command.h"
#include "compose/cred-check.h"

extern char **environ;

bool agent_is_installed(const struct places *p, const struct agent *a)
{
	const char *path = getenv("PATH");
	cleanup_free char *search = agent_search_path(a, path ? path : "/usr/bin:/bin", p->home);
	cleanup_free char *program = search ? path_find_program(a->program, search) : NULL;

	return program != NULL;
}

static bool is_logged_in(const struct places *p, const struct config *c, const char *project,
			 const struct agent *a)
{
	cleanup_(cred_report_done) struct cred_report report = {0};
	struct err ignored = {0};

	return cred_check(p, c, environ, project, a, &report, &ignored) == 0 &&
	       cred_report_ok(&report);
}

const struct agent *agent_only(const struct places *p, const struct config *c, const char *project)
{
	const struct agent *found = NULL;

	for (size_t i = 0; i < agent_count(); i++) {
		const struct agent *a = agent_at(i);

		if (!a->program || !agent_is_installed(p, a) || !is_logged_in(p, c, project, a))
			continue;
		if (found)
			return NULL;
		found = a;
	}
	return found;
}

const struct agent *agent_choose(const struct places *p, const struct config *c,
				 const char *project, const char **ret_why)
{
	const struct agent *only;

	*ret_why = NULL;
	if (!streq(config_origin(c, "agent"), "default"))
		return agent_find(c->agent);
	only = agent_only(p, c, project);
	*ret_why = only ? "the only one that is installed and logged in" : "as you name none";
	return only ? only : agent_default();
}

void agent_settle(struct cli *cli, const struct places *p, const struct config *c,
		  const char *project, const char *how)
{
	const char *why = NULL;
	const struct agent *a = agent_choose(p, c, project, &why);

	if (!why)
		return;
	log_info("loop", "the agent is %s, %s; to have another: ralph %s %sAGENT", a->name, why,
		 cli->name, how);
	strv_env_set(&cli->config, "agent", a->name);
}
