#include "config/trust.h"

#include <dirent.h>
#include <fcntl.h>
#include <sha256.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/json/json.h"
#include "base/path.h"

#define RECORD_MAX (64 * KiB)
#define RECORDS_MAX 65536

void trust_hash(const void *p, size_t n, char ret[TRUST_HASH_LEN + 1])
{
	uint8_t digest[SHA256_DIGEST_LENGTH];
	SHA2_CTX ctx;

	SHA256Init(&ctx);
	SHA256Update(&ctx, p, n);
	SHA256Final(digest, &ctx);
	for (size_t i = 0; i < sizeof(digest); i++)
		(void)snprintf(ret + 2 * i, 3, "%02x", digest[i]);
}

static char *record_name(const char *project)
{
	char key[TRUST_HASH_LEN + 1];

	trust_hash(project, strlen(project), key);
	return xasprintf("%s.json", key);
}

static int parse(const char *text, size_t len, struct trust *ret, struct err *err)
{
	cleanup_json json_t *j = NULL;
	const char *project = NULL, *sha256 = NULL;
	struct trust t = {0};
	int r = json_parse(text, len, &j, err);

	if (r == 0)
		r = json_get_str(j, "project", &project, err);
	if (r == 0)
		r = json_get_str(j, "sha256", &sha256, err);
	if (r == 0)
		r = json_get_uint(j, "since", &t.since, err);
	if (r == 0 && strlen(sha256) != TRUST_HASH_LEN)
		r = err_set(err, EINVAL, "'sha256' is no such hash");
	if (r < 0)
		return r;
	memcpy(t.sha256, sha256, sizeof(t.sha256));
	t.project = xstrdup(project);
	*ret = t;
	return 0;
}

static int read_record(const char *dir, const char *name, struct trust *ret, struct err *err)
{
	cleanup_free char *path = path_join(dir, name);
	cleanup_buf struct buf b;
	int r;

	buf_init(&b, RECORD_MAX);
	r = path_read(AT_FDCWD, path, &b);
	if (r < 0)
		return err_sys(err, -r, "cannot read '%s'", path);
	r = parse(buf_str(&b), b.len, ret, err);
	if (r < 0)
		return err_wrap(err, r, "%s is damaged, remove it and trust the project again",
				path);
	return 0;
}

int trust_get(const char *dir, const char *project, struct trust *ret, struct err *err)
{
	cleanup_free char *name = record_name(project);
	struct trust t = {0};
	int r = read_record(dir, name, &t, err);

	if (r == 0 && !streq(t.project, project)) {
		trust_done(&t);
		return err_set(err, EINVAL, "%s/%s: is the record of another project; remove it",
			       dir, name);
	}
	if (r == 0)
		*ret = t;
	return r;
}

void trust_done(struct trust *t)
{
	free(t->project);
	t->project = NULL;
}

int trust_set(const char *dir, const char *project, const void *p, size_t n, struct err *err)
{
	cleanup_free char *name = record_name(project), *text = NULL;
	char sha256[TRUST_HASH_LEN + 1];
	cleanup_json json_t *j = NULL;
	cleanup_fd int fd = -1;
	int r = path_mkdirs(dir, 0700, err);

	if (r < 0)
		return r;
	trust_hash(p, n, sha256);
	j = json_pack("{ss ss sI}", "project", project, "sha256", sha256, "since",
		      (json_int_t)time(NULL));
	/* jansson takes UTF-8 alone, and a path that is shown as another must not be recorded. */
	text = j ? json_dumps(j, JSON_INDENT(2)) : NULL;
	if (!text)
		return err_usage(err,
				 "the path '%s' is not UTF-8; a project there cannot be trusted",
				 project);
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return err_sys(err, errno, "cannot open '%s'", dir);
	r = path_write_atomic(fd, name, text, strlen(text), 0600, PATH_WRITE_SYNC);
	return r < 0 ? err_sys(err, -r, "cannot write '%s/%s'", dir, name) : 0;
}

int trust_revoke(const char *dir, const char *project, struct err *err)
{
	cleanup_free char *name = record_name(project);
	cleanup_free char *path = path_join(dir, name);

	if (unlink(path) < 0)
		return err_sys(err, errno, "cannot remove '%s'", path);
	return 0;
}

static int by_project(const void *a, const void *b)
{
	return strcmp(((const struct trust *)a)->project, ((const struct trust *)b)->project);
}

int trust_list(const char *dir, struct trust **ret, size_t *ret_n, struct err *err)
{
	struct trust *list = NULL, t;
	DIR *d = opendir(dir);
	struct dirent *de;
	size_t n = 0;

	*ret = NULL;
	*ret_n = 0;
	if (!d)
		return errno == ENOENT ? 0 : err_sys(err, errno, "cannot open '%s'", dir);
	while ((de = readdir(d)) && n < RECORDS_MAX) {
		size_t len = strlen(de->d_name);
		struct err ignored;

		if (len != TRUST_HASH_LEN + 5 || !streq(de->d_name + TRUST_HASH_LEN, ".json") ||
		    read_record(dir, de->d_name, &t, &ignored) < 0)
			continue;
		list = xrealloc(list, n + 1, sizeof(*list));
		list[n++] = t;
	}
	(void)closedir(d);
	if (n)
		qsort(list, n, sizeof(*list), by_project);
	*ret = list;
	*ret_n = n;
	return 0;
}

void trust_list_free(struct trust *t, size_t n)
{
	for (size_t i = 0; i < n; i++)
		trust_done(&t[i]);
	free(t);
}
