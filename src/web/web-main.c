/*
 * libexec/ralph/web DIRECTORY tcp|tls [HOST…]: serves the page that lies in the directory; tls: web-tls
 * stands in front; the names are those of --host. Descriptors: web.h. It ends with the hand.
 */
#include <fcntl.h>
#include <stdio.h>

#include "base/path.h"
#include "confine/filters.h"
#include "confine/syscalls.h"
#include "flow/isolate.h"
#include "web/web-serve.h"

static int read_files(struct web *w, const char *dir, struct err *err)
{
	for (size_t i = 0; i < ROUTE_FILES; i++) {
		cleanup_free char *path = path_join(dir, route_files[i].name);
		int r;

		buf_init(&w->files[i], WEB_FILE_MAX);
		r = path_read(AT_FDCWD, path, &w->files[i]);
		if (r < 0)
			return err_sys(err, -r, "cannot read '%s'", path);
	}
	return 0;
}

/* From here on no byte of a browser reaches more than the descriptors that are open. */
static int shut_in(struct err *err)
{
	int r = isolate_rights();

	if (r == 0)
		r = isolate_files(NULL, NULL, NULL, 0);
	if (r >= 0)
		r = confine_calls(web);
	return r < 0 ? err_sys(err, -r, "web cannot give up its rights") : 0;
}

int main(int argc, char **argv)
{
	static struct web w;
	struct err err = {0};
	int r = argc < 3 ? -EINVAL : read_files(&w, argv[1], &err);

	w.rules.tls = argc > 2 && streq(argv[2], "tls");
	for (int i = 3; r == 0 && i < argc; i++)
		strv_push(&w.rules.hosts, argv[i]);
	if (r == 0)
		r = web_start(&w, &err);
	if (r == 0)
		r = shut_in(&err);
	if (r == 0)
		r = ev_run(w.ev, &err);
	if (r < 0)
		(void)fprintf(stderr, "ralph: web: %s\n", err.msg);
	return r < 0 ? EXIT_RUNTIME : EXIT_OK;
}
