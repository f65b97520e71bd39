#include "guest/launcher.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/mount.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "guest/confine.h"
#include "guest/guest.h"
#include "guest/mount.h"
#include "guest/root.h"
#include "guest/userns.h"

#define NAMESPACES (CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS)

/* Mounts and namespaces; the user namespace below, its limit and what may not come back; the
 * network's loopback, routes and low ports. Given up by confine(). */
#define NEEDED                                                                                     \
	(1ULL << CAP_SYS_ADMIN | 1ULL << CAP_SYS_RESOURCE | 1ULL << CAP_SETFCAP |                  \
	 1ULL << CAP_SETPCAP | 1ULL << CAP_NET_ADMIN | 1ULL << CAP_NET_BIND_SERVICE)

/*
 * This program, in mounts that are this namespace's: /proc/self/exe leads to a mount of the namespace
 * we came from, which nobody can clone here.
 */
static int clone_program(const char *path)
{
	cleanup_fd int at = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC), tree = -1;
	struct stat self, there;
	int r;

	if (at < 0 || fstat(at, &there) < 0 || stat("/proc/self/exe", &self) < 0)
		return -errno;
	if (there.st_dev != self.st_dev || there.st_ino != self.st_ino)
		return -ESTALE;
	tree = mount_clone(at);
	if (tree < 0)
		return tree;
	r = mount_restrict(tree, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	return r < 0 ? r : take_fd(tree);
}

/*
 * From a read-only mount, so that nothing inside can ever write to the host's file through pid 1;
 * with no environment, and with none of the launcher's memory.
 */
static int exec_again(int line)
{
	static char *const no_env[] = {NULL};
	char path[PATH_MAX], number[16];
	char *argv[] = {path, LAUNCHER_INSIDE, number, NULL};
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	cleanup_fd int program = -1;
	int r;

	if (n < 0)
		return -errno;
	path[n] = '\0';
	program = clone_program(path);
	r = program < 0 ? program : fd_set_cloexec(line, false);
	if (r < 0)
		return r;
	(void)snprintf(number, sizeof(number), "%d", line);
	(void)syscall(SYS_execveat, program, "", argv, no_env, AT_EMPTY_PATH);
	return -errno;
}

/* In the new process, which has every capability in its namespaces and is nobody in them yet. */
static int become_root(uid_t uid, gid_t gid, struct err *err)
{
	const struct userns_map map = {.outer_uid = uid, .outer_gid = gid};
	int r = confine_keep(NEEDED, err);

	if (r < 0)
		return r;
	r = userns_set(&map);
	if (r < 0)
		return err_sys(err, -r, "cannot become root of the sandbox's user namespace");
	if (setsid() < 0 || chdir("/") < 0)
		return err_sys(err, errno, "cannot part the guest from its launcher");
	return 0;
}

static void live_inside(int line, uid_t uid, gid_t gid)
{
	struct err err = {0};
	int r = become_root(uid, gid, &err);

	if (r == 0) {
		r = exec_again(line);
		(void)(r == -ENOSYS ? root_too_old(&err)
				    : err_sys(&err, -r, "the guest cannot execute itself"));
	}
	guest_send_error(line, 0, -r, &err);
	_exit(EXIT_RALPH);
}

int launcher_run(int line, struct err *err)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	/* clone() has all that is needed; a container's filter often refuses clone3(). */
	long pid = syscall(SYS_clone, NAMESPACES | CLONE_PARENT | SIGCHLD, 0UL, 0UL, 0UL, 0UL);

	if (pid < 0)
		return err_sys(err, errno, "cannot make the sandbox's namespaces");
	if (pid == 0)
		live_inside(line, uid, gid);
	guest_send_u32(line, WIRE_BORN, 0, (uint32_t)pid, NULL, 0);
	return 0;
}

int launcher_arrive(struct err *err)
{
	/* Called by hand, as root, it would move the root of the whole machine. */
	if (getpid() != 1)
		return err_set(err, EPERM, "the guest is not in namespaces of its own");
	/* An exec by descriptor leaves its number as the name. */
	(void)prctl(PR_SET_NAME, "guest", 0UL, 0UL, 0UL);
	/* The supervisor may have ended before this: then the line is closed, which ends us too. */
	if (prctl(PR_SET_PDEATHSIG, (unsigned long)SIGKILL, 0UL, 0UL, 0UL) < 0)
		return err_sys(err, errno, "cannot make the guest die with its supervisor");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) < 0)
		return err_sys(err, errno, "cannot set no_new_privs");
	return 0;
}
