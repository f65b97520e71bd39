/* Tasks at a placement: what a node does not have, or has for a request. */
#include "cli/show/audit.h"

#include <string.h>

#include "base/text/term.h"
#include "compose/cred-place.h"

/* That of the settings; NULL: tasks run on this machine. */
static const struct config_place *place_of(const struct config *c)
{
	return c->fleet.place && *c->fleet.place ? config_place(c, c->fleet.place) : NULL;
}

static bool dials_from_home(const struct config_place *p)
{
	return p->egress && streq(p->egress, "home");
}

static enum term_style style_of(enum cred_place p)
{
	return p == CRED_PLACE_RELAYED ? STYLE_YELLOW : STYLE_GREEN;
}

void audit_print_place(const struct config *c, const struct sandbox_spec *s, FILE *out, bool color)
{
	const struct config_place *p = place_of(c);

	if (!p)
		return;
	(void)fputc('\n', out);
	term_styled(out, color, STYLE_BOLD, "Placement of tasks");
	(void)fputs("\n  ", out);
	term_puts(out, p->name);
	(void)fprintf(out, ": connections are made %s\n",
		      dials_from_home(p) ? "by this machine, as its rules allow"
					 : "by the node's gateway");
	for (size_t i = 0; i < s->n_credentials; i++) {
		enum cred_place how = cred_place(&s->credentials[i], p);

		(void)fputs("  ", out);
		term_puts(out, s->credentials[i].name);
		(void)fputs("  ", out);
		term_styled(out, color, style_of(how), cred_place_text(how));
		(void)fputc('\n', out);
	}
}

json_t *audit_place_json(const struct config *c, const struct sandbox_spec *s)
{
	static const char *const words[] = {
		[CRED_PLACE_RELAYED] = "relayed",
		[CRED_PLACE_HOME] = "home",
		[CRED_PLACE_REFUSED] = "refused",
		[CRED_PLACE_NO_WAY] = "none",
	};
	const struct config_place *p = place_of(c);
	json_t *uses = p ? json_object() : NULL;

	for (size_t i = 0; p && i < s->n_credentials; i++)
		(void)json_object_set_new(uses, s->credentials[i].name,
					  json_string(words[cred_place(&s->credentials[i], p)]));
	return p ? json_pack("{so ss so}", "name", json_text(p->name), "egress",
			     dials_from_home(p) ? "home" : "node", "credentials", uses)
		 : NULL;
}
