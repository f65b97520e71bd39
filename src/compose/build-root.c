#include "compose/build.h"

#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"

#define COPY_MAX (16L * 1024) /* of a file: a larger one takes longer to copy than to mount */
#define VAR_TMP "/var/tmp"
#define PROC_BLOCK (2 * KiB)
#define RUN_SIZE (64 * MiB) /* of /run: sockets and locks, not data */

static const char *const system_dirs[] = {"/usr", "/opt", "/nix/store", "/gnu/store"};
static const char *const usr_links[] = {"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"};

/*
 * Programs read these files of /etc, by purpose. Small files are copied at start (a snapshot),
 * large ones and directories are bound. None of them holds secrets: shadow, gitconfig, npmrc,
 * pip.conf and similar files may, and are left out.
 */
static const char *const etc_files[] = {
	"ld.so.cache",			 /* the dynamic linker */
	"services",	    "protocols", /* names of the network */
	"localtime",	    "timezone",
	"locale.conf",			   /* place and language */
	"os-release",	    "lsb-release", /* distribution */
	"profile",	    "bash.bashrc",
	"bashrc", /* shells */
	"ssl/openssl.cnf",  "pki/tls/openssl.cnf",
	"pki/tls/cert.pem", /* TLS */
	"maven/m2.conf",    /* not its settings, which hold passwords of servers */
	"chromium.d/*",	    /* Debian's wrapper of Chromium does not start without them */
};
static const char *const etc_dirs[] = {
	"alternatives", /* which programs */
	/* CA certificates; the directories next to these hold private keys. */
	"ssl/certs", "pki/ca-trust", "pki/java", "pki/tls/certs", "crypto-policies", "fonts",
	"java-*", "maven/logging", /* Java and Maven do not start without them */
};

/*
 * The paths that container runtimes cover by default (OCI), and what they make read-only but
 * nobody in a sandbox reads; where there is something to cover.
 */
static const char *const proc_masks[] = {
	"/proc/acpi",	       "/proc/asound",	    "/proc/kcore",	   "/proc/keys",
	"/proc/timer_list",    "/proc/timer_stats", "/proc/latency_stats", "/proc/sched_debug",
	"/proc/scsi",	       "/proc/interrupts",  "/proc/sysrq-trigger", "/proc/fs",
	"/proc/dynamic_debug",
};

static const char *const proc_readonly[] = {"/proc/sys", "/proc/irq", "/proc/bus"};

static const char *const cpu_files[] = {
	"/sys/devices/system/cpu/online",
	"/sys/devices/system/cpu/possible",
	"/sys/devices/system/cpu/present",
};

static void add_system(struct sandbox_spec *s)
{
	struct stat st;

	for (size_t i = 0; i < ARRAY_SIZE(system_dirs); i++)
		if (stat(system_dirs[i], &st) == 0 && S_ISDIR(st.st_mode))
			(void)spec_mount_add(s, SPEC_BIND_RO, system_dirs[i], system_dirs[i],
					     "programs of the system");
	for (size_t i = 0; i < ARRAY_SIZE(usr_links); i++) {
		char text[256];
		ssize_t n = readlink(usr_links[i], text, sizeof(text) - 1);

		if (n > 0) {
			text[n] = '\0';
			(void)spec_mount_add(s, SPEC_SYMLINK, text, usr_links[i],
					     "programs of the system");
		} else if (stat(usr_links[i], &st) == 0 && S_ISDIR(st.st_mode)) {
			(void)spec_mount_add(s, SPEC_BIND_RO, usr_links[i], usr_links[i],
					     "programs of the system");
		}
	}
}

/* As euidaccess(), which asks for four identities first. */
static bool may_read(const char *path)
{
	return faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) == 0;
}

/* /etc/localtime and the like are links into /usr, which is there: the link is enough. */
static void add_etc_file(struct sandbox_spec *s, const char *path)
{
	char text[512];
	struct stat st;
	ssize_t n = readlink(path, text, sizeof(text) - 1);

	if (n > 0) {
		text[n] = '\0';
		if (path_under(text, "/usr") || strncmp(text, "../usr/", 7) == 0) {
			(void)spec_mount_add(s, SPEC_SYMLINK, text, path, "settings of the system");
			return;
		}
	}
	if (stat(path, &st) == 0 && S_ISREG(st.st_mode) && may_read(path))
		(void)spec_mount_add(s, st.st_size > COPY_MAX ? SPEC_BIND_RO : SPEC_COPY, path,
				     path, "settings of the system");
}

