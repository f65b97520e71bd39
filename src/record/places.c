#include "record/places.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/find-program.h"
#include "base/path.h"
#include "build-config.h"
#include "engine/launch.h"

static const char *env_dir(const char *name)
{
	const char *s = getenv(name);

	/* The XDG specification says that a relative path is ignored. */
	return s && s[0] == '/' ? s : NULL;
}

static char *xdg(const char *var, const char *home, const char *fallback)
{
	const char *dir = env_dir(var);

	return dir ? path_join(dir, "ralph") : xasprintf("%s/%s/ralph", home, fallback);
}

static int find_home(char **ret, struct err *err)
{
	const char *home = env_dir("HOME");

	if (!home)
		return err_usage(err, "HOME is not set; set it to your home directory");
	return path_real(home, ret, err);
}

int places_find(struct places *ret, struct err *err)
{
	const char *runtime = env_dir("XDG_RUNTIME_DIR");
	struct places p = {0};
	int r = find_home(&p.home, err);

	if (r < 0)
		return r;
	p.config = xdg("XDG_CONFIG_HOME", p.home, ".config");
	p.state = xdg("XDG_STATE_HOME", p.home, ".local/state");
	p.runtime = runtime ? path_join(runtime, "ralph") : xasprintf("/tmp/ralph-%u", geteuid());
	p.libexec = launch_programs();
	p.data = path_near_program("share/ralph", "profiles", RALPH_DATA);
	*ret = p;
	return 0;
}

void places_done(struct places *p)
{
	free(p->home);
	free(p->config);
	free(p->state);
	free(p->runtime);
	free(p->libexec);
	free(p->data);
	*p = (struct places){0};
}

char *places_program(const struct places *p, const char *name)
{
	return path_join(p->libexec, name);
}

/* Joins with one slash, and leaves out those at the end. */
static char *path_join_clean(const char *dir, const char *name)
{
	size_t n;

	name += strspn(name, "/");
	n = strlen(name);
	while (n && name[n - 1] == '/')
		n--;
	return n ? xasprintf("%s%s%.*s", dir, streq(dir, "/") ? "" : "/", (int)n, name)
		 : xstrdup(dir);
}

char *places_inbox(const struct places *p, const char *setting)
{
	if (setting && streq(setting, "off"))
		return NULL;
	if (!setting || !*setting)
		return path_join(p->state, "inbox");
	if (setting[0] == '~')
		return path_join_clean(p->home, setting + 1);
	return path_join_clean("/", setting);
}
