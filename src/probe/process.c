#include "probe/probe.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"

static char secret[] = "the victim's memory";

/* `victim`: a process of the host that waits; prints its pid and where its secret is. */
static int victim(int argc, char **argv)
{
	char c;

	(void)printf("%d %lu\n", (int)getpid(), (unsigned long)secret);
	(void)fflush(stdout);
	while (read(STDIN_FILENO, &c, 1) > 0)
		;
	return 0;
}

static int reads_memory(pid_t pid, unsigned long at)
{
	char mine[sizeof(secret)] = "";
	struct iovec local = {mine, sizeof(mine)}, remote = {(void *)at, sizeof(mine)};

	return syscall(SYS_process_vm_readv, pid, &local, 1UL, &remote, 1UL, 0UL) > 0 &&
	       memcmp(mine, secret, sizeof(mine)) == 0;
}

static int can_trace(pid_t pid)
{
	if (ptrace(PTRACE_SEIZE, pid, 0, 0) == 0 || ptrace(PTRACE_ATTACH, pid, 0, 0) == 0) {
		(void)ptrace(PTRACE_DETACH, pid, 0, 0);
		return 1;
	}
	return 0;
}

/* True if the process is the one that carries our secret, and not one inside of the same number. */
static int is_victim(pid_t pid)
{
	char path[64], text[256] = "";
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	for (ssize_t i = 0, n = read(fd, text, sizeof(text) - 1); i < n; i++)
		if (text[i] == '\0')
			text[i] = ' ';
	(void)close(fd);
	return strstr(text, "probe victim") != NULL;
}

static int other_processes(int argc, char **argv)
{
	pid_t pid = (pid_t)number(argv[0]);
	unsigned long at = number(argv[1]);
	DIR *dir = opendir("/proc");
	struct dirent *de;
	int n = 0;

	if (!dir)
		broken("/proc");
	while ((de = readdir(dir)))
		if (de->d_name[0] >= '1' && de->d_name[0] <= '9' &&
		    is_victim((pid_t)number(de->d_name)))
			n += out("process %s of the host is seen", de->d_name);
	(void)closedir(dir);
	if (reads_memory(pid, at))
		n += out("its memory is read");
	if (!is_victim(pid) && kill(pid, 0) < 0 && errno == ESRCH)
		return n;
	if (is_victim(pid)) {
		if (can_trace(pid))
			n += out("it is traced");
		if (syscall(SYS_pidfd_open, pid, 0UL) >= 0)
			n += out("it has a pidfd");
		if (kill(pid, 0) == 0)
			n += out("it can be signalled");
	}
	return n;
}

/* Opening alone is no finding: the kernel may check the access when the file is read. */
static int opens_of(pid_t pid, const char *what)
{
	char path[64], text[256];
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, what);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (readlink(path, text, sizeof(text)) <= 0 && (fd < 0 || read(fd, text, 1) <= 0))
		return 0;
	return out("%s can be read", path);
}

/* Tries to read, trace and change the process that guards us. Signals do not harm it. */
static int guard(pid_t pid, bool readable)
{
	static const char *const parts[] = {
		"mem", "environ", "root",   "cwd",    "exe",	  "fd/0",  "fd/3",    "maps",
		"io",  "auxv",	  "ns/mnt", "ns/net", "fdinfo/3", "stack", "syscall", "pagemap"};
	char path[64];
	int n = 0, pidfd = (int)syscall(SYS_pidfd_open, pid, 0UL);

	for (size_t i = readable ? ARRAY_SIZE(parts) : 0; i < ARRAY_SIZE(parts); i++)
		n += opens_of(pid, parts[i]);
	(void)snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	if (open(path, O_RDWR | O_CLOEXEC) >= 0)
		n += out("%s can be written", path);
	if (can_trace(pid))
		n += out("process %d can be traced", (int)pid);
	if (reads_memory(pid, (unsigned long)secret) || errno != EPERM)
		n += out("process_vm_readv of %d: %m", (int)pid);
	for (int fd = 0; fd < 8 && pidfd >= 0; fd++)
		if (syscall(SYS_pidfd_getfd, pidfd, fd, 0UL) >= 0)
			n += out("descriptor %d of process %d", fd, (int)pid);
	for (int i = 0; i < 16; i++) {
		struct rlimit now;

		if (syscall(SYS_prlimit64, pid, i, NULL, &now) == 0 &&
		    syscall(SYS_prlimit64, pid, i, &now, NULL) == 0)
			n += out("limit %d of process %d", i, (int)pid);
	}
	return n;
}

/* `guards [PID [readable]]`: pid 1, and the minder, whose child an attack is where nobody stands between. */
static int guards(int argc, char **argv)
{
	bool readable = argc > 1; /* a kernel without this wall: only what changes them counts */

	return guard(1, readable) + guard(argc > 0 ? (pid_t)number(argv[0]) : getppid(), readable);
}

/* Only where pid 1 is the sandbox's. */
static void only_inside(void)
{
	char name[16] = "";
	int fd = open("/proc/1/comm", O_RDONLY | O_CLOEXEC);

	if (fd < 0 || read(fd, name, sizeof(name) - 1) <= 0 || strncmp(name, "guest", 5) != 0) {
		errno = EPERM;
		broken("this is for a sandbox only");
	}
}

