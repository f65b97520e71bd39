#include "workspace/private/gitlinks.h"

#include <dirent.h>
#include <fcntl.h>
#include <sha256.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"
#include "policy/gitconfig.h"
#include "workspace/gitindex.h"

#define CONFIG_MAX (256 * KiB)

static size_t hash_len(const char *common)
{
	cleanup_free char *path = path_join(common, "config"), *format = NULL;
	cleanup_buf struct buf b;

	buf_init(&b, CONFIG_MAX);
	if (path_read(AT_FDCWD, path, &b) == 0)
		format = gitconfig_get(buf_str(&b), b.len, "extensions", "objectformat");
	return format && streq(format, "sha256") ? SHA256_DIGEST_LENGTH : GITINDEX_HASH_LEN;
}

static int look_at(int dir, const char *name, size_t hash, gitlink_fn *fn, void *arg)
{
	cleanup_fd int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;
	void *p;

	if (fd < 0 || fstat(fd, &st) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISREG(st.st_mode) || st.st_size == 0)
		return 0;
	p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		return -errno;
	gitindex_links(p, (size_t)st.st_size, hash, fn, arg);
	(void)munmap(p, (size_t)st.st_size);
	return 0;
}

int gitlinks_each(const char *dir, const char *common, gitlink_fn *fn, void *arg)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;
	size_t hash = hash_len(common);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *de;

	if (!d) {
		r = errno == ENOENT ? 0 : -errno;
		closep(&fd);
		return r;
	}
	while (r == 0 && (de = readdir(d)))
		if (streq(de->d_name, "index") || strncmp(de->d_name, "sharedindex.", 12) == 0)
			r = look_at(dirfd(d), de->d_name, hash, fn, arg);
	(void)closedir(d);
	return r;
}

bool gitlinks_is_cover(const struct spec_mount *m)
{
	return m->kind == SPEC_BIND_RW && m->source && strstr(m->source, GITLINKS_DIR "/");
}

static int make_one(int root, const char *rel)
{
	cleanup_fd int parent = path_make_parents(root, rel, 0755);

	if (parent < 0)
		return parent;
	return mkdirat(parent, path_base(rel), 0755) < 0 && errno != EEXIST ? -errno : 0;
}

int gitlinks_make(const struct sandbox_spec *s)
{
	cleanup_fd int root = open(s->workspace, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int r = root < 0 ? -errno : 0;

	for (size_t i = 0; r == 0 && i < s->n_mounts; i++)
		if (gitlinks_is_cover(&s->mounts[i]))
			r = make_one(root, s->mounts[i].target + strlen(s->workspace) + 1);
	return r;
}

void gitlinks_unmount(const struct sandbox_spec *s)
{
	cleanup_fd int root = open(s->workspace, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	for (size_t i = 0; root >= 0 && i < s->n_mounts; i++) {
		const struct spec_mount *m = &s->mounts[i];
		cleanup_free char *dir = NULL;
		cleanup_fd int parent = -1;

		if (!gitlinks_is_cover(m) || !strstr(m->source, "/" GITLINKS_ABSENT))
			continue;
		dir = path_dir(m->target);
		parent = streq(dir, s->workspace)
				 ? fcntl(root, F_DUPFD_CLOEXEC, 3)
				 : path_open_beneath(root, dir + strlen(s->workspace) + 1,
						     O_PATH | O_DIRECTORY, 0);
		if (parent >= 0)
			(void)unlinkat(parent, path_base(m->target), AT_REMOVEDIR);
	}
}
