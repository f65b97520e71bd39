#include "repo/import/import.h"

#include <dirent.h>
#include <fcntl.h>
#include <git2/sys/odb_backend.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/landlock.h"
#include "base/parse.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/strv.h"
#include "repo/take-stream.h"
#include "repo/wide/wide.h"
#include "workspace/private/private-git.h"

#define PROGRESS_FD 4 /* optional */
#define PROGRESS_AFTER_MS 1000
#define PROGRESS_EVERY_MS 250
#define TIPS_SIZE_MAX (64 * MiB)
#define DATA_MAX ((rlim_t)2 * GiB) /* packs are mapped and do not count */
#define FILE_MAX ((rlim_t)8 * GiB)
#define CPU_MAX ((rlim_t)600) /* seconds */
#define QUARANTINE "ralph-in-"

void import_done(struct import *im)
{
	cleanup_free char *own = im->own ? path_join(im->git.dir, IMPORT_DIR) : NULL;
	struct err ignored;

	import_index_drop(im);
	import_release(im);
	free(im->borrowed);
	closep(&im->helper);
	if (own)
		(void)path_remove_tree(AT_FDCWD, own, &ignored);
	git_odb_free(im->received);
	git_odb_free(im->odb);
	git_repository_free(im->repo);
	wide_free(im->wide);
	if (im->quarantine)
		(void)path_remove_tree(AT_FDCWD, im->quarantine, &ignored);
	if (im->made) {
		cleanup_free char *modules = path_dir(im->made);

		(void)path_remove_tree(AT_FDCWD, im->made, &ignored);
		(void)rmdir(modules); /* it may have been made with it */
	}
	for (size_t i = 0; i < im->n_rows; i++) {
		free(im->rows[i].ref);
		free(im->rows[i].look);
	}
	for (size_t i = 0; i < im->n_tips; i++)
		free(im->tips[i].ref);
	free(im->rows);
	free(im->tips);
	free(im->quarantine);
	for (size_t i = 0; i < im->n_modules; i++)
		import_done(&im->modules[i]);
	free(im->modules);
	closep(&im->lock);
	free(im->made);
	free(im->module);
	free(im->below);
	free(im->told_state);
	free(im->settle_head);
	free(im->told_head);
	free(im->head);
	free(im->host_head);
	free(im->switch_to);
	gitdir_done(&im->git);
}

/* libgit2 must come to the directories that were found without it. */
static bool is_dir(const char *path, const char *want)
{
	cleanup_free char *real = path ? realpath(path, NULL) : NULL;

	return real && streq(real, want);
}

static int open_git(struct import *im, const char *path, struct err *err)
{
	bool wide;
	int r = wide_is(im->git.common, &wide, err);

	if (r == 0 && wide) {
		r = wide_open(path, &im->git, &im->repo, &im->wide, err);
		im->quarantine = r == 0 ? xstrdup(wide_quarantine(im->wide)) : NULL;
		return r;
	}
	if (r == 0 &&
	    git_repository_open_ext(&im->repo, path, GIT_REPOSITORY_OPEN_NO_SEARCH, NULL) < 0)
		r = gitlib_err(err, path);
	return r;
}

int import_open_dirs(struct import *im, const char *path, struct err *err)
{
	cleanup_git(config) git_config *config = NULL;
	git_buf value = {0};
	int r = open_git(im, path, err);

	if (r < 0)
		return r;
	if (git_repository_odb(&im->odb, im->repo) < 0 ||
	    git_repository_config_snapshot(&config, im->repo) < 0)
		return gitlib_err(err, path);
	if (!is_dir(git_repository_path(im->repo), im->git.dir) ||
	    !is_dir(git_repository_commondir(im->repo), im->git.common))
		return err_set(err, EXDEV, "'%s': its git directory is elsewhere", path);
	im->partial = git_config_get_string_buf(&value, config, "extensions.partialclone") == 0;
	git_buf_dispose(&value);
	return 0;
}

static int open_repository(struct import *im, const char *root, struct err *err)
{
	int r = gitdir_find(root, NULL, &im->git, err);

	if (r < 0)
		return r;
	if (!im->git.root || !streq(im->git.root, root))
		return err_set(err, ENOENT, "'%s' is not the top of a repository", root);
	return import_open_dirs(im, root, err);
}