/* Every signal at pid 1: a sandbox that ends of it would end this command with another code. */
static int kill_init(int argc, char **argv)
{
	only_inside();
	for (int sig = 1; sig < 65; sig++)
		(void)kill(1, sig);
	return 0;
}

/* Stops and kills the process that minds this command, leaving one behind that must not live on. */
static int kill_minder(int argc, char **argv)
{
	only_inside();
	if (fork() == 0) {
		(void)setsid();
		for (;;)
			(void)pause();
	}
	(void)kill(getppid(), SIGSTOP);
	(void)kill(getppid(), SIGKILL);
	while (pause() < 0)
		;
	return 0;
}

static int no_new_privs(int argc, char **argv)
{
	if (prctl(PR_GET_NO_NEW_PRIVS, 0UL, 0UL, 0UL, 0UL) != 1)
		return out("no_new_privs is not set");
	return 0;
}

static int capabilities(int argc, char **argv)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct have[2] = {0};
	int n = 0;

	if (syscall(SYS_capget, &head, have) < 0)
		broken("capget");
	for (int i = 0; i < 2; i++)
		if (have[i].effective | have[i].permitted | have[i].inheritable)
			n += out("capabilities %#x",
				 have[i].effective | have[i].permitted | have[i].inheritable);
	for (unsigned long cap = 0; cap < 64; cap++) {
		if (prctl(PR_CAPBSET_READ, cap, 0UL, 0UL, 0UL) > 0)
			n += out("capability %lu in the bounding set", cap);
		if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, cap, 0UL, 0UL) > 0)
			n += out("capability %lu in the ambient set", cap);
	}
	return n + no_new_privs(0, NULL);
}

/* Tells whether uid_map is one line, "INSIDE OUTSIDE 1". */
static bool one_user_is_mapped(void)
{
	cleanup_buf struct buf b;
	char *rest, *word, *last = NULL;
	int words = 0;

	slurp("/proc/self/uid_map", &b, 4096);
	for (rest = b.data; rest && (word = strsep(&rest, " \n"));)
		if (*word) {
			last = word;
			words++;
		}
	return words == 3 && streq(last, "1");
}

static int identity(int argc, char **argv)
{
	gid_t groups[1] = {0};
	int n = 0;

	if (!one_user_is_mapped())
		n += out("more than one user is mapped");
	if (geteuid() == 0 || getuid() == 0)
		n += out("we are root");
	if (setuid(0) == 0 || setresuid(0, 0, 0) == 0 || setgid(0) == 0 || setresgid(0, 0, 0) == 0)
		n += out("we became root");
	if (setgroups(1, groups) == 0)
		n += out("setgroups");
	if (open("/proc/self/uid_map", O_WRONLY | O_CLOEXEC) >= 0 && geteuid() == 0)
		n += out("the map can be written");
	return n;
}

/* `crash`: a core of ours would be taken by the host's handler, run by root outside of all this. */
static int crash(int argc, char **argv)
{
	const struct rlimit zero = {0, 0}, all = {RLIM_INFINITY, RLIM_INFINITY};
	struct rlimit now;
	int status, n = 0;
	pid_t pid = fork();

	if (pid == 0) {
		(void)setrlimit(RLIMIT_CORE, argc > 0 ? &zero : &all);
		(void)prlimit(0, RLIMIT_CORE, argc > 0 ? &zero : &all, NULL);
		(void)prctl(PR_SET_DUMPABLE, 1UL, 0UL, 0UL, 0UL);
		if (getrlimit(RLIMIT_CORE, &now) == 0 && now.rlim_max != 1)
			_exit(7);
		abort();
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		broken("fork");
	if (WIFEXITED(status))
		n += out("the limit of core files can be moved, and a handler started");
	else if (WCOREDUMP(status))
		n += out("a core was dumped");
	return n;
}

/* `exec-id PROGRAM`: a program that says who it is says the same with and without its set-uid bit.
 */
static int set_uid(int argc, char **argv)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		(void)execv(argv[0], (char *[]){argv[0], "whoami", NULL});
		_exit(9);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0 ||
	    (WIFEXITED(status) && WEXITSTATUS(status) == 9))
		broken("exec");
	return status ? out("a program that is set-uid gave more") : 0;
}

static int whoami(int argc, char **argv)
{
	return geteuid() != getuid() || getegid() != getgid() || capabilities(0, NULL)
		       ? out("euid %u", geteuid())
		       : 0;
}

static int variables(int argc, char **argv)
{
	int n = 0;

	for (int i = 0; i < argc; i++)
		if (getenv(argv[i]))
			n += out("%s=%s", argv[i], getenv(argv[i]));
	return n;
}

const struct attack process_attacks[] = {
	{"victim", victim},
	{"other-processes", other_processes},
	{"guards", guards},
	{"kill-init", kill_init},
	{"kill-minder", kill_minder},
	{"capabilities", capabilities},
	{"identity", identity},
	{"crash", crash},
	{"set-uid", set_uid},
	{"whoami", whoami},
	{"variables", variables},
	{"no-new-privs", no_new_privs},
	{0},
};
