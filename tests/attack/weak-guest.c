/*
 * A guest that says it has set up every wall, and has left some out: RALPH_WEAK_WEAK names them,
 * between commas; RALPH_WEAK_MOUNTS changes the list of mounts, one row a line: "-KIND TARGET"
 * drops one ("*": all of that kind), "+KIND SOURCE TARGET" adds one before the root becomes
 * read-only. Linked with the guest's own sources, whose calls come here (see meson.build).
 */
#undef execve
#undef ioctl
#undef mount
#undef prctl
#undef sethostname
#undef setrlimit
#undef syscall
#undef unshare
#undef write
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

#include "guest/between.h"
#include "wire/root-proto.h"

int weak_execve(const char *path, char *const argv[], char *const env[]);
int weak_ioctl(int fd, int request, ...);
int weak_mount(const char *from, const char *to, const char *type, unsigned long flags,
	       const void *data);
int weak_prctl(int op, ...);
int weak_setrlimit(int resource, const struct rlimit *l);
long weak_syscall(long nr, ...);
int weak_unshare(int flags);
int weak_sethostname(const char *name, size_t n);
ssize_t weak_write(int fd, const void *p, size_t n);
int __real_guest_root_get(const struct wire_msg *m, struct guest_root *ret, struct err *err);
int __wrap_guest_root_get(const struct wire_msg *m, struct guest_root *ret, struct err *err);

static int weak(const char *wall)
{
	const char *all = getenv("RALPH_WEAK_WEAK");
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
	if (nr == SYS_clone)
		a[0] &= ~((weak("pid") ? CLONE_NEWPID : 0) | (weak("ipc") ? CLONE_NEWIPC : 0) |
			  (weak("uts") ? CLONE_NEWUTS : 0));
	/* The second run of the guest has to know as well. */
	if (nr == SYS_execveat &&
	    strcmp(((char **)a[2])[1] ? ((char **)a[2])[1] : "", "inside") == 0)
		a[3] = (long)environ;
	else if (weak("variables") && nr == SYS_execveat)
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
	if (weak("network"))
		flags &= ~CLONE_NEWNET;
	if (weak("cgroup"))
		flags &= ~CLONE_NEWCGROUP;
	return flags ? unshare(flags) : 0;
}

int weak_sethostname(const char *name, size_t n)
{
	return weak("hostname") ? 0 : sethostname(name, n);
}

/* The only "1" that is written says that there can be no more user namespaces. */
ssize_t weak_write(int fd, const void *p, size_t n)
{
	return weak("userns") && n == 1 && *(const char *)p == '1' ? 1 : write(fd, p, n);
}

int __real_between_open(struct between *b, int stdio[BETWEEN_MAX], struct err *err);
int __wrap_between_open(struct between *b, int stdio[BETWEEN_MAX], struct err *err);

int __wrap_between_open(struct between *b, int stdio[BETWEEN_MAX], struct err *err)
{
	return weak("between") ? 0 : __real_between_open(b, stdio, err);
}

static int kind_of(const char *word)
{
	static const char *const words[] = {
		[GUEST_BIND_RO] = "bind-ro",	   [GUEST_BIND_RW] = "bind",
		[GUEST_DEVICES] = "devices",	   [GUEST_MASK] = "mask",
		[GUEST_REMOUNT_RO] = "remount-ro", [GUEST_PIN] = "pin",
		[GUEST_PROTECT] = "protect",
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (words[i] && strcmp(words[i], word) == 0)
			return (int)i;
	abort();
}

static void drop(struct guest_root *root, int kind, const char *target)
{
	size_t kept = 0, n = root->n_mounts;

	for (size_t i = 0; i < n; i++)
		if ((int)root->mounts[i].kind != kind ||
		    (strcmp(target, "*") && strcmp(target, root->mounts[i].target)))
			root->mounts[kept++] = root->mounts[i];
	root->n_mounts = kept;
	if (kept == n)
		abort(); /* the plan has changed, and this test with it */
}

static void add(struct guest_root *root, int kind, const char *source, const char *target)
{
	struct guest_mount *all = calloc(root->n_mounts + 1, sizeof(*all));
	size_t n = root->n_mounts;

	if (!all)
		abort();
	memcpy(all, root->mounts, n * sizeof(*all));
	if (n && all[n - 1].kind == GUEST_REMOUNT_RO)
		all[n] = all[n - 1], n--;
	all[n] = (struct guest_mount){
		.kind = (enum guest_mount_kind)kind, .source = source, .target = target};
	root->mounts = all;
	root->n_mounts++;
}

int __wrap_guest_root_get(const struct wire_msg *m, struct guest_root *ret, struct err *err)
{
	char *rows = getenv("RALPH_WEAK_MOUNTS"), *row, *word[3];
	int r = __real_guest_root_get(m, ret, err);

	if (r == 0 && weak("user"))
		ret->uid = ret->gid = 0;
	while (r == 0 && rows && (row = strsep(&rows, "\n")) && *row) {
		char *rest = strdup(row + 1);

		for (int i = 0; i < 3; i++)
			word[i] = strsep(&rest, " ");
		if (row[0] == '-')
			drop(ret, kind_of(word[0]), word[1]);
		else
			add(ret, kind_of(word[0]), word[1], word[2]);
	}
	return r;
}
