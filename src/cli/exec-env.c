#include "cli/exec.h"

#include <string.h>

#include "cli/net-common.h"
#include "cli/settings.h"
#include "policy/refused-env.h"
#include "record/store.h"

/* The text is not shown: it may be a value without its name. */
static int check_variable(const char *entry, const struct strv *patterns, struct err *err)
{
	const char *eq = strchr(entry, '=');
	cleanup_free char *name = eq ? xstrndup(entry, (size_t)(eq - entry)) : NULL;

	if (!name || !*name)
		return err_usage(err,
				 "--env takes NAME=VALUE, and was given a text without a name");
	return refused_env_check(name, eq + 1, patterns, "--env", err);
}

/* A variable for one command is refused as the sandbox would refuse it, or its next start. */
int exec_check_env(struct cli *cli, const struct places *p, const char *sandbox,
		   const struct strv *env)
{
	cleanup_(spec_freep) struct sandbox_spec *spec = NULL;
	cleanup_store struct store_entry e = STORE_ENTRY_INIT;
	cleanup_settings struct settings s = {0};
	cleanup_strv struct strv patterns = {0};
	int r = store_open(p, sandbox, false, &e, &cli->err);

	if (r == 0)
		r = store_read_spec(&e, &spec, &cli->err);
	if (r == 0)
		r = settings_load(cli, spec->workspace, &s);
	if (r < 0)
		return r;
	strv_extend(&patterns, &spec->env_refuse);
	strv_extend(&patterns, &s.config->env.refuse);
	for (size_t i = 0; r == 0 && i < env->n; i++)
		r = check_variable(env->v[i], &patterns, &cli->err);
	return r;
}

int exec_here(struct cli *cli, const struct places *p, char **ret)
{
	return net_record(cli, p, NULL, ret);
}
