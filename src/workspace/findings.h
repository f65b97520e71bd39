#pragma once

#include "base/err.h"
#include "base/json/json.h"
#include "record/places.h"
#include "spec/spec.h"

#include <stdbool.h>

/*
 * What appeared or changed while a sandbox ran, and the host would run it or take orders from it.
 */
/* What comes after is counted, and found by the next look: those that were moved are gone then. */
#define FINDINGS_MAX 4096

struct finding {
	char *path;  /* on the host */
	char *why;   /* what the host does with it */
	bool in_git; /* of a git directory: nothing that work there needs */
	bool nested; /* a git directory that appeared: it goes whole to nested.h's shelf */
	bool back;   /* what was there before is there again */
	bool stays;  /* is not moved, whatever the settings say */
	char *link;  /* a link stood there, with this text; NULL: none */
	char *id;    /* of its place in quarantine; NULL: it is where it was */
	bool beside; /* it was only renamed, see QUARANTINE_BESIDE */
};

struct findings {
	struct finding *v;
	size_t n, more;
};

/* Takes why; one of the same path is not added again. */
struct finding *findings_add(struct findings *f, const char *path, char *why, bool in_git);
void findings_drop(struct findings *f, size_t i);
void findings_done(struct findings *f);

/*
 * Moves it to quarantine where the spec says so: f->id is its place there then. 0 when it stays by
 * the settings.
 */
int finding_settle(struct finding *f, const struct places *p, const struct sandbox_spec *spec,
		   struct err *err);
/* The same for one too many: what would be moved is removed, and a link put back. */
int finding_remove(const struct finding *f, const struct sandbox_spec *spec, struct err *err);
/* For the user. The caller frees it. */
char *finding_sentence(const struct finding *f);
json_t *finding_event(const struct finding *f); /* for the event log */