static void add_etc_dir(struct sandbox_spec *s, const char *path)
{
	struct stat st;

	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		(void)spec_mount_add(s, SPEC_BIND_RO, path, path, "settings of the system");
}

static void add_etc(struct sandbox_spec *s, const char *pattern,
		    void (*add)(struct sandbox_spec *s, const char *path))
{
	cleanup_free char *path = path_join("/etc", pattern);
	glob_t g;

	if (!strchr(pattern, '*')) {
		add(s, path);
		return;
	}
	if (glob(path, 0, NULL, &g) != 0)
		return;
	for (size_t i = 0; i < g.gl_pathc; i++)
		add(s, g.gl_pathv[i]);
	globfree(&g);
}

static void add_file(struct sandbox_spec *s, const char *target, const char *reason, char *data)
{
	struct spec_mount *m = spec_mount_add(s, SPEC_FILE, NULL, target, reason);

	m->data = data;
	m->mode = 0444;
}

/* The sandbox's own users, names and look-up order: one user, itself, and no host. */
static void add_identity(struct sandbox_spec *s)
{
	const struct spec_env *user = spec_env_find(s, "USER"), *shell = spec_env_find(s, "SHELL");
	const char *name = user ? user->value : "agent";

	add_file(s, "/etc/passwd", "the sandbox's own user",
		 xasprintf("root:x:0:0:root:/nonexistent:/usr/sbin/nologin\n"
			   "%s:x:%u:%u:%s:%s:%s\n"
			   "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
			   name, s->uid, s->gid, name, s->home, shell ? shell->value : "/bin/sh"));
	add_file(s, "/etc/group", "the sandbox's own group",
		 xasprintf("root:x:0:\n%s:x:%u:\nnogroup:x:65534:\n", name, s->gid));
	add_file(s, "/etc/nsswitch.conf", "names come from files and the sandbox's resolver",
		 xstrdup("passwd: files\ngroup: files\nshadow: files\nhosts: files dns\n"
			 "networks: files\nprotocols: files\nservices: files\n"));
	add_file(s, "/etc/hostname", "the sandbox's own name", xasprintf("%s\n", s->hostname));
	add_file(s, "/etc/hosts", "no name of the host's network",
		 xasprintf("127.0.0.1 localhost %s\n::1 localhost ip6-localhost ip6-loopback\n",
			   s->hostname));
	add_file(s, "/etc/resolv.conf", "names are asked of the gateway only",
		 xstrdup("nameserver 127.0.0.53\noptions edns0 trust-ad timeout:5 attempts:1\n"));
}

static bool has_entries(const char *path)
{
	DIR *dir = opendir(path);
	int n = 0;

	if (!dir)
		return false;
	while (n < 3 && readdir(dir))
		n++;
	(void)closedir(dir);
	return n > 2; /* more than . and .. */
}

/* Masks a path, unless it is an empty directory or this user cannot read it anyway. */
static void add_mask(struct sandbox_spec *s, const char *path)
{
	struct stat st;
	bool dir;

	if (stat(path, &st) < 0 || !may_read(path))
		return;
	dir = S_ISDIR(st.st_mode);
	if (!dir || has_entries(path))
		spec_mount_add(s, SPEC_MASK, NULL, path, "of the host's kernel")->mode =
			dir ? S_IFDIR : 0;
}

static bool is_masked(const char *path)
{
	for (size_t i = 0; i < ARRAY_SIZE(proc_masks); i++)
		if (streq(path, proc_masks[i]))
			return true;
	return false;
}

static void mask_roots_file(struct sandbox_spec *s, int proc, const char *name)
{
	cleanup_free char *path = NULL;
	struct stat st;

	if (fstatat(proc, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode) ||
	    (st.st_mode & 0004))
		return;
	path = path_join("/proc", name);
	if (!is_masked(path))
		add_mask(s, path);
}

/*
 * Run by root, the sandbox's user is root to the kernel, without its capabilities: what only the
 * owner may read (kpagecount, slabinfo, vmallocinfo …) must be covered. The kernel lists its own
 * files first and then the processes; a small buffer keeps it from listing thousands of them.
 */
