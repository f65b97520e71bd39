/*
 * What a node sends of its logs: the output of its iterations and checks, and the conversations of its
 * agents. All of it is hostile: names are those of a table, files are made here, within bounds, and no link
 * is followed. Values that home knows to be secret are overwritten before anything reads a file.
 *
 * Output lies in .ralph/logs/placed/RECORD until its iteration is counted, and then gets the loop's number
 * (worker.c). Conversations lie in the record's home of a worker, as an agent of this machine would have
 * left them: from there they are copied to the project's home, and exported, as those of any worker.
 */
#include "loop/placed/placed.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/path.h"
#include "live/autosave.h"
#include "live/export-names.h"
#include "live/home-keep.h"
#include "loop/report/report.h"
#include "record/home.h"
#include "record/store.h"

#define STAGE "placed" /* in .ralph/logs */
#define FILES_MAX 4000 /* of one worker */
#define BYTES_MAX (2048 * MiB)
#define SECRET_MIN 6 /* shorter values are in any text */

int placed_logs_stage(const struct worker *w)
{
	cleanup_free char *name = placed_record_name(w),
			  *path = name ? xasprintf(STAGE "/%s/x", name) : NULL;

	return path ? path_make_parents(w->l->logs, path, 0700) : -ENOENT;
}

/* iteration-001.jsonl, iteration-001.stderr, verify-001.jsonl */
static bool is_output(const char *name)
{
	const char *number = strncmp(name, "iteration-", 10) == 0 ? name + 10
			     : strncmp(name, "verify-", 7) == 0	  ? name + 7
								  : NULL;
	size_t n = number ? strspn(number, "0123456789") : 0;

	return n >= 3 && n <= 9 &&
	       (streq(number + n, ".jsonl") || (name[0] == 'i' && streq(number + n, ".stderr")));
}

static int open_home(const struct placed *p)
{
	cleanup_store struct store_entry e = STORE_ENTRY_INIT;
	struct err ignored;

	if (!p->home ||
	    store_open(&p->w->l->q.places, p->home->spec->name, false, &e, &ignored) < 0)
		return -ENOENT;
	(void)mkdirat(e.dir, HOME_OF_WORKER, 0700);
	return path_open_beneath(e.dir, HOME_OF_WORKER, O_RDONLY | O_DIRECTORY, 0);
}

/* -errno: what comes is passed over. */
static int open_file(struct placed *p, const char *name)
{
	bool said = strncmp(name, FLEET_LOG_HOME, strlen(FLEET_LOG_HOME)) == 0;
	const char *rel = said ? name + strlen(FLEET_LOG_HOME) : name;
	cleanup_fd int root = said ? open_home(p) : placed_logs_stage(p->w), dir = -1;
	int fd;

	if (!said && !is_output(name))
		return -EINVAL;
	dir = root < 0 ? root : path_make_parents(root, rel, 0700);
	if (dir < 0)
		return dir;
	(void)unlinkat(dir, path_base(rel), 0);
	fd = openat(dir, path_base(rel), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0 && said)
		strv_push(&p->home->said, rel);
	return fd < 0 ? -errno : fd;
}

/* In place: a file keeps its length, and JSON stays JSON. */
static void hide_secrets(const struct loop *l, int fd)
{
	cleanup_strv struct strv values = {0};
	struct stat st;
	char *text, *at;

	secret_values(l->build.spec, &values);
	if (values.n == 0 || fstat(fd, &st) < 0 || st.st_size == 0)
		return;
	text = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (text == MAP_FAILED) {
		/* What could not be looked through is not shown. */
		if (ftruncate(fd, 0) < 0)
			log_warn("loop", "a file of a node is not looked through: %s",
				 strerror(errno));
		return;
	}
	for (size_t i = 0; i < values.n; i++) {
		size_t n = strlen(values.v[i]);

		if (n < SECRET_MIN)
			continue;
		for (at = text; (at = memmem(at, (size_t)(text + st.st_size - at), values.v[i], n));
		     at += n)
			memset(at, '*', n);
	}
	(void)munmap(text, (size_t)st.st_size);
}

static void close_file(struct placed *p)
{
	if (p->log >= 0)
		hide_secrets(p->w->l, p->log);
	closep(&p->log);
}

static void begin_file(struct placed *p, const struct fleet_msg *m)
{
	cleanup_free char *name = xstrndup(m->data, m->len);

	if (!fleet_log_path_valid(m->data, m->len)) {
		stream_lost(p->s, "it sends a file whose name is none");
		return;
	}
	p->in_log = m->more;
	if (m->more && p->log_files++ < FILES_MAX)
		p->log = open_file(p, name);
	p->log_bytes = 0;
}

void placed_log(struct placed *p, const struct fleet_msg *m)
{
	if (!p->in_log) {
		begin_file(p, m);
		return;
	}
	p->log_bytes += m->len;
	p->log_total += m->len;
	if (p->log_bytes > FLEET_LOG_MAX) {
		stream_lost(p->s, "it sends a file that is too long");
		return;
	}
	if (p->log >= 0 && m->len &&
	    (p->log_total > BYTES_MAX || fd_write_all(p->log, m->data, m->len) < 0))
		close_file(p); /* what came of it stays */
	if (m->more)
		return;
	close_file(p);
	p->in_log = false;
}

void placed_logs_end(struct placed *p)
{
	close_file(p);
}

/* ---- when an iteration is counted ---- */

/* An export takes the name that held when a file was last changed: now. */
static void touch(const struct placed *p, const char *rel)
{
	cleanup_fd int root = open_home(p);
	cleanup_fd int fd = root < 0 ? -1 : path_open_beneath(root, rel, O_RDONLY, 0);

	if (fd >= 0)
		(void)futimens(fd, NULL);
}

void placed_logs_count(struct placed *p, size_t records)
{
	struct loop *l = p->w->l;
	cleanup_free char *record = NULL, *name = NULL;
	json_t *last = json_array_get(l->state.records, json_array_size(l->state.records) - 1);
	struct err err = {0};

	if (!p->home || p->home->said.n == 0 || records == 0 || !last)
		return;
	record = store_record(&l->q.places, p->home->spec->name);
	name = transcripts_path(l, p->w->task, l->state.iterations);
	if (export_names_add(record, name) == 0)
		(void)json_object_set_new(last, "transcript", json_text(name));
	for (size_t i = 0; i < p->home->said.n; i++)
		touch(p, p->home->said.v[i]);
	strv_done(&p->home->said);
	strv_init(&p->home->said);
	if (home_keep(&l->q.places, record, p->home->spec, &err) < 0)
		log_warn("loop", "%s", err.msg);
	(void)autosave_start(&l->q.places, record, p->home->spec, NULL, &err);
}

void placed_logs_clear(const struct worker *w)
{
	cleanup_free char *name = placed_record_name(w),
			  *path = name ? xasprintf(STAGE "/%s", name) : NULL;
	struct err ignored;

	if (path)
		(void)path_remove_tree(w->l->logs, path, &ignored);
	(void)unlinkat(w->l->logs, STAGE, AT_REMOVEDIR);
}
