#pragma once

/* Looks a program up on a PATH as execvp would, absolute entries only; NULL: it is not there. */
char *path_find_program(const char *name, const char *path);
