#include "work/turn.h"

#include <fcntl.h>
#include <string.h>

#include "base/fd.h"
#include "base/path.h"
#include "work/prd.h"
#include "work/shared-file.h"
#include "work/progress.h"

#define COPY_MODE 0644
/* A worktree's .ralph may lack a .gitignore, so the agent's directory has its own: it must never
 * be committed. */
#define IGNORE_ALL WORK_AGENT_DIR "/.gitignore"

void turns_done(struct work *w)
{
	for (size_t i = 0; i < w->n_turns; i++) {
		buf_done(&w->turns[i].copy);
		buf_done(&w->turns[i].progress);
	}
	free(w->turns);
	w->turns = NULL;
	w->n_turns = 0;
}

/* Returns the turn in this root, a new empty one if needed. */
static struct turn *turn_in(struct work *w, int root)
{
	struct turn *t = NULL;

	for (size_t i = 0; !t && i < w->n_turns; i++)
		if (w->turns[i].root == root)
			t = &w->turns[i];
	if (!t) {
		w->turns = xrealloc(w->turns, w->n_turns + 1, sizeof(*w->turns));
		t = &w->turns[w->n_turns++];
		*t = (struct turn){.root = root};
		buf_init(&t->copy, WORK_FILE_MAX);
		buf_init(&t->progress, WORK_PROGRESS_MAX);
	}
	return t;
}

static int agents_root(const struct work *w, int root)
{
	return root < 0 ? w->root : root;
}

/* Reads the host's progress.txt; a missing file counts as empty. */
static int read_log(const struct work *w, struct buf *ret, struct err *err)
{
	enum shared_file_state s = shared_file_read(w->root, w->from->log, ret);

	if (s == SHARED_FILE_READ || s == SHARED_FILE_GONE)
		return 0;
	return err_usage(err, "%s: %s; it must be a plain file of at most %zu KiB", w->from->log,
			 shared_file_what(s), (size_t)WORK_PROGRESS_MAX / KiB);
}

static int keep(const struct work *w, const char *path, const struct buf *b, struct err *err)
{
	return shared_file_put(w->state, path, b->data, b->len, 0600, err);
}

/* Copies the user's files before the turn is marked as open: until then they are the user's. */
static int keep_reached(const struct work *w, struct err *err)
{
	cleanup_buf struct buf text, log;
	int r = 0;

	buf_init(&text, WORK_FILE_MAX);
	buf_init(&log, WORK_PROGRESS_MAX);
	if (w->from->reach) {
		if (shared_file_read(w->root, w->from->rel, &text) != SHARED_FILE_READ)
			return err_usage(err, "%s: cannot be read any more", w->source);
		r = keep(w, KEPT_SOURCE, &text, err);
	}
	if (r == 0 && w->from->log_reach) {
		r = read_log(w, &log, err);
		if (r == 0)
			r = keep(w, KEPT_PROGRESS, &log, err);
	}
	return r;
}

int work_begin_all(struct work *w, struct task *const *t, size_t n, struct err *err)
{
	struct err why = {0};
	int r;

	for (size_t i = 0; i < n; i++) {
		t[i]->state = TASK_BUSY;
		t[i]->attempts++;
	}
	r = work_save(w, err);
	if (r == 0 && w->from->gh && gh_status(w->from->gh, "in-progress", &why) < 0)
		strv_pushf(&w->news, "%s could not be labelled: %s", w->source, why.msg);
	return r;
}

int work_begin(struct work *w, struct task *t, struct err *err)
{
	return work_begin_all(w, &t, 1, err);
}

int turn_source(struct work *w, struct buf *text, struct listing *l, struct err *err)
{
	if (!w->from->reach || !w->open)
		return source_read(w->from, w->root, text, l, err);
	if (shared_file_read(w->state, KEPT_SOURCE, text) != SHARED_FILE_READ)
		return err_set(err, EIO, "'%s' cannot be read any more", KEPT_SOURCE);
	return w->from->format->read(w->source, buf_str(text), text->len, l, err);
}