static void mask_roots_own(struct sandbox_spec *s)
{
	_Alignas(struct dirent64) char block[PROC_BLOCK];
	cleanup_fd int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool processes = false;
	ssize_t n;

	while (!processes && (n = getdents64(proc, block, sizeof(block))) > 0) {
		for (ssize_t at = 0; at < n;) {
			const struct dirent64 *de = (const struct dirent64 *)(block + at);

			processes = de->d_name[0] >= '0' && de->d_name[0] <= '9';
			if (!processes && de->d_name[0] != '.')
				mask_roots_file(s, proc, de->d_name);
			at += de->d_reclen;
		}
	}
}

static void add_proc(struct sandbox_spec *s)
{
	struct stat st;

	(void)spec_mount_add(s, SPEC_PROC, NULL, "/proc", "processes of the sandbox only");
	/* With root's files in there, core_pattern say, there would be a way out. */
	for (size_t i = 0; i < ARRAY_SIZE(proc_readonly); i++)
		if (stat(proc_readonly[i], &st) == 0)
			(void)spec_mount_add(s, SPEC_RO, NULL, proc_readonly[i],
					     "settings of the kernel, to be read");
	for (size_t i = 0; i < ARRAY_SIZE(proc_masks); i++)
		add_mask(s, proc_masks[i]);
	if (geteuid() == 0)
		mask_roots_own(s);
}

static void add_tmpfs(struct sandbox_spec *s, const char *target, uint64_t size, uint32_t mode,
		      const char *reason)
{
	struct spec_mount *m = spec_mount_add(s, SPEC_TMPFS, NULL, target, reason);

	m->size = size;
	m->mode = mode;
}

static void add_scratch(struct sandbox_spec *s)
{
	cleanup_free char *user_run = xasprintf("/run/user/%u", s->uid);

	add_tmpfs(s, "/tmp", s->limits.tmp, 01777, "temporary files, gone with the sandbox");
	add_tmpfs(s, "/run", RUN_SIZE, 0755, "sockets and locks, gone with the sandbox");
	spec_mount_add(s, SPEC_DIR, NULL, user_run, "XDG_RUNTIME_DIR")->mode = 0700;
	/* Nothing is mounted through a link: it would lie in /tmp, and nowhere for Landlock. */
	if (path_under(s->workspace, VAR_TMP) || path_under(s->home, VAR_TMP))
		add_tmpfs(s, VAR_TMP, s->limits.tmp, 01777, "temporary files");
	else
		(void)spec_mount_add(s, SPEC_SYMLINK, "../tmp", VAR_TMP, "temporary files");
	(void)spec_mount_add(s, SPEC_SYMLINK, "../run", "/var/run", "sockets and locks");
}

static void add_dev(struct sandbox_spec *s)
{
	(void)spec_mount_add(s, SPEC_DEV, NULL, "/dev",
			     "null, zero, random, tty and own terminals");
	add_tmpfs(s, "/dev/shm", s->limits.tmp, 01777, "shared memory");
	(void)spec_mount_add(s, SPEC_RO, NULL, "/dev", "no new devices");
}

static void add_host_system(struct sandbox_spec *s)
{
	add_system(s);
	for (size_t i = 0; i < ARRAY_SIZE(etc_files); i++)
		add_etc(s, etc_files[i], add_etc_file);
	for (size_t i = 0; i < ARRAY_SIZE(etc_dirs); i++)
		add_etc(s, etc_dirs[i], add_etc_dir);
}

void build_root(struct sandbox_spec *s)
{
	struct stat st;

	/* The mounts after this one replace what the image has at their targets. */
	if (s->container.image)
		(void)spec_mount_add(s, SPEC_IMAGE, s->container.image, "/", "the image");
	add_proc(s);
	add_dev(s);
	if (!s->container.image)
		add_host_system(s);
	add_identity(s);
	add_scratch(s);
	/* Runtimes count processors here; nothing else of /sys is needed to start. Another machine
	 * has other ones, and may not see ours. */
	for (size_t i = 0; i < ARRAY_SIZE(cpu_files) && !s->container.remote_dial; i++)
		if (stat(cpu_files[i], &st) == 0)
			(void)spec_mount_add(s, SPEC_COPY, cpu_files[i], cpu_files[i],
					     "number of processors");
}
