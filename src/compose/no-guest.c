#include "compose/no-guest.h"

#include <string.h>

#include "engine/engine.h"
#include "engine/sbx/sbx.h"

bool no_guest(const struct sandbox_spec *s)
{
	const struct engine_ops *ops = engine_by_name(s->engine);

	return ops && (ops->caps & ENGINE_HOSTED);
}

bool no_guest_choice(const char *engine, bool direct)
{
	const struct engine_ops *ops = NULL;
	struct err ignored;

	/* What is not there is the error of whoever makes the sandbox. */
	return direct || (engine_find(engine, &ops, &ignored) == 0 && (ops->caps & ENGINE_HOSTED));
}

bool no_guest_without_wall(const struct sandbox_spec *s)
{
	const struct engine_ops *ops = engine_by_name(s->engine);

	return ops && (ops->caps & ENGINE_NO_WALL);
}

static void note_network(const struct sandbox_spec *s, struct strv *ret)
{
	if (s->net.tier != SPEC_NET_INET)
		strv_push(ret,
			  "held by Docker's own proxy, whose 'deny' keeps a list of its own that "
			  "ralph cannot take away: GitHub, package registries, providers of "
			  "models, by version");
	strv_pushf(ret, "what was denied is on Docker's record alone: %s",
		   streq(s->engine, sbx_plugin_dialect.engine) ? "docker sandbox network log"
							       : "sbx policy log");
	if (streq(s->engine, sbx_plugin_dialect.engine))
		strv_push(ret, "programs that ignore HTTP_PROXY and HTTPS_PROXY reach nothing");
	if (streq(s->engine, sbx_plugin_dialect.engine))
		strv_push(ret,
			  "docker sandbox forgets no host: what an earlier start allowed stays "
			  "allowed until ralph rm");
	if (s->port)
		strv_pushf(
			ret,
			"the gateway is at 127.0.0.1:%u of this machine (host.docker.internal:%u "
			"inside) and answers who has this sandbox's phantom",
			s->port, s->port);
}

/* What goes to the command line of the host by its arguments is in the list of processes. */
static void note_variables(const struct sandbox_spec *s, struct strv *ret)
{
	for (size_t i = 0; i < s->n_env; i++)
		if (s->env[i].origin == SPEC_USER && sbx_is_client_env(s->env[i].name))
			strv_pushf(ret,
				   "%s: its value can be seen in the list of processes of this "
				   "machine",
				   s->env[i].name);
}

void no_guest_notes(const struct sandbox_spec *s, struct no_guest_notes *ret)
{
	*ret = (struct no_guest_notes){0};
	if (!no_guest(s) || no_guest_without_wall(s))
		return;
	strv_push(&ret->mounts,
		  "nothing of the workspace is read-only inside: what your machine would run is "
		  "put back after each command as it was at the start, whoever changed it, and "
		  "while one runs it may be something else");
	strv_push(&ret->mounts,
		  "all else is Docker's image; the user inside may become root there, and what is "
		  "written there stays until ralph rm");
	note_network(s, &ret->network);
	note_variables(s, &ret->credentials);
}

void no_guest_notes_done(struct no_guest_notes *n)
{
	strv_done(&n->mounts);
	strv_done(&n->network);
	strv_done(&n->credentials);
}
