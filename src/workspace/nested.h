#pragma once

#include "base/err.h"
#include "base/json/json.h"
#include "base/strv.h"
#include "record/places.h"
#include "spec/spec.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Git directories that appeared in a writable tree while a sandbox ran. Nobody judges them: each is
 * moved whole to PLACES/state/nested/ID when everything inside has ended, is mounted in its place
 * at the next start, and stays there until the user adopts it. docs/internals/nested-git.md.
 */
struct nested {
	char *id;
	char *path, *root; /* where it was, and the writable tree that this is in */
	char *sandbox;
};

struct nested_list {
	struct nested *v;
	size_t n;
};

/* Those that were below `under`; NULL: all. Oldest first. One without a readable record is left
 * out. */
int nested_find(const struct places *p, const char *under, struct nested_list *ret,
		struct err *err);
void nested_done(struct nested_list *l);
bool nested_has(const struct places *p, const char *path);
/* What it was called in its tree, for people. */
const char *nested_name(const struct nested *n);

json_t *nested_list_json(const struct nested_list *l);

/* The most that one start mounts again; the newest count. */
#define NESTED_BACK_MAX 256
/*
 * Adds a mount for each one whose place is free and can be made. The guest makes the places, which
 * hold nothing on the host.
 */
void nested_mount(struct sandbox_spec *s, const struct places *p);
/* Nothing runs inside any more: takes the empty places away, and what the agent emptied. */
void nested_unmount(const struct sandbox_spec *s, const struct places *p);

/*
 * For engines that mount nothing: puts each one back whose place is free. To be called after the
 * start was written down, so that the end finds them again.
 */
void nested_put_back(const struct sandbox_spec *s, const struct places *p);

/* The first ones of many by name, for one sentence. */
#define NESTED_TOLD_MAX 10
struct nested_told {
	struct strv names;
	char *adopt; /* an operand of ralph adopt */
	bool plain;  /* which stands for a .git: the best example */
	size_t n;
};

void nested_tell(struct nested_told *t, const struct sandbox_spec *spec, const char *path,
		 const char *id);
char *nested_sentence(const struct nested_told *t); /* NULL: there are none */
void nested_told_done(struct nested_told *t);
