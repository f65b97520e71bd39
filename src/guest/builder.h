#pragma once

#include "guest/rootpath.h"

#include <linux/mount.h>
#include <stdbool.h>
#include <stdint.h>

/* The root while it is being built, and what it is made of. */

/* Of all mounts; devices are bound one by one, without NODEV. */
#define BUILDER_PLAIN (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)

struct builder {
	struct site site;  /* the new root */
	int host;	   /* as the root of what comes from the host */
	int own;	   /* of devices and images: the container's, else the host's too */
	int null;	   /* /dev/null */
	bool in_container; /* this is a container */
	int outer;	   /* the outer half's root, where `site` is a tree in it; -1: it is not */
	bool userns_limited; /* nobody can make user namespaces but us, once */
};

/* Descriptors that these leave open are closed by site_tidy(). 0 or -errno. */
int builder_attach(struct builder *b, int tree, const char *target, bool dir);
int builder_bind(struct builder *b, int from, bool dir, const char *target, uint64_t attributes);
int builder_new(struct builder *b, const char *type, const char *const *options,
		uint64_t attributes, const char *target);
