#include "sandbox/findings.h"

#include <string.h>

struct finding *findings_add(struct findings *f, const char *path, char *why, bool in_git)
{
	for (size_t i = 0; i < f->n; i++) {
		if (streq(f->v[i].path, path)) {
			free(why);
			return &f->v[i];
		}
	}
	if (f->n == FINDINGS_MAX) {
		f->more++;
		free(why);
		return NULL;
	}
	f->v = xrealloc(f->v, f->n + 1, sizeof(*f->v));
	f->v[f->n] = (struct finding){.path = xstrdup(path), .why = why, .in_git = in_git};
	return &f->v[f->n++];
}

void findings_done(struct findings *f)
{
	for (size_t i = 0; i < f->n; i++) {
		free(f->v[i].path);
		free(f->v[i].why);
		free(f->v[i].link);
		free(f->v[i].id);
	}
	free(f->v);
	*f = (struct findings){0};
}
