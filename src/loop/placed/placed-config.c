#include "loop/placed/placed-config.h"

#include <string.h>

#include "base/text/mask.h"

/* Keys, or sections with their point, that stay here. */
static const char *const own[] = {"profile",	 "env.",	"identity",   "mounts",
				  "inbox.",	 "credentials", "audit",      "terminal.",
				  "loop.notify", "fleet.",	"providers.", "log."};

static bool stays(const char *key)
{
	for (size_t i = 0; i < ARRAY_SIZE(own); i++) {
		size_t n = strlen(own[i]);

		if (own[i][n - 1] == '.' ? strncmp(key, own[i], n) == 0 : streq(key, own[i]))
			return true;
	}
	return false;
}

static size_t section_of(const char *key)
{
	const char *dot = strchr(key, '.');

	return dot ? (size_t)(dot - key) : 0;
}

static bool is_first_of(const struct config_entry *e, size_t i)
{
	size_t n = section_of(e[i].key);

	for (size_t k = 0; k < i; k++)
		if (!stays(e[k].key) && strncmp(e[k].key, e[i].key, n + 1) == 0)
			return false;
	return true;
}

static void put_section(struct buf *b, const struct config_entry *e, size_t n, size_t i)
{
	size_t len = section_of(e[i].key);

	(void)buf_printf(b, "%.*s:\n", (int)len, e[i].key);
	for (size_t k = i; k < n; k++)
		if (!stays(e[k].key) && strncmp(e[k].key, e[i].key, len + 1) == 0)
			(void)buf_printf(b, "  %s: %s\n", e[k].key + len + 1, e[k].value);
}

/* Variables of the user's for the sandbox. Those that are passed in are this machine's. */
static void put_env(struct buf *b, const struct config *c, struct strv *left)
{
	bool any = false;

	for (size_t i = 0; i < c->env.set.n; i++) {
		const char *entry = c->env.set.v[i];
		cleanup_free char *name = xstrndup(entry, strcspn(entry, "="));

		if (mask_is_secret(name, entry + strcspn(entry, "=") + 1)) {
			strv_push(left, name);
			continue;
		}
		(void)buf_puts(b, any ? ", " : "env: {set: [");
		(void)buf_put_quoted(b, entry);
		any = true;
	}
	if (any)
		(void)buf_puts(b, "]}\n");
	strv_extend(left, &c->env.pass);
}

/* Where providers are reached: a file of certificates is not there. */
static void put_providers(struct buf *b, const struct config *c)
{
	bool any = false;

#define ENDPOINT(x, title)                                                                         \
	if (c->providers.x.origin) {                                                               \
		(void)buf_printf(b, "%s  " #x ": {origin: ", any ? "" : "providers:\n");           \
		(void)buf_put_quoted(b, c->providers.x.origin);                                    \
		(void)buf_puts(b, "}\n");                                                          \
		any = true;                                                                        \
	}
#include "config/providers.def"
#undef ENDPOINT
}

char *placed_config(const struct config *c, struct strv *left)
{
	struct config_entry *e = NULL;
	struct buf b;
	size_t n = 0;
	int r = config_entries(c, &e, &n);

	buf_init(&b, PLACED_CONFIG_MAX);
	for (size_t i = 0; r == 0 && i < n; i++) {
		if (stays(e[i].key))
			continue;
		if (section_of(e[i].key) == 0)
			(void)buf_printf(&b, "%s: %s\n", e[i].key, e[i].value);
		else if (is_first_of(e, i))
			put_section(&b, e, n, i);
	}
	config_entries_free(e, n);
	put_env(&b, c, left);
	put_providers(&b, c);
	if (r < 0 || b.full) {
		buf_done(&b);
		return NULL;
	}
	return buf_take(&b);
}
