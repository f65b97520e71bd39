#pragma once

#include "hook/judge.h"

/*
 * Expands words to the arguments of a program. A word becomes one or more values (struct values),
 * each a string with marks (marks.h) where MARK_SPLIT separates fields; expand_fields() splits one
 * of them.
 */
struct values expand_word(struct judge *j, const struct shell_word *w);
/* Expands as the value of a variable: nothing is split, and braces are text. */
struct values expand_value(struct judge *j, const struct shell_word *w);
/* Expands several words, with MARK_SPLIT between them. */
struct values expand_words(struct judge *j, const struct shell_word *w);
/* Adds the fields of one value; braces are expanded. */
void expand_fields(struct judge *j, const char *value, struct fields *to);

/* ${…}; expand-param.c */
struct values expand_param(struct judge *j, const struct shell_part *p);

struct values values_one(struct judge *j, const char *s);
struct values values_any(struct judge *j, unsigned int taint);
/* Combines each value of one with each of the other; beyond VALUES_MAX the result is unknown. */
struct values values_join(struct judge *j, const struct values *a, const struct values *b);
void values_add(struct judge *j, struct values *to, const char *s);
/* False when a part of the text is only known at run time. */
bool value_is_known(const char *s);
bool value_is_any(const char *s); /* nothing is known */
/* Turns marks that stand for bytes back into these bytes, as in quoted text. */
const char *value_plain(struct judge *j, const char *s);
void fields_add(struct judge *j, struct fields *f, const char *s);
