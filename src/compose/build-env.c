#include "compose/build.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "policy/refused-env.h"

/* These variables pass from the host by default: they describe the terminal and the language. Any
 * other variable passes only if the user names it: LD_*, NODE_OPTIONS, GIT_*, PYTHON*, secrets. */
static const char *const allowlist[] = {
	"TERM",	     "COLORTERM",    "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE",
	"COLORFGBG", "TERM_PROGRAM", "LANG",	 "LANGUAGE",	"TZ",
};

#define FORWARD_LIST "RALPH_DOCKER_ENV"
#define ENV_NAME_CHARS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"

static const char *lookup(char *const *environ_, const char *name)
{
	size_t n = strlen(name);

	for (; environ_ && *environ_; environ_++)
		if (strncmp(*environ_, name, n) == 0 && (*environ_)[n] == '=')
			return *environ_ + n + 1;
	return NULL;
}

static void pass_allowed(struct sandbox_spec *s, char *const *host)
{
	for (size_t i = 0; i < ARRAY_SIZE(allowlist); i++) {
		const char *v = lookup(host, allowlist[i]);

		if (v)
			spec_env_set(s, allowlist[i], v, SPEC_PASSED, "host");
	}
	for (; host && *host; host++) {
		const char *eq = strchr(*host, '=');
		cleanup_free char *name = NULL;

		if (strncmp(*host, "LC_", 3) != 0 || !eq)
			continue;
		name = xstrndup(*host, (size_t)(eq - *host));
		spec_env_set(s, name, eq + 1, SPEC_PASSED, "host");
	}
}

/* The user's name where it can go into /etc/passwd as it is. Root outside is an ordinary user
 * inside, and is called so. */
static const char *user_name(char *const *host)
{
	const char *name = lookup(host, "USER");
	size_t n;

	if (!name)
		name = lookup(host, "LOGNAME");
	if (!name || geteuid() == 0 || streq(name, "root"))
		return "agent";
	n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-");
	return n > 0 && n <= 32 && name[n] == '\0' ? name : "agent";
}

static void set_own(struct sandbox_spec *s, const char *path, const char *user)
{
	cleanup_free char *run = xasprintf("/run/user/%u", s->uid);
	cleanup_free char *husky = xasprintf("%s/.husky", s->workspace);
	struct stat st;
	const struct {
		const char *name, *value;
	} own[] = {
		{"HOME", s->home},
		{"USER", user},
		{"LOGNAME", user},
		{"SHELL", stat("/bin/bash", &st) == 0 ? "/bin/bash" : "/bin/sh"},
		{"PATH", path},
		{"TMPDIR", "/tmp"},
		{"XDG_RUNTIME_DIR", run},
		{"RALPH_SANDBOX", s->name},
	};

	for (size_t i = 0; i < ARRAY_SIZE(own); i++)
		if (path || streq(own[i].name, "RALPH_SANDBOX"))
			spec_env_set(s, own[i].name, own[i].value, SPEC_SET, "ralph");
	if (!spec_env_find(s, "LANG") && !spec_env_find(s, "LC_ALL"))
		spec_env_set(s, "LANG", "C.UTF-8", SPEC_SET, "ralph");
	/* husky's prepare script would write its directory, which is read-only inside. */
	if (lstat(husky, &st) == 0)
		spec_env_set(s, "HUSKY", "0", SPEC_SET, "ralph");
}

/* Not to be overruled: a sandbox whose HOME or name is another's is a different sandbox. */
static bool is_fixed(const char *name)
{
	return streq(name, "RALPH_SANDBOX") || streq(name, "HOME");
}

int build_env(struct sandbox_spec *s, const struct build_input *in, const char *path,
	      struct err *err)
{
	const struct config *c = in->config;

	strv_extend(&s->env_refuse, &c->env.refuse);
	pass_allowed(s, in->environ);
	set_own(s, path, user_name(in->environ));
	for (size_t i = 0; i < c->env.pass.n; i++) {
		const char *v = lookup(in->environ, c->env.pass.v[i]);
		int r = refused_env_check(c->env.pass.v[i], v, &c->env.refuse,
					  config_item_origin(c, "env.pass", i), err);

		if (r < 0)
			return r;
		/* Unset ones are skipped: a list of names serves many machines. */
		if (v && !is_fixed(c->env.pass.v[i]))
			spec_env_set(s, c->env.pass.v[i], v, SPEC_USER, "env.pass");
	}
	for (size_t i = 0; i < c->env.set.n; i++) {
		const char *entry = c->env.set.v[i], *eq = strchr(entry, '=');
		cleanup_free char *name = eq ? xstrndup(entry, (size_t)(eq - entry)) : NULL;
		int r;

		if (!name || !*name)
			return err_usage(err, "env.set: '%s' is not NAME=VALUE", entry);
		if (is_fixed(name))
			return err_usage(
				err, "env.set: %s is ralph's own in a sandbox; take it out", name);
		r = refused_env_check(name, eq + 1, &c->env.refuse,
				      config_item_origin(c, "env.set", i), err);
		if (r < 0)
			return r;
		spec_env_set(s, name, eq + 1, SPEC_USER, "env.set");
	}
	return 0;
}

/* Forwards one variable of the host; a variable that is not set is skipped. */
static int forward(struct sandbox_spec *s, const struct build_input *in, const char *name,
		   const char *source, struct err *err)
{
	const char *v = lookup(in->environ, name);
	int r = v ? refused_env_check(name, v, &in->config->env.refuse, source, err) : 0;

	if (r == 0 && v && !is_fixed(name) && !spec_env_find(s, name))
		spec_env_set(s, name, v, SPEC_USER, source);
	return r;
}

int build_env_forwarded(struct sandbox_spec *s, const struct build_input *in, struct err *err)
{
	const char *list = lookup(in->environ, FORWARD_LIST);
	cleanup_strv struct strv names = {0};
	int r = forward(s, in, "CLAUDE_CODE_USE_BEDROCK", "host", err);

	strv_split(&names, list ? list : "", ',');
	for (size_t i = 0; r == 0 && i < names.n; i++) {
		if (strspn(names.v[i], ENV_NAME_CHARS) != strlen(names.v[i]))
			return err_usage(err,
					 FORWARD_LIST ": '%s' is no name of a variable; it is a "
						      "list of names with ',' between",
					 names.v[i]);
		r = forward(s, in, names.v[i], FORWARD_LIST, err);
	}
	return r;
}
