#pragma once

#include "hook/judge.h"

/* What a path is, as far as its name says. */
enum path_class {
	PATH_WHOLE = 1 << 0,	  /* /, the home, what the project lies in: all of it */
	PATH_SYSTEM = 1 << 1,	  /* below /usr, /etc and the like */
	PATH_HOMETOP = 1 << 2,	  /* a directory at the top of the home that is not the project's */
	PATH_HOME = 1 << 3,	  /* the home itself */
	PATH_OUTSIDE = 1 << 4,	  /* not in the project */
	PATH_HERE = 1 << 5,	  /* all of the project */
	PATH_TMP = 1 << 6,	  /* temporary files */
	PATH_DEVICE = 1 << 7,	  /* disks and memory */
	PATH_CRED = 1 << 8,	  /* credentials */
	PATH_SECRETFILE = 1 << 9, /* files like .env */
	PATH_TRUSTED = 1 << 10,	  /* what the host runs or trusts by itself */
	PATH_PROJECT = 1 << 11,	  /* the same, in the project: part of some work */
	PATH_GITDIR = 1 << 12,
	PATH_LOG = 1 << 13,
	PATH_ACCOUNTS = 1 << 14,
	PATH_KERNEL = 1 << 15,
	PATH_HOSTBIND = 1 << 16, /* what a container must not be given */
	PATH_UNKNOWN = 1 << 17,	 /* nothing is known of it */
	PATH_REMOTE = 1 << 18,	 /* host:path */
	PATH_FILE = 1 << 19,	 /* @path: a file that is sent */
};

/* The classes of a field as a path. */
unsigned int path_classes(struct judge *j, const char *field);
/* The same for an argument, which may hold a path behind = or @, or glued to an option. */
unsigned int path_argument(struct judge *j, const char *field);
/* By name; 0: there is none. */
unsigned int path_class_named(const char *name, size_t n);
/* Absolute and without . and .., as far as that is known. */
const char *path_normal(struct judge *j, const char *field);
