#include "record/loop-rules.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"

char *loop_rules_file(const struct places *p, const char *loop)
{
	return xasprintf("%s/loop-rules/%s/network.rules", p->state, loop);
}

static char *held_file(const struct places *p, const char *loop)
{
	return xasprintf("%s/loop-rules/%s/held", p->state, loop);
}

int loop_rules_hold(const struct places *p, const char *loop, bool anew, int *ret_held,
		    struct err *err)
{
	struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	cleanup_free char *rules = loop_rules_file(p, loop), *dir = path_dir(rules);
	cleanup_free char *path = held_file(p, loop);
	cleanup_fd int fd = -1;
	int r = path_mkdirs(dir, 0700, err);

	if (r < 0)
		return r;
	if (anew && unlink(rules) < 0 && errno != ENOENT)
		return err_sys(err, errno, "cannot remove '%s'", rules);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	/* EAGAIN: a child that a killed loop has left holds it. */
	if (fd < 0 || (fcntl(fd, F_OFD_SETLK, &all) < 0 && errno != EAGAIN))
		return err_sys(err, errno, "cannot lock '%s'", path);
	*ret_held = take_fd(fd);
	return 0;
}

void loop_rules_release(const struct places *p, const char *loop, bool over, int *held)
{
	cleanup_free char *rules = loop_rules_file(p, loop), *dir = path_dir(rules);
	cleanup_free char *path = held_file(p, loop);

	if (*held < 0)
		return;
	if (over)
		(void)unlink(rules);
	(void)unlink(path);
	(void)rmdir(dir);
	closep(held);
	*held = -1;
}

bool loop_rules_count(const struct places *p, const char *loop)
{
	struct flock all = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
	cleanup_free char *path = held_file(p, loop);
	cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	return fd >= 0 && fcntl(fd, F_OFD_GETLK, &all) == 0 && all.l_type != F_UNLCK;
}
