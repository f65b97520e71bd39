#include "policy/suffix.h"

#include <string.h>

/* Second labels under which country registries sell names: co.uk, com.au, ne.jp … */
static const char *const registry_labels[] = {
	"ac",	"asn", "biz", "co",  "com",  "edu", "firm", "gen", "go",     "gob", "gouv", "gov",
	"govt", "gv",  "id",  "ind", "info", "ltd", "me",   "mil", "muni",   "ne",  "net",  "nhs",
	"nic",	"nom", "or",  "org", "plc",  "pro", "res",  "sch", "school", "web",
};

/* Domains below which anybody can publish: a rule for all of them is a rule for everybody. */
static const char *const hosting[] = {
	"amazonaws.com",
	"appspot.com",
	"azureedge.net",
	"azurewebsites.net",
	"blob.core.windows.net",
	"blogspot.com",
	"cloudapp.azure.com",
	"cloudapp.net",
	"cloudfront.net",
	"cloudfunctions.net",
	"codeberg.page",
	"core.windows.net",
	"deno.dev",
	"duckdns.org",
	"fastly.net",
	"firebaseapp.com",
	"fly.dev",
	"github.io",
	"gitlab.io",
	"glitch.me",
	"herokuapp.com",
	"netlify.app",
	"ngrok-free.app",
	"ngrok.app",
	"ngrok.io",
	"nip.io",
	"onrender.com",
	"pages.dev",
	"r2.dev",
	"railway.app",
	"repl.co",
	"replit.app",
	"run.app",
	"s3.amazonaws.com",
	"sslip.io",
	"surge.sh",
	"trycloudflare.com",
	"vercel.app",
	"web.app",
	"windows.net",
	"workers.dev",
};

static bool in_list(const char *s, size_t n, const char *const *list, size_t list_n)
{
	for (size_t i = 0; i < list_n; i++)
		if (strlen(list[i]) == n && memcmp(list[i], s, n) == 0)
			return true;
	return false;
}

const char *suffix_too_broad(const char *name)
{
	const char *first_dot = strchr(name, '.');
	size_t first_n;

	if (!first_dot)
		return "name a registrable domain";
	first_n = (size_t)(first_dot - name);
	if (!strchr(first_dot + 1, '.') && strlen(first_dot + 1) == 2 &&
	    in_list(name, first_n, registry_labels, ARRAY_SIZE(registry_labels)))
		return "name a registrable domain";
	if (in_list(name, strlen(name), hosting, ARRAY_SIZE(hosting)))
		return "anybody can publish there; name the hosts one by one";
	return NULL;
}

const char *suffix_too_wide(const struct cidr *c)
{
	static const struct {
		struct cidr in;
		uint8_t min;
		const char *why;
	} rows[] = {
		/* clang-format off */
		{{{true, {0xfc}}, 7}, 7, NULL},
		{{{true, {0x00, 0x64, 0xff, 0x9b}}, 32}, 104, "it spans all of IPv4; narrow it to /104 or less"},
		{{{true, {0x20, 0x02}}, 16}, 24, "it spans all of IPv4; narrow it to /24 or less"},
		{{{true, {0}}, 0}, 16, "narrow it to /16 or less, or choose the tier 'inet'"},
		{{{false, {0}}, 0}, 8, "narrow it to /8 or less, or choose the tier 'inet'"},
		/* clang-format on */
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (c->len < rows[i].in.len || !cidr_contains(&rows[i].in, &c->ip))
			continue;
		return c->len < rows[i].min ? rows[i].why : NULL;
	}
	return NULL;
}
