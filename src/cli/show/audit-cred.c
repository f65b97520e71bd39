#include "cli/show/audit.h"

#include <time.h>

#include "base/text/term.h"

#define MS_PER_HOUR (3600ULL * 1000)

const char *audit_way_words(enum spec_way w)
{
	static const char *const words[] = {
		[SPEC_WAY_PHANTOM] = "phantom: the gateway sets the real one",
		[SPEC_WAY_MOUNT] = "mounted: the real file is inside",
		[SPEC_WAY_PIPE] = "piped: the real one is inside while a command runs",
		[SPEC_WAY_ENV] = "variable: the real one is inside",
	};

	return words[w];
}

char *audit_expiry_text(uint64_t expires_ms)
{
	struct timespec now;
	uint64_t now_wall;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	now_wall = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
	if (expires_ms == 0)
		return xstrdup("no expiry known");
	if (expires_ms <= now_wall)
		return xstrdup("expired");
	if (expires_ms - now_wall >= 48 * MS_PER_HOUR)
		return xasprintf("expires in %llu d", (unsigned long long)((expires_ms - now_wall) /
									   (24 * MS_PER_HOUR)));
	return xasprintf("expires in %llu h %llu min",
			 (unsigned long long)((expires_ms - now_wall) / MS_PER_HOUR),
			 (unsigned long long)((expires_ms - now_wall) % MS_PER_HOUR / 60000));
}

static void print_one(const struct spec_credential *c, FILE *out, bool color)
{
	cleanup_free char *expiry = audit_expiry_text(c->expires_ms);

	(void)fputs("  ", out);
	term_puts(out, c->name);
	(void)fputs(" (", out);
	term_puts(out, c->provider);
	(void)fputs(")  ", out);
	term_styled(out, color, c->way == SPEC_WAY_PHANTOM ? STYLE_GREEN : STYLE_RED,
		    audit_way_words(c->way));
	(void)fprintf(out, "; %s\n    ", expiry);
	if (c->source) {
		(void)fputs("from ", out);
		term_puts(out, c->source);
	}
	if (c->origin) {
		(void)fputs(c->source ? ", for " : "for ", out);
		term_puts(out, c->origin);
		(void)fputs(" only", out);
	}
	(void)fputc('\n', out);
	/* Way env is for keys of AWS: see cred/hold/bedrock-hold.c. */
	if (c->way == SPEC_WAY_ENV)
		(void)fputs(
			"    as AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN and "
			"AWS_DEFAULT_REGION\n    (or AWS_BEARER_TOKEN_BEDROCK) of each command\n",
			out);
}

/* Tools that providers run are a way out, whatever the network says. */
static void print_tools(const struct sandbox_spec *s, FILE *out, bool color)
{
	cleanup_free char *names = spec_tools_text(s);
	bool provider = false;

	for (size_t i = 0; i < s->n_credentials; i++)
		provider |= s->credentials[i].endpoint != NULL;
	if (!provider)
		return;
	(void)fputs("  tools that providers may run for requests: ", out);
	term_styled(out, color, s->provider_tools.n ? STYLE_YELLOW : STYLE_GREEN, names);
	(void)fputc('\n', out);
}

void audit_print_credentials(const struct sandbox_spec *s, FILE *out, bool color)
{
	if (s->n_credentials == 0)
		(void)fputs("  none\n", out);
	for (size_t i = 0; i < s->n_credentials; i++)
		print_one(&s->credentials[i], out, color);
	print_tools(s, out, color);
	for (size_t i = 0; i < s->n_env; i++) {
		const struct spec_env *e = &s->env[i];

		if (!audit_is_secret(e))
			continue;
		(void)fputs("  ", out);
		term_styled(out, color, STYLE_RED, e->name);
		(void)fputs(": looks like a secret, and every program inside can read it\n", out);
	}
}
