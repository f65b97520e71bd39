#include "work/draft.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/path.h"
#include "work/shared-file.h"
#include "work/source.h"
#include "work/work-state.h"

/* This file names the list that the agent can write while it plans; KEPT_SOURCE is a copy of the
 * list from before. */
#define KEPT_DRAFT "draft"

static const char empty_prd[] = "{\n"
				"  \"project\": \"\",\n"
				"  \"branchName\": \"\",\n"
				"  \"description\": \"\",\n"
				"  \"verifyCommands\": [],\n"
				"  \"userStories\": []\n"
				"}\n";

struct draft {
	int root, state;
	bool shared;
	struct source *from;
	bool is_new;	/* there was no list before */
	struct buf put; /* the text that the agent was given */
};

struct draft *draft_free(struct draft *d)
{
	if (!d)
		return NULL;
	closep(&d->root);
	closep(&d->state);
	(void)source_free(d->from);
	buf_done(&d->put);
	free(d);
	return NULL;
}

const char *draft_path(const struct draft *d)
{
	return d->from->copy;
}

void draft_agents_own(const struct draft *d, struct strv *ret)
{
	if (!d->from->reach)
		strv_push(ret, WORK_AGENT_DIR);
	else if (path_under(d->from->rel, WORK_DIR))
		strv_push(ret, d->from->rel);
}

void draft_brief(const struct draft *d, struct buf *ret)
{
	(void)buf_printf(
		ret,
		"The list of work is `%s`. Write it there, and nowhere else%s. Mark nothing "
		"as done.\n",
		d->from->copy,
		d->from->kind == WORK_PRD
			? ": `userStories`, each with `id`, `title`, `description`, "
			  "`acceptanceCriteria` (a list), `verifyCommands` (a list), "
			  "`dependsOn` (a list of ids), `priority` (1 comes first) and "
			  "`passes` (false)"
			: ": boxes `- [ ] title`, or headings `### Step 1: title`");
}

int draft_recover(int root, int state, struct strv *news, struct err *err)
{
	cleanup_buf struct buf name, text;
	int r = 0;

	buf_init(&name, 4 * KiB);
	buf_init(&text, WORK_FILE_MAX);
	if (state < 0 || shared_file_read(state, KEPT_DRAFT, &name) != SHARED_FILE_READ)
		return 0;
	if (shared_file_read(state, KEPT_SOURCE, &text) == SHARED_FILE_READ)
		r = shared_file_put(root, buf_str(&name), text.data, text.len,
				    shared_file_mode(root, buf_str(&name), 0644), err);
	if (r < 0)
		return r;
	strv_pushf(news, "planning was cut short: %s was put back", buf_str(&name));
	return path_remove_tree(state, KEPT_DRAFT, err);
}

/* The user's list is copied before the agent can reach it. */
static int keep(struct draft *d, struct err *err)
{
	int r = kept_places(d->root, &d->state, err);

	if (r == 0 && d->from->reach)
		r = shared_file_put(d->state, KEPT_SOURCE, d->put.data, d->put.len, 0600, err);
	if (r == 0 && d->from->reach)
		r = shared_file_put(d->state, KEPT_DRAFT, d->from->rel, strlen(d->from->rel), 0600,
				    err);
	return r;
}

static int find(struct draft *d, const char *workspace, const char *source, struct err *err)
{
	cleanup_kept struct kept k = {0};
	int r = kept_read(d->state, &k, err);

	if (r == 0)
		r = source_find(workspace, d->root, d->shared, source ? source : k.source, &d->from,
				err);
	if (r == -ENOENT && !source) {
		d->is_new = true;
		return source_new(WORK_DIR "/prd.json", d->shared, &d->from);
	}
	return r;
}

/* A list that does not parse is accepted here: planning may repair it. */
static int read_put(struct draft *d, struct err *err)
{
	if (d->is_new)
		return buf_puts(&d->put, empty_prd);
	if (d->from->gh)
		return gh_read(d->from->gh, &d->put, err);
	return source_text(d->from, d->root, &d->put, err);
}

