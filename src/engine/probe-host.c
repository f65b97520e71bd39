#include "engine/probe-host.h"

#include <fcntl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/parse.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/strv.h"
#include "engine/probe-child.h"

#define BWRAP_MAJOR 0
#define BWRAP_MINOR 8
#define TRY_MS 2000
#define OUTPUT_MAX (64 * KiB)

static const char bwrap_missing[] =
	"bwrap is not installed; run: sudo apt install bubblewrap (or your distribution's package)";

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

int host_bwrap_path(char **ret, struct err *err)
{
	char *path = path_find_program("bwrap", getenv("PATH"));

	if (!path) {
		(void)err_set(err, ENOENT, "%s", bwrap_missing);
		err->exit_code = EXIT_RALPH;
		return -ENOENT;
	}
	*ret = path;
	return 0;
}

/* What bwrap will do, up to the first thing that needs a capability in the new namespace: on
 * Ubuntu the namespace itself can be had, and is worth nothing. */
static int try_userns(void)
{
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		return errno;
	if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return errno;
	return 0;
}

/* AppArmor may let bwrap do what it does not let us do. */
static bool bwrap_can(void)
{
	cleanup_free char *bwrap = path_find_program("bwrap", getenv("PATH"));
	cleanup_free char *out = NULL;
	char *argv[] = {bwrap, "--unshare-user", "--ro-bind", "/", "/", "/bin/true", NULL};
	struct err ignored = {0};
	int code;

	return bwrap && run_capture(argv, NULL, TRY_MS, OUTPUT_MAX, &out, &code, &ignored) == 0 &&
	       code == 0;
}

static bool sysctl_is(const char *file, const char *value)
{
	cleanup_buf struct buf b = {0};
	size_t n = strlen(value);

	buf_init(&b, 64);
	return path_read(AT_FDCWD, file, &b) == 0 && strncmp(buf_str(&b), value, n) == 0 &&
	       (buf_str(&b)[n] == '\n' || buf_str(&b)[n] == '\0');
}

int host_userns(struct host_userns *ret, struct err *err)
{
	int r = probe_in_child(try_userns, TRY_MS);
	struct host_userns u = {0};

	if (r < 0 && r != -ETIMEDOUT && r != -ECHILD)
		return err_sys(err, -r, "cannot start a child to try namespaces in");
	u.failed = r < 0 ? -r : r;
	u.usable = r == 0 || bwrap_can();
	u.clone_off = sysctl_is("/proc/sys/kernel/unprivileged_userns_clone", "0");
	u.apparmor_restrict =
		sysctl_is("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1");
	u.max_zero = sysctl_is("/proc/sys/user/max_user_namespaces", "0");
	*ret = u;
	return 0;
}

const char *host_userns_remedy(const struct host_userns *u)
{
	if (u->apparmor_restrict)
		return "AppArmor forbids user namespaces; run: sudo sysctl -w "
		       "kernel.apparmor_restrict_unprivileged_userns=0 (or give bwrap a profile "
		       "with 'userns,')";
	if (u->clone_off)
		return "this kernel forbids user namespaces to users; run: sudo sysctl -w "
		       "kernel.unprivileged_userns_clone=1";
	if (u->max_zero)
		return "no user namespace is allowed; run: sudo sysctl -w "
		       "user.max_user_namespaces=15000";
	return "user namespaces are forbidden here (in a container: allow them with its security "
	       "options, or run ralph outside of it)";
}

/* "bubblewrap 0.8.0" */
static bool parse_version(const char *text, struct host_bwrap *b)
{
	unsigned *const part[] = {&b->major, &b->minor, &b->patch};
	cleanup_strv struct strv words = {0}, numbers = {0};

	strv_split(&words, text, ' ');
	if (words.n < 2)
		return false;
	words.v[1][strcspn(words.v[1], "\n")] = '\0';
	strv_split(&numbers, words.v[1], '.');
	for (size_t i = 0; i < ARRAY_SIZE(part) && i < numbers.n; i++) {
		uint64_t v;

		if (parse_uint(numbers.v[i], 0, 9999, &v) < 0)
			return false;
		*part[i] = (unsigned)v;
	}
	return numbers.n >= 2;
}

int host_bwrap(struct host_bwrap *ret, struct err *err)
{
	struct host_bwrap b = {.path = path_find_program("bwrap", getenv("PATH"))};
	char *argv[] = {b.path, "--version", NULL};
	cleanup_free char *out = NULL;
	struct stat st;
	int code;
	int r;

	if (b.path) {
		r = run_capture(argv, NULL, TRY_MS, OUTPUT_MAX, &out, &code, err);
		if (r < 0) {
			host_bwrap_done(&b);
			return err_wrap(err, r, "bwrap --version");
		}
		b.setuid = stat(b.path, &st) == 0 && (st.st_mode & S_ISUID);
		b.usable = !b.setuid && code == 0 && parse_version(out, &b) &&
			   (b.major > BWRAP_MAJOR || b.minor >= BWRAP_MINOR);
	}
	*ret = b;
	return 0;
}

void host_bwrap_done(struct host_bwrap *b)
{
	free(b->path);
	*b = (struct host_bwrap){0};
}

static int native_usable(struct err *err)
{
	cleanup_(host_bwrap_done) struct host_bwrap b = {0};
	struct host_userns u;
	int r = host_bwrap(&b, err);

	if (r < 0)
		return r;
	if (!b.path)
		return err_set(err, ENOENT, "%s", bwrap_missing);
	if (b.setuid)
		return err_set(err, ENOTSUP, "%s is setuid root; run: sudo chmod u-s %s", b.path,
			       b.path);
	if (!b.usable)
		return err_set(err, ENOTSUP,
			       "bwrap %u.%u.%u is too old, 0.8.0 or newer is needed; upgrade the "
			       "package bubblewrap",
			       b.major, b.minor, b.patch);
	r = host_userns(&u, err);
	if (r < 0)
		return r;
	if (!u.usable)
		return err_set(err, EPERM, "%s", host_userns_remedy(&u));
	return 0;
}

int host_native_usable(struct err *err)
{
	int r = native_usable(err);

	if (r < 0)
		err->exit_code = EXIT_RALPH;
	return r;
}

bool host_native_likely(void)
{
	cleanup_free char *bwrap = path_find_program("bwrap", getenv("PATH"));
	struct stat st;

	return bwrap && stat(bwrap, &st) == 0 && !(st.st_mode & S_ISUID) &&
	       !sysctl_is("/proc/sys/kernel/unprivileged_userns_clone", "0") &&
	       !sysctl_is("/proc/sys/user/max_user_namespaces", "0");
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
