#include "workspace/host-run-judge.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>

#include "base/fd.h"
#include "base/path.h"
#include "policy/protect.h"

/*
 * git writes through links in its own directory: whoever makes logs/HEAD a link to the user's
 * .bashrc has every commit add a line there, and the agent may have chosen its words (the subject
 * of a commit that is picked, the name of a branch). git itself makes no such links.
 */
#define ENTRIES_MAX 200000
#define DEPTH_MAX 16

struct links {
	struct judge *j;
	bool moved;
	bool top; /* of the git directory, where some names are others' business */
	unsigned left;
};

static void look_into(struct links *l, int at, const char *parent, const char *name, int depth);

static void look_at(struct links *l, DIR *d, const char *path, const char *name, int depth)
{
	struct stat st;

	/* Those that git only reads have rules of their own, and may be links of the user's. */
	if ((l->top && protect_match(PROTECT_GIT, "", name)) ||
	    fstatat(dirfd(d), name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	if (S_ISLNK(st.st_mode) && (l->moved || judge_is_fresh(l->j, &st)))
		judge_add(l->j, path, name, xstrdup("a link that git writes through"));
	else if (S_ISDIR(st.st_mode) && depth > 0)
		look_into(l, dirfd(d), path, name, depth - 1);
}

static void look_into(struct links *l, int at, const char *parent, const char *name, int depth)
{
	cleanup_free char *path = *name ? path_join(parent, name) : xstrdup(parent);
	int fd = path_open_beneath(at, *name ? name : ".", O_RDONLY | O_DIRECTORY, 0);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *de;

	if (!d) {
		closep(&fd);
		return;
	}
	while (l->left > 0 && (de = readdir(d))) {
		l->left--;
		if (!streq(de->d_name, ".") && !streq(de->d_name, "..") && de->d_type != DT_REG)
			look_at(l, d, path, de->d_name, depth);
	}
	(void)closedir(d);
}

void judge_links(struct judge *j, int at, const char *path, bool moved)
{
	static const char *const deep[] = {"refs", "logs"};
	struct links l = {.j = j, .moved = moved, .top = true, .left = ENTRIES_MAX};

	look_into(&l, at, path, "", 0);
	l.top = false;
	look_into(&l, at, path, "objects", 0);
	for (size_t i = 0; i < ARRAY_SIZE(deep); i++)
		look_into(&l, at, path, deep[i], DEPTH_MAX);
}
