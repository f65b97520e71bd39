#pragma once

#include "config/file.h"

struct config_origins {
	char *key[KEY_N];	  /* NULL: the default */
	struct strv items[KEY_N]; /* of list keys: one per entry */
};

struct merge {
	struct config *c;
	const char *home;	/* for ~ */
	const struct key *rows; /* for the old names */
	struct err *err;
};

/* Each adds one source on top of what is there; the first error ends it. */
int merge_file(struct merge *m, const struct config_file *f);
int merge_environ(struct merge *m, char *const *env);
int merge_flags(struct merge *m, const struct strv *flags);

/* The place of a value in its source. A variable or flag has a name only. */
struct merge_place {
	const char *name;
	unsigned line, column; /* line 0: no file */
};

static inline struct merge_place merge_in_file(const struct config_file *f,
					       const struct scan_value *v)
{
	return (struct merge_place){f->name, v->line, v->column};
}

/* Puts "file:line:column: key: " in front of the message that is there. */
int merge_fail_at(struct err *err, int r, const struct merge_place *at, const char *key);

void config_mount_done(struct config_mount *m);
void config_provider_done(struct config_provider *p);
void config_credential_done(struct config_credential *c);

/* merge-cred.c: providers.* and credentials */
int merge_provider(struct merge *m, const struct config_file *f, enum key_id id);
int merge_credential(struct merge *m, const struct config_file *f, const struct scan_value *entry);
/* merge-place.c: fleet.places */
void config_place_done(struct config_place *p);
int merge_config_place(struct merge *m, const struct config_file *f,
		       const struct scan_value *entry);
/* For merge-cred.c and merge-place.c: a value that must pass a check; where a key or an entry came from. */
int merge_check(struct merge *m, const char *(*check)(const char *s), const char *text,
		const struct merge_place *at, const char *key);
void merge_origin(struct merge *m, enum key_id id, const struct merge_place *at);
/* i may be one past the last entry. */
void merge_item_origin(struct merge *m, enum key_id id, size_t i, const struct merge_place *at);
/* ~ as the user's home; for a path that was checked. */
char *merge_home_path(const struct merge *m, const char *path);
