#pragma once

/* Looks a program up on a PATH as execvp would, absolute entries only; NULL: it is not there. */
char *path_find_program(const char *name, const char *path);

/* Finds installed files relative to the running program: REL next to bin or libexec, if it holds
 * `probe`; else the configured directory. */
char *path_near_program(const char *rel, const char *probe, const char *configured);
