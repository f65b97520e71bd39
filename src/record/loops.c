#include "record/loops.h"

#include <dirent.h>
#include <fcntl.h>
#include <sha256.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/json/json.h"
#include "base/parse.h"
#include "base/path.h"

#define ACTIVE_MAX 256
#define STAT_MAX (4 * KiB)
#define STAT_FIELDS_BEFORE_START 19 /* after the name: proc(5), field 22 */
#define LOOPS_MAX 10000
#define KEY_LEN 16 /* of loops_key() */

char *loops_key(const char *workspace)
{
	uint8_t digest[SHA256_DIGEST_LENGTH];
	char *ret = xcalloc(1, KEY_LEN + 1);
	SHA2_CTX ctx;

	SHA256Init(&ctx);
	SHA256Update(&ctx, (const uint8_t *)workspace, strlen(workspace));
	SHA256Final(digest, &ctx);
	for (size_t i = 0; i < KEY_LEN / 2; i++)
		(void)snprintf(ret + 2 * i, 3, "%02x", digest[i]);
	return ret;
}

uint64_t loops_start_time(pid_t pid)
{
	cleanup_free char *path = xasprintf("/proc/%d/stat", (int)pid);
	cleanup_strv struct strv fields = {0};
	cleanup_buf struct buf b;
	const char *name_end;
	uint64_t v = 0;

	buf_init(&b, STAT_MAX);
	if (path_read(AT_FDCWD, path, &b) < 0)
		return 0;
	/* The name may contain anything, also brackets and spaces. */
	name_end = strrchr(buf_str(&b), ')');
	if (!name_end)
		return 0;
	strv_split(&fields, name_end + 1, ' ');
	if (fields.n <= STAT_FIELDS_BEFORE_START ||
	    parse_uint(fields.v[STAT_FIELDS_BEFORE_START], 0, UINT64_MAX, &v) < 0)
		return 0;
	return v;
}

int loops_read_active(int dir, struct loop_active *ret)
{
	cleanup_fd int fd = path_open_beneath(dir, "active", O_RDONLY, 0);
	cleanup_json json_t *j = NULL;
	struct err err = {0};
	uint64_t pid = 0, start = 0;
	cleanup_buf struct buf b;

	buf_init(&b, ACTIVE_MAX);
	if (fd < 0 || fd_read_all(fd, &b) < 0 || json_parse(buf_str(&b), b.len, &j, &err) < 0 ||
	    json_get_uint(j, "pid", &pid, &err) < 0 || json_get_uint(j, "start", &start, &err) < 0)
		return -ENOENT;
	if (pid == 0 || pid > INT32_MAX || start == 0 || loops_start_time((pid_t)pid) != start)
		return -ENOENT;
	*ret = (struct loop_active){.pid = (pid_t)pid, .start = start};
	return 0;
}

int loops_signal(const struct loop_active *a, int sig)
{
	cleanup_fd int pidfd = (int)syscall(SYS_pidfd_open, a->pid, 0);

	if (pidfd < 0)
		return -errno;
	/* The check is repeated: the pid may have been reused before the descriptor was opened. */
	if (loops_start_time(a->pid) != a->start)
		return -ESRCH;
	return syscall(SYS_pidfd_send_signal, pidfd, sig, NULL, 0) < 0 ? -errno : 0;
}

int loops_remember(const struct places *p, const char *workspace, struct err *err)
{
	char key[SHA256_DIGEST_STRING_LENGTH];
	cleanup_free char *dir = path_join(p->state, "loops"), *text = NULL, *name = NULL;
	cleanup_json json_t *j = json_pack("{so}", "workspace", json_text(workspace));
	cleanup_fd int fd = -1;
	int r = path_mkdirs(p->state, 0700, err);

	if (r == 0)
		r = path_private_dir(dir, err);
	if (r < 0)
		return r;
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	(void)SHA256Data((const uint8_t *)workspace, strlen(workspace), key);
	name = xasprintf("%s.json", key);
	text = json_dumps(j, JSON_COMPACT);
	r = fd < 0 ? -errno : path_write_atomic(fd, name, text, strlen(text), 0600, 0);
	return r < 0 ? err_sys(err, -r, "cannot write '%s/%s'", dir, name) : 0;
}

/* Returns the workspace, or NULL if it is gone. */
static char *read_one(int fd, const char *name)
{
	cleanup_json json_t *j = NULL;
	const char *workspace = NULL;
	struct err err = {0};
	cleanup_buf struct buf b;
	struct stat st;

	buf_init(&b, 16 * KiB);
	if (path_read(fd, name, &b) < 0 || json_parse(buf_str(&b), b.len, &j, &err) < 0 ||
	    json_get_str(j, "workspace", &workspace, &err) < 0 || stat(workspace, &st) < 0)
		return NULL;
	return xstrdup(workspace);
}

int loops_each(const struct places *p, struct strv *ret, struct err *err)
{
	cleanup_free char *path = path_join(p->state, "loops");
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent *e;
	DIR *d;

	if (fd < 0)
		return errno == ENOENT ? 0 : err_sys(err, errno, "cannot read '%s'", path);
	d = fdopendir(fd);
	if (!d) {
		(void)close(fd);
		return err_sys(err, errno, "cannot read '%s'", path);
	}
	while ((e = readdir(d)) && ret->n < LOOPS_MAX) {
		size_t len = strlen(e->d_name);
		char *workspace;

		if (len < 6 || !streq(e->d_name + len - 5, ".json"))
			continue;
		workspace = read_one(fd, e->d_name);
		if (!workspace)
			(void)unlinkat(fd, e->d_name, 0);
		else if (strv_has(ret, workspace)) /* version 0.1 named the file otherwise */
			free(workspace);
		else
			strv_take(ret, workspace);
	}
	(void)closedir(d);
	strv_sort(ret);
	return 0;
}
