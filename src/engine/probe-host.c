#include "engine/probe-host.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"
#include "engine/probe-child.h"

#define STATUS_MAX (16 * KiB)

int probe_in_child(int (*fn)(void), int timeout_ms)
{
	pid_t pid = fork();
	cleanup_fd int pidfd = -1;
	struct pollfd p;
	int status;

	if (pid < 0)
		return -errno;
	if (pid == 0)
		_exit(fn() & 0x7f);
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	p = (struct pollfd){.fd = pidfd, .events = POLLIN};
	if (pidfd >= 0 && poll(&p, 1, timeout_ms) <= 0)
		(void)kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	return WTERMSIG(status) == SIGKILL ? -ETIMEDOUT : -ECHILD;
}

static bool sysctl_is(const char *file, const char *value)
{
	cleanup_buf struct buf b = {0};
	size_t n = strlen(value);

	buf_init(&b, 64);
	return path_read(AT_FDCWD, file, &b) == 0 && strncmp(buf_str(&b), value, n) == 0 &&
	       (buf_str(&b)[n] == '\n' || buf_str(&b)[n] == '\0');
}

/* "Seccomp:\t2" */
static bool is_filtered(void)
{
	cleanup_buf struct buf b = {0};

	buf_init(&b, STATUS_MAX);
	return path_read(AT_FDCWD, "/proc/self/status", &b) == 0 &&
	       strstr(buf_str(&b), "\nSeccomp:\t2") != NULL;
}

/* A mount point below /proc covers a part of it; binfmt_misc is mounted on an empty directory. */
static bool is_proc_masked(void)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char line[PATH_MAX + 256];
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f)) {
		const char *at = strstr(line, " /proc/");

		found = at && strncmp(at, " /proc/sys/fs/binfmt_misc ", 26) != 0;
	}
	if (f)
		(void)fclose(f);
	return found;
}

static bool is_container(void)
{
	static const char *const files[] = {"/.dockerenv", "/run/.containerenv"};
	struct stat st;

	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (stat(files[i], &st) == 0)
			return true;
	return getenv("container") || getenv("KUBERNETES_SERVICE_HOST");
}

static bool is_max_zero(void)
{
	return sysctl_is("/proc/sys/user/max_user_namespaces", "0");
}

static bool is_clone_off(void)
{
	return sysctl_is("/proc/sys/kernel/unprivileged_userns_clone", "0");
}

void host_facts(struct host_facts *ret)
{
	*ret = (struct host_facts){
		.root = geteuid() == 0,
		.clone_off = is_clone_off(),
		.max_zero = is_max_zero(),
		.apparmor_restrict =
			sysctl_is("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1"),
		.selinux = sysctl_is("/sys/fs/selinux/enforce", "1"),
		.container = is_container(),
		.filtered = is_filtered(),
		.proc_masked = is_proc_masked(),
	};
}

const char *host_native_remedy(const struct host_facts *f, bool born, int failed)
{
	if (f->max_zero && !born)
		return "no user namespace is allowed here; run: sudo sysctl -w "
		       "user.max_user_namespaces=15000";
	if (failed == ENOSPC && !born)
		return "all user namespaces that are allowed here are in use; run: sudo sysctl -w "
		       "user.max_user_namespaces=15000";
	if (f->clone_off && !f->root && !born)
		return "this kernel forbids user namespaces to users; run: sudo sysctl -w "
		       "kernel.unprivileged_userns_clone=1";
	if (f->container || f->filtered || (born && f->proc_masked))
		return "this is a container that forbids sandboxes in it; start it with ralph's "
		       "seccomp profile and an unmasked /proc: see ralph-engines(7), CONTAINERS";
	if (failed == ENOSYS)
		return "this kernel is too old: Linux 5.12 or newer is needed";
	if (f->apparmor_restrict && !f->root)
		return "AppArmor forbids user namespaces to programs without a profile; run: sudo "
		       "apparmor_parser -r /etc/apparmor.d/ralph (or: sudo sysctl -w "
		       "kernel.apparmor_restrict_unprivileged_userns=0)";
	if (failed == EINVAL && !born)
		return "this kernel has no user namespaces; boot one with CONFIG_USER_NS";
	if (f->selinux)
		return "SELinux may forbid it to this user; run: sudo ausearch -m avc -ts recent";
	return "namespaces are forbidden to this process (in a chroot they always are)";
}

int host_native_explain(int r, struct err *err)
{
	struct host_facts f;

	if (r != -EPERM && r != -EACCES && r != -ENOSPC && r != -ENOSYS && r != -EINVAL)
		return r;
	host_facts(&f);
	err->exit_code = EXIT_RALPH;
	return err_hint(err, r, "%s", host_native_remedy(&f, false, -r));
}

bool host_native_likely(void)
{
	return !is_max_zero() && (geteuid() == 0 || !is_clone_off());
}

static bool action_available(uint32_t action)
{
	return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

bool host_seccomp(void)
{
	return action_available(SECCOMP_RET_KILL_PROCESS);
}

bool host_seccomp_notif(void)
{
	return action_available(SECCOMP_RET_USER_NOTIF);
}
