#pragma once

#include "config/file.h"

struct config_origins {
	char *key[KEY_N];	  /* NULL: the default */
	struct strv items[KEY_N]; /* of list keys: one per entry */
};

struct merge {
	struct config *c;
	const char *home; /* for ~ */
	struct err *err;
};

/* Each adds one source on top of what is there; the first error ends it. */
int merge_file(struct merge *m, const struct config_file *f);
int merge_environ(struct merge *m, char *const *env);
int merge_flags(struct merge *m, const struct strv *flags);

/* What is at a mark, as "file:line:column: key: message". */
int merge_fail_at(struct err *err, int r, const struct config_file *f, uint64_t mark,
		  const char *key);

void config_mount_done(struct config_mount *m);
void config_rule_done(struct config_rule *r);
