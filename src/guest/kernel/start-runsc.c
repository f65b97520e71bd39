#include "guest/kernel/start-runsc.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/fd.h"
#include "guest/confine.h"
#include "guest/kernel/apart.h"

#define PASSED 77 /* the line's number in runsc; INNER_LINE in there */
#define INNER_LINE "3"

/*
 * What the gofer needs to act as its user on the tree, and the sentry to make its own walls. All of
 * it counts in the user namespace below ours alone, and the sentry itself drops it.
 */
#define NEEDED                                                                                     \
	(1ULL << CAP_CHOWN | 1ULL << CAP_DAC_OVERRIDE | 1ULL << CAP_DAC_READ_SEARCH |              \
	 1ULL << CAP_FOWNER | 1ULL << CAP_FSETID | 1ULL << CAP_SETPCAP | 1ULL << CAP_SYS_CHROOT |  \
	 1ULL << CAP_SYS_ADMIN)

#define MOUNTS_MAX 128 /* each is a connection of the sentry's to its gofer */
#define CONFIG_MAX (256 * KiB)

/*
 * No capability: runsc would give the sentry what the first process has. No user namespace and no
 * network: those that we are in are the sandbox's.
 */
static const char head[] = "{\"ociVersion\":\"1.0.2\","
			   "\"process\":{\"user\":{\"uid\":0,\"gid\":0},"
			   "\"args\":[\"/run/ralph/guest\",\"" GUEST_WITHIN "\",\"" INNER_LINE
			   "\"],\"env\":[],\"cwd\":\"/\",\"capabilities\":{}},"
			   "\"root\":{\"path\":\"" GUEST_TREE "\",\"readonly\":true},"
			   "\"linux\":{\"namespaces\":[{\"type\":\"pid\"},{\"type\":\"ipc\"},"
			   "{\"type\":\"uts\"},{\"type\":\"mount\"}]},\"hostname\":";
static const char mounts[] =
	",\"mounts\":[{\"destination\":\"/proc\",\"type\":\"proc\",\"source\":\"proc\"},"
	"{\"destination\":\"/dev\",\"type\":\"tmpfs\",\"source\":\"tmpfs\"},"
	"{\"destination\":\"/dev/pts\",\"type\":\"devpts\",\"source\":\"devpts\"}";

/*
 * directfs would give the sentry the directories themselves, and a pinned path could be moved; an
 * exclusive cache would not see what the host changes.
 */
static char *const arguments[] = {
	(char *)GUEST_PROGRAM,
	(char *)"--root=" GUEST_PRIVATE "/state",
	(char *)"--platform=systrap",
	(char *)"--network=host",
	(char *)"--ignore-cgroups",
	(char *)"--overlay2=none",
	(char *)"--directfs=false",
	(char *)"--file-access=shared",
	(char *)"run",
	(char *)"--pass-fd=77:" INNER_LINE,
	(char *)"--detach",
	(char *)"--bundle=" GUEST_PRIVATE,
	(char *)"sandbox",
	NULL,
};

/* In a writable place, where the sentry would say that a change was made which the host refused. */
static bool is_readonly_in(const struct guest_root *root, size_t i)
{
	return !apart_is_writable(&root->mounts[i]) && apart_is_within(root, i);
}

static void put_mount(struct buf *b, const struct guest_root *root, size_t i, bool readonly)
{
	char source[PATH_MAX];

	if (!apart_source(root, i, source, sizeof(source)))
		return;
	(void)buf_puts(b, ",{\"type\":\"bind\",\"destination\":");
	(void)buf_put_quoted(b, root->mounts[i].target);
	(void)buf_puts(b, ",\"source\":");
	(void)buf_put_quoted(b, source);
	(void)buf_printf(b, ",\"options\":[\"rbind\",\"%s\"]}", readonly ? "ro" : "rw");
}