/* One import at a time; the kernel gives the lock back whatever happens to us. */
static int lock_repository(const struct import *im, int *ret, struct err *err)
{
	int r;

	*ret = open(im->git.common, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (*ret < 0)
		return err_sys(err, errno, "cannot open '%s'", im->git.common);
	r = fd_lock(*ret, IMPORT_LOCK_MS);
	return r < 0 ? err_sys(err, -r, "cannot wait for another import into '%s'", im->git.common)
		     : 0;
}

static int add_told(struct import *im, const char *line)
{
	cleanup_free char *before = NULL;

	if (strncmp(line, "HEAD ", 5) == 0) {
		free(im->told_head);
		im->told_head = xstrdup(line + 5);
		return 1;
	}
	if (strncmp(line, "STATE ", 6) != 0)
		return 0;
	before = im->told_state;
	im->told_state = xasprintf("%s%s\n", before ? before : "", line);
	return 1;
}

static int add_tip(struct import *im, size_t *cap, const char *line)
{
	size_t n = import_hex_len(im);
	struct import_tip *t;

	if (add_told(im, line))
		return 0;
	if (strlen(line) <= n + 1 || line[n] != ' ')
		return 0; /* a comment, or what a tag stands for */
	if (im->n_tips == IMPORT_TIPS_MAX)
		return -E2BIG;
	if (im->n_tips == *cap) {
		*cap = *cap ? 2 * *cap : 64;
		im->tips = xrealloc(im->tips, *cap, sizeof(*im->tips));
	}
	t = &im->tips[im->n_tips];
	if (!import_oid(im, line, &t->oid))
		return -EINVAL;
	t->ref = xstrdup(line + n + 1);
	im->n_tips++;
	return 0;
}

static struct import *add_module(struct import *im, const char *path)
{
	struct import *m;

	if (im->n_modules == IMPORT_MODULES_MAX)
		return NULL;
	if (!im->modules)
		im->modules = xcalloc(IMPORT_MODULES_MAX, sizeof(*im->modules));
	m = &im->modules[im->n_modules++];
	*m = (struct import){.name = im->name,
			     .when = im->when,
			     .named = im->named,
			     .helper = -1,
			     .lock = -1,
			     .module = xstrdup(path)};
	return m;
}

static int compare_tips(const void *a, const void *b)
{
	return strcmp(((const struct import_tip *)a)->ref, ((const struct import_tip *)b)->ref);
}

static void sort_tips(struct import *im)
{
	if (im->n_tips)
		qsort(im->tips, im->n_tips, sizeof(*im->tips), compare_tips);
}

/* As they were told when the private directory was made: a packed-refs file, and HEAD. */
int import_read_tips(struct import *im, struct err *err)
{
	struct import *to = im;
	cleanup_buf struct buf b;
	size_t cap = 0;
	int r;

	buf_init(&b, TIPS_SIZE_MAX);
	r = fd_read_all(IMPORT_TIPS_FD, &b);
	(void)close(IMPORT_TIPS_FD);
	for (char *line = b.data, *end; r == 0 && line && (end = strchr(line, '\n'));
	     line = end + 1) {
		*end = '\0';
		if (strncmp(line, "MODULE ", 7) != 0) {
			r = add_tip(to, &cap, line);
			continue;
		}
		sort_tips(to);
		to = add_module(im, line + 7);
		cap = 0;
		r = to ? 0 : -E2BIG;
	}
	if (r < 0)
		return err_sys(err, -r, "cannot read what the sandbox was told");
	sort_tips(to);
	return 0;
}

static int add_borrowed(const struct import *im, struct strv *ret)
{
	cleanup_free char *objects = path_join(im->git.common, "objects");

	return git_objects_all(objects, ret);
}

static int allow_files(const struct import *im)
{
	cleanup_strv struct strv borrowed = {0};
	struct landlock l;
	int r = add_borrowed(im, &borrowed);

	for (size_t i = 0; r == 0 && i < im->n_modules; i++)
		r = im->modules[i].repo ? add_borrowed(&im->modules[i], &borrowed) : 0;

	if (r == 0)
		r = landlock_begin(&l, landlock_abi(),
				   LANDLOCK_NO_ABSTRACT_SOCKETS | LANDLOCK_NO_SIGNALS);
	if (r < 0)
		return r;
	r = landlock_allow(&l, im->git.common, LANDLOCK_WRITE);
	if (r == 0)
		r = landlock_allow(&l, im->git.dir, LANDLOCK_WRITE);
	if (r == 0 && im->fresh)
		r = landlock_allow(&l, im->git.root, LANDLOCK_WRITE);
	for (size_t i = 0; r == 0 && i < borrowed.n; i++)
		r = landlock_allow(&l, borrowed.v[i], LANDLOCK_READ);
	if (r < 0) {
		landlock_end(&l);
		return r;
	}
	return landlock_enforce(&l);
}

static int lower_limit(int resource, rlim_t max)
{
	struct rlimit l;

	if (getrlimit((__rlimit_resource_t)resource, &l) < 0)
		return -errno;
	l.rlim_max = l.rlim_max < max ? l.rlim_max : max;
	l.rlim_cur = l.rlim_cur < max ? l.rlim_cur : max;
	return setrlimit((__rlimit_resource_t)resource, &l) < 0 ? -errno : 0;
}

/* From here on this process has the repository and the stream, and nothing else. */
int import_confine(struct import *im, struct err *err)
{
	static const struct {
		int resource;
		rlim_t max;
	} limits[] = {
		{RLIMIT_CORE, 0},
		{RLIMIT_CPU, CPU_MAX},
		{RLIMIT_FSIZE, FILE_MAX},
#if !defined(__SANITIZE_ADDRESS__) /* ASan's shadow memory exceeds this limit */
		{RLIMIT_DATA, DATA_MAX},
#endif
	};
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(limits); i++)
		r = lower_limit(limits[i].resource, limits[i].max);
	/* A file that becomes too large is an error, as a disk that is full. */
	(void)signal(SIGXFSZ, SIG_IGN);
	if (r == 0 && prctl(PR_SET_DUMPABLE, 0) < 0)
		r = -errno;
	if (r == 0)
		r = allow_files(im);
	return r < 0 ? err_sys(err, -r, "cannot confine the import") : 0;
}

