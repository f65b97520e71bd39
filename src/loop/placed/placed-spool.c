#include "loop/placed/placed-spool.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"

static char *name_of(const struct spool *s, const char *ext)
{
	return xasprintf("%s.%s", s->lease, ext);
}

static int open_dir(int state, struct err *err)
{
	int fd;

	if (mkdirat(state, SPOOL_DIR, 0700) < 0 && errno != EEXIST)
		return err_sys(err, errno, "cannot make the directory of results");
	fd = openat(state, SPOOL_DIR, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? err_sys(err, errno, "cannot open the directory of results") : fd;
}

int spool_open(struct spool *s, int state, const char *lease, struct err *err)
{
	int fd = open_dir(state, err);

	if (fd < 0)
		return fd;
	*s = (struct spool){.dir = fd, .pack = -1};
	(void)snprintf(s->lease, sizeof(s->lease), "%s", lease);
	return 0;
}

void spool_done(struct spool *s)
{
	closep(&s->pack);
	closep(&s->dir);
}

static int begin_pack(struct spool *s, struct err *err)
{
	cleanup_free char *name = name_of(s, "pack");

	s->pack = openat(s->dir, name, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	s->bytes = 0;
	SHA256Init(&s->sum);
	return s->pack < 0 ? err_sys(err, errno, "cannot write what a node sends") : 0;
}

int spool_add(struct spool *s, const void *p, size_t n, struct err *err)
{
	int r = s->pack < 0 ? begin_pack(s, err) : 0;

	if (r == 0 && n) {
		r = fd_write_all(s->pack, p, n);
		if (r < 0)
			return err_sys(err, -r, "cannot write what a node sends");
		SHA256Update(&s->sum, p, n);
		s->bytes += n;
	}
	return r;
}

int spool_pack_end(struct spool *s, uint64_t bytes, const char *sha256, struct err *err)
{
	char hex[SHA256_DIGEST_STRING_LENGTH];
	SHA256_CTX sum;
	int r = spool_add(s, NULL, 0, err);

	if (r < 0)
		return r;
	sum = s->sum;
	(void)SHA256End(&sum, hex);
	if (bytes != s->bytes || (bytes && !streq(hex, sha256)))
		return err_set(err, EPROTO, "what it sent is not what it says that it sent");
	if (fsync(s->pack) < 0)
		return err_sys(err, errno, "cannot write what a node sends");
	return 0;
}

int spool_pack(struct spool *s)
{
	return s->pack >= 0 && lseek(s->pack, 0, SEEK_SET) == 0 ? s->pack : -1;
}

int spool_pack_drop(struct spool *s, struct err *err)
{
	cleanup_free char *name = name_of(s, "pack");

	closep(&s->pack);
	s->bytes = 0;
	if (unlinkat(s->dir, name, 0) < 0 && errno != ENOENT)
		return err_sys(err, errno, "cannot remove what a node sent");
	return 0;
}

int spool_put(struct spool *s, const json_t *verdict, struct err *err)
{
	cleanup_free char *name = name_of(s, "json"), *text = json_dumps(verdict, JSON_COMPACT);
	int r = text ? path_write_atomic(s->dir, name, text, strlen(text), 0600, PATH_WRITE_SYNC)
		     : -EINVAL;

	return r < 0 ? err_sys(err, -r, "cannot write the result of a node") : 0;
}

int spool_take(struct spool *s, json_t **ret, struct err *err)
{
	cleanup_free char *json = name_of(s, "json"), *pack = name_of(s, "pack");
	cleanup_buf struct buf b;
	int r;

	buf_init(&b, SPOOL_JSON_MAX);
	r = path_read(s->dir, json, &b);
	if (r == -ENOENT)
		return r;
	if (r < 0)
		return err_sys(err, -r, "cannot read the result of a node");
	closep(&s->pack);
	s->pack = openat(s->dir, pack, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (s->pack < 0 && errno != ENOENT)
		return err_sys(err, errno, "cannot read what a node sent");
	return json_parse(buf_str(&b), b.len, ret, err);
}

void spool_remove(struct spool *s)
{
	cleanup_free char *json = name_of(s, "json");
	struct err ignored;

	/* In this order: without its pack the verdict would be another one. */
	(void)unlinkat(s->dir, json, 0);
	(void)spool_pack_drop(s, &ignored);
}

/* A verdict or a pack of one of these leases; a verdict that a killed loop wrote half is neither. */
static bool is_entry(const char *name, const json_t *leases)
{
	size_t n = strcspn(name, ".");
	cleanup_free char *lease = xstrndup(name, n);

	return json_object_get(leases, lease) &&
	       (streq(name + n, ".json") || streq(name + n, ".pack"));
}

void spool_sweep(int state, const json_t *leases)
{
	struct err ignored;
	int fd = open_dir(state, &ignored);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *de;

	if (!d) {
		closep(&fd);
		return;
	}
	while ((de = readdir(d)))
		if (de->d_name[0] != '.' && !is_entry(de->d_name, leases))
			(void)unlinkat(dirfd(d), de->d_name, 0);
	(void)closedir(d);
}
