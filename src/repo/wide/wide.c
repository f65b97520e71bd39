#include "repo/wide/wide.h"

#include "repo/wide/wide-parts.h"

#include <fcntl.h>
#include <git2/sys/repository.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"
#include "git/tree-path.h"
#include "repo/take-stream.h"
#include "workspace/private/private-git.h"

#define QUARANTINE "ralph-in-XXXXXX"
#define ANSWER_MAX 256

int wide_is(const char *common, bool *ret, struct err *err)
{
	cleanup_free char *path = path_join(common, "config");
	cleanup_git(config) git_config *config = NULL;
	git_buf format = {0};
	bool other = git_config_open_ondisk(&config, path) == 0 &&
		     git_config_get_string_buf(&format, config, "extensions.objectformat") == 0 &&
		     !streq(format.ptr, "sha1");
	int r = 0;

	*ret = other && streq(format.ptr, "sha256");
	if (other && !*ret)
		r = err_set(err, ENOTSUP,
			    "'%s' names objects in a way that ralph does not know, so it cannot "
			    "import into it; the agent's commits stay in the sandbox",
			    common);
	git_buf_dispose(&format);
	return r;
}

static int make_quarantine(struct wide *w, const char *common, struct err *err)
{
	w->objects = path_join(common, "objects");
	w->quarantine = path_join(w->objects, QUARANTINE);
	if (mkdtemp(w->quarantine))
		return 0;
	free(take_ptr(w->quarantine));
	return err_sys(err, errno, "cannot write to '%s'", w->objects);
}

static int start(struct wide *w, const struct gitdir *git, struct err *err)
{
	int r;

	strv_push(&w->store.dirs, w->quarantine);
	r = git_objects_all(w->objects, &w->store.dirs);
	if (r < 0)
		return err_sys(err, -r, "cannot read '%s'", w->objects);
	r = wide_git_start(&w->git, git, &w->store.dirs, err);
	return r == 0 ? wide_look_again(w, err) : r;
}

/* The user's index cannot be read; libgit2 looks there for attributes when it merges. */
static int set_index(git_repository *repo)
{
	cleanup_git(index) git_index *none = NULL;
	int r = git_index_new(&none);

	return r < 0 ? r : git_repository_set_index(repo, none);
}

/* libgit2 asks for what it knows itself, the git directory, and for nothing below it. */
static int open_repository(const char *path, git_repository **ret)
{
	static const char *const extensions[] = {"worktreeconfig", "objectformat"};

	(void)git_libgit2_opts(GIT_OPT_SET_EXTENSIONS, extensions, ARRAY_SIZE(extensions));
	/* Names are not SHA-1 of what it sees. git and the quarantine have seen to that. */
	(void)git_libgit2_opts(GIT_OPT_ENABLE_STRICT_HASH_VERIFICATION, 0);
	return git_repository_open_ext(ret, path, GIT_REPOSITORY_OPEN_NO_SEARCH, NULL);
}

int wide_open(const char *path, const struct gitdir *git, git_repository **ret,
	      struct wide **ret_wide, struct err *err)
{
	struct wide *w = xcalloc(1, sizeof(*w));
	cleanup_git(repository) git_repository *repo = NULL;
	cleanup_git(odb) git_odb *odb = NULL;
	int r;

	w->names = wide_names_new();
	w->git = (struct wide_git){.ask = -1, .pack = -1, .packed = -1, .why = -1};
	w->git.reader.pidfd = w->git.packer.pidfd = -1;
	r = make_quarantine(w, git->common, err);
	if (r == 0)
		r = start(w, git, err);
	if (r == 0 && (open_repository(path, &repo) < 0 || wide_odb_new(w, false, &odb) < 0 ||
		       git_repository_set_odb(repo, odb) < 0 ||
		       wide_refs_attach(w, git, repo) < 0 || set_index(repo) < 0))
		r = gitlib_err(err, path);
	if (r < 0) {
		git_repository_free(take_ptr(repo));
		git_odb_free(take_ptr(odb));
		wide_free(w);
		return r;
	}
	*ret = take_ptr(repo);
	*ret_wide = w;
	return 0;
}

