#pragma once

#include "base/err.h"

#include <stdbool.h>

/*
 * Claude Code's own locks, as it takes them: directories, because making one is atomic everywhere.
 * A holder touches its locks every few seconds; one that was not touched for a minute is left over
 * from a process that died, and is taken away.
 *
 *	DIR/.oauth_refresh.lock         who renews the login
 *	DIR.lock                        the same for older versions, taken second
 *	DIR/.storage-write.lock         who writes the file, taken last and held shortly
 *
 * Claude Code also leaves a record of the process that renews (.oauth_refresh.lock.owner), by which
 * others see earlier that it died. A record that is not about this very lock says nothing to them,
 * so we write none: should we die, they wait the minute.
 */
struct claude_lock {
	char *refresh, *legacy, *storage;
	bool has_refresh, has_legacy, has_storage;
};

#define CLAUDE_LOCK_STALE_S 60
#define CLAUDE_LOCK_TOUCH_MS 5000

void claude_lock_init(struct claude_lock *l, const char *dir);
void claude_lock_done(struct claude_lock *l); /* releases, in reverse order */

/* Tries once to take the two locks of a renewal: 0, -EBUSY when somebody has one, or -errno. */
int claude_lock_refresh(struct claude_lock *l, struct err *err);
/* Takes the lock for writing; waits for it shortly. */
int claude_lock_storage(struct claude_lock *l, struct err *err);
void claude_lock_touch(struct claude_lock *l);
