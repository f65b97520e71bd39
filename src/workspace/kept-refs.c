#include "workspace/kept-refs.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/copy.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/proc.h"
#include "spec/of-loop.h"
#include "workspace/gitdir.h"
#include "workspace/private/private-git.h"

#define REFS_FILE "git-refs"
#define INDEX_FILE "git-index"
#define STASHES_FILE "git-stashes"
#define REFS_BYTES_MAX (64 * MiB)
#define INDEX_BYTES_MAX (1024 * MiB)
#define REPO_MS 120000
#define ANSWER_MAX (4 * MiB)

/* Is its git directory one that an agent writes to? */
static bool is_shared(const struct sandbox_spec *spec)
{
	for (size_t i = 0; i < spec->n_mounts; i++)
		if (spec->mounts[i].kind == SPEC_PUT_BACK)
			return true;
	return false;
}

static int copy_file(const char *from_dir, const char *name, int dir, const char *to)
{
	const struct copy_rules rules = {
		.bytes_max = INDEX_BYTES_MAX,
		.files_max = 1,
		.depth_max = 1,
		.replace = true,
	};
	cleanup_fd int from = open(from_dir, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	cleanup_fd int empty = -1;
	int r = from < 0 ? -errno : copy_tree(from, name, dir, to, &rules);

	if (r != -ENOENT)
		return r;
	empty = openat(dir, to, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	return empty < 0 ? -errno : 0;
}

static int write_record(const struct gitdir *git, int dir, struct err *err)
{
	cleanup_buf struct buf refs;
	int r;

	buf_init(&refs, REFS_BYTES_MAX);
	r = private_git_refs(git, &refs, err);
	if (r < 0)
		return r;
	r = copy_file(git->dir, "index", dir, INDEX_FILE);
	if (r == 0)
		r = copy_file(git->common, "logs/refs/stash", dir, STASHES_FILE);
	if (r == 0)
		r = path_write_atomic(dir, REFS_FILE, refs.data, refs.len, 0600, 0);
	return r < 0 ? err_sys(err, -r, "cannot keep what the repository's references are") : 0;
}

static const char *const kept[] = {REFS_FILE, INDEX_FILE, STASHES_FILE};

struct kept_fds {
	int v[ARRAY_SIZE(kept)];
};

/* In the child: they become 3, 4, 5, as repo/put-back.c has them. */
static int place_kept(void *arg)
{
	const struct kept_fds *fds = arg;
	int high[ARRAY_SIZE(kept)];

	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		high[i] = fcntl(fds->v[i], F_DUPFD_CLOEXEC, 3 + (int)ARRAY_SIZE(kept));
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		if (high[i] < 0 || dup2(high[i], 3 + (int)i) < 0)
			return -errno;
	return 0;
}

static int run_repo(const struct sandbox_spec *spec, const struct places *places, int dir,
		    const char *root, const char *act, json_t **ret, struct err *err)
{
	cleanup_free char *program = places_program(places, "repo"), *out = NULL;
	char *how = !streq(act, "put-back") ? NULL : spec_is_loops(spec) ? "hold" : "rule";
	char *argv[] = {program, (char *)act, (char *)root, spec->name, how, NULL};
	struct run run = RUN_INIT;
	struct kept_fds fds;
	int code = 0, r;

	run.argv = argv;
	run.flags = RUN_DIE_WITH_US;
	run.before_exec = place_kept;
	run.arg = &fds;
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		fds.v[i] = openat(dir, kept[i], O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	r = run_collect(&run, REPO_MS, ANSWER_MAX, &out, &code, err);
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		closep(&fds.v[i]);
	if (r == 0 && code != 0)
		r = err_set(err, EIO,
			    "the references of '%s' cannot be compared with those of before", root);
	*ret = r == 0 && out ? json_loads(out, 0, NULL) : NULL;
	return r;
}

static void drop_record(int dir)
{
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		(void)unlinkat(dir, kept[i], 0);
}

static int find(const struct sandbox_spec *spec, struct gitdir *ret, struct err *err)
{
	*ret = (struct gitdir){0};
	return is_shared(spec) ? gitdir_find(spec->workspace, NULL, ret, err) : 0;
}

int kept_refs_write(const struct sandbox_spec *spec, const struct places *places, int dir,
		    struct err *err)
{
	cleanup_(gitdir_done) struct gitdir git = {0};
	cleanup_json json_t *answer = NULL;
	int r = find(spec, &git, err);

	if (r < 0 || !git.root)
		return r;
	r = write_record(&git, dir, err);
	if (r == 0)
		r = run_repo(spec, places, dir, git.root, "pin", &answer, err);
	if (r < 0)
		drop_record(dir);
	return r;
}

static void add_sentence(json_t *row, const struct sandbox_spec *spec, json_t *ret)
{
	const char *ref = json_string_value(json_object_get(row, "ref"));
	const char *as = json_string_value(json_object_get(row, "as"));
	const char *how = json_string_value(json_object_get(row, "how"));
	cleanup_free char *text = NULL;

	if (!ref || !how)
		return;
	/* A loop names what is held at its end. */
	if (spec_is_loops(spec) && (streq(how, "new") || streq(how, "moved")))
		return;
	if (streq(how, "lost"))
		text = xasprintf(
			"'%s' is gone, and its commits too: restore them from another copy", ref);
	else if (streq(how, "deleted"))
		text = xasprintf("'%s' was deleted inside and is back", ref);
	else if (streq(how, "new"))
		text = xasprintf("'%s' is new; it is held as %s", ref, as);
	else
		text = xasprintf("'%s' was moved away from your commits and is back; what it had "
				 "become is held as %s",
				 ref, as ? as : "nothing");
	(void)json_array_append_new(ret, json_text(text));
}

int kept_refs_put_back(const struct sandbox_spec *spec, const struct places *places, int dir,
		       json_t **ret, struct err *err)
{
	cleanup_(gitdir_done) struct gitdir git = {0};
	cleanup_json json_t *answer = NULL, *said = json_array();
	struct stat st;
	json_t *row;
	size_t i;
	int r;

	*ret = NULL;
	if (!is_shared(spec) || fstatat(dir, REFS_FILE, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	r = find(spec, &git, err);
	if (r == 0 && !git.root)
		r = err_set(err, ENOENT, "the git directory of '%s' is gone", spec->workspace);
	if (r == 0)
		r = run_repo(spec, places, dir, git.root, "put-back", &answer, err);
	if (r == 0)
		r = write_record(&git, dir, err);
	if (r < 0)
		return r;
	json_array_foreach (json_object_get(answer, "back"), i, row)
		add_sentence(row, spec, said);
	*ret = take_ptr(said);
	return 0;
}

/* "OID REF" for each reference; the line of this one becomes another. */
static void replace_line(const char *text, const char *ref, const char *to, struct buf *out)
{
	size_t n = strlen(ref);

	for (const char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
		const char *name = memchr(line, ' ', (size_t)(end - line));

		if (!name || (size_t)(end - name - 1) != n || strncmp(name + 1, ref, n) != 0 ||
		    strncmp(line, "HEAD ", 5) == 0)
			(void)buf_append(out, line, (size_t)(end + 1 - line));
	}
	(void)buf_printf(out, "%s %s\n", to, ref);
}

int kept_refs_advance(const struct sandbox_spec *spec, int dir, const char *ref, const char *to,
		      struct err *err)
{
	cleanup_(gitdir_done) struct gitdir git = {0};
	cleanup_buf struct buf was, is;
	int r = find(spec, &git, err);

	buf_init(&was, REFS_BYTES_MAX);
	buf_init(&is, REFS_BYTES_MAX);
	if (r < 0 || !git.root)
		return r;
	r = path_read(dir, REFS_FILE, &was);
	if (r == -ENOENT)
		return 0; /* the sandbox has ended */
	if (r == 0)
		replace_line(buf_str(&was), ref, to, &is);
	if (r == 0)
		r = copy_file(git.dir, "index", dir, INDEX_FILE);
	if (r == 0)
		r = is.full ? -ENOBUFS
			    : path_write_atomic(dir, REFS_FILE, is.data, is.len, 0600, 0);
	return r < 0 ? err_sys(err, -r, "cannot keep what the repository's references are") : 0;
}

void kept_refs_forget(const struct sandbox_spec *spec, const struct places *places, int dir)
{
	cleanup_(gitdir_done) struct gitdir git = {0};
	cleanup_json json_t *answer = NULL;
	struct err ignored;

	if (find(spec, &git, &ignored) == 0 && git.root)
		(void)run_repo(spec, places, dir, git.root, "unpin", &answer, &ignored);
	drop_record(dir);
}
