#pragma once

#include "spec/spec.h"

/* What the writers and readers of a spec's JSON share; nobody else includes it. */

/* Absent strings and empty lists are left out. */
void field_put_str(json_t *obj, const char *key, const char *value);
void field_put_uint(json_t *obj, const char *key, uint64_t value);
void field_put_strv(json_t *obj, const char *key, const struct strv *s);

/* Strict: an error names the key. take_opt and take_strv leave *ret alone where there is none. */
int field_take_str(const json_t *obj, const char *key, char **ret, struct err *err);
int field_take_opt(const json_t *obj, const char *key, char **ret, struct err *err);
int field_take_u32(const json_t *obj, const char *key, uint32_t *ret, struct err *err);
int field_take_strv(const json_t *obj, const char *key, struct strv *out, struct err *err);
/* One of n words. */
int field_take_word(const json_t *obj, const char *key, const char *(*name_of)(unsigned),
		    unsigned n, unsigned *ret, struct err *err);

/* json-limits.c */
json_t *limits_to_json(const struct spec_limits *l);
int limits_from_json(const json_t *obj, struct spec_limits *l, struct err *err);
