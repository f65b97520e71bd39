#include "compose/no-guest.h"

bool no_guest(const struct sandbox_spec *s)
{
	return engine_has(s->engine, ENGINE_NO_GUEST);
}

bool no_guest_choice(const char *engine, bool direct)
{
	const char *name = NULL;
	struct err ignored;

	/* What is not there is the error of whoever makes the sandbox. */
	return direct ||
	       (engine_find(engine, &name, &ignored) == 0 && engine_has(name, ENGINE_NO_GUEST));
}

bool no_guest_without_wall(const struct sandbox_spec *s)
{
	return engine_has(s->engine, ENGINE_NO_WALL);
}
