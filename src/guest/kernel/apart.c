#include "guest/kernel/apart.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "guest/mount.h"
#include "guest/rootpath.h"

bool apart_is_writable(const struct guest_mount *m)
{
	return m->kind == GUEST_BIND_RW || m->kind == GUEST_TMPFS;
}

static bool is_mounted(const struct guest_mount *m)
{
	return apart_is_writable(m) || m->kind == GUEST_BIND_RO || m->kind == GUEST_PROTECT ||
	       m->kind == GUEST_REMOUNT_RO;
}

bool apart_is_within(const struct guest_root *root, size_t i)
{
	const char *target = root->mounts[i].target;

	for (size_t k = 0; k < i && is_mounted(&root->mounts[i]); k++) {
		const char *above = root->mounts[k].target;
		size_t n = strlen(above);

		if (apart_is_writable(&root->mounts[k]) && strncmp(target, above, n) == 0 &&
		    (target[n] == '/' || target[n] == '\0'))
			return true;
	}
	return false;
}

/* Below GUEST_APART, which is below the outer root. */
static void name_of(size_t i, char *ret, size_t size)
{
	(void)snprintf(ret, size, GUEST_APART "/%zu", i);
}

static int make_one(int outer, int tree, const char *target, size_t i)
{
	cleanup_fd int from = rootpath_lookup_plain(tree, target, O_PATH), copy = -1, to = -1;
	char path[64];
	struct stat st;

	if (from < 0)
		return from;
	copy = mount_clone(from);
	if (copy < 0)
		return copy;
	name_of(i, path, sizeof(path));
	if (fstat(from, &st) < 0 ||
	    (S_ISDIR(st.st_mode) ? mkdirat(outer, path + 1, 0700)
				 : mknodat(outer, path + 1, S_IFREG | 0600, 0)) < 0)
		return -errno;
	to = openat(outer, path + 1, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	return to < 0 ? -errno : mount_attach(copy, to);
}

int apart_make(int outer, int tree, const struct guest_root *root, size_t *ret_row)
{
	for (size_t i = 0; i < root->n_mounts; i++) {
		int r = apart_is_within(root, i) ? make_one(outer, tree, root->mounts[i].target, i)
						 : 0;

		*ret_row = i;
		if (r < 0)
			return r;
	}
	return 0;
}

bool apart_source(const struct guest_root *root, size_t i, char *ret, size_t size)
{
	const char *target = root->mounts[i].target;

	if (strlen(target) + sizeof(GUEST_TREE) > size)
		return false;
	if (apart_is_within(root, i))
		name_of(i, ret, size);
	else
		(void)stpcpy(stpcpy(ret, GUEST_TREE), target);
	return true;
}
