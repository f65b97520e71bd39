#pragma once

#include "hook/judge.h"

/*
 * From words to what a program would get. A word becomes one or more values (struct values), each a
 * string with marks (marks.h) where MARK_SPLIT divides fields; expand_fields() cuts one of them.
 */
struct values expand_word(struct judge *j, const struct shell_word *w);
/* As the value of a variable: nothing is split, braces are text. */
struct values expand_value(struct judge *j, const struct shell_word *w);
/* Several words, MARK_SPLIT between them. */
struct values expand_words(struct judge *j, const struct shell_word *w);
/* The fields of one value are added; braces are expanded. */
void expand_fields(struct judge *j, const char *value, struct fields *to);

/* ${…}; expand-param.c */
struct values expand_param(struct judge *j, const struct shell_part *p);

struct values values_one(struct judge *j, const char *s);
struct values values_any(struct judge *j, unsigned int taint);
/* Each of one with each of the other; beyond VALUES_MAX, unknown. */
struct values values_join(struct judge *j, const struct values *a, const struct values *b);
void values_add(struct judge *j, struct values *to, const char *s);
/* Is there anything in this text that is only known when it runs? */
bool value_is_known(const char *s);
bool value_is_any(const char *s); /* nothing but that */
/* Marks that stand for bytes become these bytes again: as a program is given a quoted text. */
const char *value_plain(struct judge *j, const char *s);
void fields_add(struct judge *j, struct fields *f, const char *s);
