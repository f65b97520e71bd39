#pragma once

#include "base/mem.h"

#include <stdbool.h>

/* A growing, NULL-terminated vector of owned strings: v can be given to execve as it is. */
struct strv {
	char **v;
	size_t n, cap;
};

void strv_init(struct strv *s);
void strv_done(struct strv *s);
void strv_push(struct strv *s, const char *str);
void strv_take(struct strv *s, char *str); /* takes ownership */
void strv_pushf(struct strv *s, const char *fmt, ...) printf_like(2, 3);
void strv_extend(struct strv *s, const struct strv *from);
void strv_sort(struct strv *s); /* by bytes */
bool strv_has(const struct strv *s, const char *str);
bool strv_same(const struct strv *a, const struct strv *b); /* in the same order */
/* Splits on one character; empty parts are dropped. */
void strv_split(struct strv *s, const char *str, char sep);

/* The vector as an environment: NAME=VALUE entries, one per name. */
const char *strv_env_get(const struct strv *s, const char *name);
void strv_env_set(struct strv *s, const char *name, const char *value);

#define cleanup_strv cleanup_(strv_done)
