/*
 * The agents besides the sandbox's own: a sandbox for work by hand (`ralph up`) has the settings and
 * logins of every agent that is found.
 */
#include "compose/build.h"

#include <stdlib.h>
#include <string.h>

#include "base/find-program.h"
#include "compose/agent-path.h"
#include "record/runtime.h"
#include "record/store.h"

static bool is_found(const struct places *p, const struct agent *a)
{
	cleanup_free char *search = agent_search_path(a, getenv("PATH"), p->home);
	cleanup_free char *file = search ? path_find_program(a->program, search) : NULL;

	return file != NULL;
}

/* Reads the record of a sandbox of that name that runs; NULL: none does. */
static struct sandbox_spec *live_spec(const struct places *p, const char *name)
{
	cleanup_store struct store_entry e = STORE_ENTRY_INIT;
	struct sandbox_spec *live = NULL;
	struct err ignored;

	if (!runtime_exists(p, name) || store_open(p, name, false, &e, &ignored) < 0 ||
	    store_read_spec(&e, &live, &ignored) < 0)
		return NULL;
	return live;
}

/* An image has programs of its own, which ralph does not look at. */
static void every_agent(struct sandbox_spec *s, const struct places *p)
{
	for (size_t i = 0; i < agent_count(); i++) {
		const struct agent *a = agent_at(i);

		if (a->program && (s->container.image || is_found(p, a)))
			strv_push(&s->agents, a->name);
	}
}

bool build_agents(struct sandbox_spec *s, const struct build_input *in, char **notice)
{
	cleanup_(spec_freep) struct sandbox_spec *live = NULL;
	const struct agent *own = agent_find(in->config->agent);

	if (no_guest(s) || !own || own->program)
		return in->stays;
	live = live_spec(in->places, s->name);
	if (live)
		strv_extend(&s->agents, &live->agents);
	else if (in->every_agent)
		every_agent(s, in->places);
	if (live && in->every_agent && !live->agents.n)
		build_notice(notice,
			     "sandbox '%s' is live without the agents' logins; to have them: "
			     "ralph stop %s",
			     s->name, s->name);
	return in->stays && !live;
}

const struct agent *build_agent_at(const struct sandbox_spec *s, size_t i)
{
	return i < s->agents.n ? agent_find(s->agents.v[i]) : NULL;
}

char *build_search_path(const struct sandbox_spec *s, const struct agent *a, const char *home)
{
	char *path = agent_search_path(a, getenv("PATH"), home);
	const struct agent *other;

	for (size_t i = 0; (other = build_agent_at(s, i)); i++) {
		char *longer = agent_search_path(other, path, home);

		free(path);
		path = longer;
	}
	return path;
}

void build_programs(const struct sandbox_spec *s, struct strv *ret)
{
	const struct agent *a;

	for (size_t i = 0; (a = build_agent_at(s, i)); i++)
		strv_push(ret, a->program);
}
