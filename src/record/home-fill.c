#include "record/home-fill.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/json/json.h"
#include "base/path.h"

#define SEEDED_MAX (8 * MiB) /* a larger file is left as it is */

static bool is_link_to(int dir, const char *name, const char *text)
{
	char now[PATH_MAX];
	ssize_t n = readlinkat(dir, name, now, sizeof(now));

	return n > 0 && (size_t)n == strlen(text) && memcmp(now, text, (size_t)n) == 0;
}

/* A link that is right stays: another sandbox of the same home may be about to follow it. */
static int make_link(int dir, const char *name, const char *text)
{
	if (symlinkat(text, dir, name) == 0)
		return 0;
	if (errno != EEXIST)
		return -errno;
	if (is_link_to(dir, name, text))
		return 0;
	if (unlinkat(dir, name, 0) < 0)
		return -errno;
	return symlinkat(text, dir, name) < 0 ? -errno : 0;
}

/* The place that a login in memory covers. A file that is right stays: to replace it would take the
 * cover off in a live sandbox of the same home. */
static int make_login_place(int dir, const char *name)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
	    st.st_size == 0)
		return 0;
	return path_write_atomic(dir, name, "", 0, 0600, 0);
}

static bool add_missing(json_t *to, const json_t *from)
{
	bool added = false;
	const char *key;
	json_t *v;

	json_object_foreach ((json_t *)from, key, v) {
		json_t *there = json_object_get(to, key);

		if (!there) {
			(void)json_object_set(to, key, v);
			added = true;
		} else if (json_is_object(there) && json_is_object(v)) {
			added = add_missing(there, v) || added;
		}
	}
	return added;
}

/*
 * The seed of one workspace of the project may lack what another workspace needs. Keys of a JSON
 * object are added where they are missing; everything else stays as the agent has it.
 */
static int add_to_seeded(int dir, const char *name, const char *data)
{
	cleanup_fd int fd = path_open_beneath(dir, name, O_RDONLY | O_NONBLOCK, 0);
	cleanup_json json_t *now = NULL, *seed = NULL;
	cleanup_free char *text = NULL;
	cleanup_buf struct buf b;
	struct err ignored;
	struct stat st;

	buf_init(&b, SEEDED_MAX);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || fd_read_all(fd, &b) < 0 ||
	    json_parse(data, strlen(data), &seed, &ignored) < 0 ||
	    json_parse(buf_str(&b), b.len, &now, &ignored) < 0 || !json_is_object(now) ||
	    !add_missing(now, seed))
		return 0;
	text = json_dumps(now, JSON_INDENT(2));
	return text ? path_write_atomic(dir, name, text, strlen(text), 0600, 0) : 0;
}

static int make_of_home(int home, const char *rel, const struct spec_mount *m)
{
	cleanup_fd int dir = path_make_parents(home, rel, 0755);
	const char *name = path_base(rel);
	struct stat st;

	if (dir < 0)
		return dir;
	if (m->kind == SPEC_HOME_LINK)
		return make_link(dir, name, m->source);
	if (m->kind == SPEC_LOGIN)
		return make_login_place(dir, name);
	if (m->kind == SPEC_HOME_SEED && fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return add_to_seeded(dir, name, m->data);
	return path_write_atomic(dir, name, m->data, strlen(m->data), 0600, 0);
}

/* Returns the volume that is mounted on this path of the home; NULL: none. */
static const struct spec_mount *volume_at(const struct sandbox_spec *spec, const char *target)
{
	for (size_t i = 0; i < spec->n_mounts; i++)
		if (spec->mounts[i].kind == SPEC_VOLUME &&
		    path_under(target, spec->mounts[i].target) &&
		    !streq(target, spec->mounts[i].target))
			return &spec->mounts[i];
	return NULL;
}

static int make_volumes(const struct sandbox_spec *spec, struct err *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < spec->n_mounts; i++)
		if (spec->mounts[i].kind == SPEC_VOLUME)
			r = path_mkdirs(spec->mounts[i].source, 0700, err);
	return r;
}

static int make_in(int home, const struct sandbox_spec *spec, const struct spec_mount *m)
{
	const struct spec_mount *v = volume_at(spec, m->target);
	cleanup_fd int dir = -1;

	if (!v)
		return make_of_home(home, m->target + strlen(spec->home) + 1, m);
	dir = open(v->source, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return dir < 0 ? -errno : make_of_home(dir, m->target + strlen(v->target) + 1, m);
}

int home_fill(int home, const struct sandbox_spec *spec, struct err *err)
{
	int r = make_volumes(spec, err);

	for (size_t i = 0; r == 0 && i < spec->n_mounts; i++) {
		const struct spec_mount *m = &spec->mounts[i];

		if ((!spec_is_of_home(m->kind) && m->kind != SPEC_LOGIN) ||
		    !path_under(m->target, spec->home))
			continue;
		r = make_in(home, spec, m);
		if (r < 0)
			return err_sys(err, -r, "cannot make '%s' in the home of sandbox '%s'",
				       m->target, spec->name);
	}
	return r;
}