/* What a killed import left; the lock of the repository is ours. */
static void remove_leftovers(const struct import *im)
{
	cleanup_free char *objects = path_join(im->git.common, "objects");
	DIR *d = opendir(objects);
	struct dirent *de;
	struct err ignored;

	while (d && (de = readdir(d)))
		if (strncmp(de->d_name, QUARANTINE, strlen(QUARANTINE)) == 0 &&
		    !(im->quarantine && streq(de->d_name, path_base(im->quarantine))))
			(void)path_remove_tree(dirfd(d), de->d_name, &ignored);
	if (d)
		(void)closedir(d);
}

static int make_quarantine(struct import *im, struct err *err)
{
	cleanup_free char *objects = path_join(im->git.common, "objects"), *pack = NULL;
	int r;

	if (im->quarantine)
		return 0;
	im->quarantine = xasprintf("%s/" QUARANTINE "XXXXXX", objects);
	if (!mkdtemp(im->quarantine)) {
		r = err_sys(err, errno, "cannot create '%s'", im->quarantine);
		free(take_ptr(im->quarantine));
		return r;
	}
	pack = path_join(im->quarantine, "pack");
	if (mkdir(pack, 0755) < 0)
		return err_sys(err, errno, "cannot create '%s'", pack);
	return git_odb_add_disk_alternate(im->odb, im->quarantine) < 0
		       ? gitlib_err(err, "cannot read the objects")
		       : 0;
}

/* The pack alone, as a store of its own. */
static int open_received(struct import *im, struct err *err)
{
	cleanup_free char *path = xasprintf("%s/pack/pack-%s.idx", im->quarantine, im->pack);
	git_odb_backend *backend = NULL;

	if (im->wide)
		return wide_received(im->wide, im->pack, &im->received, err);
	if (git_odb_refresh(im->odb) < 0 || git_odb_new(&im->received) < 0 ||
	    git_odb_backend_one_pack(&backend, path) < 0 ||
	    git_odb_add_backend(im->received, backend, 1) < 0)
		return gitlib_err(err, "cannot read the received objects");
	return 0;
}

/* Every reference names something that is there, branches a commit. */
static int check_rows(const struct import *im, struct err *err)
{
	for (size_t i = 0; i < im->n_rows; i++) {
		git_object_t type;
		size_t size;

		if (git_odb_read_header(&size, &type, im->odb, &im->rows[i].inside) < 0 ||
		    (im->rows[i].kind == IMPORT_BRANCH && type != GIT_OBJECT_COMMIT))
			return err_set(err, EPROTO, "'%s' of the sandbox names no commit",
				       im->rows[i].ref);
	}
	return 0;
}