static int log_now(struct work *w, struct buf *text, struct err *err)
{
	if (!w->from->log_reach || !w->open)
		return read_log(w, text, err);
	if (shared_file_read(w->state, KEPT_PROGRESS, text) != SHARED_FILE_READ)
		return err_set(err, EIO, "'%s' cannot be read any more", KEPT_PROGRESS);
	return 0;
}

/* Opens the turn in the workspace itself. */
static int expose(struct work *w, struct err *err)
{
	int r = work_save(w, err); /* creates the directories */

	if (r == 0)
		r = keep_reached(w, err);
	if (r < 0)
		return r;
	for (size_t i = 0; !w->open && i < w->n; i++)
		if (w->tasks[i]->state == TASK_BUSY)
			w->open = xstrdup(w->tasks[i]->id);
	if (!w->open)
		w->open = xstrdup("");
	return work_save(w, err);
}

/* Removes the copies of an earlier sandbox when the list itself is the copy: the agent must not
 * see two. */
static int drop_copies(const struct work *w, int to, struct err *err)
{
	cleanup_fd int dir = -1;

	if (!w->shared || !w->from->reach || !w->from->log_reach)
		return 0;
	dir = path_open_beneath(to, WORK_DIR, O_RDONLY | O_DIRECTORY, 0);
	return dir < 0 ? 0 : path_remove_tree(dir, path_base(WORK_AGENT_DIR), err);
}

int work_put_copy(struct work *w, int root, struct err *err)
{
	cleanup_listing struct listing l = {0};
	struct turn *t = turn_in(w, root);
	int to = agents_root(w, root), r = 0;

	buf_clear(&t->copy);
	buf_clear(&t->progress);
	if (root < 0 && !w->open)
		r = expose(w, err);
	if (r == 0)
		r = turn_source(w, &t->copy, &l, err);
	if (r == 0)
		r = log_now(w, &t->progress, err);
	if (r == 0)
		r = drop_copies(w, to, err);
	if (r == 0 && (!w->from->reach || !w->from->log_reach))
		r = shared_file_put(to, IGNORE_ALL, "*\n", 2, COPY_MODE, err);
	if (r == 0)
		r = shared_file_put(to, w->from->copy, t->copy.data, t->copy.len,
				    shared_file_mode(to, w->from->copy, COPY_MODE), err);
	if (r == 0)
		r = shared_file_put(to, w->from->progress, t->progress.data, t->progress.len,
				    shared_file_mode(to, w->from->progress, COPY_MODE), err);
	return r;
}

/* Returns true when the file can be judged. A missing or odd file is an offence. */
static bool fetch(int root, const char *path, struct buf *ret, struct proposals *p)
{
	enum shared_file_state s = shared_file_read(root, path, ret);

	if (s == SHARED_FILE_READ)
		return true;
	proposals_offence(p, "%s %s; it was put back", path, shared_file_what(s));
	return false;
}

static bool same(const struct buf *a, const struct buf *b)
{
	return a->len == b->len && (a->len == 0 || memcmp(a->data, b->data, a->len) == 0);
}

/* Applies the moved values to the current source, and writes it. */
static int take_over(struct work *w, const struct task *t, const struct proposals *p,
		     struct err *err)
{
	cleanup_listing struct listing l = {0};
	cleanup_buf struct buf text, new;
	int r;

	buf_init(&text, WORK_FILE_MAX);
	buf_init(&new, WORK_FILE_MAX);
	if (p->moved.n == 0)
		return 0;
	r = turn_source(w, &text, &l, err);
	if (r == 0)
		r = w->from->format->apply(text.data, text.len, t->id, p, &new);
	/* The user removed the task or broke the file, so the values cannot be applied. */
	if (r < 0)
		return 0;
	if (w->from->reach && w->open)
		return keep(w, KEPT_SOURCE, &new, err);
	r = source_write(w->from, w->root, &new, err);
	if (r < 0 && w->from->gh) {
		strv_pushf(&w->news, "%s could not be written: %s", w->source, err->msg);
		return 0;
	}
	return r;
}

static void push_value(struct proposals *p, const char *key, json_t *value)
{
	char *text = json_dumps(value, JSON_ENCODE_ANY);

	json_decref(value);
	strv_push(&p->moved, key);
	strv_push(&p->moved_to, text ? text : "null");
	free(text);
}

