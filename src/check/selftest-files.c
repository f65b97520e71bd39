/* Rows about files: what the host has and the sandbox must not, and what is there to be read only.
 */
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "record/host-mounts.h"
#include "check/selftest.h"
#include "compose/tools/tools-table.h"

#define BESIDE_MAX 16	  /* of a directory that may hold thousands */
#define PROTECTED_MAX 200 /* a repository with many submodules has as many of each kind */

/* A path that a mount of the plan shows is no secret: the user asked for it. */
static bool is_given(const struct sandbox_spec *spec, const char *path)
{
	for (size_t i = 0; i < spec->n_mounts; i++) {
		const struct spec_mount *m = &spec->mounts[i];

		if ((m->kind == SPEC_BIND_RO || spec_is_writable(m->kind)) &&
		    path_under(path, m->source))
			return true;
	}
	return false;
}

/* As the attack `not-host` wants it; what the host has not is no danger. */
static bool add_host_file(struct selftest_row *row, const struct sandbox_spec *spec,
			  const char *path)
{
	struct stat st;

	if (is_given(spec, path) || stat(path, &st) < 0)
		return false;
	strv_push(&row->argv, path);
	strv_pushf(&row->argv, "%llu", (unsigned long long)st.st_dev);
	strv_pushf(&row->argv, "%llu", (unsigned long long)st.st_ino);
	return true;
}

static void add_entries(struct selftest_row *row, const struct sandbox_spec *spec, const char *dir,
			int max)
{
	DIR *d = opendir(dir);
	struct dirent *de;

	while (d && max > 0 && (de = readdir(d))) {
		cleanup_free char *path = NULL;

		if (streq(de->d_name, ".") || streq(de->d_name, ".."))
			continue;
		path = path_join(dir, de->d_name);
		/* The way to the workspace or the home is made of directories of the same name. */
		if (add_host_file(row, spec, path))
			max--;
	}
	if (d)
		(void)closedir(d);
}

static void host_files(struct selftest *t, const struct places *p, const struct sandbox_spec *spec)
{
	static const char *const system[] = {
		"/",	"/etc",	    "/home",	"/root", "/tmp",	   "/run",     "/var",
		"/srv", "/mnt",	    "/media",	"/boot", "/var/lib",	   "/var/log", "/var/tmp",
		"/sys", "/dev/shm", "/dev/pts", "/proc", "/sys/fs/cgroup",
	};
	const char *own[] = {p->state, p->config, p->runtime};
	cleanup_free char *parent = path_dir(spec->workspace);
	struct selftest_row *row = selftest_add(t, "files", "the home of the host", "not-host");

	(void)add_host_file(row, spec, p->home);
	row = selftest_add(t, "files", "keys, sessions and settings in it", "not-host");
	for (size_t i = 0; tools_private_place(i); i++) {
		cleanup_free char *path = path_join(p->home, tools_private_place(i));

		(void)add_host_file(row, spec, path);
	}
	row = selftest_add(t, "files", "homes of others", "not-host");
	(void)add_host_file(row, spec, "/root");
	add_entries(row, spec, "/home", BESIDE_MAX);
	row = selftest_add(t, "files", "what lies beside the workspace", "not-host");
	add_entries(row, spec, parent, BESIDE_MAX);
	row = selftest_add(t, "files", "ralph's state, settings and sockets", "not-host");
	for (size_t i = 0; i < ARRAY_SIZE(own); i++)
		(void)add_host_file(row, spec, own[i]);
	row = selftest_add(t, "files", "directories of the host", "not-host");
	for (size_t i = 0; i < ARRAY_SIZE(system); i++)
		(void)add_host_file(row, spec, system[i]);
}

/* As the attack `mounts` has them: 'r', 'w' or 'o' (it may have gone before the start) where this
 * entry of the plan is a mount; 0 where it is not. */
static char mount_mode(const struct spec_mount *m)
{
	switch (m->kind) {
	case SPEC_BIND_RO:
	case SPEC_MASK:
	case SPEC_PROTECT:
		return 'r';
	case SPEC_HIDE:
		return 'o';
	case SPEC_BIND_RW:
	case SPEC_VOLUME:
	case SPEC_PIN:
	case SPEC_TMPFS:
	case SPEC_LOGIN:
	case SPEC_PROC:
	case SPEC_DEV:
		return 'w';
	case SPEC_RO: /* makes an existing path read-only: see final_mode() */
	case SPEC_SYMLINK:
	case SPEC_HOME_LINK:
	case SPEC_HOME_FILE:
	case SPEC_HOME_SEED:
	case SPEC_FILE:
	case SPEC_COPY:
	case SPEC_DIR:
	case SPEC_IMAGE: /* of many parts */
	case SPEC_PUT_BACK:
	case SPEC_OWN:
	case SPEC_MOUNT_N:
		break;
	}
	return 0;
}

