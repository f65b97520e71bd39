#pragma once

#include "wire/root-proto.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * The program that has another kernel is told paths, and follows them after the tree is made. In a
 * directory that commands can write, those of another sandbox of the workspace could put a link in
 * the way meanwhile, and the program would show its own /proc inside. So what is mounted there gets a
 * second place, where nobody can change a name. The tree is shared before: what is mounted into it
 * later is in both.
 */
bool apart_is_writable(const struct guest_mount *m);
/* Row i lies in a place that commands can write, or is one. */
bool apart_is_within(const struct guest_root *root, size_t i);
/* outer: the root that GUEST_APART is in. -errno: row *ret_row could not be found by its plain name. */
int apart_make(int outer, int tree, const struct guest_root *root, size_t *ret_row);
/* Where the program finds row i; false: the path is too long. */
bool apart_source(const struct guest_root *root, size_t i, char *ret, size_t size);