int work_review(struct work *w, const struct task *t, enum review_status status, uint64_t count,
		const char *feedback, struct err *err)
{
	const char *name = review_status_name(status);
	cleanup_proposals struct proposals p = {0};

	if (w->kind != WORK_PRD)
		return 0;
	push_value(&p, PRD_REVIEW_STATUS, name ? json_string(name) : json_null());
	push_value(&p, PRD_REVIEW_COUNT, json_integer((json_int_t)count));
	push_value(&p, PRD_REVIEW_FEEDBACK, feedback ? json_text(feedback) : json_null());
	return take_over(w, t, &p, err);
}

static int judge_copy(struct work *w, struct task *t, struct turn *turn, int root,
		      struct proposals *p, struct err *err)
{
	cleanup_buf struct buf theirs;
	size_t before = p->n_offences;
	int r;

	buf_init(&theirs, WORK_FILE_MAX);
	if (fetch(root, w->from->copy, &theirs, p) && !same(&turn->copy, &theirs)) {
		w->from->format->judge(buf_str(&turn->copy), turn->copy.len, buf_str(&theirs),
				       theirs.len, t->id, p);
		if (p->n_offences > before)
			kept_aside(w->state, w->from->copy, &theirs);
	}
	r = take_over(w, t, p, err);
	if (r == 0 && p->notes) {
		free(t->notes);
		t->notes = xstrdup(p->notes);
	}
	return r;
}

static int judge_progress(struct work *w, struct turn *turn, int root, struct proposals *p,
			  struct err *err)
{
	cleanup_buf struct buf theirs, now, new;
	size_t before = p->n_offences;
	int r;

	buf_init(&theirs, WORK_PROGRESS_MAX);
	buf_init(&now, WORK_PROGRESS_MAX);
	buf_init(&new, WORK_PROGRESS_MAX);
	if (!fetch(root, w->from->progress, &theirs, p))
		return 0;
	r = log_now(w, &now, err);
	if (r < 0 || same(&turn->progress, &theirs))
		return r;
	p->progressed = progress_judge(&turn->progress, &theirs, &now, &new, p);
	if (p->n_offences > before)
		kept_aside(w->state, w->from->progress, &theirs);
	if (!p->progressed)
		return 0;
	if (w->from->log_reach && w->open)
		return keep(w, KEPT_PROGRESS, &new, err);
	return shared_file_put(w->root, w->from->log, new.data, new.len,
			       shared_file_mode(w->root, w->from->log, COPY_MODE), err);
}

int work_proposals(struct work *w, struct task *t, int root, struct proposals *ret, struct err *err)
{
	struct turn *turn = turn_in(w, root);
	int to = agents_root(w, root);
	int r = judge_copy(w, t, turn, to, ret, err);

	if (r == 0)
		r = judge_progress(w, turn, to, ret, err);
	/* The copy is restored even when the agent's version could not be read. */
	return r < 0 ? r : work_put_copy(w, root, err);
}

static int restore(int root, int state, const char *kept, const char *path, struct err *err)
{
	cleanup_buf struct buf b;

	buf_init(&b, WORK_PROGRESS_MAX);
	if (!path || shared_file_read(state, kept, &b) != SHARED_FILE_READ)
		return 0;
	return shared_file_put(root, path, b.data, b.len, shared_file_mode(root, path, COPY_MODE),
			       err);
}

int turn_recover(int root, int state, const struct kept *k, struct strv *news, struct err *err)
{
	int r;

	if (!k->open)
		return 0;
	strv_pushf(news, "the turn on %s was cut short: what it left in its task file was put back",
		   k->open);
	r = restore(root, state, KEPT_SOURCE, k->reach, err);
	return r < 0 ? r : restore(root, state, KEPT_PROGRESS, k->log_reach, err);
}

int turn_close(struct work *w, struct err *err)
{
	int r = 0;

	if (!w->open)
		return 0;
	if (w->from->reach)
		r = restore(w->root, w->state, KEPT_SOURCE, w->from->rel, err);
	if (r == 0 && w->from->log_reach)
		r = restore(w->root, w->state, KEPT_PROGRESS, w->from->log, err);
	if (r < 0)
		return r;
	free(w->open);
	w->open = NULL;
	return work_save(w, err);
}
