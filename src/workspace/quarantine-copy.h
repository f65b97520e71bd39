#pragma once

/*
 * Moves name below `from` to to_name below `to` where they are on different file systems: a bounded
 * copy of directories, files and links (nothing else is copied), then the original is removed.
 * -EFBIG when it is larger than that; -EEXIST when something is there.
 */
int quarantine_copy(int from, const char *name, int to, const char *to_name);
