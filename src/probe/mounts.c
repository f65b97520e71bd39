/* The table of mounts inside, beside the plan's. */
#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "base/parse.h"
#include "probe/probe.h"

#define TABLE_MAX (1 * MiB)
#define MOUNTS_MAX 4096

static struct mount {
	char *path;
	char *device;
	char *root; /* the directory of that file system that is mounted */
	bool ro;
	bool follows; /* later mounts of the host appear here */
} table[MOUNTS_MAX];
static int n_table;

/* "ID PARENT DEVICE ROOT POINT OPTIONS [shared:N] [master:N] - …" */
static void read_line(char *line)
{
	struct mount *m = &table[n_table];
	char *field;

	(void)strsep(&line, " ");
	(void)strsep(&line, " ");
	m->device = strsep(&line, " ");
	m->root = strsep(&line, " ");
	m->path = strsep(&line, " ");
	field = strsep(&line, " ");
	if (!m->path || !field || n_table == MOUNTS_MAX)
		broken("/proc/self/mountinfo");
	parse_table_word(m->root);
	parse_table_word(m->path);
	m->ro = strncmp(field, "ro", 2) == 0;
	while ((field = strsep(&line, " ")) && !streq(field, "-"))
		if (strncmp(field, "shared:", 7) == 0 || strncmp(field, "master:", 7) == 0)
			m->follows = true;
	n_table++;
}

/* Device nodes and what masks /proc lie there, and are other attacks' business. */
static bool is_part(const char *path)
{
	return strncmp(path, "/dev/", 5) == 0 || strncmp(path, "/proc/", 6) == 0;
}

static int times_planned(int argc, char **argv, const char *path)
{
	int n = 0;

	for (int i = 0; i < argc; i++)
		n += streq(argv[i] + 2, path);
	return n;
}

/* Of mounts on top of each other the last one counts. */
static const struct mount *last_at(const char *path, int *ret_times)
{
	const struct mount *last = NULL;

	*ret_times = 0;
	for (int i = 0; i < n_table; i++)
		if (streq(table[i].path, path)) {
			last = &table[i];
			++*ret_times;
		}
	return last;
}

/* The length of what stands before the mount's own path in its root, -1 where that is not its end: of
 * an image in "/storage/IMAGE" the root of /usr is "/storage/IMAGE/usr". */
static int image_len(const struct mount *m)
{
	size_t root = strlen(m->root), path = strlen(m->path);

	return root >= path && streq(m->root + root - path, m->path) ? (int)(root - path) : -1;
}

/* Is one of these directories the other, or below it? */
static bool overlaps(const char *a, size_t a_len, const char *b)
{
	size_t b_len = strlen(b), n = a_len < b_len ? a_len : b_len;

	b_len = streq(b, "/") ? 0 : b_len;
	n = n < b_len ? n : b_len;
	if (strncmp(a, b, n) != 0)
		return false;
	return a_len == b_len || (a_len > b_len ? a[n] : b[n]) == '/';
}

/* Parts of an image: read-only, and all of one directory of one file system, of which nothing can be
 * written. With an overlay that directory is all of the file system. */
static bool is_image(const struct mount *m)
{
	static const struct mount *first;
	int len = m->ro && m->device ? image_len(m) : -1;

	if (len < 0)
		return false;
	if (!first)
		first = m;
	for (int i = 0; i < n_table; i++)
		if (!table[i].ro && streq(table[i].device, m->device) &&
		    overlaps(m->root, (size_t)len, table[i].root))
			return false;
	return streq(m->device, first->device) && len == image_len(first) &&
	       strncmp(m->root, first->root, (size_t)len) == 0;
}

/* `mounts KIND:PATH…`: these and no others; KIND r is read-only, w is not, o is read-only where it
 * is there, u may be there in any way, i an image whose parts are not known. */
static int mounts(int argc, char **argv)
{
	static struct buf b;
	char *line, *rest;
	bool image = argc > 0 && argv[0][0] == 'i';
	int n = 0;

	argc -= image;
	argv += image;
	slurp("/proc/self/mountinfo", &b, TABLE_MAX);
	for (rest = b.data; (line = strsep(&rest, "\n")) && *line;)
		read_line(line);
	for (int i = 0; i < n_table; i++) {
		if (table[i].follows)
			n += out("'%s' follows mounts of the host", table[i].path);
		if (!is_part(table[i].path) && times_planned(argc, argv, table[i].path) == 0 &&
		    !(image && is_image(&table[i])))
			n += out("'%s' is mounted, and the plan does not know it", table[i].path);
	}
	for (int i = 0; i < argc; i++) {
		const char *path = argv[i] + 2;
		char kind = argv[i][0];
		int times;
		const struct mount *m = last_at(path, &times);

		if (!m && kind != 'o' && kind != 'u')
			n += out("'%s' is not mounted", path);
		else if (m && kind != 'w' && kind != 'u' && !m->ro)
			n += out("'%s' is not mounted read-only", path);
		else if (times > times_planned(argc, argv, path))
			n += out("something is mounted on top of '%s'", path);
	}
	return n;
}

const struct attack mount_attacks[] = {{"mounts", mounts}, {0}};
