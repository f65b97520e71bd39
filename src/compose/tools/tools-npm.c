#include "compose/tools/tools-npm.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/json/json.h"
#include "base/path.h"

#define PACKAGE_JSON_MAX (1 * MiB)

static const char *const kinds[] = {"optionalDependencies", "dependencies"};

/* "codex" or "@openai/codex", and nothing that leads elsewhere. */
static bool is_name(const char *s)
{
	const char *slash = strchr(s, '/');

	if (!*s || *s == '.' || *s == '/' || strstr(s, ".."))
		return false;
	return s[0] == '@' ? slash && slash[1] && !strchr(slash + 1, '/') : !slash;
}

static json_t *read_package(const char *dir)
{
	cleanup_free char *path = path_join(dir, "package.json");
	cleanup_buf struct buf b;
	json_t *j = NULL;
	struct err ignored;

	buf_init(&b, PACKAGE_JSON_MAX);
	if (path_read(AT_FDCWD, path, &b) < 0 || json_parse(buf_str(&b), b.len, &j, &ignored) < 0)
		return NULL;
	return j;
}

static void add_beside(const char *modules, const char *name, struct strv *ret)
{
	cleanup_free char *dir = is_name(name) ? path_join(modules, name) : NULL;
	struct stat st;

	if (dir && ret->n < TOOLS_NPM_MAX && !strv_has(ret, dir) && lstat(dir, &st) == 0 &&
	    S_ISDIR(st.st_mode))
		strv_push(ret, dir);
}

void tools_npm_beside(const char *package, struct strv *ret)
{
	const char *mark = strstr(package, "/node_modules/");
	cleanup_free char *modules = NULL;

	if (!mark)
		return;
	modules = xstrndup(package, (size_t)(mark - package) + strlen("/node_modules"));
	/* The list grows while it is gone through. */
	for (size_t i = 0; i <= ret->n; i++) {
		cleanup_json json_t *j = read_package(i ? ret->v[i - 1] : package);
		const char *name;
		json_t *version;

		for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
			json_t *names = json_object_get(j, kinds[k]);

			json_object_foreach (names, name, version)
				add_beside(modules, name, ret);
		}
	}
}