int draft_put(const struct work_where *at, const char *source, struct draft **ret, struct err *err)
{
	cleanup_(draft_freep) struct draft *d = xcalloc(1, sizeof(*d));
	cleanup_free char *real = NULL;
	cleanup_strv struct strv ignored = {0};
	int r;

	d->root = d->state = -1;
	d->shared = at->shared;
	buf_init(&d->put, WORK_FILE_MAX);
	r = path_real(at->workspace, &real, err);
	if (r < 0)
		return r;
	d->root = open(real, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (d->root < 0)
		return err_sys(err, errno, "cannot open '%s'", real);
	d->state = at->state >= 0 ? fcntl(at->state, F_DUPFD_CLOEXEC, 0) : -1;
	r = kept_places(d->root, &d->state, err);
	if (r == 0)
		r = draft_recover(d->root, d->state, &ignored, err);
	if (r == 0)
		r = find(d, real, source, err);
	if (r == 0)
		r = read_put(d, err);
	if (r == 0)
		r = keep(d, err);
	if (r == 0)
		r = shared_file_put(d->root, d->from->copy, d->put.data, d->put.len, 0644, err);
	if (r < 0)
		return r;
	*ret = take_ptr(d);
	return 0;
}

static bool was_done(const struct listing *was, const struct task *t)
{
	const struct task *old = listing_find(was, t->id);

	return old && old->said == TASK_DONE && streq(old->fingerprint, t->fingerprint);
}

/* Removes done marks that the agent added: only the host may mark a task as done. */
static int take_back_marks(const struct draft *d, const struct listing *was,
			   const struct listing *is, struct buf *text, struct proposals *p)
{
	for (size_t i = 0; i < is->n; i++) {
		struct task t = {.id = is->tasks[i]->id, .state = TASK_READY};
		struct buf new;

		if (is->tasks[i]->said != TASK_DONE || was_done(was, is->tasks[i]))
			continue;
		proposals_offence(p, "%.80s was marked as done in a plan; the mark was taken out",
				  t.id);
		buf_init(&new, WORK_FILE_MAX);
		if (d->from->format->mark(text->data, text->len, &t, &new) < 0) {
			buf_done(&new);
			return -EINVAL;
		}
		buf_done(text);
		*text = new;
	}
	return 0;
}

/* True when *text is a list that ralph can accept. */
static bool judge(struct draft *d, struct buf *text, struct proposals *p)
{
	cleanup_listing struct listing was = {0}, is = {0};
	struct err why = {0};

	(void)d->from->format->read("", buf_str(&d->put), d->put.len, &was, &why);
	if (d->from->format->read(d->from->name, buf_str(text), text->len, &is, &why) < 0) {
		proposals_offence(p, "the new list cannot be read, and was put back: %s", why.msg);
		return false;
	}
	for (size_t i = 0; i < was.n; i++)
		if (was.tasks[i]->said == TASK_DONE && !listing_find(&is, was.tasks[i]->id))
			proposals_offence(p, "%.80s, which is done, is no longer in the plan",
					  was.tasks[i]->id);
	return take_back_marks(d, &was, &is, text, p) == 0;
}

static int write_source(struct draft *d, const struct buf *text, struct err *err)
{
	int r;

	if (d->is_new)
		r = shared_file_put(d->root, d->from->rel, text->data, text->len, 0644, err);
	else
		r = source_write(d->from, d->root, text, err);
	if (r == 0)
		r = shared_file_put(d->root, d->from->copy, text->data, text->len,
				    shared_file_mode(d->root, d->from->copy, 0644), err);
	return r;
}

int draft_take(struct draft *d, struct proposals *ret, struct err *err)
{
	cleanup_buf struct buf theirs;
	bool taken = false, same;
	enum shared_file_state s;
	int r;

	buf_init(&theirs, WORK_FILE_MAX);
	s = shared_file_read(d->root, d->from->copy, &theirs);
	same = s == SHARED_FILE_READ && theirs.len == d->put.len &&
	       (theirs.len == 0 || memcmp(theirs.data, d->put.data, theirs.len) == 0);
	if (s != SHARED_FILE_READ)
		proposals_offence(ret, "%s %s; it was put back", d->from->copy,
				  shared_file_what(s));
	else if (!same)
		taken = judge(d, &theirs, ret);
	if (s == SHARED_FILE_READ && !same && !taken)
		kept_aside(d->state, d->from->copy, &theirs);
	if (taken)
		r = write_source(d, &theirs, err);
	else
		r = shared_file_put(d->root, d->from->copy, d->put.data, d->put.len,
				    shared_file_mode(d->root, d->from->copy, 0644), err);
	if (r == 0)
		r = path_remove_tree(d->state, KEPT_DRAFT, err);
	return r < 0 ? r : taken;
}
