/* What a task is told, and the commits that it starts from. */
#include "loop/placed/placed.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/path.h"
#include "compose/cred-place.h"
#include "loop/placed/placed-config.h"
#include "repo/send/repo-pack.h"

#define PROMPT_MAX (1 * MiB)
#define PEM_MAX (1 * MiB)

/* The pack of the commit that most workers start from is made once. */
struct placed_base {
	char commit[REPO_OID_LEN + 1];
	int fd;
	uint64_t bytes;
	char sum[SHA256_DIGEST_STRING_LENGTH];
};

static void base_free(struct placed_base *b)
{
	if (!b)
		return;
	closep(&b->fd);
	free(b);
}

void placed_forget_base(struct loop *l)
{
	base_free(take_ptr(l->placed_base));
}

static int sum_of(struct placed_base *b, struct err *err)
{
	SHA256_CTX sum;
	char piece[32 * KiB];
	off_t at = 0;
	ssize_t n;

	SHA256Init(&sum);
	while ((n = pread(b->fd, piece, sizeof(piece), at)) > 0) {
		SHA256Update(&sum, (const uint8_t *)piece, (size_t)n);
		at += n;
	}
	if (n < 0)
		return err_sys(err, errno, "cannot read the pack of a task");
	b->bytes = (uint64_t)at;
	(void)SHA256End(&sum, b->sum);
	return 0;
}

