#include "compose/build.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/path.h"
#include "workspace/gitdir.h"
#include "record/store.h"

/*
 * The clone borrows the objects of the user's repository, which is mounted read-only at a place of
 * its own: making it copies nothing but the files that are checked out. Its commits have the
 * identity that the repository's settings name.
 */
static const char script[] =
	"set -e\n"
	"git clone -q --shared --branch \"$1\" -- " CLONE_ORIGIN " .\n"
	"for key in user.name user.email; do\n"
	"	value=$(git --git-dir=" CLONE_ORIGIN " config --local --get \"$key\") || continue\n"
	"	git config \"$key\" \"$value\"\n"
	"done\n";

int build_clone(struct sandbox_spec *s, const struct build_input *in, const struct gitdir *git,
		struct err *err)
{
	if (!git->root || !streq(git->root, s->workspace))
		return err_usage(err, "--clone: '%s' is not the top of a git repository",
				 s->workspace);
	if (!git->branch)
		return err_usage(err, "--clone: no branch is checked out in '%s'; check one out",
				 s->workspace);
	s->clone = store_clone(in->places, s->name);
	(void)spec_mount_add(s, SPEC_BIND_RW, s->clone, s->workspace,
			     "a clone of the repository, the sandbox's own");
	(void)spec_mount_add(s, SPEC_BIND_RO, git->common, CLONE_ORIGIN,
			     "the repository, to be read");
	return 0;
}

void build_clone_command(const struct sandbox_spec *s, struct strv *ret)
{
	strv_push(ret, "sh");
	strv_push(ret, "-c");
	strv_push(ret, script);
	strv_push(ret, "sh");
	strv_push(ret, s->branch);
}

bool build_clone_is_made(const struct sandbox_spec *s)
{
	cleanup_fd int dir = open(s->clone, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	cleanup_fd int git = dir < 0 ? -1 : path_open_beneath(dir, ".git", O_PATH | O_NOFOLLOW, 0);

	return git >= 0;
}
