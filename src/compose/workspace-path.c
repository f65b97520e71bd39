#include "compose/workspace-path.h"

#include <errno.h>
#include <fcntl.h>
#include <sha256.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"

enum rule {
	WHOLE,	  /* neither it, nor what contains it, nor what lies in it */
	TOP,	  /* neither it nor what contains it; what lies in it is fine */
	PER_USER, /* TOP, and the directories right in it are other users' homes: not those either
		   */
};

/*
 * The directories of a system. /tmp is a fresh one inside, and a workspace from below it is
 * mounted on top of that. /var and /run are for services except where people keep things:
 * /var/tmp, /var/www, a disk on /run/media. Below /mnt, /media, /srv and /opt everything goes.
 */
/* clang-format off */
static const struct {
	const char *dir;
	enum rule rule;
} system_dirs[] = {
	{"/bin", WHOLE}, {"/boot", WHOLE}, {"/dev", WHOLE}, {"/efi", WHOLE}, {"/etc", WHOLE},
	{"/lib", WHOLE}, {"/lib32", WHOLE}, {"/lib64", WHOLE}, {"/libx32", WHOLE}, {"/sbin", WHOLE},
	{"/lost+found", WHOLE}, {"/nix", WHOLE}, {"/proc", WHOLE}, {"/snap", WHOLE}, {"/sys", WHOLE},
	{"/run/media", TOP}, {"/run", WHOLE},
	{"/usr/local/src", TOP}, {"/usr/src", TOP}, {"/usr", WHOLE},
	{"/var/tmp", TOP}, {"/var/www", TOP}, {"/var", WHOLE},
	{"/home", PER_USER}, {"/root", TOP},
	{"/media", TOP}, {"/mnt", TOP}, {"/opt", TOP}, {"/srv", TOP}, {"/tmp", TOP},
};
/* clang-format on */

static int refuse(struct err *err, const char *path, const char *is, const char *what)
{
	return err_usage(err,
			 "'%s' cannot be a workspace: it %s %s; choose a directory of its own for "
			 "the work",
			 path, is, what);
}

/* The real path of something that may not exist yet: as far as it does, links are resolved. */
static char *real_or_same(const char *path)
{
	cleanup_free char *head = xstrdup(path);
	size_t n = strlen(head);

	for (;;) {
		cleanup_free char *real = realpath(n ? head : "/", NULL);

		if (real)
			return path[n] ? xasprintf("%s%s", streq(real, "/") ? "" : real, path + n)
				       : take_ptr(real);
		while (n > 0 && head[--n] != '/')
			continue;
		head[n] = '\0';
		if (path[0] != '/' && n == 0)
			return xstrdup(path);
	}
}

static bool is_in(const char *path, const char *dir)
{
	return path_under(path, dir) && !streq(path, dir);
}

/* The first row that has something to say decides, so the exceptions stand before their rule. */
static int check_system(const char *path, const char *root, struct err *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(system_dirs); i++) {
		cleanup_free char *spelled = xasprintf("%s%s", root, system_dirs[i].dir);
		cleanup_free char *dir = real_or_same(spelled);
		enum rule rule = system_dirs[i].rule;

		if (streq(path, dir))
			return refuse(err, path, "is", "a directory of the system");
		if (is_in(dir, path))
			return refuse(err, path, "contains", system_dirs[i].dir);
		if (!is_in(path, dir))
			continue;
		if (rule == WHOLE)
			return refuse(err, path, "lies in", system_dirs[i].dir);
		if (rule == PER_USER && !strchr(path + strlen(dir) + 1, '/'))
			return refuse(err, path, "is", "a user's whole home directory");
		return 0;
	}
	return 0;
}

static int check_own(const struct workspace_input *in, const char *path, struct err *err)
{
	cleanup_free char *home = in->home && *in->home ? real_or_same(in->home) : NULL;

	if (home && streq(path, home))
		return refuse(err, path, "is", "your home directory");
	if (home && is_in(home, path))
		return refuse(err, path, "contains", "your home directory");
	for (const char *const *s = in->state; s && *s; s++) {
		cleanup_free char *dir = real_or_same(*s);

		if (streq(path, dir))
			return refuse(err, path, "is", "a directory of ralph's own");
		if (is_in(dir, path))
			return refuse(err, path, "contains ralph's own", dir);
		if (is_in(path, dir))
			return refuse(err, path, "lies in ralph's own", dir);
	}
	return 0;
}

/* Below the caller's own home nothing is the system's, wherever that home is: /root, /var/lib/x. */
static bool below_home(const struct workspace_input *in, const char *path)
{
	cleanup_free char *home = in->home && *in->home ? real_or_same(in->home) : NULL;

	return home && !streq(home, "/") && is_in(path, home);
}

static int check(const struct workspace_input *in, const char *root, const char *path,
		 struct err *err)
{
	struct stat st;
	int r;

	if (stat(path, &st) < 0)
		return err_sys(err, errno, "cannot look at '%s'", path);
	if (!S_ISDIR(st.st_mode))
		return err_usage(err, "'%s' cannot be a workspace: it is not a directory", path);
	if (streq(path, "/") || streq(path, root))
		return refuse(err, path, "is", "the root of the file system");
	r = check_own(in, path, err);
	if (r < 0 || below_home(in, path))
		return r;
	return check_system(path, root, err);
}

int workspace_resolve(const struct workspace_input *in, struct workspace *ret, struct err *err)
{
	const char *asked = in->path ? in->path : ".";
	cleanup_free char *root = in->root ? real_or_same(in->root) : xstrdup("");
	cleanup_free char *path = realpath(asked, NULL);
	char hex[SHA256_DIGEST_STRING_LENGTH];
	int r;

	if (!path && (errno == ENOENT || errno == ENOTDIR))
		return err_usage(err, "workspace '%s' does not exist", asked);
	if (!path) {
		r = err_sys(err, errno, "cannot use '%s' as a workspace", asked);
		err->exit_code = EXIT_USAGE;
		return r;
	}
	r = check(in, root, path, err);
	if (r < 0)
		return r;
	(void)SHA256Data((const uint8_t *)path, strlen(path), hex);
	ret->writable = faccessat(AT_FDCWD, path, W_OK | X_OK, AT_EACCESS) == 0;
	ret->identity = xstrdup(hex);
	ret->path = take_ptr(path);
	return 0;
}

void workspace_done(struct workspace *w)
{
	free(w->path);
	free(w->identity);
	*w = (struct workspace){0};
}
