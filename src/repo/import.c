#include "repo/import.h"

#include <dirent.h>
#include <fcntl.h>
#include <git2/sys/odb_backend.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/landlock.h"
#include "base/path.h"
#include "base/strv.h"
#include "repo/take-stream.h"
#include "workspace/private-git.h"

#define TIPS_SIZE_MAX (64 * MiB)
#define DATA_MAX ((rlim_t)2 * GiB) /* packs are mapped and do not count */
#define FILE_MAX ((rlim_t)8 * GiB)
#define CPU_MAX ((rlim_t)600) /* seconds */
#define QUARANTINE "ralph-in-"

void import_done(struct import *im)
{
	cleanup_free char *own = im->confined ? path_join(im->git.dir, IMPORT_DIR) : NULL;
	struct err ignored;

	import_index_drop(im);
	closep(&im->helper);
	if (own)
		(void)path_remove_tree(AT_FDCWD, own, &ignored);
	git_odb_free(im->received);
	git_odb_free(im->odb);
	git_repository_free(im->repo);
	if (im->quarantine)
		(void)path_remove_tree(AT_FDCWD, im->quarantine, &ignored);
	for (size_t i = 0; i < im->n_rows; i++)
		free(im->rows[i].ref);
	for (size_t i = 0; i < im->n_tips; i++)
		free(im->tips[i].ref);
	free(im->rows);
	free(im->tips);
	free(im->quarantine);
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

static int open_repository(struct import *im, const char *root, struct err *err)
{
	cleanup_git(config) git_config *config = NULL;
	git_buf value = {0};
	int r = gitdir_find(root, NULL, &im->git, err);

	if (r < 0)
		return r;
	if (!im->git.root || !streq(im->git.root, root))
		return err_set(err, ENOENT, "'%s' is not the top of a repository", root);
	if (git_repository_open_ext(&im->repo, root, GIT_REPOSITORY_OPEN_NO_SEARCH, NULL) < 0 ||
	    git_repository_odb(&im->odb, im->repo) < 0 ||
	    git_repository_config_snapshot(&config, im->repo) < 0)
		return gitlib_err(err, root);
	if (!is_dir(git_repository_path(im->repo), im->git.dir) ||
	    !is_dir(git_repository_commondir(im->repo), im->git.common))
		return err_set(err, EXDEV, "'%s': its git directory is elsewhere", root);
	im->partial = git_config_get_string_buf(&value, config, "extensions.partialclone") == 0;
	git_buf_dispose(&value);
	return 0;
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

static int add_tip(struct import *im, size_t *cap, const char *line)
{
	struct import_tip *t;

	if (strncmp(line, "HEAD ", 5) == 0) {
		free(im->told_head);
		im->told_head = strncmp(line + 5, "refs/", 5) == 0 ? xstrdup(line + 5) : NULL;
		return 0;
	}
	if (strlen(line) <= GIT_OID_HEXSZ + 1 || line[GIT_OID_HEXSZ] != ' ')
		return 0; /* a comment, or what a tag stands for */
	if (im->n_tips == IMPORT_TIPS_MAX)
		return -E2BIG;
	if (im->n_tips == *cap) {
		*cap = *cap ? 2 * *cap : 64;
		im->tips = xrealloc(im->tips, *cap, sizeof(*im->tips));
	}
	t = &im->tips[im->n_tips];
	if (git_oid_fromstrn(&t->oid, line, GIT_OID_HEXSZ) < 0)
		return -EINVAL;
	t->ref = xstrdup(line + GIT_OID_HEXSZ + 1);
	im->n_tips++;
	return 0;
}

static int compare_tips(const void *a, const void *b)
{
	return strcmp(((const struct import_tip *)a)->ref, ((const struct import_tip *)b)->ref);
}

/* As they were told when the private directory was made: a packed-refs file, and HEAD. */
static int read_tips(struct import *im, struct err *err)
{
	cleanup_buf struct buf b;
	size_t cap = 0;
	int r;

	buf_init(&b, TIPS_SIZE_MAX);
	r = fd_read_all(IMPORT_TIPS_FD, &b);
	(void)close(IMPORT_TIPS_FD);
	for (char *line = b.data, *end; r == 0 && line && (end = strchr(line, '\n'));
	     line = end + 1) {
		*end = '\0';
		r = add_tip(im, &cap, line);
	}
	if (r < 0)
		return err_sys(err, -r, "cannot read what the sandbox was told");
	if (im->n_tips)
		qsort(im->tips, im->n_tips, sizeof(*im->tips), compare_tips);
	return 0;
}

static int allow_files(const struct import *im)
{
	cleanup_free char *objects = path_join(im->git.common, "objects");
	cleanup_strv struct strv borrowed = {0};
	struct landlock l;
	int r = git_objects_all(objects, &borrowed);

	if (r == 0)
		r = landlock_begin(&l, landlock_abi(),
				   LANDLOCK_NO_ABSTRACT_SOCKETS | LANDLOCK_NO_SIGNALS);
	if (r < 0)
		return r;
	r = landlock_allow(&l, im->git.common, LANDLOCK_WRITE);
	if (r == 0)
		r = landlock_allow(&l, im->git.dir, LANDLOCK_WRITE);
	for (size_t i = 1; r == 0 && i < borrowed.n; i++)
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
	if (r == 0 && prctl(PR_SET_DUMPABLE, 0) < 0)
		r = -errno;
	if (r == 0)
		r = allow_files(im);
	im->confined = r == 0;
	return r < 0 ? err_sys(err, -r, "cannot confine the import") : 0;
}

static int kind_of(const char *ref)
{
	if (strncmp(ref, "refs/heads/", 11) == 0)
		return IMPORT_BRANCH;
	if (strncmp(ref, "refs/tags/", 10) == 0)
		return IMPORT_TAG;
	if (streq(ref, "refs/stash") || strncmp(ref, "refs/notes/", 11) == 0 || streq(ref, "HEAD"))
		return IMPORT_OTHER;
	return -EPROTO;
}

/* git itself makes no branch "HEAD" or "-x", which would be taken for something else. */
static bool is_name(enum import_kind kind, const char *ref)
{
	int valid = 0, r = 0;

	if (kind == IMPORT_BRANCH)
		r = git_branch_name_is_valid(&valid, ref + strlen("refs/heads/"));
	else if (kind == IMPORT_TAG)
		r = git_tag_name_is_valid(&valid, ref + strlen("refs/tags/"));
	else
		r = git_reference_name_is_valid(&valid, ref);
	return r == 0 && valid;
}

static int add_row(struct import *im, const char *oid, const char *ref)
{
	struct import_row row = {0};
	int kind = kind_of(ref);

	if (kind < 0 || strlen(oid) < GIT_OID_HEXSZ ||
	    git_oid_fromstrn(&row.inside, oid, GIT_OID_HEXSZ) < 0 || git_oid_is_zero(&row.inside) ||
	    !is_name((enum import_kind)kind, ref))
		return -EPROTO;
	if (im->n_rows == IMPORT_REFS_MAX)
		return -E2BIG;
	row.ref = xstrdup(ref);
	row.kind = (enum import_kind)kind;
	im->rows[im->n_rows++] = row;
	return 0;
}

static int take_line(struct import *im, const char *line)
{
	if (strncmp(line, "HEAD refs/heads/", 16) == 0) {
		if (im->head || !is_name(IMPORT_BRANCH, line + 5))
			return -EPROTO;
		im->head = xstrdup(line + 5);
		return 0;
	}
	if (strncmp(line, "HEAD ", 5) == 0)
		return add_row(im, line + 5, "HEAD");
	if (strncmp(line, "STATE ", 6) == 0) {
		im->busy = true;
		return 0;
	}
	if (strlen(line) <= GIT_OID_HEXSZ + 1 || line[GIT_OID_HEXSZ] != ' ')
		return -EPROTO;
	return add_row(im, line, line + GIT_OID_HEXSZ + 1);
}

static bool has_twice(const struct import *im)
{
	for (size_t i = 1; i < im->n_rows; i++)
		for (size_t k = 0; k < i; k++)
			if (streq(im->rows[i].ref, im->rows[k].ref))
				return true;
	return false;
}

static int take_lines(struct import *im, struct repo_stream *s, struct err *err)
{
	cleanup_buf struct buf line;
	int r;

	buf_init(&line, REPO_LINE_MAX);
	im->rows = xcalloc(IMPORT_REFS_MAX, sizeof(*im->rows));
	while ((r = repo_stream_line(s, &line)) > 0 && line.len) {
		r = take_line(im, buf_str(&line));
		if (r < 0)
			break;
	}
	if (r == 0)
		return err_set(err, EPROTO, "git in the sandbox said nothing, or not all");
	if (r == -E2BIG)
		return err_set(err, E2BIG, "more than %d references changed in the sandbox",
			       IMPORT_REFS_MAX);
	if (r < 0 || has_twice(im))
		return err_set(err, EPROTO, "what git in the sandbox says cannot be understood");
	return 0;
}

/* What a killed import left; the lock of the repository is ours. */
static void remove_leftovers(const struct import *im)
{
	cleanup_free char *objects = path_join(im->git.common, "objects");
	DIR *d = opendir(objects);
	struct dirent *de;
	struct err ignored;

	while (d && (de = readdir(d)))
		if (strncmp(de->d_name, QUARANTINE, strlen(QUARANTINE)) == 0)
			(void)path_remove_tree(dirfd(d), de->d_name, &ignored);
	if (d)
		(void)closedir(d);
}

static int make_quarantine(struct import *im, struct err *err)
{
	cleanup_free char *objects = path_join(im->git.common, "objects"), *pack = NULL;
	int r;

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
	char hex[GIT_OID_HEXSZ + 1];
	cleanup_free char *path = xasprintf("%s/pack/pack-%s.idx", im->quarantine,
					    git_oid_tostr(hex, sizeof(hex), &im->pack));
	git_odb_backend *backend = NULL;

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

static int take_pack(struct import *im, struct repo_stream *s, struct err *err)
{
	cleanup_free char *pack = NULL;
	int r = make_quarantine(im, err);

	if (r < 0)
		return r;
	pack = path_join(im->quarantine, "pack");
	r = repo_stream_pack(s, im->odb, pack, false, &im->pack, err);
	if (r > 0) {
		r = open_received(im, err);
		if (r == 0)
			r = import_check(im, err);
	}
	return r == 0 ? check_rows(im, err) : r;
}

static int take_stream(struct import *im, struct err *err)
{
	struct repo_stream *s = repo_stream_new(STDIN_FILENO);
	int r = take_lines(im, s, err);

	if (r == 0 && im->n_rows)
		r = take_pack(im, s, err);
	free(s);
	return r;
}

int import_prepare(struct import *im, const char **ret_why, struct err *err)
{
	return git_oid_equal(&im->host_tip, &im->next_tip) ? 0
							   : import_index_prepare(im, ret_why, err);
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
	if (im->switch_to)
		im->head_why = why;
	free(take_ptr(im->switch_to));
	im->next_tip = im->host_tip;
	return 0;
}

static void put_row(const struct import *im, const struct import_row *row, json_t *out)
{
	static const char *const how[] = {
		[BRANCH_TAKE] = "forward",
		[BRANCH_REWRITE] = "rewrite",
	};
	cleanup_free char *held = import_own_name(im, "", row->ref);
	char hex[GIT_OID_HEXSZ + 1];
	json_t *j = json_pack("{so ss}", "ref", json_text(row->ref), "oid",
			      git_oid_tostr(hex, sizeof(hex), &row->inside));

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
	if (im->switch_to)
		(void)json_object_set_new(out, "head", json_text(im->switch_to));
	if (im->head_why)
		(void)json_object_set_new(
			out, "head_held",
			json_pack("{so ss}", "ref", json_text(im->head), "why", im->head_why));
}

int import_open(struct import *im, const char *root, int *ret_lock, struct err *err)
{
	int r = open_repository(im, root, err);

	if (r == 0)
		r = lock_repository(im, ret_lock, err);
	return r == 0 ? import_git_start(im, err) : r;
}

int import_run(const char *root, const char *name, bool may_switch, json_t *out, struct err *err)
{
	cleanup_(import_done) struct import im = {
		.name = name, .may_switch = may_switch, .helper = -1};
	static const int keep[] = {IMPORT_TIPS_FD};
	cleanup_fd int lock = -1;
	int r;

	fd_close_rest(keep, ARRAY_SIZE(keep));
	r = import_open(&im, root, &lock, err);
	if (r == 0)
		r = read_tips(&im, err);
	if (r == 0)
		r = import_confine(&im, err);
	if (r == 0)
		r = import_recover(&im, err);
	if (r == 0)
		remove_leftovers(&im);
	if (r == 0)
		r = take_stream(&im, err);
	if (r == 0)
		r = import_plan(&im, err);
	if (r == 0)
		r = import_move_objects(&im, err);
	if (r == 0)
		r = prepare_index(&im, err);
	if (r == 0)
		r = import_move(&im, err);
	if (r == 0)
		put_answer(&im, out);
	return r;
}
