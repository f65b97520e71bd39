#pragma once

#include "config/scan.h"

/* One file as libcyaml read it: text only; merge.c parses and checks the values. */
struct raw_value {
	char *scalar; /* NULL: not given */
	void *items; /* char *, struct raw_mount …, by the key's type; raw_provider: one, or NULL */
	uint64_t n;
};

struct config_file {
	char *name;
	struct raw_value *values; /* one per key; NULL: the file says nothing */
	struct marks marks;
	struct schema *schema; /* frees values */
};

enum config_file_flags {
	CONFIG_FILE_HOSTILE = 1 << 0, /* in a tree the agent writes: no link is followed */
};

/* *ret is NULL when there is no such file. */
int config_file_read(const char *path, enum config_file_flags flags, struct config_file **ret,
		     struct err *err);
int config_file_parse(const char *name, const char *text, size_t len, struct config_file **ret,
		      struct err *err);
struct config_file *config_file_free(struct config_file *f);

static inline void config_file_freep(struct config_file **f)
{
	(void)config_file_free(*f);
}