static int make_base(struct loop *l, const char *commit, struct err *err)
{
	struct placed_base *b = xcalloc(1, sizeof(*b));
	int r;

	(void)snprintf(b->commit, sizeof(b->commit), "%s", commit);
	b->fd = openat(l->place.state, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	r = b->fd < 0 ? err_sys(err, errno, "cannot make a file for the pack of a task")
		      : repo_pack_commit(l->repo, commit, b->fd, err);
	if (r == 0)
		r = sum_of(b, err);
	if (r < 0) {
		base_free(b);
		return r;
	}
	placed_forget_base(l);
	l->placed_base = b;
	return 0;
}

const char *placed_start(const struct worker *w)
{
	return w->checkpoint ? w->checkpoint : w->base;
}

static int open_pack(struct placed *p, struct err *err)
{
	struct loop *l = p->w->l;
	const char *commit = placed_start(p->w);
	int r = 0;

	if (!l->placed_base || !streq(l->placed_base->commit, commit))
		r = make_base(l, commit, err);
	if (r < 0)
		return r;
	p->pack = fcntl(l->placed_base->fd, F_DUPFD_CLOEXEC, 3);
	if (p->pack < 0)
		return err_sys(err, errno, "cannot read the pack of a task");
	p->pack_at = 0;
	p->pack_bytes = l->placed_base->bytes;
	(void)snprintf(p->pack_sum, sizeof(p->pack_sum), "%s", l->placed_base->sum);
	return 0;
}

int placed_go(struct placed *p)
{
	const struct fleet_pack_end end = {.lease = p->w->lease,
					   .head = placed_start(p->w),
					   .since = "",
					   .sha256 = p->pack_sum,
					   .bytes = p->pack_bytes};

	p->state = PLACED_WORKS;
	return fleet_put_json(&p->s->to, FLEET_GO, p->slot, fleet_pack_end_json(&end));
}

/* ---- TASK ---- */

/* The user's own prompt, which may be uncommitted. NULL: there is none. */
static char *prompt_of(const struct loop *l)
{
	static const char *const names[] = {"PROMPT_build.md", "prompt.md"};
	cleanup_buf struct buf b;
	int r = -ENOENT;

	buf_init(&b, PROMPT_MAX);
	if (l->q.prompt)
		r = path_read(AT_FDCWD, l->q.prompt, &b);
	for (size_t i = 0; !l->q.prompt && r < 0 && i < ARRAY_SIZE(names); i++)
		r = path_read(l->dir, names[i], &b);
	return r < 0 ? NULL : xstrdup(buf_str(&b));
}

static json_t *request_of(const struct worker *w)
{
	static const char *const own[] = {"workspace", "tasks",	  "prompt",    "parent", "tested",
					  "settings",  "sandbox", "kept_mode", "direct"};
	static const char *const off[] = {"stash", "worktree", "push", "color"};
	json_t *doc = json_deep_copy(w->l->q.doc);

	for (size_t i = 0; i < ARRAY_SIZE(own); i++)
		(void)json_object_del(doc, own[i]);
	for (size_t i = 0; i < ARRAY_SIZE(off); i++)
		(void)json_object_set_new(doc, off[i], json_false());
	(void)json_object_set_new(doc, "direct", json_false());
	(void)json_object_set_new(doc, "mode", json_string("build"));
	(void)json_object_set_new(doc, "branch", json_text(w->branch));
	(void)json_object_set_new(doc, "parallel", json_integer(1));
	(void)json_object_set_new(doc, "json", json_true());
	return doc;
}

/* The node's gateway sends its requests to home's, which has the origin, and rows with addresses of their own. */
static void used_at_home(json_t *row)
{
	json_t *requests = json_object_get(row, "requests"), *one;
	size_t i;

	(void)json_object_del(row, "origin");
	(void)json_object_set_new(row, "dial", json_string("home"));
	json_array_foreach (requests, i, one) {
		const char *text = json_string_value(one), *url = strstr(text, " https://");

		if (url)
			(void)json_array_set_new(requests, i,
						 json_stringn(text, (size_t)(url - text)));
	}
}

/* The user's own trust for its origin, as text: the file is here. */
static void put_trust(json_t *row, const struct spec_credential *c)
{
	cleanup_buf struct buf b;

	buf_init(&b, PEM_MAX);
	if (c->ca_file && path_read(AT_FDCWD, c->ca_file, &b) == 0)
		(void)json_object_set_new(row, "ca", json_text(buf_str(&b)));
}

/* A place of a credential is this machine's, and home's alone. */
static json_t *credentials_of(const struct loop *l)
{
	cleanup_json json_t *all = l->build.spec ? spec_credentials_to_json(l->build.spec) : NULL;
	json_t *rows = json_deep_copy(json_object_get(all, "credentials")), *row;
	size_t i;

	if (!json_is_array(rows)) {
		json_decref(rows);
		return json_array();
	}
	json_array_foreach (rows, i, row) {
		const struct spec_credential *c = spec_credential_find(
			l->build.spec, json_string_value(json_object_get(row, "name")));

		(void)json_object_del(row, "source");
		(void)json_object_del(row, "ca_file");
		if (cred_place(c, l->placement) == CRED_PLACE_HOME)
			used_at_home(row);
		else
			put_trust(row, c);
	}
	return rows;
}

static char *config_of(const struct loop *l)
{
	cleanup_strv struct strv left = {0};
	char *text = placed_config(l->config, &left);

	for (size_t i = 0; i < left.n; i++)
		log_debug("loop", "the variable %s stays here", left.v[i]);
	return text;
}

int placed_task(struct placed *p, struct err *err)
{
	struct worker *w = p->w;
	const struct loop *l = w->l;
	cleanup_free char *config = config_of(l), *prompt = prompt_of(l);
	cleanup_json json_t *flags = json_array(), *list = worker_list(w), *request = request_of(w),
			    *credentials = credentials_of(l);
	struct place_words words;
	struct fleet_task t = {
		.lease = w->lease,
		.epoch = w->epoch,
		.task = w->task->id,
		.base = w->base,
		.start = placed_start(w),
		.branch = w->branch,
		.author_name = l->git_name,
		.author_email = l->git_email,
		.config = config,
		.flags = flags,
		.list = list,
		.prompt = prompt,
		.request = request,
		.credentials = credentials,
		.egress = l->placement->egress ? l->placement->egress : "node",
	};
	int r = open_pack(p, err);

	placed_words(w, l->placement, &words);
	t.loop = words.loop;
	t.task = words.task;
	worker_limits(w, flags);
	if (r < 0)
		return r;
	if (!config)
		return err_set(err, EFBIG, "the settings are too long for a worker elsewhere");
	r = fleet_put_json(&p->s->to, FLEET_TASK, p->slot, fleet_task_json(&t));
	if (r < 0)
		return err_set(err, -r, "the task is too long for a worker elsewhere");
	p->state = PLACED_SENDS;
	return 0;
}
