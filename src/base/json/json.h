#pragma once

#include "base/err.h"
#include "base/strv.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Glue on jansson: strict readers that say which key is wrong, and cleanup. Documents only;
 * streams of lines go through a scanner, not through a tree. */

#define cleanup_json cleanup_(json_decrefp)

/* The whole text as one document; duplicate keys are an error, which names line and column. */
int json_parse(const char *text, size_t len, json_t **ret, struct err *err);

/* A missing key is an error unless the reader is called json_opt_…, which leaves *ret alone. The
 * strings belong to the document. */
int json_get_str(const json_t *obj, const char *key, const char **ret, struct err *err);
int json_get_uint(const json_t *obj, const char *key, uint64_t *ret, struct err *err);
int json_get_bool(const json_t *obj, const char *key, bool *ret, struct err *err);
int json_get_array(const json_t *obj, const char *key, json_t **ret, struct err *err);
int json_get_object(const json_t *obj, const char *key, json_t **ret, struct err *err);
int json_opt_str(const json_t *obj, const char *key, const char **ret, struct err *err);
int json_opt_strv(const json_t *obj, const char *key, struct strv *ret, struct err *err);
/* The same of the array itself, which is called key in the error. */
int json_array_strv(const json_t *array, const char *key, struct strv *ret, struct err *err);

/* A string that may hold any bytes: what is not UTF-8 is shown as U+FFFD. Never fails. */
json_t *json_text(const char *s);
json_t *json_strv(const struct strv *s); /* an array of such */

/*
 * json_dumpf(3) for people and scripts: what a terminal would act on is written as "\u009b", which
 * is the same to a parser. The second prints a document that is text already, and a newline.
 */
int json_show(const json_t *j, FILE *out, size_t flags);
void json_show_line(const char *text, FILE *out);
