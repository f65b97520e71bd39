/*
 * A guest that says it has set up every wall, and has left some out: RALPH_WEAK names them, between
 * commas. Linked with
 * the guest's own sources, whose calls come here (see meson.build).
 */
#undef execve
#undef ioctl
#undef mount
#undef prctl
#undef setrlimit
#undef syscall
#undef unshare
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

int weak_execve(const char *path, char *const argv[], char *const env[]);
int weak_ioctl(int fd, int request, ...);
int weak_mount(const char *from, const char *to, const char *type, unsigned long flags,
	       const void *data);
int weak_prctl(int op, ...);
int weak_setrlimit(int resource, const struct rlimit *l);
long weak_syscall(long nr, ...);
int weak_unshare(int flags);

static int weak(const char *wall)
{
	const char *all = getenv("RALPH_WEAK");
	char word[64];

	(void)snprintf(word, sizeof(word), ",%s,", wall);
	return all && strstr(all, word);
}

int weak_prctl(int op, ...)
{
	unsigned long a[4];
	va_list ap;

	va_start(ap, op);
	for (int i = 0; i < 4; i++)
		a[i] = va_arg(ap, unsigned long);
	va_end(ap);
	if (weak("capabilities") && (op == PR_CAPBSET_DROP || op == PR_CAPBSET_READ ||
				     op == PR_CAP_AMBIENT || op == PR_SET_SECUREBITS))
		return 0;
	if (weak("no-new-privs") && (op == PR_SET_NO_NEW_PRIVS || op == PR_GET_NO_NEW_PRIVS))
		return op == PR_GET_NO_NEW_PRIVS;
	if (weak("dumpable") && op == PR_SET_DUMPABLE)
		return 0;
	return prctl(op, a[0], a[1], a[2], a[3]);
}

/* The first filter says which calls there are, the second looks at arguments. */
static int skip_filter(void)
{
	static int n;

	n++;
	return (weak("calls") && n == 1) || (weak("arguments") && n == 2);
}

static char **more_env(char *const *env)
{
	static char *all[4096];
	size_t n = 0;

	for (; env[n] && n < 4000; n++)
		all[n] = env[n];
	all[n++] = getenv("RALPH_WEAK_VARIABLE");
	all[n] = NULL;
	return all;
}

long weak_syscall(long nr, ...)
{
	long a[6];
	va_list ap;

	va_start(ap, nr);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if (weak("capabilities") && nr == SYS_capset)
		return 0;
	if (weak("capabilities") && nr == SYS_capget) {
		memset((void *)a[1], 0, 2 * sizeof(struct __user_cap_data_struct));
		return 0;
	}
	if (nr == SYS_seccomp && skip_filter())
		return 0;
	if (weak("landlock") && nr == SYS_landlock_create_ruleset) {
		errno = ENOSYS;
		return -1;
	}
	if (weak("descriptors") && nr == SYS_close_range)
		return open("/", O_RDONLY) >= 0 ? 0 : -1;
	if (weak("variables") && nr == SYS_execveat)
		a[3] = (long)more_env((char *const *)a[3]);
	return syscall(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
}

int weak_execve(const char *path, char *const argv[], char *const env[])
{
	return execve(path, argv, weak("variables") ? more_env(env) : env);
}

int weak_ioctl(int fd, int request, ...)
{
	va_list ap;
	void *arg;

	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	return weak("network") ? 0 : ioctl(fd, request, arg);
}

int weak_mount(const char *from, const char *to, const char *type, unsigned long flags,
	       const void *data)
{
	return weak("propagation") ? 0 : mount(from, to, type, flags, data);
}

int weak_setrlimit(int resource, const struct rlimit *l)
{
	if ((weak("core") && resource == RLIMIT_CORE) ||
	    (weak("limits") && resource != RLIMIT_CORE))
		return 0;
	return setrlimit(resource, l);
}

int weak_unshare(int flags)
{
	return unshare(weak("network") ? flags & ~CLONE_NEWNET : flags);
}
