#pragma once

/*
 * The one user and the one group of a user namespace that this process has just made: `uid` in it
 * is `outer_uid` of the namespace above. setgroups() is given up where nobody has done so above. 0
 * or -errno.
 */
struct userns_map {
	unsigned uid, outer_uid;
	unsigned gid, outer_gid;
};
int userns_set(const struct userns_map *m);