/* If several entries have the same target, the last one with a mode decides. */
static char final_mode(const struct sandbox_spec *spec, const char *target)
{
	char mode = 0;

	for (size_t i = 0; i < spec->n_mounts; i++) {
		const struct spec_mount *m = &spec->mounts[i];

		if (!streq(m->target, target))
			continue;
		if (m->kind == SPEC_RO)
			mode = 'r';
		else if (mount_mode(m))
			mode = mount_mode(m);
	}
	return mode;
}

static bool becomes_mount(const struct sandbox_spec *spec, size_t i)
{
	const char *target = spec->mounts[i].target;

	if (spec->mounts[i].kind != SPEC_RO || streq(target, "/"))
		return false;
	for (size_t k = 0; k < i; k++)
		if (streq(spec->mounts[k].target, target) &&
		    (mount_mode(&spec->mounts[k]) || spec->mounts[k].kind == SPEC_RO))
			return false;
	return true;
}

/* Adds the host's mounts below a bind: they come along with it and are restricted with it. */
static void mounts_below(struct selftest_row *row, const struct spec_mount *m)
{
	cleanup_strv struct strv below = {0};
	struct err err = {0};

	if (m->kind != SPEC_BIND_RO && m->kind != SPEC_BIND_RW)
		return;
	/* Mounts that cannot be listed are not in the plan, and the probe then reports them. */
	(void)host_mounts_below(m->source, &below, &err);
	for (size_t i = 0; i < below.n; i++)
		strv_pushf(&row->argv, "%c:%s%s", m->kind == SPEC_BIND_RO ? 'o' : 'u', m->target,
			   below.v[i] + strlen(m->source));
}

static void mount_table(struct selftest *t, const struct sandbox_spec *spec)
{
	struct selftest_row *row = selftest_add(t, "files", SELFTEST_MOUNTS, "mounts");
	char root = final_mode(spec, "/");

	if (spec->container.image)
		strv_push(&row->argv, "i:/"); /* first */
	/* A path that becomes read-only without being a mount is made one. */
	for (size_t i = 0; i < spec->n_mounts; i++) {
		mounts_below(row, &spec->mounts[i]);
		if (mount_mode(&spec->mounts[i]) || becomes_mount(spec, i))
			strv_pushf(&row->argv, "%c:%s", final_mode(spec, spec->mounts[i].target),
				   spec->mounts[i].target);
	}
	strv_pushf(&row->argv, "%c:/", root ? root : 'w'); /* the engine's, in no plan */
	/* Its own kernel has one mount where the host has all of them. */
	for (size_t i = 1; i < row->argv.n && selftest_own_kernel(spec); i++)
		strv_push(&t->host_mounts, row->argv.v[i]);
	if (selftest_own_kernel(spec))
		strv_done(&row->argv);
}

static void read_only(struct selftest *t, const struct sandbox_spec *spec)
{
	static const char *const paths[] = {
		"/",	"/usr",	     "/usr/bin",	 "/usr/bin/env",  "/etc",
		"/dev", "/proc/sys", "/proc/sys/kernel", "/etc/ssl/certs"};
	struct selftest_row *row =
		selftest_add(t, "files", "writing outside of workspace and home", "unwritable");
	struct stat st;

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		if (stat(paths[i], &st) == 0 &&
		    !(selftest_own_kernel(spec) &&
		      (path_under(paths[i], "/dev") || path_under(paths[i], "/proc"))))
			strv_push(&row->argv, paths[i]);
	for (size_t i = 0; i < spec->n_mounts; i++) {
		const struct spec_mount *m = &spec->mounts[i];

		if (m->kind == SPEC_BIND_RO && !path_under(m->target, spec->workspace) &&
		    (path_under(m->target, spec->home) || path_under(m->target, "/run/ralph")))
			strv_push(&row->argv, m->target);
	}
}

