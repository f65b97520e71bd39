#pragma once

#include <stdbool.h>

/*
 * Are two names the same, with all that is below them: kinds, permissions, content, the text of
 * links? `b` may be somebody hostile's, who may be changing it: no link is followed, nothing but
 * plain files is opened, and no more is read than `a` has. What is deeper than depth_max differs.
 */
bool tree_same(int a_dir, const char *a, int b_dir, const char *b, unsigned depth_max);
