#pragma once

#include "hook/judge.h"

/* Classes of a path, judged by its name alone. */
enum path_class {
	PATH_WHOLE = 1 << 0,	  /* /, the home, or a parent of the project: all of it */
	PATH_SYSTEM = 1 << 1,	  /* below /usr, /etc and the like */
	PATH_HOMETOP = 1 << 2,	  /* a directory at the top of the home, outside the project */
	PATH_HOME = 1 << 3,	  /* the home itself */
	PATH_OUTSIDE = 1 << 4,	  /* not in the project */
	PATH_HERE = 1 << 5,	  /* all of the project */
	PATH_TMP = 1 << 6,	  /* temporary files */
	PATH_DEVICE = 1 << 7,	  /* disks and memory */
	PATH_CRED = 1 << 8,	  /* credentials */
	PATH_SECRETFILE = 1 << 9, /* files like .env */
	PATH_TRUSTED = 1 << 10,	  /* files that the host runs or trusts by itself */
	PATH_PROJECT = 1 << 11,	  /* the same in the project, which may be part of the work */
	PATH_GITDIR = 1 << 12,
	PATH_LOG = 1 << 13,
	PATH_ACCOUNTS = 1 << 14,
	PATH_KERNEL = 1 << 15,
	PATH_HOSTBIND = 1 << 16, /* must not be mounted in a container */
	PATH_UNKNOWN = 1 << 17,	 /* nothing is known about it */
	PATH_REMOTE = 1 << 18,	 /* host:path */
	PATH_FILE = 1 << 19,	 /* @path: a file that is sent */
};

/* Returns the classes of a field as a path. */
unsigned int path_classes(struct judge *j, const char *field);
/* Returns the classes of an argument: its path may follow = or @, or an option letter. */
unsigned int path_argument(struct judge *j, const char *field);
/* Returns a class by name; 0: unknown. */
unsigned int path_class_named(const char *name, size_t n);
/* Returns the path absolute and without . and .., as far as it is known. */
const char *path_normal(struct judge *j, const char *field);
