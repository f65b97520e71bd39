#include "live/login-left.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/path.h"
#include "base/text/mask.h"
#include "cred/cred.h"
#include "record/home.h"

#define VALUE_MIN 20	/* shorter strings of a login are no tokens */
#define VALUES_MAX 64	/* of all logins of the host */
#define FILES_MAX 50000 /* of one home */
#define FILE_SIZE_MAX (16 * MiB)
#define DEPTH_MAX 24

struct search {
	struct strv values; /* wiped */
	size_t files;
	bool cut; /* something was too large or too deep to be looked at */
};

static void search_done(struct search *s)
{
	for (size_t i = 0; i < s->values.n; i++)
		explicit_bzero(s->values.v[i], strlen(s->values.v[i]));
	strv_done(&s->values);
}

static void take_values(struct search *s, const json_t *j)
{
	const char *key;
	json_t *v;

	json_object_foreach ((json_t *)j, key, v) {
		const char *text = json_string_value(v);

		if (json_is_object(v))
			take_values(s, v);
		else if (text && strlen(text) >= VALUE_MIN && mask_is_secret(key, text) &&
			 s->values.n < VALUES_MAX)
			strv_push(&s->values, text);
	}
}

/* A file that is not there, or is no login, has no values. */
static void take_login(struct search *s, const struct places *p, const struct cred_login_file *f)
{
	const char *own = f->variable ? getenv(f->variable) : NULL;
	cleanup_free char *usual = path_join(p->home, f->dir);
	cleanup_free char *path = path_join(own && own[0] == '/' ? own : usual, f->name);
	cleanup_json json_t *j = NULL;
	cleanup_(cred_wipe) struct buf b;
	struct err ignored;

	buf_init(&b, CRED_FILE_MAX);
	if (cred_read_file(NULL, path, &b, NULL, &ignored) == 0 &&
	    json_parse(buf_str(&b), b.len, &j, &ignored) == 0)
		take_values(s, j);
}

static bool is_login_name(const char *name)
{
	for (size_t i = 0; i < cred_provider_count(); i++) {
		const struct cred_login_file *f = cred_provider_at(i)->file;

		if (f && streq(f->name, name))
			return true;
	}
	return false;
}

static int overwrite(int fd, const char *start, const char *at, size_t n)
{
	char stars[256];

	memset(stars, '*', sizeof(stars));
	for (size_t done = 0; done < n;) {
		size_t len = n - done < sizeof(stars) ? n - done : sizeof(stars);

		if (pwrite(fd, stars, len, at - start + (off_t)done) != (ssize_t)len)
			return -EIO;
		done += len;
	}
	return 0;
}

/* The number of values that were found and, in a file that stays, overwritten. */
static int find_values(const struct search *s, const struct buf *b, int write_fd)
{
	int found = 0;

	for (size_t i = 0; i < s->values.n; i++) {
		const char *v = s->values.v[i], *end = b->data + b->len, *at = b->data;
		size_t n = strlen(v);

		for (; (at = memmem(at, (size_t)(end - at), v, n)); at += n) {
			if (write_fd >= 0 && overwrite(write_fd, b->data, at, n) < 0)
				return -EIO;
			found++;
		}
	}
	return found;
}

static int clean_file(struct search *s, int dir, const char *name, const char *shown,
		      struct err *err)
{
	cleanup_fd int fd = path_open_beneath(dir, name, O_RDONLY | O_NONBLOCK, 0), out = -1;
	cleanup_(cred_wipe) struct buf b;
	struct stat st;
	int found;

	buf_init(&b, FILE_SIZE_MAX);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size == 0)
		return 0;
	if (++s->files > FILES_MAX || (size_t)st.st_size > FILE_SIZE_MAX ||
	    fd_read_all(fd, &b) < 0) {
		s->cut = true;
		return 0;
	}
	found = find_values(s, &b, -1);
	if (found && !is_login_name(name)) {
		out = path_open_beneath(dir, name, O_WRONLY | O_NONBLOCK, 0);
		found = out < 0 ? out : find_values(s, &b, out);
	} else if (found && unlinkat(dir, name, 0) < 0) {
		found = -errno;
	}
	if (found < 0)
		return err_set(err, EIO,
			       "'%s' in the sandbox's home holds a login of the host, and cannot "
			       "be cleaned; remove it",
			       shown);
	if (found)
		log_warn("credentials", "'%s' in the sandbox's home held a login of the host; %s",
			 shown, out < 0 ? "removed it" : "overwrote it there");
	return 0;
}

