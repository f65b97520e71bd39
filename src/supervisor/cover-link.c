/*
 * What is covered inside, read-only or hidden, is covered by a mount on one file. When a program of
 * the host puts another file in its place, as `git checkout`, `sed -i` and most editors do, the
 * kernel takes the mount away. The supervisor sees that, freezes the sandbox, covers the new file
 * (cover-again.c) and lets it go on. A sandbox that cannot be frozen, or a file that cannot be
 * covered, ends the sandbox.
 */
#include "supervisor/supervisor.h"

#include <fcntl.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"
#include "supervisor/cover-again.h"
#include "workspace/fresh-copy.h"
#include "workspace/private/gitlinks.h"

/* Which file it is. The number of an inode alone is given away again once a file is removed. */
#define HANDLE_MAX 64
#define POINTER_MAX (4 * KiB) /* of a `.git` that is a file */
struct cover_id {
	bool there;
	dev_t dev;
	ino_t ino;
	struct timespec born;
	unsigned handle_len; /* 0: this file system has none */
	unsigned char handle[HANDLE_MAX];
};

struct cover {
	const struct spec_mount *mount;
	const struct spec_mount *shown; /* the writable mount that it lies in */
	int root;      /* that one's source, open from before anything ran; shared */
	char *path;    /* on the host */
	char *pointer; /* of a `.git` that is a file: its content; NULL: another name, or none */
	struct cover_id id;
	bool told;
};

/* The writable mount that shows a path of the sandbox. */
static const struct spec_mount *shown_by(const struct sandbox_spec *spec,
					 const struct spec_mount *m)
{
	const char *target = m->target;
	const struct spec_mount *best = NULL;

	for (size_t i = 0; i < spec->n_mounts; i++)
		if (spec->mounts[i].kind == SPEC_BIND_RW && &spec->mounts[i] != m &&
		    path_under(target, spec->mounts[i].target) &&
		    (!best || strlen(spec->mounts[i].target) > strlen(best->target)))
			best = &spec->mounts[i];
	return best;
}

static const char *below_root(const struct cover *c)
{
	return c->path + strlen(c->shown->source) + 1;
}