/* Memory of the sentry's, which the setting for temporary files bounds. */
static void put_shm(struct buf *b, const struct guest_root *root)
{
	uint64_t size = 0;

	for (size_t i = 0; i < root->n_mounts; i++)
		if (strcmp(root->mounts[i].target, "/dev/shm") == 0)
			size = root->mounts[i].size;
	(void)buf_puts(b, ",{\"destination\":\"/dev/shm\",\"type\":\"tmpfs\","
			  "\"source\":\"tmpfs\",\"options\":[\"mode=1777\"");
	if (size)
		(void)buf_printf(b, ",\"size=%llu\"", (unsigned long long)size);
	(void)buf_puts(b, "]}");
}

/*
 * The walls are the tree's mounts. The sentry is told of them too, so that it says what the host
 * would say: it does not ask about a mode or a length that it may set.
 */
static void put_mounts(struct buf *b, const struct guest_root *root)
{
	size_t n = 0;

	put_shm(b, root);
	for (size_t i = 0; i < root->n_mounts; i++) {
		const struct guest_mount *m = &root->mounts[i];
		bool readonly = is_readonly_in(root, i);
		bool of_kernel = strncmp(m->target, "/proc", 5) == 0 ||
				 strncmp(m->target, "/dev", 4) == 0 ||
				 strncmp(m->target, "/sys", 4) == 0;

		if (!of_kernel && (apart_is_writable(m) || (readonly && n++ < MOUNTS_MAX)))
			put_mount(b, root, i, readonly);
	}
}

static int put_config(const struct guest_root *root, struct err *err)
{
	cleanup_fd int fd = open(GUEST_PRIVATE "/config.json",
				 O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	cleanup_buf struct buf b;
	int r;

	buf_init(&b, CONFIG_MAX);
	(void)buf_puts(&b, head);
	(void)buf_put_quoted(&b, root->hostname);
	(void)buf_puts(&b, mounts);
	put_mounts(&b, root);
	if (buf_puts(&b, "]}") < 0 || b.full)
		return err_set(err, E2BIG, "more mounts than gVisor can be told");
	if (fd < 0 || mkdir(GUEST_PRIVATE "/state", 0700) < 0)
		return err_sys(err, errno, "cannot write down what gVisor is to run");
	r = fd_write_all(fd, b.data, b.len);
	return r < 0 ? err_sys(err, -r, "cannot write down what gVisor is to run") : 0;
}

static void become_runsc(int line, int log)
{
	static char *const env[] = {(char *)"PATH=/usr/bin:/bin", (char *)"HOME=/", NULL};
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct err err = {0};
	sigset_t none;

	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)signal(SIGCHLD, SIG_DFL);
	/* It maps its own children. It was started by us, and nothing of the sandbox runs yet. */
	(void)prctl(PR_SET_DUMPABLE, 1UL, 0UL, 0UL, 0UL);
	if (null < 0 || dup2(null, 0) < 0 || dup2(log, 1) < 0 || dup2(log, 2) < 0 ||
	    dup2(line, PASSED) < 0 || confine_program(NEEDED, &err) < 0) {
		static const char text[] = "cannot be confined: ";

		(void)!write(log, text, sizeof(text) - 1);
		(void)!write(log, err.msg, strlen(err.msg));
		_exit(EXIT_RALPH);
	}
	/* Only 0, 1, 2 and the line: close-on-exec everything between and above. */
	(void)syscall(SYS_close_range, 3U, PASSED - 1U, 0U);
	(void)syscall(SYS_close_range, PASSED + 1U, (unsigned)INT_MAX, 0U);
	(void)execve(arguments[0], arguments, env);
	_exit(EXIT_RALPH);
}

int gvisor_start(const struct guest_root *root, int line, int *ret_log, struct err *err)
{
	int ends[2], r = put_config(root, err);
	pid_t pid;

	if (r < 0)
		return r;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_sys(err, errno, "cannot make a pipe");
	pid = fork();
	if (pid == 0)
		become_runsc(line, ends[1]);
	r = pid < 0 ? err_sys(err, errno, "cannot start gVisor") : 0;
	(void)close(ends[1]);
	if (r < 0)
		(void)close(ends[0]);
	else
		*ret_log = ends[0];
	return r;
}