void wide_free(struct wide *w)
{
	struct err ignored;

	if (!w)
		return;
	wide_git_end(&w->git);
	wide_store_close(&w->store);
	wide_pack_close(&w->received);
	strv_done(&w->store.dirs);
	if (w->quarantine)
		(void)path_remove_tree(AT_FDCWD, w->quarantine, &ignored);
	wide_names_free(w->names);
	free(w->quarantine);
	free(w->objects);
	free(w);
}

const char *wide_quarantine(const struct wide *w)
{
	return w->quarantine;
}

/* "pack\tHASH\n", when all of it is on the disk. */
static int read_answer(struct wide *w, char ret_name[WIDE_HEX + 1])
{
	static const char word[] = "pack\t";
	unsigned char raw[WIDE_LEN];
	cleanup_buf struct buf b;
	int r;

	buf_init(&b, ANSWER_MAX);
	r = fd_read_all(w->git.packed, &b);
	if (r < 0 || b.len != strlen(word) + WIDE_HEX + 1 ||
	    memcmp(b.data, word, strlen(word)) != 0 || !wide_from_hex(b.data + strlen(word), raw))
		return -EPROTO;
	wide_to_hex(raw, ret_name);
	return 0;
}

/* Its last line is why it gave up, and may quote what is hostile. */
static int say_why(const struct wide *w, struct err *err)
{
	char text[ANSWER_MAX];
	off_t end = lseek(w->git.why, 0, SEEK_END);
	ssize_t n = pread(w->git.why, text, sizeof(text), end > ANSWER_MAX ? end - ANSWER_MAX : 0);
	cleanup_free char *shown = NULL;
	const char *line;

	while (n > 0 && text[n - 1] == '\n')
		n--;
	line = n > 0 ? memrchr(text, '\n', (size_t)n) : NULL;
	line = line ? line + 1 : text;
	shown = gitpath_shown(line, n > 0 ? (size_t)(text + n - line) : 0, ANSWER_MAX);
	return err_set(err, EPROTO, "the objects are damaged or not complete%s%s",
		       n > 0 ? ": git says: " : "", shown);
}

int wide_take_pack(struct wide *w, struct repo_stream *s, char ret_name[WIDE_HEX + 1],
		   struct err *err)
{
	int r = w->git.pack < 0 ? err_set(err, EPROTO, "there are two packs")
				: repo_stream_copy_pack(s, w->git.pack, err);
	int told;

	closep(&w->git.pack);
	if (r <= 0)
		return r;
	told = read_answer(w, ret_name);
	if (run_wait(&w->git.packer) != 0 || told < 0)
		return say_why(w, err);
	return wide_look_again(w, err) < 0 ? -EIO : 1;
}

int wide_received(struct wide *w, const char *name, git_odb **ret, struct err *err)
{
	cleanup_free char *path = xasprintf("%s/pack/pack-%s.idx", w->quarantine, name);
	int r = wide_pack_open(path, &w->received);

	if (r == 0)
		r = wide_odb_new(w, true, ret);
	return r < 0 ? err_sys(err, -r, "cannot read the received objects") : 0;
}

const char *wide_hex(const struct wide *w, const git_oid *oid, char ret[WIDE_HEX + 1])
{
	const unsigned char *full = wide_names_find(w->names, oid);

	if (!full)
		return NULL;
	wide_to_hex(full, ret);
	return ret;
}

bool wide_oid(const struct wide *w, const char *hex, git_oid *ret)
{
	unsigned char full[WIDE_LEN];

	return wide_from_hex(hex, full) && wide_names_add(w->names, full, ret) == 0;
}

int wide_look_again(struct wide *w, struct err *err)
{
	int r = wide_store_look(&w->store);

	return r < 0 ? err_sys(err, -r, "cannot look at the objects of the repository") : 0;
}

bool wide_is_there(const struct wide *w, const git_oid *oid)
{
	const unsigned char *full = wide_names_find(w->names, oid);

	return full && wide_store_has(&w->store, full);
}