static int clean_dir(struct search *s, int parent, const char *name, const char *shown,
		     unsigned depth, struct err *err);

static int clean_entry(struct search *s, int dir, const struct dirent *e, const char *shown,
		       unsigned depth, struct err *err)
{
	cleanup_free char *path = *shown ? path_join(shown, e->d_name) : xstrdup(e->d_name);
	struct stat st;

	if (streq(e->d_name, ".") || streq(e->d_name, "..") ||
	    fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	if (S_ISREG(st.st_mode))
		return clean_file(s, dir, e->d_name, path, err);
	if (S_ISDIR(st.st_mode) && depth)
		return clean_dir(s, dir, e->d_name, path, depth - 1, err);
	s->cut |= S_ISDIR(st.st_mode);
	return 0;
}

static int clean_dir(struct search *s, int parent, const char *name, const char *shown,
		     unsigned depth, struct err *err)
{
	int fd = path_open_beneath(parent, name, O_RDONLY | O_DIRECTORY, 0), r = 0;
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;

	if (!d) {
		s->cut = s->cut || fd != -ENOENT;
		return 0;
	}
	while (r == 0 && !(s->files > FILES_MAX) && (e = readdir(d)))
		r = clean_entry(s, fd, e, shown, depth, err);
	(void)closedir(d);
	return r;
}

/* All of it, or the directories of agents' logins alone. */
static int clean_root(struct search *s, int root, bool whole, struct err *err)
{
	int r = 0;

	if (whole)
		return clean_dir(s, root, ".", "", DEPTH_MAX, err);
	for (size_t i = 0; r == 0 && i < cred_provider_count(); i++) {
		const struct cred_login_file *f = cred_provider_at(i)->file;

		if (f)
			r = clean_dir(s, root, f->dir, f->dir, 0, err);
	}
	return r;
}

static bool is_piped(const struct sandbox_spec *spec)
{
	for (size_t i = 0; i < spec->n_credentials; i++)
		if (spec->credentials[i].way == SPEC_WAY_PIPE)
			return true;
	return false;
}

/* A home of its own was this sandbox's alone; the project's has a mark. */
static bool was_piped(const struct places *p, const struct store_entry *e,
		      const struct sandbox_spec *spec)
{
	cleanup_free char *mark = home_beside(p, spec->home_key, "piped");
	cleanup_(spec_freep) struct sandbox_spec *was = NULL;
	struct err ignored;
	struct stat st;

	if (spec->home_of == SPEC_HOME_PROJECT)
		return lstat(mark, &st) == 0;
	return store_read_spec(e, &was, &ignored) == 0 && is_piped(was);
}

static int mark_piped(const struct places *p, const struct sandbox_spec *spec, bool piped,
		      struct err *err)
{
	cleanup_free char *mark = home_beside(p, spec->home_key, "piped");
	int r;

	if (spec->home_of != SPEC_HOME_PROJECT)
		return 0;
	r = piped ? path_write_atomic(AT_FDCWD, mark, "", 0, 0600, 0) : unlink(mark);
	return piped && r < 0 ? err_sys(err, -r, "cannot write '%s'", mark) : 0;
}

static int open_volume(const struct places *p, const struct sandbox_spec *spec)
{
	cleanup_free char *volume = spec->container.volume_dir ? home_memory(p, NULL, spec) : NULL;

	return volume ? open(volume, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
}

int login_left_clean(const struct places *p, const struct store_entry *e, int home,
		     const struct sandbox_spec *spec, bool alone, struct err *err)
{
	cleanup_(search_done) struct search s = {0};
	cleanup_fd int kept = open_volume(p, spec);
	bool piped = is_piped(spec), whole = piped || was_piped(p, e, spec);
	int r = piped ? mark_piped(p, spec, true, err) : 0;

	for (size_t i = 0; i < cred_provider_count(); i++)
		if (cred_provider_at(i)->file)
			take_login(&s, p, cred_provider_at(i)->file);
	if (s.values.n && r == 0)
		r = clean_root(&s, home, whole, err);
	if (s.values.n && kept >= 0 && r == 0)
		r = clean_root(&s, kept, whole, err);
	if (r == 0 && s.cut && whole)
		log_warn("credentials",
			 "not all of the sandbox's home could be searched for logins of the host");
	if (r == 0 && !s.cut && whole && !piped && alone)
		r = mark_piped(p, spec, false, err);
	return r;
}