void import_progress(struct import *im, const char *what, size_t done, size_t total)
{
	uint64_t now = now_ms();

	if (!im->began_ms)
		im->began_ms = now;
	if (now < im->began_ms + PROGRESS_AFTER_MS || now < im->told_ms + PROGRESS_EVERY_MS)
		return;
	im->told_ms = now;
	/* A caller that does not listen is not waited for. */
	if (fcntl(PROGRESS_FD, F_SETFL, O_WRONLY | O_NONBLOCK) == 0)
		(void)dprintf(PROGRESS_FD, "%s %zu %zu\n", what, done, total);
}

static int on_progress(const git_indexer_progress *p, void *arg)
{
	import_progress(arg, "receive", p->received_objects, p->total_objects);
	return 0;
}

static sigjmp_buf no_room;

static void on_bus(int sig)
{
	siglongjmp(no_room, sig);
}

/* libgit2 writes a pack to mapped memory: a full disk is a signal there, and not an error. */
static int write_pack(struct import *im, struct repo_stream *s, struct err *err)
{
	cleanup_free char *pack = path_join(im->quarantine, "pack");
	const struct sigaction act = {.sa_handler = on_bus};
	struct sigaction old;
	git_oid name;
	int r;

	s->progress = on_progress;
	s->arg = im;
	if (im->wide)
		return wide_take_pack(im->wide, s, im->pack, err);
	(void)sigaction(SIGBUS, &act, &old);
	if (sigsetjmp(no_room, 1) == 0)
		r = repo_stream_pack(s, im->odb, pack, &name, err);
	else
		r = err_set(err, ENOSPC, "cannot write the objects: no space left on device");
	(void)sigaction(SIGBUS, &old, NULL);
	if (r > 0)
		(void)git_oid_tostr(im->pack, GIT_OID_HEXSZ + 1, &name);
	return r;
}

static int take_pack(struct import *im, struct repo_stream *s, struct err *err)
{
	int r = make_quarantine(im, err);

	if (r == 0)
		r = write_pack(im, s, err);
	if (r > 0) {
		r = open_received(im, err);
		if (r == 0)
			r = import_check(im, err);
	}
	return r == 0 ? check_rows(im, err) : r;
}

int import_prepare(struct import *im, const char **ret_why, struct err *err)
{
	if (git_oid_equal(&im->host_tip, &im->next_tip) || git_repository_is_bare(im->repo))
		return 0;
	return import_index_prepare(im, ret_why, err);
}

/* The current branch waits where the user's index cannot follow. */
static int prepare_index(struct import *im, struct err *err)
{
	struct import_row *current = import_current(im);
	const char *why = NULL;
	int r = import_prepare(im, &why, err);

	if (r != -EBUSY)
		return r;
	if (current) {
		current->verdict = BRANCH_HOLD;
		current->why = why;
	}
	im->again = true;
	if (im->switch_to)
		im->head_why = why;
	current = im->switch_to && !im->head ? import_find_row(im, "HEAD") : NULL;
	if (current) {
		current->verdict = BRANCH_HOLD;
		current->why = why;
	}
	free(take_ptr(im->switch_to));
	im->next_tip = im->host_tip;
	return 0;
}

/* What the user's branch did not have; of a new branch, what the current one does not have. */
static json_int_t count_new(const struct import *im, const struct import_row *row)
{
	const git_oid *base = git_oid_is_zero(&row->host) ? &im->host_tip : &row->host;
	size_t ahead = 0, behind = 0;

	if (row->kind != IMPORT_BRANCH || row->verdict == BRANCH_SAME ||
	    row->verdict == BRANCH_SYNC || git_oid_is_zero(base) ||
	    git_graph_ahead_behind(&ahead, &behind, im->repo, &row->inside, base) < 0)
		return 0;
	return (json_int_t)ahead;
}

