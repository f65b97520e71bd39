#include "workspace/findings.h"

#include <string.h>

#include "base/path.h"
#include "workspace/quarantine.h"

static void done(struct finding *f)
{
	free(f->path);
	free(f->why);
	free(f->link);
	free(f->id);
}

/* When it is full, what is moved in any case takes the place of what may stay. */
static struct finding *replace_other(struct findings *f, const char *path, char *why, bool in_git)
{
	for (size_t i = 0; in_git && i < f->n; i++) {
		if (f->v[i].in_git)
			continue;
		done(&f->v[i]);
		f->v[i] = (struct finding){.path = xstrdup(path), .why = why, .in_git = true};
		return &f->v[i];
	}
	free(why);
	return NULL;
}

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
		return replace_other(f, path, why, in_git);
	}
	f->v = xrealloc(f->v, f->n + 1, sizeof(*f->v));
	f->v[f->n] = (struct finding){.path = xstrdup(path), .why = why, .in_git = in_git};
	return &f->v[f->n++];
}

void findings_drop(struct findings *f, size_t i)
{
	done(&f->v[i]);
	f->v[i] = f->v[--f->n];
}

void findings_done(struct findings *f)
{
	for (size_t i = 0; i < f->n; i++)
		done(&f->v[i]);
	free(f->v);
	*f = (struct findings){0};
}

/* The writable tree that holds the path: nobody inside can rename that. */
static const char *tree_of(const struct sandbox_spec *spec, const char *path)
{
	const char *best = NULL;

	for (size_t i = 0; i < spec->n_mounts; i++) {
		const struct spec_mount *m = &spec->mounts[i];

		if (m->kind == SPEC_BIND_RW && path_under(path, m->source) &&
		    !streq(path, m->source) && (!best || strlen(m->source) > strlen(best)))
			best = m->source;
	}
	return best;
}

static bool is_moved(const struct sandbox_spec *spec, const struct finding *f)
{
	if (f->stays || f->back || spec->quarantine == SPEC_QUARANTINE_NONE)
		return false;
	return spec->quarantine != SPEC_QUARANTINE_GIT || f->in_git;
}

int finding_settle(struct finding *f, const struct places *p, const struct sandbox_spec *spec,
		   struct err *err)
{
	const struct quarantine_input in = {
		.shelf = f->nested ? SHELF_NESTED : SHELF_QUARANTINE,
		.root = tree_of(spec, f->path),
		.path = f->path,
		.why = f->why,
		.sandbox = spec->name,
		.link = f->link,
	};

	int r;

	if (!in.root || !is_moved(spec, f))
		return 0;
	r = quarantine_add(p, &in, &f->id, err);
	f->beside = r > 0;
	return r < 0 ? r : 0;
}

int finding_remove(const struct finding *f, const struct sandbox_spec *spec, struct err *err)
{
	const struct quarantine_input in = {
		.root = tree_of(spec, f->path),
		.path = f->path,
		.link = f->link,
	};

	return in.root && is_moved(spec, f) ? quarantine_discard(&in, err) : 0;
}

char *finding_sentence(const struct finding *f)
{
	if (f->back && f->id)
		return xasprintf("'%s' was put back as it was: %s; what was there is in quarantine "
				 "(%s)",
				 f->path, f->why, f->id);
	if (f->back)
		return xasprintf("'%s' was put back as it was: %s", f->path, f->why);
	if (f->id && f->nested && !f->beside)
		return xasprintf("'%s' was put away (%s): %s", f->path, f->id, f->why);
	if (f->id && f->beside)
		return xasprintf("'%s' could not be moved and is '" QUARANTINE_BESIDE
				 "%s' in its directory now, without rights: %s",
				 f->path, f->id, f->why);
	if (f->id)
		return xasprintf("'%s' was moved to quarantine (%s): %s", f->path, f->id, f->why);
	return xasprintf("'%s' is new or changed: %s; look at it before you go on", f->path,
			 f->why);
}

json_t *finding_event(const struct finding *f)
{
	return json_pack("{so so so* so*}", "path", json_text(f->path), "why", json_text(f->why),
			 f->nested ? "nested" : "quarantine", f->id ? json_text(f->id) : NULL,
			 "put_back", f->back ? json_true() : NULL);
}
