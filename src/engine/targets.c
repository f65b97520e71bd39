#include "engine/plan.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"

/*
 * The guest makes the place of a mount by following its path while the host's root is still at hand
 * (/oldroot). In what a sandbox could write before, a link on that path would have it make
 * directories and files anywhere on the host; so no such link may be there.
 */

/* The row mounted at or above the target when its turn comes; NULL: nothing but the fresh root. */
static const struct spec_mount *beneath(const struct sandbox_spec *spec, size_t i)
{
	const char *target = spec->mounts[i].target;

	while (i-- > 0) {
		const struct spec_mount *m = &spec->mounts[i];
		bool covers = m->kind == SPEC_BIND_RO || m->kind == SPEC_BIND_RW ||
			      m->kind == SPEC_TMPFS || m->kind == SPEC_PROC || m->kind == SPEC_DEV;

		if (covers && path_under(target, m->target) && !streq(m->target, "/"))
			return m;
	}
	return NULL;
}

static int check_target(const struct spec_mount *on, const char *target, struct err *err)
{
	const struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	cleanup_fd int root = open(on->source, O_PATH | O_DIRECTORY | O_CLOEXEC);
	const char *rest = target + strlen(on->target);
	long fd;

	if (root < 0)
		return err_sys(err, errno, "cannot open '%s'", on->source);
	while (*rest == '/')
		rest++;
	if (*rest == '\0')
		return 0;
	fd = syscall(SYS_openat2, root, rest, &how, sizeof(how));
	if (fd >= 0)
		(void)close((int)fd);
	else if (errno != ENOENT) /* what is not there is made, in directories that are */
		return err_sys(err, errno, "cannot mount '%s': in '%s' it was replaced by a link",
			       target, on->source);
	return 0;
}

int plan_check_targets(const struct sandbox_spec *spec, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < spec->n_mounts && r == 0; i++) {
		const struct spec_mount *on = beneath(spec, i);

		if (on && on->kind == SPEC_BIND_RW && !spec_is_of_home(spec->mounts[i].kind))
			r = check_target(on, spec->mounts[i].target, err);
	}
	return r;
}