static void put_row(const struct import *im, const struct import_row *row, json_t *out)
{
	static const char *const how[] = {
		[BRANCH_TAKE] = "forward",
		[BRANCH_REWRITE] = "rewrite",
	};
	cleanup_free char *held = import_own_name(im, "", row->ref);
	struct import_hex hex;
	json_t *j = json_pack("{so ss sI}", "ref", json_text(row->ref), "oid",
			      import_hex(im, &row->inside, &hex), "commits", count_new(im, row));

	if (import_is_taken(row)) {
		(void)json_object_set_new(j, "how", json_string(how[row->verdict]));
		(void)json_array_append_new(json_object_get(out, "taken"), j);
	} else if (row->verdict == BRANCH_HOLD) {
		(void)json_object_set_new(j, "as", json_text(held));
		(void)json_object_set_new(j, "why", json_string(row->why));
		(void)json_object_set_new(j, "new", json_boolean(!row->was_held));
		(void)json_array_append_new(json_object_get(out, "held"), j);
	} else {
		json_decref(j);
	}
}

static void put_answer(const struct import *im, json_t *out)
{
	(void)json_object_set_new(out, "taken", json_array());
	(void)json_object_set_new(out, "held", json_array());
	for (size_t i = 0; i < im->n_rows; i++)
		put_row(im, &im->rows[i], out);
	if (im->again)
		(void)json_object_set_new(out, "again", json_true());
	if (im->switch_to)
		(void)json_object_set_new(out, "head", json_text(im->switch_to));
	if (im->head_why)
		(void)json_object_set_new(out, "head_held",
					  json_pack("{so ss}", "ref",
						    json_text(im->head ? im->head : "HEAD"), "why",
						    im->head_why));
}

int import_open(struct import *im, const char *root, int *ret_lock, struct err *err)
{
	int r = open_repository(im, root, err);

	if (r == 0)
		r = lock_repository(im, ret_lock, err);
	return r == 0 ? import_git_start(im, err) : r;
}

/* One that is not there is made when commits come for it. */
static int open_module(struct import *m, const struct import *top, struct err *err)
{
	cleanup_free char *dir = path_join(top->git.dir, m->module);
	const char *root;
	size_t n;
	int r;

	if (!is_dir(dir, dir))
		return 0;
	m->git.dir = xstrdup(dir);
	m->git.common = xstrdup(dir);
	r = import_open_dirs(m, dir, err);
	root = r == 0 ? git_repository_workdir(m->repo) : NULL;
	n = root ? strlen(root) : 0;
	m->git.root = root ? xstrndup(root, n && root[n - 1] == '/' ? n - 1 : n) : xstrdup(dir);
	if (path_under(m->git.root, top->git.root))
		m->below = xstrdup(m->git.root + strlen(top->git.root) + 1);
	if (r == 0)
		r = lock_repository(m, &m->lock, err);
	return r == 0 ? import_git_start(m, err) : r;
}

int import_receive(struct import *im, struct repo_stream *s, struct buf *line, int r,
		   struct err *err)
{
	r = import_take_lines(im, s, line, r, err);
	return r == 0 && im->n_rows ? take_pack(im, s, err) : r;
}

/* Everything of one repository, from the first line of its stream on. */
static int take_one(struct import *im, struct repo_stream *s, struct buf *line, int r, json_t *out,
		    struct err *err)
{
	while (r > 0 && strncmp(buf_str(line), "LFS ", 4) == 0) {
		r = import_take_lfs(im, s, line->data + 4, err);
		if (r < 0)
			return r;
		r = repo_stream_line(s, line);
	}
	r = import_receive(im, s, line, r, err);
	if (r == 0)
		r = import_plan(im, err);
	if (r == 0)
		r = import_move_lfs(im, err);
	if (r == 0)
		r = import_move_objects(im, err);
	if (r == 0)
		r = prepare_index(im, err);
	if (r == 0)
		r = import_move(im, err);
	if (r == 0)
		put_answer(im, out);
	return r;
}

static struct import *find_module(const struct import *im, const char *path)
{
	for (size_t i = 0; i < im->n_modules; i++)
		if (streq(im->modules[i].module, path))
			return &im->modules[i];
	return NULL;
}

/* "LENGTH PATH" */
static int take_module(struct import *im, struct repo_stream *s, const char *line, json_t *out,
		       struct err *err)
{
	const char *space = strchr(line, ' ');
	cleanup_free char *digits = xstrndup(line, space ? (size_t)(space - line) : 0);
	struct import *m = space ? find_module(im, space + 1) : NULL;
	cleanup_json json_t *answer = json_object();
	cleanup_buf struct buf first;
	uint64_t n;
	int r = 0;

