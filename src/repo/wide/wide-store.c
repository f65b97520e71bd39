/*
 * Which objects are there: loose ones by their files, packed ones by the index of their pack. Nothing
 * is remembered but which packs there are, and wide_store_look() looks for those again.
 */
#include "repo/wide/wide-parts.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"

#define PACKS_MAX 10000
#define HEAD_LEN 8
#define FANOUT_LEN (256 * sizeof(uint32_t))
#define PER_OBJECT (WIDE_LEN + 2 * sizeof(uint32_t))

static uint32_t be32(const unsigned char *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

int wide_pack_open(const char *path, struct wide_pack *ret)
{
	static const unsigned char head[HEAD_LEN] = {0xff, 't', 'O', 'c', 0, 0, 0, 2};
	cleanup_fd int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;
	void *map;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size < (off_t)(HEAD_LEN + FANOUT_LEN))
		return -EBADMSG;
	map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	*ret = (struct wide_pack){.map = map, .size = (size_t)st.st_size};
	ret->n = be32(ret->map + HEAD_LEN + FANOUT_LEN - sizeof(uint32_t));
	ret->names = ret->map + HEAD_LEN + FANOUT_LEN;
	if (memcmp(ret->map, head, HEAD_LEN) == 0 &&
	    ret->n <= (ret->size - HEAD_LEN - FANOUT_LEN) / PER_OBJECT)
		return 0;
	wide_pack_close(ret);
	return -EBADMSG;
}

void wide_pack_close(struct wide_pack *p)
{
	if (p->map)
		(void)munmap((void *)(uintptr_t)p->map, p->size);
	*p = (struct wide_pack){0};
}

/* The first name that is not before the prefix; NULL: there is none. */
static const unsigned char *first_from(const struct wide_pack *p, const unsigned char *prefix,
				       size_t len)
{
	size_t low = 0, high = p->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (memcmp(p->names + mid * WIDE_LEN, prefix, len) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low < p->n ? p->names + low * WIDE_LEN : NULL;
}

bool wide_pack_has(const struct wide_pack *p, const unsigned char *prefix, size_t len)
{
	const unsigned char *found = first_from(p, prefix, len);

	return found && memcmp(found, prefix, len) == 0;
}

void wide_store_close(struct wide_store *s)
{
	for (size_t i = 0; i < s->n_packs; i++)
		wide_pack_close(&s->packs[i]);
	free(take_ptr(s->packs));
	s->n_packs = 0;
}

/* A pack that git is removing has its index longer than itself, or shorter. */
static int add_pack(struct wide_store *s, const char *dir, const char *name)
{
	cleanup_free char *idx = path_join(dir, name), *pack = NULL;
	struct wide_pack p;
	struct stat st;
	int r;

	pack = xasprintf("%.*s.pack", (int)(strlen(idx) - strlen(".idx")), idx);
	if (lstat(pack, &st) < 0)
		return errno == ENOENT ? 0 : -errno;
	r = wide_pack_open(idx, &p);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	if (s->n_packs == PACKS_MAX) {
		wide_pack_close(&p);
		return -E2BIG;
	}
	s->packs = xrealloc(s->packs, s->n_packs + 1, sizeof(*s->packs));
	s->packs[s->n_packs++] = p;
	return 0;
}

int wide_store_look(struct wide_store *s)
{
	int r = 0;

	wide_store_close(s);
	for (size_t i = 0; r == 0 && i < s->dirs.n; i++) {
		cleanup_free char *dir = path_join(s->dirs.v[i], "pack");
		DIR *d = opendir(dir);
		struct dirent *de;

		while (r == 0 && d && (de = readdir(d))) {
			size_t n = strlen(de->d_name);

			if (n > 9 && strncmp(de->d_name, "pack-", 5) == 0 &&
			    streq(de->d_name + n - 4, ".idx"))
				r = add_pack(s, dir, de->d_name);
		}
		if (d)
			(void)closedir(d);
		else if (errno != ENOENT)
			r = -errno;
	}
	return r;
}

bool wide_store_has(const struct wide_store *s, const unsigned char full[WIDE_LEN])
{
	char hex[WIDE_HEX + 1];
	struct stat st;

	for (size_t i = 0; i < s->n_packs; i++)
		if (wide_pack_has(&s->packs[i], full, WIDE_LEN))
			return true;
	wide_to_hex(full, hex);
	for (size_t i = 0; i < s->dirs.n; i++) {
		cleanup_free char *path = xasprintf("%s/%.2s/%s", s->dirs.v[i], hex, hex + 2);

		if (lstat(path, &st) == 0)
			return true;
	}
	return false;
}

static bool find_loose(const char *dir, const char *hex, unsigned char ret[WIDE_LEN])
{
	cleanup_free char *path = xasprintf("%s/%.2s", dir, hex);
	DIR *d = opendir(path);
	struct dirent *de;
	bool found = false;

	while (!found && d && (de = readdir(d))) {
		cleanup_free char *name = xasprintf("%.2s%s", hex, de->d_name);

		found = strlen(name) == WIDE_HEX && strncmp(name, hex, strlen(hex)) == 0 &&
			wide_from_hex(name, ret);
	}
	if (d)
		(void)closedir(d);
	return found;
}

bool wide_store_find(const struct wide_store *s, const char *hex, unsigned char ret[WIDE_LEN])
{
	unsigned char low[WIDE_LEN];
	char text[WIDE_HEX + 1];
	size_t n = strlen(hex);

	(void)memset(text, '0', WIDE_HEX);
	text[WIDE_HEX] = '\0';
	memcpy(text, hex, n);
	if (!wide_from_hex(text, low))
		return false;
	for (size_t i = 0; i < s->n_packs; i++) {
		const unsigned char *found = first_from(&s->packs[i], low, WIDE_LEN);

		if (!found)
			continue;
		wide_to_hex(found, text);
		if (strncmp(text, hex, n) == 0) {
			memcpy(ret, found, WIDE_LEN);
			return true;
		}
	}
	for (size_t i = 0; i < s->dirs.n; i++)
		if (find_loose(s->dirs.v[i], hex, ret))
			return true;
	return false;
}
