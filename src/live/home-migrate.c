#include "live/home-migrate.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/path.h"
#include "live/autosave.h"
#include "live/conversations.h"
#include "live/dead.h"
#include "live/home-keep.h"
#include "record/connect.h"
#include "record/home.h"
#include "record/record.h"

#define DONE "migrated" /* in homes: no record has a home of its own any more */
#define LOCK_MS 5000
#define SPEC_TEXT_MAX (4 * MiB)

struct old_home {
	struct store_entry e; /* with both locks */
	char *path;
	uint64_t used;
	bool piped;
};

struct migration {
	const struct places *p;
	const struct store_entry *own;
	const struct sandbox_spec *spec;
	struct old_home *v;
	size_t n;
	bool others; /* some other project, or a running sandbox, has old homes */
};

static void migration_done(struct migration *m)
{
	for (size_t i = 0; i < m->n; i++) {
		store_close(&m->v[i].e);
		free(m->v[i].path);
	}
	free(m->v);
}

static bool has_old_home(int record)
{
	struct stat st;

	return fstatat(record, "home", &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

/* A spec is compact JSON of ralph's own: a string that looks like a key would have its quotes
 * escaped. Parsing all specs of all projects would take too long for each start. */
static bool spec_has(const struct buf *text, const char *key, const char *value)
{
	cleanup_free char *member = xasprintf("\"%s\":\"%s\"", key, value);

	return text->len && memmem(text->data, text->len, member, strlen(member));
}

static bool is_own(const struct migration *m, const char *name)
{
	return m->own && streq(m->own->name, name);
}

static bool is_live(const struct places *p, const char *name)
{
	cleanup_fd int conn = -1;
	struct err ignored;

	return live_connect_any(p, name, &conn, &ignored) < 0 || conn >= 0;
}

static int lock_record(const struct migration *m, struct store_entry *e, struct err *err)
{
	int r = is_live(m->p, e->name)
			? err_set(err, EBUSY,
				  "sandbox '%s' is running with a home of its own, from before "
				  "homes belonged to projects; run: ralph stop %s",
				  e->name, e->name)
			: store_lock(m->p, e, LOCK_MS, err);

	if (r == 0)
		r = store_lock_live(m->p, e, LOCK_MS, err);
	if (r == 0 && store_was_killed(e))
		dead_clear(m->p, e);
	return r;
}

static void add(struct migration *m, struct store_entry *e, const struct buf *text)
{
	struct record_facts facts = {0};
	struct old_home *h;
	struct err ignored;

	m->v = xrealloc(m->v, m->n + 1, sizeof(*m->v));
	h = &m->v[m->n++];
	*h = (struct old_home){.e = *e};
	*e = (struct store_entry)STORE_ENTRY_INIT;
	h->path = xasprintf("%s/sandboxes/%s/home", m->p->state, h->e.name);
	h->piped = spec_has(text, "way", "pipe");
	if (record_look(m->p, h->e.name, &facts, &ignored) == 0)
		h->used = facts.used;
	record_done(&facts);
}

/* -EBUSY: it is the project's, and running. */
static int look(struct migration *m, const char *name, struct err *err)
{
	cleanup_store struct store_entry e = STORE_ENTRY_INIT;
	cleanup_buf struct buf text;
	struct err ignored;
	int r;

	buf_init(&text, SPEC_TEXT_MAX);
	if (store_open(m->p, name, false, &e, &ignored) < 0 || !has_old_home(e.dir))
		return 0;
	(void)path_read(e.dir, "spec.json", &text);
	if (!is_own(m, name) && !spec_has(&text, "instance", m->spec->instance)) {
		m->others = true;
		return 0;
	}
	r = is_own(m, name) ? 0 : lock_record(m, &e, err);
	if (r == -ESTALE || (r == 0 && !has_old_home(e.dir)))
		return 0;
	if (r == 0)
		add(m, &e, &text);
	return r;
}

/* A sandbox that runs keeps its home until the next time, unless the project has none yet. */
static int find(struct migration *m, bool has_home, struct err *err)
{
	cleanup_strv struct strv names = {0};
	int r = store_names(m->p, &names, err);

	for (size_t i = 0; r == 0 && i < names.n; i++) {
		r = look(m, names.v[i], err);
		if (r < 0 && has_home) {
			m->others = true;
			r = 0;
		}
	}
	return r;
}

static const struct old_home *newest(const struct migration *m)
{
	const struct old_home *best = NULL;

	for (size_t i = 0; i < m->n; i++)
		if (!best || m->v[i].used > best->used ||
		    (m->v[i].used == best->used && is_own(m, m->v[i].e.name)))
			best = &m->v[i];
	return best;
}

static void link_home(const struct migration *m, const struct old_home *h)
{
	home_link(&h->e, m->spec->home_key);
}

static int adopt(const struct migration *m, const struct old_home *h, struct err *err)
{
	cleanup_free char *home = home_path(m->p, m->spec->home_key),
			  *record = store_record(m->p, h->e.name);

	if (rename(h->path, home) < 0)
		return err_sys(err, errno, "cannot move '%s' to '%s'", h->path, home);
	autosave_adopt(m->p, record, m->spec);
	link_home(m, h);
	return 0;
}

static int take_rest(const struct migration *m, const struct old_home *h, int home, struct err *err)
{
	cleanup_fd int from = open(h->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	cleanup_free char *old = NULL, *record = store_record(m->p, h->e.name);
	struct conversations tally;
	int r;

	if (from < 0)
		return err_sys(err, errno, "cannot open '%s'", h->path);
	r = conversations_take(from, home, true, &tally, err);
	if (r == 0)
		autosave_take_known(m->p, record, m->spec);
	if (r == 0 && rmdir(h->path) < 0) /* nothing is left in it */
		r = home_put_old(m->p, h->path, h->e.name, &old, err);
	if (r < 0)
		return r;
	link_home(m, h);
	if (old)
		log_info("home", "what the project's home did not need of '%s' is in '%s'",
			 h->e.name, old);
	return 0;
}

static int take_others(const struct migration *m, const struct old_home *but, struct err *err)
{
	cleanup_free char *path = home_path(m->p, m->spec->home_key);
	cleanup_fd int home = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int r = home < 0 ? err_sys(err, errno, "cannot open '%s'", path) : 0;

	for (size_t i = 0; r == 0 && i < m->n; i++)
		if (&m->v[i] != but)
			r = take_rest(m, &m->v[i], home, err);
	return r;
}

static void mark_piped(const struct migration *m)
{
	cleanup_free char *mark = home_beside(m->p, m->spec->home_key, "piped");
	bool piped = false;

	for (size_t i = 0; i < m->n; i++)
		piped = piped || m->v[i].piped;
	if (piped)
		(void)path_write_atomic(AT_FDCWD, mark, "", 0, 0600, 0);
}

static int migrate(struct migration *m, bool has_home, struct err *err)
{
	const struct old_home *best = has_home ? NULL : newest(m);
	int r;

	if (m->n == 0)
		return 0;
	mark_piped(m);
	r = best ? adopt(m, best, err) : 0;
	return r < 0 ? r : take_others(m, best, err);
}

int home_migrate(const struct places *p, const struct store_entry *own,
		 const struct sandbox_spec *spec, struct err *err)
{
	cleanup_(migration_done) struct migration m = {.p = p, .own = own, .spec = spec};
	cleanup_free char *done = home_path(p, DONE), *home = home_path(p, spec->home_key);
	struct stat st;
	bool has_home = lstat(home, &st) == 0;
	int r;

	if (lstat(done, &st) == 0 && !(own && has_old_home(own->dir)))
		return 0;
	r = find(&m, has_home, err);
	if (r == 0)
		r = migrate(&m, has_home, err);
	if (r == 0 && !m.others)
		(void)path_write_atomic(AT_FDCWD, done, "", 0, 0600, 0);
	return r;
}
