#include "compose/agent-path.h"

#include <fcntl.h>
#include <glob.h>
#include <string.h>

#include "base/buf.h"
#include "base/path.h"
#include "base/strv.h"
#include "base/find-program.h"

/* Installers put programs in these directories below the user's home. The PATH of a script or a
 * desktop may lack them. They are patterns of glob(7); the last of several matches counts. */
static const char *const places[] = {
	".npm-global/bin",
	".npm-packages/bin",
	".nvm/versions/node/*/bin",
	".volta/bin",
	".local/share/fnm/node-versions/*/installation/bin",
	".local/share/pnpm",
	".bun/bin",
	".yarn/bin",
	".local/share/mise/shims",
	".asdf/shims",
};

#define NPMRC_MAX (64 * KiB)

/* A path that glob(3) takes as it is written. */
static void put_literal(struct buf *b, const char *s)
{
	for (; *s; s++) {
		if (strchr("*?[\\", *s))
			(void)buf_putc(b, '\\');
		(void)buf_putc(b, *s);
	}
}

/* The directory of the last match that is a program. */
static char *match(const char *home, const char *place, const char *program)
{
	cleanup_buf struct buf b;
	char *found = NULL;
	glob_t g;

	buf_init(&b, 8 * KiB);
	put_literal(&b, home);
	(void)buf_printf(&b, "/%s", place);
	if (glob(buf_str(&b), GLOB_ONLYDIR, NULL, &g) != 0)
		return NULL;
	for (size_t i = g.gl_pathc; i > 0 && !found; i--) {
		cleanup_free char *file = path_find_program(program, g.gl_pathv[i - 1]);

		if (file)
			found = xstrdup(g.gl_pathv[i - 1]);
	}
	globfree(&g);
	return found;
}

/* prefix=… of ~/.npmrc: npm's global packages have their programs in its bin. */
static char *npm_bin(const char *home)
{
	cleanup_free char *file = path_join(home, ".npmrc");
	cleanup_strv struct strv lines = {0};
	cleanup_buf struct buf b;

	buf_init(&b, NPMRC_MAX);
	if (path_read(AT_FDCWD, file, &b) < 0)
		return NULL;
	strv_split(&lines, buf_str(&b), '\n');
	for (size_t i = 0; i < lines.n; i++) {
		const char *s = lines.v[i] + strspn(lines.v[i], " \t");

		if (strncmp(s, "prefix", 6) != 0)
			continue;
		s += 6 + strspn(s + 6, " \t");
		if (*s != '=')
			continue;
		s += 1 + strspn(s + 1, " \t");
		if (strncmp(s, "~/", 2) == 0 || strncmp(s, "${HOME}/", 8) == 0)
			return xasprintf("%s/%s/bin", home, strchr(s, '/') + 1);
		return *s == '/' ? xasprintf("%s/bin", s) : NULL;
	}
	return NULL;
}

/* The directory below the home that has the agent's program; NULL: none. */
static char *search_home(const struct agent *a, const char *home)
{
	cleanup_free char *npm = NULL, *there = NULL;
	char *dir = match(home, ".local/bin", a->program);

	for (size_t i = 0; !dir && a->installed[i]; i++)
		dir = match(home, a->installed[i], a->program);
	for (size_t i = 0; !dir && i < ARRAY_SIZE(places); i++)
		dir = match(home, places[i], a->program);
	if (dir)
		return dir;
	npm = npm_bin(home);
	there = npm ? path_find_program(a->program, npm) : NULL;
	return there ? take_ptr(npm) : NULL;
}

char *agent_search_path(const struct agent *a, const char *path, const char *home)
{
	cleanup_free char *there = NULL, *dir = NULL;

	if (a->program)
		there = path_find_program(a->program, path ? path : "");
	if (a->program && !there)
		dir = search_home(a, home);
	if (!dir)
		return path ? xstrdup(path) : NULL;
	return path && *path ? xasprintf("%s:%s", path, dir) : take_ptr(dir);
}
