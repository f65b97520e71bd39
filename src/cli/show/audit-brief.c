#include "cli/show/audit.h"

#include <assert.h>
#include <string.h>

#include "base/text/term.h"
#include "compose/no-guest.h"
#include "compose/no-sandbox.h"
#include "engine/engine.h"

#define LABEL_COLUMNS 11
#define LEAST_WIDTH 40 /* narrower terminals break the lines themselves */
#define UNUSUAL_LINES 3
#define CHANGE_LINES 3
#define ALWAYS_LINES 5
static_assert(ALWAYS_LINES + UNUSUAL_LINES + CHANGE_LINES <= AUDIT_BRIEF_LINES, "they all fit");

struct brief {
	FILE *out;
	unsigned width;
	bool color;
};

/* Text of others goes through here: it is escaped, and one line. */
static void put(const struct brief *b, const char *label, enum term_style style, const char *text)
{
	cleanup_free char *escaped = term_escape(text);
	size_t room = b->width - LABEL_COLUMNS;

	(void)fprintf(b->out, "%-*s", LABEL_COLUMNS, label);
	(void)fputs(term_on(b->color, style), b->out);
	if (term_columns(escaped) <= room)
		(void)fputs(escaped, b->out);
	else
		(void)fprintf(b->out, "%.*s…", (int)term_fit(escaped, room - 1), escaped);
	(void)fputs(term_off(b->color && style != STYLE_NONE), b->out);
	(void)fputc('\n', b->out);
}

/* At most so many lines. The first n_red of them are red, the others have the style. */
static void put_many(const struct brief *b, const char *label, const struct strv *lines,
		     size_t n_red, enum term_style style, size_t most)
{
	size_t shown = lines->n <= most ? lines->n : most - 1;

	for (size_t i = 0; i < shown; i++)
		put(b, i == 0 ? label : "", i < n_red ? STYLE_RED : style, lines->v[i]);
	if (shown < lines->n) {
		cleanup_free char *more = xasprintf("and %zu more", lines->n - shown);

		put(b, "", shown < n_red ? STYLE_RED : style, more);
	}
}

/* "a, b, and 3 more": as many as fit. */
static char *some_of(const struct strv *words, size_t columns)
{
	char *text = xstrdup("");

	for (size_t i = 0; i < words->n; i++) {
		char *longer = xasprintf("%s%s%s", text, i ? ", " : "", words->v[i]);
		size_t more = i + 1 < words->n ? strlen(", and 999 more") : 0;

		if (i > 0 && term_columns(longer) + more > columns) {
			free(longer);
			longer = xasprintf("%s, and %zu more", text, words->n - i);
			i = words->n - 1;
		}
		free(text);
		text = longer;
	}
	return text;
}

static void put_workspace(const struct brief *b, const struct sandbox_spec *s)
{
	cleanup_free char *text =
		xasprintf("%s%s%s%s", s->workspace, s->branch ? ", branch " : "",
			  s->branch ? s->branch : "", s->clone ? ", in a clone" : "");

	put(b, "workspace", STYLE_BOLD, text);
}

static void put_engine(const struct brief *b, const struct sandbox_spec *s)
{
	cleanup_free char *text = xasprintf("%s, user %u, sandbox %s", s->engine, s->uid, s->name);

	put(b, "engine", STYLE_NONE, text);
}

static void put_agent(const struct brief *b, const struct sandbox_spec *s)
{
	cleanup_strv struct strv logins = {0};
	cleanup_free char *all = NULL, *text = NULL, *agents = spec_agents_text(s);

	for (size_t i = 0; i < s->n_credentials; i++) {
		const struct spec_credential *c = &s->credentials[i];
		cleanup_free char *expiry = audit_expiry_text(c->expires_ms);

		strv_pushf(&logins, "%s (%s, %s)", c->name, spec_way_name(c->way), expiry);
	}
	all = some_of(&logins, b->width - LABEL_COLUMNS - strlen(agents) - strlen("; login: "));
	text = xasprintf("%s; login: %s", agents, logins.n ? all : "none");
	put(b, "agent", STYLE_NONE, text);
}

/* The provider of a login can be reached by its endpoint, without a rule. */
static void add_provider(const struct spec_credential *c, struct strv *hosts)
{
	const char *host = c->endpoint && c->origin ? strstr(c->origin, "://") : NULL;

	if (host)
		strv_pushf(hosts, "%.*s", (int)strcspn(host + 3, "/"), host + 3);
}

