#include "base/find-program.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "base/strv.h"

char *path_find_program(const char *name, const char *path)
{
	cleanup_strv struct strv dirs = {0};

	strv_split(&dirs, path ? path : "", ':');
	for (size_t i = 0; i < dirs.n; i++) {
		cleanup_free char *file = path_join(dirs.v[i], name);
		struct stat st;

		if (file[0] == '/' && stat(file, &st) == 0 && S_ISREG(st.st_mode) &&
		    faccessat(AT_FDCWD, file, X_OK, AT_EACCESS) == 0)
			return take_ptr(file);
	}
	return NULL;
}

char *path_near_program(const char *rel, const char *probe, const char *configured)
{
	char exe[4096];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	struct stat st;

	for (int up = 0; n > 0 && up < 3; up++) {
		cleanup_free char *dir = NULL, *file = NULL;
		char *slash;

		exe[n] = '\0';
		slash = strrchr(exe, '/');
		if (!slash)
			break;
		n = slash - exe;
		*slash = '\0';
		dir = xasprintf("%s/%s", exe, rel);
		file = xasprintf("%s/%s", dir, probe);
		if (stat(file, &st) == 0)
			return take_ptr(dir);
	}
	return xstrdup(configured);
}