	buf_init(&first, REPO_LINE_MAX);
	/* One that comes twice has its rows already. */
	if (!m || m->rows || parse_uint(digits, 0, REPO_PACK_MAX, &n) < 0)
		return err_set(err, EPROTO, "what git in the sandbox says cannot be understood");
	if (s->total + n > REPO_PACK_MAX)
		return err_set(err, EFBIG, "there is more new data than is taken over");
	repo_stream_enter(s, n);
	if (!m->repo)
		r = import_new_module(m, im, err);
	if (r == 0) {
		r = repo_stream_line(s, &first);
		r = take_one(m, s, &first, r, answer, err);
		(void)json_object_set_new(answer, "module", json_text(m->module));
		if (r == 0 && m->n_rows)
			(void)json_array_append(json_object_get(out, "modules"), answer);
	}
	if (m->made)
		r = import_end_module(m, im, r, err);
	if (r < 0)
		return err_wrap(err, r, "submodule");
	return repo_stream_leave(s) < 0 ? err_set(err, EPROTO, "the stream is cut off") : 0;
}

/* Submodules first: a commit that names theirs comes after them. */
static int take_stream(struct import *im, json_t *out, struct err *err)
{
	struct repo_stream *s = repo_stream_new(STDIN_FILENO);
	cleanup_buf struct buf line;
	int r, rc = 0;

	buf_init(&line, REPO_LINE_MAX);
	if (im->n_modules)
		(void)json_object_set_new(out, "modules", json_array());
	while (rc == 0 && (r = repo_stream_line(s, &line)) > 0 &&
	       strncmp(buf_str(&line), "MODULE ", 7) == 0)
		rc = take_module(im, s, line.data + 7, out, err);
	if (rc == 0)
		rc = take_one(im, s, &line, r, out, err);
	free(s);
	return rc;
}

int import_open_modules(struct import *im, struct err *err)
{
	const struct private_git_input in = {.git = &im->git, .run = PRIVATE_GIT_RUN};
	struct private_git *plan = xcalloc(1, sizeof(*plan));
	int r = private_git_plan(&in, plan, err);

	for (size_t i = 0; r == 0 && i < plan->n_modules; i++) {
		struct import *m = add_module(im, plan->modules[i].name);

		r = m ? open_module(m, im, err)
		      : err_set(err, E2BIG, "the repository has more than %d submodules",
				IMPORT_MODULES_MAX);
	}
	private_git_done(plan);
	free(plan);
	return r;
}

/* With SHA-256 it takes processes that can be started only now; import_done() removes what is not needed. */
static int make_module_ahead(struct import *m, const struct import *top, struct err *err)
{
	struct err odd;

	return !m->repo && top->wide && import_check_module(m, top, &odd) == 0
		       ? import_new_module(m, top, err)
		       : 0;
}

static int open_all(struct import *im, const char *root, int *ret_lock, struct err *err)
{
	int r = import_open(im, root, ret_lock, err);

	if (r == 0)
		r = import_read_tips(im, err);
	for (size_t i = 0; r == 0 && i < im->n_modules; i++)
		r = open_module(&im->modules[i], im, err);
	for (size_t i = 0; r == 0 && i < im->n_modules; i++)
		r = make_module_ahead(&im->modules[i], im, err);
	return r;
}

static int recover_all(struct import *im, struct err *err)
{
	int r = import_recover(im, err);

	if (r == 0) {
		remove_leftovers(im);
		import_release_left(im);
	}
	if (r == 0)
		import_drop_modules(im);
	for (size_t i = 0; r == 0 && i < im->n_modules; i++)
		if (im->modules[i].repo)
			r = recover_all(&im->modules[i], err);
	return r;
}

int import_begin(struct import *im, struct err *err)
{
	int r = import_confine(im, err);

	return r == 0 ? recover_all(im, err) : r;
}

int import_take(struct import *im, json_t *out, struct err *err)
{
	int r = import_begin(im, err);

	return r == 0 ? take_stream(im, out, err) : r;
}

void import_close_rest(void)
{
	static const int keep[] = {IMPORT_TIPS_FD, PROGRESS_FD};

	fd_close_rest(keep, ARRAY_SIZE(keep));
}

int import_run(const struct import_input *in, enum import_when when, json_t *out, struct err *err)
{
	cleanup_(import_done) struct import im = {
		.name = in->name, .named = &in->named, .when = when, .helper = -1, .lock = -1};
	cleanup_fd int lock = -1;
	int r;

	import_close_rest();
	r = open_all(&im, in->root, &lock, err);
	return r == 0 ? import_take(&im, out, err) : r;
}
