#include "compose/tools/tools-home.h"

#include <dirent.h>

#include "base/find-program.h"
#include "compose/tools/tools-table.h"

void tools_programs_in(const char *dir, struct strv *ret)
{
	DIR *d = opendir(dir);
	const struct dirent *e;

	for (size_t n = 0; d && n < HOME_PROGRAMS_MAX && (e = readdir(d));) {
		char *file = e->d_name[0] == '.' || tools_is_credential(e->d_name)
				     ? NULL
				     : path_find_program(e->d_name, dir);

		if (!file)
			continue;
		strv_push(ret, file);
		free(file);
		n++;
	}
	if (d)
		(void)closedir(d);
}
