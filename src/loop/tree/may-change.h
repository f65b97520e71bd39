#pragma once

struct loop;
struct strv;

/*
 * Protected paths whose change counts: the user's loop.may_change, and every word of a task that
 * may be a path. id: NULL for those of all tasks.
 */
void loop_may_change(const struct loop *l, const char *id, struct strv *ret);
