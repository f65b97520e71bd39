#pragma once

#include <stdbool.h>

/*
 * Tells whether two names are the same, with all that is below them: kinds, permissions, content,
 * the text of links. A hostile process may own `b` and be changing it: no link is followed, nothing
 * but plain files is opened, and no more is read than `a` has. Trees deeper than depth_max count as
 * different.
 */
bool tree_same(int a_dir, const char *a, int b_dir, const char *b, unsigned depth_max);
