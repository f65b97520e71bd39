#include "compose/no-guest.h"

bool no_guest(const struct sandbox_spec *s)
{
	return engine_has(s->engine, ENGINE_NO_GUEST);
}

bool no_guest_choice(const char *engine, bool direct)
{
	const char *name = NULL;
	struct err ignored;

	/* build_spec() reports an engine that is not found. */
	return direct ||
	       (engine_find(engine, &name, &ignored) == 0 && engine_has(name, ENGINE_NO_GUEST));
}

bool no_guest_without_wall(const struct sandbox_spec *s)
{
	return engine_has(s->engine, ENGINE_NO_WALL);
}
