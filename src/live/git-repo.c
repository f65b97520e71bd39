#include "live/git-repo.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/path.h"
#include "base/proc.h"
#include "workspace/git-stamp.h"
#include "workspace/private/private-git.h"

extern char **environ;

#define PRUNE_DEPTH_MAX 32
#define ANSWER_MAX (4 * MiB)
#define ANSWER_MS 120000 /* another import into the repository may come first */

int git_repo_ask(const struct places *p, const char *const *args, json_t **ret, struct err *err)
{
	cleanup_strv struct strv argv = {0};
	cleanup_free char *text = NULL;
	struct run run = RUN_INIT;
	int code = 0, r;

	strv_take(&argv, places_program(p, "repo"));
	for (; *args; args++)
		strv_push(&argv, *args);
	run.argv = argv.v;
	run.env = environ;
	run.stdio[2] = STDERR_FILENO;
	r = run_collect(&run, ANSWER_MS, ANSWER_MAX, &text, &code, err);
	if (r == 0 && code != 0)
		r = err_set(err, EIO, "the repository was left as it is");
	return r == 0 ? json_parse(text, strlen(text), ret, err) : r;
}

static struct gitdir gitdir_of(const struct spec_git *g)
{
	return (struct gitdir){.root = g->root, .dir = g->dir, .common = g->common};
}

static void find_held(const struct sandbox_spec *spec, struct strv *ret)
{
	struct gitdir git = gitdir_of(&spec->git);

	if (spec->git.root)
		(void)private_git_held(&git, spec->name, false, ret);
}

void git_repo_held(const struct places *p, const char *name, struct strv *ret)
{
	cleanup_(spec_freep) struct sandbox_spec *spec = NULL;
	cleanup_store struct store_entry e = STORE_ENTRY_INIT;
	struct err ignored;

	if (store_open(p, name, false, &e, &ignored) == 0 &&
	    store_read_spec(&e, &spec, &ignored) == 0)
		find_held(spec, ret);
}

bool git_repo_is_behind(const struct store_entry *e, const struct sandbox_spec *spec)
{
	cleanup_fd int dir = -1;

	struct stat st;

	/* Into a repository that is gone nothing can be imported. */
	if (!spec->git.private || !spec->git.root || stat(spec->git.common, &st) < 0)
		return false;
	dir = path_open_beneath(e->dir, "git", O_RDONLY | O_DIRECTORY, 0);
	return dir >= 0 && git_imported_is(e->dir, dir) == 0;
}

void git_repo_put(const struct places *p, const char *name, json_t *j)
{
	cleanup_(spec_freep) struct sandbox_spec *spec = NULL;
	cleanup_store struct store_entry e = STORE_ENTRY_INIT;
	cleanup_strv struct strv held = {0};
	cleanup_json json_t *names = json_array();
	struct err ignored;

	if (store_open(p, name, false, &e, &ignored) < 0 ||
	    store_read_spec(&e, &spec, &ignored) < 0)
		return;
	find_held(spec, &held);
	for (size_t i = 0; i < held.n; i++)
		(void)json_array_append_new(names, json_text(held.v[i]));
	if (held.n)
		(void)json_object_set(j, "held", names);
	if (git_repo_is_behind(&e, spec))
		(void)json_object_set_new(j, "not_imported", json_true());
}

/* Removes the directories below name that are empty; whoever lists references reads all of them. */
static void prune(int parent, const char *name, unsigned depth)
{
	int fd = path_open_beneath(parent, name, O_RDONLY | O_DIRECTORY, 0);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;

	if (!d) {
		closep(&fd);
		return;
	}
	while ((e = readdir(d)))
		if (e->d_type == DT_DIR && !streq(e->d_name, ".") && !streq(e->d_name, "..") &&
		    depth < PRUNE_DEPTH_MAX)
			prune(dirfd(d), e->d_name, depth + 1);
	(void)closedir(d);
	(void)unlinkat(parent, name, AT_REMOVEDIR);
}

static void prune_refs(const struct sandbox_spec *spec)
{
	cleanup_free char *path = path_join(spec->git.common, "refs/ralph");
	cleanup_fd int all = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (all >= 0)
		prune(all, spec->name, 0);
}

void git_repo_forget(const struct places *p, const struct sandbox_spec *spec)
{
	const char *const args[] = {"forget", spec->git.root, spec->name, NULL};
	struct gitdir git = gitdir_of(&spec->git);
	cleanup_strv struct strv notes = {0};
	cleanup_json json_t *answer = NULL;
	struct err err = {0};

	/* Most sandboxes have no commits, and a short run does not wait for a program. */
	if (!spec->git.root)
		return;
	if (private_git_held(&git, spec->name, true, &notes) == 0 && notes.n &&
	    git_repo_ask(p, args, &answer, &err) < 0)
		log_debug("git", "refs/ralph/%s stays: %s", spec->name, err.msg);
	prune_refs(spec);
}
