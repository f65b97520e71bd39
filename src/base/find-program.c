#include "base/find-program.h"

#include <fcntl.h>
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
