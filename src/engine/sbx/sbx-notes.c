/* Sentences about a sandbox of Docker's, for what the audit's tables cannot show. */
#include "engine/sbx/sbx.h"

static void note_network(const struct sbx_dialect *d, const struct sandbox_spec *s,
			 struct strv *ret)
{
	if (s->net.tier != POLICY_INET)
		strv_push(ret,
			  "held by Docker's own proxy, whose 'deny' keeps a list of its own that "
			  "ralph cannot take away: GitHub, package registries, providers of "
			  "models, by version");
	strv_pushf(ret, "what was denied is on Docker's record alone: %s", d->net_log);
	for (const char *const *note = d->net_notes; *note; note++)
		strv_push(ret, *note);
	if (s->port)
		strv_pushf(ret,
			   "the gateway is at 127.0.0.1:%u of this machine (%s:%u inside) and "
			   "answers who has this sandbox's phantom",
			   s->port, SBX_HOST, s->port);
}

/* A value that the host's command line gets as an argument is in the list of processes. */
static void note_variables(const struct sandbox_spec *s, struct strv *ret)
{
	for (size_t i = 0; i < s->n_env; i++)
		if (s->env[i].origin == SPEC_USER && sbx_is_client_env(s->env[i].name))
			strv_pushf(ret,
				   "%s: its value can be seen in the list of processes of this "
				   "machine",
				   s->env[i].name);
}

void sbx_notes(const struct sbx_dialect *d, const struct sandbox_spec *s, struct engine_notes *ret)
{
	strv_push(&ret->mounts,
		  "nothing of the workspace is read-only inside: what your machine would run is "
		  "put back after each command as it was at the start, whoever changed it, and "
		  "while one runs it may be something else");
	strv_push(&ret->mounts,
		  "all else is Docker's image; the user inside may become root there, and what is "
		  "written there stays until ralph rm");
	note_network(d, s, &ret->network);
	note_variables(s, &ret->credentials);
}