/* The writable mount that this path lies in; NULL. */
static const char *writable_root(const struct sandbox_spec *spec, const char *path)
{
	const char *root = NULL;

	for (size_t i = 0; i < spec->n_mounts; i++)
		if (spec->mounts[i].kind == SPEC_BIND_RW &&
		    path_under(path, spec->mounts[i].target) &&
		    !streq(path, spec->mounts[i].target))
			root = spec->mounts[i].target;
	return root;
}

/* Protected places of the workspace: neither they nor what is above them can be put aside. */
static void protected_paths(struct selftest *t, const struct sandbox_spec *spec)
{
	struct selftest_row *row = NULL;
	int left = PROTECTED_MAX;

	for (size_t i = 0; i < spec->n_mounts && left > 0; i++) {
		const struct spec_mount *m = &spec->mounts[i];
		const char *root = writable_root(spec, m->target);

		if ((m->kind != SPEC_PROTECT && m->kind != SPEC_HIDE) || !root)
			continue;
		if (!row)
			row = selftest_add(t, "files", "changing or moving protected paths",
					   "protected");
		strv_push(&row->argv, root);
		strv_push(&row->argv, m->target);
		left--;
	}
}

static void masks(struct selftest *t, const struct sandbox_spec *spec)
{
	struct selftest_row *row = selftest_add(t, "files", "covered files of /proc", "unreadable");

	for (size_t i = 0; i < spec->n_mounts; i++)
		if (spec->mounts[i].kind == SPEC_MASK && !S_ISDIR(spec->mounts[i].mode) &&
		    path_under(spec->mounts[i].target, "/proc"))
			strv_push(&row->argv, spec->mounts[i].target);
}

static void tricks(struct selftest *t, const struct sandbox_spec *spec)
{
	struct selftest_row *row = selftest_add(t, "files", "device nodes", "devices");
	struct stat st;

	strv_push(&row->argv, spec->workspace);
	strv_push(&row->argv, spec->home);
	strv_push(&row->argv, "/tmp");
	row = selftest_add(t, "files", "devices and terminals of the host", "minimal-dev");
	if (selftest_own_kernel(spec))
		strv_push(&row->argv, "fuse"); /* gVisor's own, and only in its memory */
	row = selftest_add(t, "files", "files by handle", "handles");
	strv_push(&row->argv, "/tmp");
	row = selftest_add(t, "files", "a second name for a system's file", "hard-link");
	strv_push(&row->argv, spec->workspace);
	if (stat("/usr/bin/env", &st) == 0)
		strv_push(&row->argv, "/usr/bin/env");
	strv_push(&row->argv, "/etc/passwd");
}

/* A reviewer's sandbox has an empty read-only directory in place of the workspace. */
static bool is_read_only(const struct sandbox_spec *spec, const char *path)
{
	for (size_t i = 0; i < spec->n_mounts; i++)
		if (spec->mounts[i].kind == SPEC_RO && streq(spec->mounts[i].target, path))
			return true;
	return false;
}

void selftest_files(struct selftest *t, const struct places *p, const struct sandbox_spec *spec)
{
	struct selftest_row *row;
	struct stat st;

	/* First: the rows after it are tried with the descriptors of the suite. */
	(void)selftest_add(t, "files", "descriptors that were not handed in", "only-stdio");
	row = selftest_add(t, "files", "more of a handed-in file than was given", "reopen");
	strv_push(&row->argv, "0");
	host_files(t, p, spec);
	mount_table(t, spec);
	read_only(t, spec);
	protected_paths(t, spec);
	row = selftest_add(t, "files", "files that only their owner may read", "owners-files");
	strv_push(&row->argv, "/etc");
	strv_push(&row->argv, "/sys");
	/* Those of another kernel are its own, and its own processes' alone. */
	if (!selftest_own_kernel(spec)) {
		(void)selftest_add(t, "files", "settings of the kernel", "proc-files");
		masks(t, spec);
	}
	tricks(t, spec);
	row = selftest_add_work(t, "writing in workspace, home and /tmp", "writable");
	strv_push(&row->argv, "/tmp");
	strv_push(&row->argv, spec->home);
	/* If the user may not write the workspace, neither may the sandbox. */
	if (stat(spec->workspace, &st) == 0 && euidaccess(spec->workspace, W_OK) == 0 &&
	    !is_read_only(spec, spec->workspace))
		strv_push(&row->argv, spec->workspace);
}
