#pragma once

#include <stddef.h>

/*
 * The candidate a mistyped word was most likely meant to be, or NULL when none is near: by edit
 * distance, two swapped letters counting as one. The result is one of the candidates.
 */
const char *suggest(const char *word, const char *const *candidates, size_t n);
