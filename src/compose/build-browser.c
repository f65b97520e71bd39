/*
 * Browsers take their settings from managed policies below /etc, and no CA from a variable: the
 * policies that make them work behind the gateway. Files that are read-only, as the managed
 * settings of an agent are.
 */
#include "compose/build.h"

#include <sys/stat.h>

#include "base/path.h"
#include "netrules/spec-net.h"

#define WRAPPER_DIR "/etc/chromium.d" /* Debian's wrapper reads every file here as shell */

/* Encrypted Client Hello hides the server's name, so the gateway refuses it in a tunnel; browsers
 * send the extension to every server, with random bytes where there is nothing to hide. */
#define NO_ECH "switches ECH off, which hides the server's name"
#define CHROMIUM_POLICY "{\"EncryptedClientHelloEnabled\":false}\n"
#define FIREFOX_POLICY "{\"policies\":{\"DisableEncryptedClientHello\":true%s}}\n"
/* That policy stops ECH proper. For the random bytes there is a preference, which no policy may
 * set, and which counts for Firefox in this place. */
#define FIREFOX_PREFS "pref(\"security.tls.ech.grease_probability\", 0, locked);\n"
#define FIREFOX_CA ",\"Certificates\":{\"Install\":[\"" NET_CA_OWN "\"]}"

static const char *const chromium_dirs[] = {
	"/etc/chromium/policies/managed", "/etc/opt/chrome/policies/managed",
	"/etc/opt/chrome_for_testing/policies/managed", /* what Playwright and Puppeteer install */
};

static void add_file(struct sandbox_spec *s, const char *target, const char *reason, char *data)
{
	struct spec_mount *m = spec_mount_add(s, SPEC_FILE, NULL, target, reason);

	m->data = data;
	m->mode = 0444;
}

static void add_own(struct sandbox_spec *s, const struct places *p, const char *name,
		    const char *target, const char *reason)
{
	cleanup_free char *file = xasprintf("%s/sandboxes/%s/%s", p->state, s->name, name);

	(void)spec_mount_add(s, SPEC_BIND_RO, file, target, reason);
}

static void add_policies(struct sandbox_spec *s, const struct places *p)
{
	bool ca = net_policy_inspects(&s->net);

	for (size_t i = 0; i < ARRAY_SIZE(chromium_dirs); i++) {
		cleanup_free char *file = path_join(chromium_dirs[i], "ralph.json");
		cleanup_free char *trust = path_join(chromium_dirs[i], "ralph-ca.json");

		add_file(s, file, NO_ECH, xstrdup(CHROMIUM_POLICY));
		if (ca)
			add_own(s, p, NET_CA_POLICY_FILE, trust, "browsers trust the sandbox's CA");
	}
	add_file(s, "/etc/firefox/policies/policies.json", NO_ECH,
		 xasprintf(FIREFOX_POLICY, ca ? FIREFOX_CA : ""));
	add_file(s, "/etc/firefox/defaults/pref/ralph.js", NO_ECH, xstrdup(FIREFOX_PREFS));
	if (ca)
		add_own(s, p, NET_CA_OWN_FILE, NET_CA_OWN, "the sandbox's CA alone, for Firefox");
}

/* Chromium's own sandbox needs a user namespace, which seccomp refuses inside. */
static void add_wrapper(struct sandbox_spec *s)
{
	struct stat st;

	if (s->container.image || stat(WRAPPER_DIR, &st) == 0)
		add_file(s, WRAPPER_DIR "/ralph", "this sandbox stands in for Chromium's own",
			 xstrdup("CHROMIUM_FLAGS=\"$CHROMIUM_FLAGS --no-sandbox\"\n"));
}

void build_browsers(struct sandbox_spec *s, const struct places *p)
{
	add_wrapper(s);
	if (s->net.tier != POLICY_NONE)
		add_policies(s, p);
}
