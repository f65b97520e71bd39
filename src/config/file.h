#pragma once

#include "config/scan.h"

/* One file as text; merge.c parses and checks the values. */
struct config_file {
	char *name;
	struct scan_value values[KEY_N];
	struct strv notices;
};

enum config_file_flags {
	CONFIG_FILE_HOSTILE = 1 << 0, /* in a tree the agent writes: no link is followed */
};

/* *ret is NULL when there is no such file. rows: the table of keys, for the old names. */
int config_file_read(const char *path, enum config_file_flags flags, const struct key *rows,
		     struct config_file **ret, struct err *err);
int config_file_parse(const char *name, const char *text, size_t len, const struct key *rows,
		      struct config_file **ret, struct err *err);
struct config_file *config_file_free(struct config_file *f);

static inline void config_file_freep(struct config_file **f)
{
	(void)config_file_free(*f);
}
