#include "guest/kernel/inner.h"

#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "guest/confine.h"
#include "guest/userns.h"

#define OWN "/run/ralph/guest" /* a mount of the tree's, in every sandbox */

/*
 * A path that the host's mounts hold must be held for us too. A kernel that works on directories of
 * its own would move what is mounted on the host away, and have another in its place.
 */
static int try_to_move(const char *path, struct err *err)
{
	char to[PATH_MAX];
	int n = snprintf(to, sizeof(to), "%s.ralph-moved", path), eno;
	struct stat st;

	if (n < 0 || (size_t)n >= sizeof(to) || lstat(path, &st) < 0)
		return 0; /* nothing is there, and nothing can be moved */
	if (rename(path, to) < 0) {
		eno = errno;
		return eno == EBUSY || eno == EROFS || eno == EACCES || eno == EPERM
			       ? 0
			       : err_sys(err, eno, "cannot tell whether '%s' is held in place",
					 path);
	}
	(void)rename(to, path);
	return err_set(err, EPERM,
		       "the sandbox's kernel lets '%s' be moved away, which protects nothing",
		       path);
}

static int try_walls(const struct guest_root *root, struct err *err)
{
	int r = try_to_move(OWN, err);

	for (size_t i = 0; i < root->n_mounts && r == 0; i++)
		r = try_to_move(root->mounts[i].target, err);
	return r;
}

int inner_bring_up(struct guest *g, struct wire_msg *msg, struct err *err)
{
	cleanup_guest_root struct guest_root root = {0};
	int r = msg->type == WIRE_ROOT ? guest_root_get(msg, &root, err)
				       : err_set(err, EPROTO, "the guest was not told its user");

	if (r == 0)
		r = try_walls(&root, err);
	if (r < 0)
		return r;
	g->uid = root.uid;
	g->gid = root.gid;
	guest_root_done(&root);
	wire_msg_done(msg);
	wire_msg_init(msg);
	r = wire_recv(g->sock, msg);
	if (r <= 0 || msg->type != WIRE_SETUP)
		return err_set(err, EPROTO, "the guest was not given its set-up");
	r = guest_setup_get(msg, &g->setup, err);
	if (r == 0)
		r = domain_init(&g->domain, &g->setup, err);
	if (r < 0)
		return r;
	guest_send_u32(g->sock, WIRE_UP, 0, 0, NULL, 0);
	return 0;
}

int inner_become_user(const struct guest *g, struct err *err)
{
	const struct userns_map map = {.uid = g->uid, .gid = g->gid};
	int r;

	if (unshare(CLONE_NEWUSER) < 0)
		return err_sys(err, errno, "cannot make the sandbox's user namespace");
	r = userns_set(&map);
	if (r < 0)
		return err_sys(err, -r, "cannot become the sandbox's user");
	return confine_within(err);
}
