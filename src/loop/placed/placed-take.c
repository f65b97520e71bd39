/*
 * What a node did becomes the loop's. The pack goes through the import of private git directories
 * (docs/internals/private-git.md): a confined process that checks every object, and holds what came
 * below refs/ralph/fleet.LEASE. Then the loop's own checks of an agent's commits follow, with what only
 * home knows. Only then the task's branch points to it. A sandbox's name has no point in it.
 */
#include "loop/placed/placed.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "live/autosave.h"
#include "loop/tree/may-change.h"
#include "repo/send/repo-pack.h"

#define ANSWER_MAX (1 * MiB)
#define TIPS_FD 3
#define WHY_MAX (8 * KiB)

static char *held_name(const char *lease)
{
	return xasprintf("fleet.%.16s", lease);
}

static int place_tips(void *arg)
{
	return dup2(*(const int *)arg, TIPS_FD) < 0 ? -errno : 0;
}

/* Runs `repo ARG…`; -EIO with what it says where it fails. */
static int run_repo(const struct loop *l, const struct strv *args, int in, struct err *err)
{
	cleanup_free char *program = places_program(&l->q.places, "repo"), *out = NULL;
	cleanup_strv struct strv argv = {0};
	cleanup_fd int tips = fd_memfd("tips", "", 0);
	struct run run = RUN_INIT;
	int code = 0, r;

	if (tips < 0)
		return err_sys(err, -tips, "cannot create a memory file");
	strv_push(&argv, program);
	strv_extend(&argv, args);
	run.argv = argv.v;
	run.dir = "/";
	run.flags = RUN_DIE_WITH_US | RUN_NEW_SESSION;
	run.stdio[0] = in;
	run.before_exec = place_tips;
	run.arg = &tips;
	r = run_collect(&run, PLACED_TAKE_MS, ANSWER_MAX, &out, &code, err);
	if (r < 0)
		return r;
	return code ? err_set(err, EIO, "git objects from a node are refused") : 0;
}

/* The lines of an export, as git in a sandbox would write them, and then the pack. */
static int make_stream(const struct worker *w, struct spool *s, const char *head, struct err *err)
{
	cleanup_free char *lines =
		xasprintf("HEAD refs/heads/%s\n%s refs/heads/%s\n\n", w->branch, head, w->branch);
	int from = spool_pack(s), to = openat(s->dir, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	char piece[32 * KiB];
	ssize_t n = 0;
	int r = to < 0 ? -errno : fd_write_all(to, lines, strlen(lines));

	while (r == 0 && from >= 0 && (n = read(from, piece, sizeof(piece))) > 0)
		r = fd_write_all(to, piece, (size_t)n);
	if (r == 0 && n < 0)
		r = -errno;
	if (r == 0 && lseek(to, 0, SEEK_SET) < 0)
		r = -errno;
	if (r < 0) {
		closep(&to);
		return err_sys(err, -r, "cannot write what a node sends");
	}
	return to;
}

static int import_pack(const struct worker *w, struct spool *s, const char *head, struct err *err)
{
	cleanup_free char *name = held_name(s->lease);
	cleanup_strv struct strv args = {0};
	cleanup_fd int stream = make_stream(w, s, head, err);

	if (stream < 0)
		return stream;
	strv_push(&args, "import");
	strv_push(&args, repo_root(w->l->repo));
	strv_push(&args, name);
	strv_push(&args, "hold");
	return run_repo(w->l, &args, stream, err);
}

/* What cannot be removed now does no harm. */
void placed_drop_held(const struct worker *w, const char *lease)
{
	cleanup_free char *name = held_name(lease);
	cleanup_strv struct strv drop = {0}, forget = {0};
	struct err ignored;

	strv_push(&drop, "settle");
	strv_push(&drop, repo_root(w->l->repo));
	strv_push(&drop, name);
	strv_push(&drop, "drop");
	strv_push(&drop, "");
	strv_push(&forget, "forget");
	strv_push(&forget, repo_root(w->l->repo));
	strv_push(&forget, name);
	(void)run_repo(w->l, &drop, -1, &ignored);
	(void)run_repo(w->l, &forget, -1, &ignored);
}

static char *findings_of(const struct repo_check_result *c, const struct strv *ours)
{
	struct buf b;

	buf_init(&b, WHY_MAX);
	(void)buf_puts(&b, "was not taken over from the node:");
	for (size_t i = 0; i < c->n_findings; i++)
		if (c->findings[i].severity == REPO_REJECT)
			(void)buf_printf(&b, "\n- %s", c->findings[i].text);
	for (size_t i = 0; i < ours->n; i++)
		(void)buf_printf(&b, "\n- '%s' is not yours to write", ours->v[i]);
	return buf_take(&b);
}

/* The checks of loop/commits.c, again: the node may not have made them, and does not know the user's
 * secrets. There is no working tree whose list it could have been given, so it may not change one. */
static int check(const struct worker *w, const char *head, char **ret_why, struct err *err)
{
	struct loop *l = w->l;
	cleanup_strv struct strv own = {0}, none = {0}, values = {0}, may = {0}, ours = {0},
				 differ = {0};
	cleanup_(repo_check_done) struct repo_check_result found = {0};
	const struct repo_rules rules = {.name = l->git_name,
					 .email = l->git_email,
					 .own = &none,
					 .may_change = &may,
					 .named = l->build.spec ? &l->build.spec->git.named : NULL,
					 .values = &values};
	int r;

	secret_values(l->build.spec, &values);
	loop_may_change(l, w->task->id, &may);
	work_own_paths(l->work, &own);
	r = repo_check(l->repo, w->base, head, &rules, &found, err);
	if (r == 0 && found.counts)
		r = repo_ours(l->repo, w->base, head, &own, &ours, &differ, err);
	if (r == 0 && (!found.counts || ours.n))
		*ret_why = findings_of(&found, &ours);
	return r;
}

bool placed_is_known(const struct worker *w, const char *head)
{
	return streq(head, w->base) || (w->checkpoint && streq(head, w->checkpoint));
}

int placed_take_commits(const struct worker *w, struct spool *s, const char *head, char **ret_why,
			struct err *err)
{
	int r = import_pack(w, s, head, err);

	*ret_why = NULL;
	if (r == 0)
		r = check(w, head, ret_why, err);
	if (r == 0 && !*ret_why)
		r = repo_branch_point(w->l->repo, w->branch, head, false, err);
	placed_drop_held(w, s->lease);
	return r;
}

void placed_took(struct worker *w, const char *head)
{
	if (placed_is_known(w, head))
		return;
	free(w->checkpoint);
	w->checkpoint = xstrdup(head);
	w->deaths = 0;
}

void placed_take_verdict(struct worker *w, const json_t *doc, char *why)
{
	w->code = (int)json_integer_value(json_object_get(doc, "code"));
	if (!why && w->code == LOOP_DONE && streq(placed_start(w), w->base))
		why = xstrdup("was said to be done, and no commit came with it");
	w->rejected = why != NULL;
	if (why) {
		free(w->why);
		w->why = why;
	}
}

int placed_take_spool(struct worker *w, struct spool *s, const json_t *doc, struct err *err)
{
	const char *head = json_string_value(json_object_get(json_object_get(doc, "end"), "head"));
	char *why = NULL;
	int r = 0;

	if (!head)
		return err_set(err, EPROTO, "a result without a commit");
	if (!placed_is_known(w, head))
		r = placed_take_commits(w, s, head, &why, err);
	if (r < 0)
		return r;
	if (!why)
		placed_took(w, head);
	placed_take_verdict(w, doc, why);
	return 0;
}
