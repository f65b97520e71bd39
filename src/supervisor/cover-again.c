/*
 * Covers what the host put in the place of a covered file. In between, programs inside could open
 * it, link it or go into it, so everything inside is frozen first, and the file gets a new inode,
 * which nothing inside has ever seen, before the cover is on it.
 */
#include "supervisor/cover-again.h"

#include "base/path.h"
#include "engine/engine.h"
#include "workspace/fresh-copy.h"

#define TRIES 8 /* the host may put another file there between the copy and the cover */
/* A program of the host that writes the new file, as `git checkout` does, is done by then. */
#define WRITER_MS 2000

int cover_again(struct engine *e, const struct spec_mount *m, int parent, const char *path,
		cover_note *note, void *arg, struct err *err)
{
	int r = -EAGAIN;

	for (int i = 0; r < 0 && i < TRIES; i++) {
		/* What is covered in a pinned directory is replaced by itself. */
		r = fresh_replace(parent, path_base(path), m->kind == SPEC_PIN, WRITER_MS);
		if (r == -ENOENT)
			return r;
		if (r < 0)
			return err_sys(err, -r, "cannot replace '%s' by a file of its own", path);
		note(arg);
		r = engine_cover(e, NULL, m->target, m->kind, err);
	}
	return r;
}