static int open_root(const struct supervisor *s, const struct spec_mount *shown)
{
	int fd;

	for (size_t i = 0; i < s->n_covers; i++)
		if (s->covers[i].shown == shown)
			return s->covers[i].root;
	fd = open(shown->source, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* The directory that holds it now: the host may replace that one too. */
static int open_parent(const struct cover *c)
{
	cleanup_free char *dir = path_dir(below_root(c));

	return path_open_beneath(c->root, dir, O_RDONLY | O_DIRECTORY, 0);
}

static void get_handle(int dirfd, const char *name, struct cover_id *id)
{
	union {
		struct file_handle h;
		char space[sizeof(struct file_handle) + HANDLE_MAX];
	} u = {.h = {.handle_bytes = HANDLE_MAX}};
	int mount;

	if (name_to_handle_at(dirfd, name, &u.h, &mount, 0) < 0)
		return;
	id->handle_len = u.h.handle_bytes;
	memcpy(id->handle, u.h.f_handle, u.h.handle_bytes);
}

/* A link on the way would be a replaced directory, which is a cover of its own. */
static struct cover_id id_of(const struct cover *c)
{
	const char *name = below_root(c);
	struct cover_id id = {0};
	struct statx st;

	if (statx(c->root, name, AT_SYMLINK_NOFOLLOW, STATX_INO | STATX_BTIME, &st) < 0)
		return id;
	id.there = true;
	id.dev = makedev(st.stx_dev_major, st.stx_dev_minor);
	id.ino = st.stx_ino;
	id.born.tv_sec = st.stx_btime.tv_sec;
	id.born.tv_nsec = st.stx_btime.tv_nsec;
	get_handle(c->root, name, &id);
	return id;
}

static bool is_same(const struct cover_id *a, const struct cover_id *b)
{
	return a->there == b->there && a->dev == b->dev && a->ino == b->ino &&
	       a->born.tv_sec == b->born.tv_sec && a->born.tv_nsec == b->born.tv_nsec &&
	       a->handle_len == b->handle_len && memcmp(a->handle, b->handle, a->handle_len) == 0;
}

static bool is_dot_git(const struct cover *c)
{
	return streq(path_base(c->path), ".git");
}

static char *read_pointer(int parent, const char *name)
{
	struct buf b;

	buf_init(&b, POINTER_MAX);
	if (parent < 0 || path_read(parent, name, &b) < 0)
		buf_clear(&b);
	return buf_take(&b);
}

/* A second name of a protected file would be a way to write it: the file gets an inode of its own. */
static int unshare(struct supervisor *s, const struct cover *c, struct err *err)
{
	cleanup_fd int parent = open_parent(c);
	int n = parent < 0 ? parent : fresh_unshare(parent, path_base(c->path));

	if (n < 0 && n != -ENOENT)
		return err_sys(err, -n, "cannot give '%s' a file of its own", c->path);
	if (n > 0)
		strv_pushf(&s->notes,
			   "'%s' had another name, by which the agent could have written it; the "
			   "hard link is broken",
			   c->path);
	return 0;
}

static int add(struct supervisor *s, const struct spec_mount *m, struct err *err)
{
	const struct spec_mount *shown = shown_by(s->spec, m);
	struct cover c = {.mount = m, .shown = shown};
	int r = 0;

	if (!shown || streq(m->target, shown->target))
		return 0;
	c.root = open_root(s, shown);
	if (c.root < 0)
		return err_sys(err, -c.root, "cannot open '%s'", shown->source);
	c.path = xasprintf("%s%s", shown->source, m->target + strlen(shown->target));
	if (m->kind == SPEC_PROTECT)
		r = unshare(s, &c, err);
	if (is_dot_git(&c)) {
		cleanup_fd int parent = open_parent(&c);

		c.pointer = read_pointer(parent, ".git");
	}
	c.id = id_of(&c);
	s->covers = xrealloc(s->covers, s->n_covers + 1, sizeof(c));
	s->covers[s->n_covers++] = c;
	return r;
}

/* In the order of the spec: a directory stands before what is in it. */
int cover_start(struct supervisor *s, struct err *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < s->spec->n_mounts; i++) {
		enum spec_mount_kind kind = s->spec->mounts[i].kind;

		if (kind == SPEC_PROTECT || kind == SPEC_HIDE || kind == SPEC_PIN ||
		    gitlinks_is_cover(&s->spec->mounts[i]))
			r = add(s, &s->spec->mounts[i], err);
	}
	return r;
}

int cover_watch(struct supervisor *s, struct err *err)
{
	for (size_t i = 0; i < s->n_covers; i++) {
		cleanup_fd int parent = open_parent(&s->covers[i]);
		char self[32];

		if (parent == -ENOENT)
			continue; /* its own directory is watched for */
		(void)snprintf(self, sizeof(self), "/proc/self/fd/%d", parent);
		if (parent < 0 || inotify_add_watch(s->watch, self,
						    IN_CREATE | IN_MOVED_TO | IN_DELETE |
							    IN_ONLYDIR | IN_MASK_ADD) < 0)
			return err_sys(err, parent < 0 ? -parent : errno, "cannot watch '%s'",
				       s->covers[i].path);
	}
	return 0;
}

bool cover_cares(const struct supervisor *s, const char *name)
{
	for (size_t i = 0; i < s->n_covers; i++)
		if (streq(path_base(s->covers[i].path), name))
			return true;
	return false;
}

static bool is_replaced(struct cover *c)
{
	struct cover_id now = id_of(c);

	if (!now.there)
		c->id = now;
	return now.there && !is_same(&now, &c->id);
}

static void tell(struct supervisor *s, struct cover *c)
{
	static const char *const now[] = {
		[SPEC_HIDE] = "it is hidden inside again",
		[SPEC_PROTECT] = ("it is read-only inside again. If that was not you, look at what "
				  "is in it"),
		[SPEC_BIND_RW] = "the place of a submodule is read-only inside now",
	};
	cleanup_free char *text = NULL;

	sup_event(s, "protect-again", json_pack("{so}", "path", json_text(c->path)));
	if (c->told || c->mount->kind == SPEC_PIN)
		return;
	c->told = true;
	text = xasprintf("'%s' was replaced while the sandbox runs; %s", c->path,
			 now[c->mount->kind]);
	client_notice_all(s, text);
}

/* Nothing inside may go on with what it can reach now. */
static void give_up(struct supervisor *s, const struct cover *c, const struct err *why)
{
	cleanup_free char *text = xasprintf("'%s' was replaced while the sandbox runs, and cannot "
					    "be protected again: %s; the sandbox is stopped",
					    c->path, why->msg);

	sup_event(s, "error", json_pack("{so}", "message", json_text(text)));
	client_fail_all(s, text);
	engine_kill(s->engine);
}

static void note_id(void *arg)
{
	struct cover *c = arg;

	c->id = id_of(c);
}

/* Between its making and this look git of the host may meet it; nobody gets to try again. */
static int put_away(struct supervisor *s, const char *path, struct err *err)
{
	if (s->pointers_away++ > 0)
		return err_set(err, EEXIST, "it leads elsewhere, and for the second time");
	return git_cover_put_away(s, path, err);
}

/*
 * While the host had no `.git` there, the agent could make one, and git of the host does what is in
 * it. The same text as before leads to the user's own git directory, whoever wrote it.
 */
static int judge_pointer(struct supervisor *s, struct cover *c, int parent, struct err *err)
{
	cleanup_free char *now = read_pointer(parent, ".git");

	if (!is_dot_git(c) || (*now && streq(now, c->pointer)))
		return 0;
	return put_away(s, c->path, err);
}

/* The same in the place of a submodule that has no git directory. */
static int judge_place(struct supervisor *s, struct cover *c, int parent, struct err *err)
{
	cleanup_free char *name = path_join(path_base(c->path), ".git"),
			  *path = path_join(c->path, ".git");
	struct stat st;

	if (!gitlinks_is_cover(c->mount) || fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	return put_away(s, path, err);
}
static int settle(struct supervisor *s, struct cover *c, struct err *err)
{
	cleanup_fd int parent = open_parent(c);
	int r = parent < 0 ? err_sys(err, -parent, "cannot open its directory")
			   : judge_pointer(s, c, parent, err);

	if (r == 0)
		r = judge_place(s, c, parent, err);
	if (r == 0)
		r = cover_again(s->engine, c->mount, parent, c->path, note_id, c, err);
	if (r == 0)
		tell(s, c);
	if (r == -ENOENT)
		c->id = id_of(c);
	return r == -ENOENT ? 0 : r;
}

/* A directory that was moved takes what was mounted below it along. */
static bool needs_cover(const struct supervisor *s, size_t i, const bool *again)
{
	for (size_t k = 0; k < i; k++)
		if (again[k] && s->covers[k].mount->kind == SPEC_PIN &&
		    path_under(s->covers[i].path, s->covers[k].path))
			return id_of(&s->covers[i]).there;
	return is_replaced(&s->covers[i]);
}

static void settle_all(struct supervisor *s)
{
	cleanup_free bool *again = xcalloc(s->n_covers, sizeof(*again));
	struct err err = {0};
	size_t i;
	int r = 0;

	for (i = 0; r == 0 && i < s->n_covers; i++) {
		again[i] = needs_cover(s, i, again);
		if (again[i])
			r = settle(s, &s->covers[i], &err);
	}
	r = r < 0 ? r : cover_watch(s, &err);
	if (r < 0)
		give_up(s, &s->covers[i - 1], &err);
}

void cover_look(struct supervisor *s)
{
	struct err err = {0};
	size_t i = 0;

	while (i < s->n_covers && !is_replaced(&s->covers[i]))
		i++;
	if (s->state == SUP_ENDED || i == s->n_covers)
		return;
	if (engine_freeze(s->engine, &err) < 0) {
		give_up(s, &s->covers[i], &err);
		return;
	}
	settle_all(s);
	engine_thaw(s->engine);
}
