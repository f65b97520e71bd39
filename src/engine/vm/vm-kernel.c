#include "engine/vm/vm-setup.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/find-program.h"
#include "base/path.h"

/*
 * The kernel that the distribution has, by its own client, which checks signatures: as a file of the
 * user's cache. The one in /boot may be readable by root alone, and may have no such drivers.
 */
#define FETCH_MS (20 * 60 * 1000)
#define PACKAGE "linux-image-amd64"
#define NEW "new" /* the directory of this work, below the cache's */

static void client_env(struct strv *env)
{
	static const char *const names[] = {"HOME", NETWORK_ENV};

	strv_push(env, "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
	strv_push(env, "LC_ALL=C");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (getenv(names[i]))
			strv_pushf(env, "%s=%s", names[i], getenv(names[i]));
}

static int call(const char *dir, char *const argv[], char **ret_out, struct err *err)
{
	cleanup_strv struct strv env = {0};
	cleanup_free char *program =
		path_find_program(argv[0], "/usr/bin:/bin:/usr/local/bin:/usr/sbin:/sbin");
	cleanup_strv struct strv words = {0};
	cleanup_free char *out = NULL;
	int code = 0, r;

	if (!program)
		return err_set(err, ENOENT,
			       "there is no %s here: only the kernel packages of Debian and its "
			       "kin are known",
			       argv[0]);
	client_env(&env);
	strv_push(&words, program);
	for (size_t i = 1; argv[i]; i++)
		strv_push(&words, argv[i]);
	r = run_capture_in(dir, words.v, env.v, FETCH_MS, 256 * KiB, &out, &code, err);
	if (r == 0 && code != 0)
		r = err_set(err, EIO, "'%s %s' failed (exit code %d); try it by hand", argv[0],
			    argv[1], code);
	if (r == 0 && ret_out)
		*ret_out = take_ptr(out);
	return r;
}

/* The package behind the name that stands for the newest one. */
static int real_package(char **ret, struct err *err)
{
	char *const argv[] = {(char *)"apt-cache", (char *)"depends", (char *)PACKAGE, NULL};
	static const char mark[] = "Depends: linux-image-";
	cleanup_free char *out = NULL;
	int r = call("/", argv, &out, err);
	const char *at = r < 0 || !out ? NULL : strstr(out, mark);

	if (r < 0)
		return r;
	if (!at)
		return err_set(err, ENOENT,
			       "the distribution has no package " PACKAGE "; run: sudo apt update");
	at += strlen("Depends: ");
	*ret = xasprintf("%.*s", (int)strcspn(at, " \n"), at);
	return 0;
}

/* The one entry of dir whose name has this beginning and end. */
static char *entry(const char *dir, const char *begin, const char *end)
{
	DIR *d = opendir(dir);
	struct dirent *de;
	char *found = NULL;

	while (d && !found && (de = readdir(d))) {
		size_t n = strlen(de->d_name);

		if (strncmp(de->d_name, begin, strlen(begin)) == 0 && n >= strlen(end) &&
		    streq(de->d_name + n - strlen(end), end))
			found = path_join(dir, de->d_name);
	}
	if (d)
		(void)closedir(d);
	return found;
}

/* Only what a machine needs, all in one directory. */
static int unpack(const char *deb, const char *dir, struct err *err)
{
	/* clang-format off */
	static const char *const wanted[] = {
		"tar", "--extract", "--wildcards", "--transform=s,.*/,,", "--no-same-owner", "--no-same-permissions",
		"./boot/vmlinuz-*", "*/virtio.ko*", "*/virtio_ring.ko*", "*/virtio_mmio.ko*", "*/virtio_console.ko*",
		"*/virtio-rng.ko*", "*/rng-core.ko*", "*/9p.ko*", "*/9pnet.ko*", "*/9pnet_virtio.ko*", "*/netfs.ko*",
		"*/fscache.ko*", NULL,
	};
	/* clang-format on */
	char *const read_deb[] = {(char *)"dpkg-deb", (char *)"--fsys-tarfile",
				  (char *)(uintptr_t)deb, NULL};
	cleanup_strv struct strv env = {0};
	cleanup_fd int out = -1, in = -1;
	struct child from, to;
	struct run run = RUN_INIT;
	int p[2], r;

	if (pipe2(p, O_CLOEXEC) < 0)
		return err_sys(err, errno, "cannot create a pipe");
	out = p[0];
	in = p[1];
	client_env(&env);
	run.env = env.v;
	run.dir = dir;
	run.flags = RUN_DIE_WITH_US | RUN_SEARCH_PATH;
	run.argv = read_deb;
	run.stdio[1] = in;
	r = run_start(&run, &from, err);
	closep(&in);
	if (r < 0)
		return r;
	run.argv = (char *const *)(uintptr_t)wanted;
	run.stdio[0] = out;
	run.stdio[1] = -1;
	r = run_start(&run, &to, err);
	closep(&out);
	if (r == 0)
		(void)run_wait(&to); /* a driver that is not there is in the kernel itself */
	if (run_wait(&from) != 0 && r == 0)
		r = err_set(err, EIO, "the package '%s' cannot be unpacked", deb);
	return r;
}

static int expand(const char *dir, struct err *err)
{
	cleanup_free char *packed = NULL;
	int r = 0;

	while (r == 0 && (packed = entry(dir, "", ".ko.xz"))) {
		char *const argv[] = {(char *)"xz", (char *)"--decompress", packed, NULL};

		r = call(dir, argv, NULL, err);
		free(packed);
		packed = NULL;
	}
	return r;
}

static int take(const struct vm_files *f, const char *dir, struct err *err)
{
	cleanup_free char *kernel = entry(dir, "vmlinuz-", ""), *ninep = entry(dir, "9p.ko", "");
	cleanup_fd int at = open(f->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	cleanup_free char *deb = entry(dir, "linux-image-", ".deb");
	int r;

	if (!kernel || !ninep)
		return err_set(err, ENOENT, "the package has no kernel with 9p");
	r = path_remove_tree(at, "modules", err);
	if (r < 0)
		return r;
	(void)unlink(deb);
	if (rename(kernel, f->kernel) < 0 || rename(dir, f->modules) < 0)
		return err_sys(err, errno, "cannot put the kernel into '%s'", f->dir);
	return 0;
}

int vm_kernel_fetch(const struct vm_files *f, void (*say)(const char *text), struct err *err)
{
	cleanup_free char *dir = path_join(f->dir, NEW), *package = NULL, *deb = NULL;
	cleanup_fd int at = open(f->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	cleanup_free char *text = NULL;
	int r = path_remove_tree(at, NEW, err);

	if (r == 0)
		r = path_mkdirs(dir, 0700, err);
	if (r == 0)
		r = real_package(&package, err);
	if (r == 0) {
		char *const argv[] = {(char *)"apt-get", (char *)"download", package, NULL};

		text = xasprintf("fetching %s", package);
		say(text);
		r = call(dir, argv, NULL, err);
	}
	if (r == 0) {
		deb = entry(dir, "linux-image-", ".deb");
		r = deb ? unpack(deb, dir, err)
			: err_set(err, ENOENT, "apt-get has fetched nothing");
	}
	if (r == 0)
		r = expand(dir, err);
	return r < 0 ? r : take(f, dir, err);
}
