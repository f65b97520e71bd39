#include "live/cp.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/copy.h"
#include "base/fd.h"
#include "base/path.h"
#include "record/store.h"

#define FILES_MAX 1000000
#define DEPTH_MAX 128
#define DISK_RESERVE (64 * MiB) /* a copy never takes the last of a disk */
#define SKIPPED_MAX 100		/* a hostile tree may be made of nothing else */

/* One side of a copy: an entry of a directory. */
struct side {
	int dir;
	char *name;
};

static void side_done(struct side *s)
{
	closep(&s->dir);
	free(s->name);
}

static bool is_directory(int dir, const char *name)
{
	struct stat st;

	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

/* A directory that is there takes the copy in; anything else is what the copy becomes. */
static int enter_directory(struct side *s, const char *name, struct err *err)
{
	int dir;

	if (!is_directory(s->dir, s->name))
		return 0;
	dir = path_open_beneath(s->dir, s->name, O_RDONLY | O_DIRECTORY, 0);
	if (dir < 0)
		return err_sys(err, -dir, "cannot open '%s'", s->name);
	closep(&s->dir);
	s->dir = dir;
	free(s->name);
	s->name = xstrdup(name);
	return 0;
}

/* Below root, without following anything. */
static int open_below(int root, const char *rest, const char *shown, struct side *ret,
		      struct err *err)
{
	cleanup_free char *parent = NULL;
	int dir;

	while (*rest == '/')
		rest++;
	if (!*rest)
		return err_usage(err, "'%s' as a whole is not copied; name what is in it", shown);
	parent = path_dir(rest);
	dir = path_open_beneath(root, parent, O_RDONLY | O_DIRECTORY, 0);
	if (dir < 0)
		return err_sys(err, -dir, "cannot open the directory of '%s'", shown);
	*ret = (struct side){.dir = dir, .name = xstrdup(path_base(rest))};
	return 0;
}

/* The mount that decides about this path: of those above it the last. */
static const struct spec_mount *mount_of(const struct sandbox_spec *spec, const char *path)
{
	for (size_t i = spec->n_mounts; i-- > 0;) {
		const struct spec_mount *m = &spec->mounts[i];

		if (m->kind != SPEC_RO && m->kind != SPEC_DIR && !spec_is_of_home(m->kind) &&
		    path_under(path, m->target))
			return m;
	}
	return NULL;
}

static bool lies_on_host(const struct spec_mount *m, bool write)
{
	if (!m)
		return false;
	if (spec_is_writable(m->kind) || m->kind == SPEC_PIN)
		return true;
	return m->kind == SPEC_OWN ||
	       (!write &&
		(m->kind == SPEC_BIND_RO || m->kind == SPEC_PROTECT || m->kind == SPEC_PUT_BACK));
}

static int open_inside(const struct sandbox_spec *spec, const struct sandbox_copy *c,
		       struct side *ret, struct err *err)
{
	cleanup_free char *path =
		c->inside[0] == '/' ? xstrdup(c->inside) : path_join(spec->workspace, c->inside);
	const struct spec_mount *m;
	cleanup_fd int root = -1;
	size_t n = strlen(path);

	while (n > 1 && path[n - 1] == '/')
		path[--n] = '\0';
	if (!path_is_normal(path))
		return err_usage(err, "write '%s' without '.' and '..'", c->inside);
	m = mount_of(spec, path);
	/* What is in the private git directory nobody on the host opens. */
	if (m && m->source && spec->git.private && path_under(m->source, spec->git.private))
		m = NULL;
	if (!lies_on_host(m, !c->out))
		return err_usage(
			err,
			m && (m->kind == SPEC_TMPFS || m->kind == SPEC_DEV || m->kind == SPEC_LOGIN)
				? "'%s' is in the memory of the sandbox; use: ralph exec %s "
				  "cat (or tee) with a pipe"
			: c->out ? "'%s' is not in the workspace, the home or a mount of '%s'"
				 : "'%s' cannot be written in '%s'",
			path, spec->name);
	root = open(m->source, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return err_sys(err, errno, "cannot open '%s'", m->source);
	return open_below(root, path + strlen(m->target), path, ret, err);
}

/*
 * Below the workspace the sandbox can write, so links there are not followed on the host's side
 * either.
 */
static int open_outside(const struct sandbox_spec *spec, const struct sandbox_copy *c,
			struct side *ret, struct err *err)
{
	cleanup_free char *copy = xstrdup(c->outside), *parent = NULL, *real = NULL;
	cleanup_free char *here = realpath(".", NULL);
	cleanup_free char *plain = path_plain(here ? here : "/", c->outside);
	cleanup_fd int root = -1;
	size_t n = strlen(copy);
	struct stat st;
	int r;

	while (n > 1 && copy[n - 1] == '/')
		copy[--n] = '\0';
	/* Paths such as "." do not end in the directory's name. */
	if (stat(copy, &st) == 0 && S_ISDIR(st.st_mode)) {
		r = path_real(copy, &real, err);
		if (r < 0)
			return r;
		free(copy);
		copy = take_ptr(real);
	}
	parent = strchr(copy, '/') ? path_dir(copy) : xstrdup(".");
	r = path_real(parent, &real, err);
	if (r < 0)
		return r;
	if (path_leads_out(plain, real, spec->workspace))
		return err_usage(err, "'%s' is behind a link that leads out of the workspace",
				 c->outside);
	if (path_under(real, spec->workspace)) {
		cleanup_free char *path = path_join(real, path_base(copy));

		root = open(spec->workspace, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		return root < 0 ? err_sys(err, errno, "cannot open '%s'", spec->workspace)
				: open_below(root, path + strlen(spec->workspace), c->outside, ret,
					     err);
	}
	root = open(real, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return err_sys(err, errno, "cannot open '%s'", real);
	*ret = (struct side){.dir = take_fd(root), .name = xstrdup(path_base(copy))};
	return 0;
}

static void on_skipped(void *arg, const char *path, const char *why)
{
	struct strv *all = arg;

	if (all->n < SKIPPED_MAX)
		strv_pushf(all, "'%s' was left out: %s", path, why);
	else if (all->n == SKIPPED_MAX)
		strv_push(all, "and more was left out");
}

static uint64_t room_at(int dir)
{
	struct statvfs v;
	uint64_t room;

	if (fstatvfs(dir, &v) < 0)
		return 0;
	room = (uint64_t)v.f_bavail * v.f_frsize;
	return room > DISK_RESERVE ? room - DISK_RESERVE : 0;
}

static int copy_sides(const struct side *from, const struct side *to, bool out,
		      struct strv *skipped, struct err *err)
{
	const struct copy_rules rules = {
		.bytes_max = room_at(to->dir),
		.files_max = FILES_MAX,
		.depth_max = DEPTH_MAX,
		/* A link that leads elsewhere would be followed by whoever writes there next. */
		.links = out ? COPY_LINKS_INSIDE : COPY_LINKS_ALL,
		.replace = true,
		.skipped = on_skipped,
		.arg = skipped,
	};
	int r = copy_tree(from->dir, from->name, to->dir, to->name, &rules);

	if (r == -EFBIG)
		return err_set(
			err, EFBIG,
			"'%s' is larger than the free space, has more than %d entries, or is "
			"deeper than %d directories; what was copied stays",
			from->name, FILES_MAX, DEPTH_MAX);
	if (r == -ELOOP || r == -EXDEV)
		return err_set(err, -r, "'%s' leads through a link; name what it points to",
			       from->name);
	return r < 0 ? err_sys(err, -r, "cannot copy '%s'", from->name) : 0;
}

int sandbox_copy(const struct places *p, const struct sandbox_copy *c, struct strv *skipped,
		 struct err *err)
{
	cleanup_(side_done) struct side in = {.dir = -1}, host = {.dir = -1};
	cleanup_(spec_freep) struct sandbox_spec *spec = NULL;
	cleanup_store struct store_entry e = STORE_ENTRY_INIT;
	int r = store_open(p, c->name, false, &e, err);

	if (r == 0)
		r = store_read_spec(&e, &spec, err);
	if (r == 0)
		r = open_inside(spec, c, &in, err);
	if (r == 0)
		r = open_outside(spec, c, &host, err);
	if (r == 0)
		r = enter_directory(c->out ? &host : &in, c->out ? in.name : host.name, err);
	if (r < 0)
		return r;
	return c->out ? copy_sides(&in, &host, true, skipped, err)
		      : copy_sides(&host, &in, false, skipped, err);
}