/* Hosts of rules that allow; a deny only takes away. */
static void put_hosts(const struct brief *b, const struct sandbox_spec *s)
{
	cleanup_strv struct strv hosts = {0};
	cleanup_free char *all = NULL, *text = NULL;

	for (size_t i = 0; s->net.tier != POLICY_NONE && i < s->n_credentials; i++)
		add_provider(&s->credentials[i], &hosts);
	for (size_t i = 0; i < s->net.n_rules; i++)
		if (!s->net.rules[i].deny && !strv_has(&hosts, s->net.rules[i].pattern))
			strv_push(&hosts, s->net.rules[i].pattern);
	all = some_of(&hosts, b->width - LABEL_COLUMNS);
	if (s->net.tier == POLICY_NONE)
		text = xstrdup("none");
	else if (s->net.tier == POLICY_ALLOWLIST)
		text = xstrdup(hosts.n ? all : "none is allowed yet");
	else
		text = xasprintf("all: network tier %s", policy_tier_name(s->net.tier));
	put(b, "hosts", STYLE_NONE, text);
}

/* The home inside is the sandbox's own. */
static void put_writable(const struct brief *b, const struct sandbox_spec *s)
{
	cleanup_strv struct strv paths = {0};
	cleanup_free char *all = NULL;

	for (size_t i = 0; i < s->n_mounts; i++)
		if (spec_is_writable(s->mounts[i].kind) && !s->mounts[i].of_tree &&
		    !streq(s->mounts[i].target, s->home))
			strv_push(&paths, s->mounts[i].target);
	all = some_of(&paths, b->width - LABEL_COLUMNS);
	put(b, "writable", STYLE_NONE, paths.n ? all : "as the engine has it");
}

static void find_red(const struct sandbox_spec *s, struct strv *out)
{
	if (no_guest_without_wall(s))
		strv_push(out, direct_warning);
	for (size_t i = 0; i < s->n_credentials; i++)
		if (s->credentials[i].way != SPEC_WAY_PHANTOM)
			strv_pushf(out, "login %s: %s", s->credentials[i].name,
				   audit_way_words(s->credentials[i].way));
	for (size_t i = 0; i < s->n_env; i++)
		if (audit_is_secret(&s->env[i]))
			strv_pushf(out,
				   "%s looks like a secret, and every program inside can read it",
				   s->env[i].name);
	if (s->net.tier == POLICY_FULL)
		strv_push(out, "every host can be reached, private and local ones too");
}

static void find_yellow(const struct sandbox_spec *s, struct strv *out)
{
	cleanup_(engine_notes_done) struct engine_notes notes;

	if (s->net.tier == POLICY_INET)
		strv_push(out, "every public host can be reached");
	for (size_t i = 0; i < s->n_mounts; i++)
		if (s->mounts[i].asked)
			strv_pushf(out, "mount %s: %s", s->mounts[i].target, s->mounts[i].reason);
	if (s->quarantine == SPEC_QUARANTINE_NONE && !no_guest(s))
		strv_push(out, "files that the host would run stay where they are");
	if (strv_has(&s->provider_tools, "all"))
		strv_push(out, "providers may run every tool of theirs");
	engine_notes(s, &notes);
	strv_extend(out, &notes.mounts);
	strv_extend(out, &notes.network);
	strv_extend(out, &notes.credentials);
}

static void put_unusual(const struct brief *b, const struct sandbox_spec *s)
{
	cleanup_strv struct strv lines = {0};
	size_t n_red;

	find_red(s, &lines);
	n_red = lines.n;
	find_yellow(s, &lines);
	put_many(b, "unusual", &lines, n_red, STYLE_YELLOW, UNUSUAL_LINES);
}

void audit_print_brief(const struct sandbox_spec *s, const struct strv *changes, FILE *out,
		       unsigned width, bool color)
{
	struct brief b = {out, width ? width : AUDIT_WIDTH_ELSEWHERE, color};

	if (b.width < LEAST_WIDTH)
		b.width = LEAST_WIDTH;
	put_workspace(&b, s);
	put_engine(&b, s);
	put_agent(&b, s);
	put_hosts(&b, s);
	put_writable(&b, s);
	put_unusual(&b, s);
	put_many(&b, "changed", changes, 0, STYLE_CYAN, CHANGE_LINES);
}
