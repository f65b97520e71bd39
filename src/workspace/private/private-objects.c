/*
 * Objects are borrowed, never copied. git inside finds them by objects/info/alternates of the
 * private directory. What the user's repository borrows in turn is mounted at its own path, so that
 * the lines git reads there mean the same. A relative line would not: such a file is covered by an
 * empty one, and the private directory names what it led to.
 */
#include "workspace/private/private-parts.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/strv.h"

#define ALTERNATES "info/alternates"

struct borrow {
	struct private_git *p;
	struct strv dirs;   /* on the host, real paths */
	struct buf lines;   /* of the private directory's own alternates */
	const char *target; /* of the first */
	bool relative;	    /* of the directory that is being read */
};

/* One line: a path, absolute or from the object directory on. */
static void add_line(struct borrow *b, const char *dir, const char *line)
{
	cleanup_free char *joined = NULL, *real = NULL;

	if (!*line || *line == '#')
		return;
	b->relative = b->relative || *line != '/';
	joined = path_join(dir, line);
	real = realpath(joined, NULL);
	/* git leaves out one that is not there, too. A quoted line is a path that needs it. */
	if (real && !strv_has(&b->dirs, real))
		strv_push(&b->dirs, real);
}

static int read_alternates(struct borrow *b, const char *dir)
{
	cleanup_fd int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	cleanup_buf struct buf text;
	int r;

	buf_init(&text, PRIVATE_SMALL_MAX);
	b->relative = false;
	r = fd < 0 ? -errno : private_read(fd, ALTERNATES, &text);
	if (r < 0 || !text.len)
		return r == -ENOENT ? 0 : r;
	for (char *line = text.data, *end; *line; line = end) {
		end = line + strcspn(line, "\n");
		if (*end)
			*end++ = '\0';
		add_line(b, dir, line);
	}
	return b->dirs.n > PRIVATE_ALTERNATES_MAX ? -ENOBUFS : 0;
}

/* The directory with this number is mounted, and what it borrows from joins the list. */
static int borrow_one(struct borrow *b, size_t i)
{
	cleanup_free char *dir = xstrdup(b->dirs.v[i]), *file = NULL;
	const char *target = i ? dir : b->target;
	int r = private_add_bind(b->p, dir, target);

	if (r == 0)
		r = read_alternates(b, dir);
	if (r < 0)
		return r;
	(void)buf_printf(&b->lines, "%s\n", target);
	if (!b->relative)
		return 0;
	file = path_join(target, ALTERNATES);
	return private_add_bind(b->p, NULL, file);
}

int git_objects_all(const char *objects, struct strv *ret)
{
	struct borrow b = {0};
	int r = 0;

	strv_push(&b.dirs, objects);
	for (size_t i = 0; r == 0 && i < b.dirs.n; i++) {
		cleanup_free char *dir = xstrdup(b.dirs.v[i]);

		r = read_alternates(&b, dir);
	}
	if (r == 0)
		strv_extend(ret, &b.dirs);
	strv_done(&b.dirs);
	return r;
}

int private_objects_borrow(struct private_git *p, const char *objects, const char *target, int at,
			   struct err *err)
{
	struct borrow b = {.p = p, .target = target};
	int r = 0;

	buf_init(&b.lines, PRIVATE_SMALL_MAX);
	strv_push(&b.dirs, objects);
	for (size_t i = 0; r == 0 && i < b.dirs.n; i++)
		r = borrow_one(&b, i);
	if (r == 0 && at >= 0)
		r = b.lines.full
			    ? -ENOBUFS
			    : private_write(at, "objects/" ALTERNATES, b.lines.data, b.lines.len);
	strv_done(&b.dirs);
	buf_done(&b.lines);
	if (r == -ENOBUFS)
		return err_set(err, EFBIG,
			       "the repository borrows from more others than ralph "
			       "mounts");
	return r < 0 ? err_sys(err, -r, "cannot borrow the objects in '%s'", objects) : 0;
}
