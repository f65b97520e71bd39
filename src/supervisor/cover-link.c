/*
 * What is covered inside, read-only or hidden, is covered by a mount on one file. When a program of
 * the host puts another file in its place, as `git checkout`, `sed -i` and most editors do, the
 * kernel takes the mount away. The supervisor sees that, covers the new file, and makes sure that
 * nobody kept a descriptor that writes to it.
 */
#include "supervisor/supervisor.h"

#include <fcntl.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "workspace/fresh-copy.h"

#define TRIES 3 /* files that are replaced and opened again in between */
/* A program of the host that writes the new file, as `git checkout` does, is done by then. */
#define WRITER_MS 2000

struct cover {
	const struct spec_mount *mount;
	char *path; /* on the host */
	int parent; /* the directory that holds it, open from before anything ran */
	dev_t dev;
	ino_t ino; /* 0: it is not there */
	uint64_t
		due_ms; /* covered again, and somebody could still write to it: when to look; 0: not */
};

/* The writable mount that shows a path of the sandbox. */
static const struct spec_mount *shown_by(const struct sandbox_spec *spec, const char *target)
{
	const struct spec_mount *best = NULL;

	for (size_t i = 0; i < spec->n_mounts; i++)
		if (spec->mounts[i].kind == SPEC_BIND_RW &&
		    path_under(target, spec->mounts[i].target) &&
		    (!best || strlen(spec->mounts[i].target) > strlen(best->target)))
			best = &spec->mounts[i];
	return best;
}

static int open_parent(const struct spec_mount *shown, const char *path)
{
	cleanup_free char *dir = path_dir(path);
	cleanup_fd int root = open(shown->source, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	const char *rel = dir + strlen(shown->source);

	if (root < 0 || !path_under(dir, shown->source))
		return -EXDEV;
	return path_open_beneath(root, *rel ? rel + 1 : ".", O_RDONLY | O_DIRECTORY, 0);
}

static void note(struct cover *c)
{
	struct stat st;
	bool there = fstatat(c->parent, path_base(c->path), &st, AT_SYMLINK_NOFOLLOW) == 0;

	c->dev = there ? st.st_dev : 0;
	c->ino = there ? st.st_ino : 0;
}

/* A second name of a protected file would be a way to write it: the file gets an inode of its own. */
static int unshare(struct supervisor *s, const struct cover *c, struct err *err)
{
	int n = c->mount->kind == SPEC_PROTECT ? fresh_unshare(c->parent, path_base(c->path)) : 0;

	if (n < 0)
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
	const struct spec_mount *shown = shown_by(s->spec, m->target);
	struct cover c = {.mount = m, .parent = -1};
	int r;

	if (!shown)
		return 0;
	c.path = xasprintf("%s%s", shown->source, m->target + strlen(shown->target));
	c.parent = open_parent(shown, c.path);
	r = c.parent < 0 ? 0 : unshare(s, &c, err);
	if (c.parent < 0 || r < 0) {
		free(c.path);
		closep(&c.parent);
		return r;
	}
	note(&c);
	s->covers = xrealloc(s->covers, s->n_covers + 1, sizeof(c));
	s->covers[s->n_covers++] = c;
	return 0;
}

int cover_start(struct supervisor *s, struct err *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < s->spec->n_mounts; i++)
		if (s->spec->mounts[i].kind == SPEC_PROTECT || s->spec->mounts[i].kind == SPEC_HIDE)
			r = add(s, &s->spec->mounts[i], err);
	return r;
}

void cover_watch(struct supervisor *s)
{
	for (size_t i = 0; i < s->n_covers; i++) {
		char self[32];

		(void)snprintf(self, sizeof(self), "/proc/self/fd/%d", s->covers[i].parent);
		(void)inotify_add_watch(s->watch, self,
					IN_CREATE | IN_MOVED_TO | IN_DELETE | IN_ONLYDIR |
						IN_MASK_ADD);
	}
}

bool cover_cares(const struct supervisor *s, const char *name)
{
	for (size_t i = 0; i < s->n_covers; i++)
		if (streq(path_base(s->covers[i].path), name))
			return true;
	return false;
}

/* Whoever still has the file open for writing has had the time: from now on that is another file. */
static int cut_off(struct supervisor *s, struct cover *c, struct err *err)
{
	const char *name = path_base(c->path);
	int r = 0;

	for (int i = 0; r == 0 && i < TRIES && fresh_is_written(c->parent, name); i++) {
		r = fresh_copy(c->parent, name);
		if (r == -EINVAL || r == -ENOENT)
			return 0; /* a directory, or gone: there is nothing to be written */
		r = r < 0 ? err_sys(err, -r, "cannot replace '%s'", c->path)
			  : engine_protect(s->engine, c->mount->target, c->mount->kind == SPEC_HIDE,
					   err);
	}
	return r;
}

static void look_again(struct supervisor *s, struct cover *c)
{
	cleanup_free char *text = NULL;
	struct err err = {0};

	c->due_ms = 0;
	if (!fresh_is_written(c->parent, path_base(c->path)))
		return;
	text = cut_off(s, c, &err) < 0 ? xstrdup(err.msg)
				       : xasprintf("'%s' was replaced, and something that could "
						   "still write to it was "
						   "cut off; look at what is in it",
						   c->path);
	sup_event(s, "protect-again",
		  json_pack("{so so}", "path", json_text(c->path), "message", json_text(text)));
	client_notice_all(s, text);
	note(c);
}

static void cover_again(struct supervisor *s, struct cover *c)
{
	bool hide = c->mount->kind == SPEC_HIDE;
	cleanup_free char *text = NULL;
	struct err err = {0};

	if (engine_protect(s->engine, c->mount->target, hide, &err) == 0)
		text = xasprintf("'%s' was replaced while the sandbox runs; what is there now is "
				 "%s inside again",
				 c->path, hide ? "hidden" : "read-only");
	else
		text = xasprintf("'%s' was replaced while the sandbox runs, and the agent can "
				 "reach it: %s",
				 c->path, err.msg);
	sup_event(s, "protect-again", json_pack("{so}", "path", json_text(c->path)));
	client_notice_all(s, text);
	c->due_ms = now_ms() + WRITER_MS;
}

void cover_look(struct supervisor *s)
{
	for (size_t i = 0; s->state != SUP_ENDED && i < s->n_covers; i++) {
		struct cover *c = &s->covers[i];
		dev_t dev = c->dev;
		ino_t ino = c->ino;

		note(c);
		if (c->ino && (c->ino != ino || c->dev != dev))
			cover_again(s, c);
		else if (c->due_ms && c->due_ms <= now_ms())
			look_again(s, c);
	}
}

bool cover_is_due(const struct supervisor *s)
{
	for (size_t i = 0; i < s->n_covers; i++)
		if (s->covers[i].due_ms)
			return true;
	return false;
}

static void on_timer(struct ev *ev, struct ev_timer *t)
{
	struct supervisor *s = ev_owner(t, struct supervisor, cover_timer);

	if (s->state == SUP_UP)
		watch_look(s);
}

void cover_later(struct supervisor *s, bool is_due)
{
	s->cover_timer.fn = on_timer;
	if (is_due)
		ev_timer_set(s->ev, &s->cover_timer, WRITER_MS);
}
