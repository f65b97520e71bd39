/*
 * repo tips DIR                       the commits that DIR has, one a line, for git inside
 * repo apply DIR NAME                 the stream on stdin into DIR, as refs/remotes/NAME/…
 * repo diff DIR BRANCH FLAGS          the stream on stdin compared with DIR; FLAGS of "s", "t"
 * repo import DIR NAME WHEN NAMED…    import.h; WHEN "idle": HEAD may follow, "busy": it may not
 * repo held DIR NAME NAMED…           what imports held
 * repo show DIR NAME REF FLAGS        one of those as a patch; FLAGS as for diff
 * repo commit DIR FROM TO FLAGS       what changed between two commits; FROM "": the first parent of TO
 * repo file-diff DIR PATH             the text on stdin compared with the file that HEAD has there
 * repo settle DIR NAME HOW REF NAMED… HOW: merge, force or drop, and gitlinks, protected, with commas;
 *                                     REF: heads/BRANCH, or ""
 * repo adopt DIR NAME HEAD SETTINGS   import-new.c
 * repo forget DIR NAME                sandbox NAME is gone
 * repo pin DIR NAME                   import.h, put-back.c
 * repo unpin DIR NAME
 * repo put-back DIR NAME
 * repo mine DIR                       whether the user has a commit in there
 *
 * NAMED…: programs of the tree that settings name (workspace/guard.h), any number of them.
 * For ralph's own use. apply, import and tips answer on stdout in JSON; an error is a line on
 * stderr, and exit 1.
 */
#include "repo/take.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "repo/import/import.h"
#include "repo/wide/wide.h"

#define TIPS_MAX 64
#define MINE_COMMITS_MAX 1000
#define FILE_DIFF_MAX (256 * KiB) /* a larger file is not compared */

/* A repository of the user's, of either kind of names. */
struct opened {
	git_repository *repo;
	struct wide *wide; /* NULL: names are SHA-1 */
	struct gitdir git;
};

static void opened_done(struct opened *o)
{
	git_repository_free(o->repo);
	wide_free(o->wide);
	gitdir_done(&o->git);
}

static int open_repo(const char *dir, struct opened *ret, struct err *err)
{
	bool wide = false;
	int r = gitdir_find(dir, NULL, &ret->git, err);

	if (r == 0 && ret->git.common)
		r = wide_is(ret->git.common, &wide, err);
	if (r == 0 && wide)
		return wide_open(dir, &ret->git, &ret->repo, &ret->wide, err);
	if (r == 0 &&
	    git_repository_open_ext(&ret->repo, dir, GIT_REPOSITORY_OPEN_NO_SEARCH, NULL) < 0)
		r = gitlib_err(err, dir);
	return r;
}

static bool read_oid(const struct opened *o, const char *text, git_oid *ret)
{
	return o->wide ? strlen(text) == WIDE_HEX && wide_oid(o->wide, text, ret)
		       : git_oid_fromstr(ret, text) == 0;
}

struct tips {
	const struct opened *of;
	json_t *oids;
};

static int add_tip(git_reference *ref, void *arg)
{
	const struct tips *t = arg;
	const git_oid *oid = git_reference_target(ref);
	char hex[WIDE_HEX + 1];
	const char *text = !oid		 ? NULL
			   : t->of->wide ? wide_hex(t->of->wide, oid, hex)
					 : git_oid_tostr(hex, GIT_OID_HEXSZ + 1, oid);

	if (text && json_array_size(t->oids) < TIPS_MAX)
		(void)json_array_append_new(t->oids, json_string(text));
	git_reference_free(ref);
	return 0;
}

static int cmd_tips(char **argv, json_t *out, struct err *err)
{
	cleanup_(opened_done) struct opened o = {0};
	struct tips t = {.of = &o, .oids = json_array()};
	git_reference *head = NULL;
	int r = open_repo(argv[0], &o, err);

	if (r == 0 && git_repository_head(&head, o.repo) == 0)
		(void)add_tip(head, &t);
	if (r == 0 && git_reference_foreach(o.repo, add_tip, &t) < 0)
		r = gitlib_err(err, "cannot read the branches");
	(void)json_object_set_new(out, "tips", t.oids);
	return r;
}

static int head_oid(git_repository *repo, git_oid *ret)
{
	return git_reference_name_to_id(ret, repo, "HEAD");
}

static int cmd_apply(char **argv, json_t *out, struct err *err)
{
	return import_clone(argv[0], argv[1], out, err);
}

static int cmd_diff(char **argv, json_t *out, struct err *err)
{
	return import_show_clone(argv[0], argv[1], strchr(argv[2], 's') != NULL,
				 strchr(argv[2], 't') != NULL, err);
}

static struct import_input input_of(char **argv, char **named)
{
	struct import_input in = {.root = argv[0], .name = argv[1]};

	for (; *named; named++)
		strv_push(&in.named, *named);
	return in;
}

static int cmd_import(char **argv, json_t *out, struct err *err)
{
	static const char *const words[] = {
		[IMPORT_BUSY] = "busy",
		[IMPORT_IDLE] = "idle",
		[IMPORT_HOLD] = "hold",
	};

	struct import_input in = input_of(argv, argv + 3);
	int r = 1;

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (streq(words[i], argv[2]))
			r = import_run(&in, (enum import_when)i, out, err);
	strv_done(&in.named);
	return r > 0 ? err_usage(err, "import: '%s' is no way to import", argv[2]) : r;
}

static int cmd_adopt(char **argv, json_t *out, struct err *err)
{
	const struct import_new_input in = {
		.root = argv[0], .name = argv[1], .head = argv[2], .settings = argv[3]};

	return import_new(&in, out, err);
}

static int cmd_held(char **argv, json_t *out, struct err *err)
{
	struct import_input in = input_of(argv, argv + 2);
	int r = settle_list(&in, out, err);

	strv_done(&in.named);
	return r;
}

/* Against the commit that it has in common with the user's branch, or else with HEAD. */
static int cmd_show(char **argv, json_t *out, struct err *err)
{
	cleanup_free char *held = xasprintf("refs/ralph/%s/%s", argv[1], argv[2]);
	cleanup_free char *ref = xasprintf("refs/%s", argv[2]);
	cleanup_(opened_done) struct opened o = {0};
	git_oid is, host, base;
	bool has_base;
	int r = open_repo(argv[0], &o, err);

	if (r == 0 && git_reference_name_to_id(&is, o.repo, held) < 0)
		r = gitlib_err(err, held);
	if (r == 0) {
		has_base = (git_reference_name_to_id(&host, o.repo, ref) == 0 ||
			    head_oid(o.repo, &host) == 0) &&
			   repo_base(o.repo, &host, &is, &base);
		r = repo_print_diff(o.repo, has_base ? &base : NULL, &is,
				    strchr(argv[3], 's') != NULL, strchr(argv[3], 't') != NULL,
				    err);
	}
	return r;
}

static int first_parent(git_repository *repo, const git_oid *oid, git_oid *ret, bool *has,
			struct err *err)
{
	cleanup_git(commit) git_commit *c = NULL;

	if (git_commit_lookup(&c, repo, oid) < 0)
		return gitlib_err(err, "there is no such commit");
	*has = git_commit_parentcount(c) > 0;
	if (*has)
		*ret = *git_commit_parent_id(c, 0);
	return 0;
}

static int cmd_commit(char **argv, json_t *out, struct err *err)
{
	cleanup_(opened_done) struct opened o = {0};
	git_oid from, to;
	bool has = true;
	int r = open_repo(argv[0], &o, err);

	(void)out;
	if (r == 0 &&
	    (!read_oid(&o, argv[2], &to) || (argv[1][0] && !read_oid(&o, argv[1], &from))))
		r = err_usage(err, "that is no commit");
	if (r == 0 && !argv[1][0])
		r = first_parent(o.repo, &to, &from, &has, err);
	if (r == 0)
		r = repo_print_diff(o.repo, has ? &from : NULL, &to, strchr(argv[3], 's') != NULL,
				    strchr(argv[3], 't') != NULL, err);
	return r;
}

static int cmd_file_diff(char **argv, json_t *out, struct err *err)
{
	cleanup_(opened_done) struct opened o = {0};
	cleanup_buf struct buf now;
	int r = open_repo(argv[0], &o, err);

	buf_init(&now, FILE_DIFF_MAX);
	if (r == 0) {
		r = fd_read_all(STDIN_FILENO, &now);
		r = r < 0 ? err_sys(err, -r, "cannot read the file")
			  : repo_print_file_diff(o.repo, argv[1], &now, err);
	}
	return r;
}

static int parse_how(const char *text, unsigned *ret)
{
	static const struct {
		const char *word;
		enum settle_how how;
	} words[] = {
		{"merge", SETTLE_MERGE},	 {"force", SETTLE_FORCE},
		{"drop", SETTLE_DROP},		 {"gitlinks", SETTLE_GITLINKS},
		{"protected", SETTLE_PROTECTED},
	};
	cleanup_strv struct strv parts = {0};

	*ret = SETTLE_MERGE;
	strv_split(&parts, text, ',');
	for (size_t i = 0, k; i < parts.n; i++) {
		for (k = 0; k < ARRAY_SIZE(words) && !streq(words[k].word, parts.v[i]); k++)
			;
		if (k == ARRAY_SIZE(words))
			return -EINVAL;
		*ret |= words[k].how;
	}
	return 0;
}

static int cmd_settle(char **argv, json_t *out, struct err *err)
{
	struct import_input in = input_of(argv, argv + 4);
	unsigned how;
	int r = parse_how(argv[2], &how);

	r = r < 0 ? err_usage(err, "settle: '%s' is no way to settle", argv[2])
		  : settle_run(&in, how, argv[3], out, err);
	strv_done(&in.named);
	return r;
}

static int cmd_advance(char **argv, json_t *out, struct err *err)
{
	const struct advance a = {.ref = argv[2], .from = argv[3], .to = argv[4]};

	int r = settle_advance(argv[0], argv[1], &a, err);

	if (r < 0) {
		(void)json_object_set_new(out, "error", json_text(err->msg));
		(void)json_object_set_new(out, "busy", json_boolean(r == -EBUSY));
	}
	return 0;
}

static int cmd_forget(char **argv, json_t *out, struct err *err)
{
	return settle_forget(argv[0], argv[1], err);
}

static int cmd_unpin(char **argv, json_t *out, struct err *err)
{
	return put_back_unpin(argv[0], argv[1], err);
}

static int cmd_pin(char **argv, json_t *out, struct err *err)
{
	return put_back_pin(argv[0], argv[1], out, err);
}

static int cmd_put_back(char **argv, json_t *out, struct err *err)
{
	return put_back_run(argv[0], argv[1], streq(argv[2], "hold"), out, err);
}

/* From the user's own files: the repository's setting is its author's. NULL: there is none. */
static char *own_address(void)
{
	git_config *config = NULL;
	git_buf text = {0};
	char *address = NULL;

	if (git_config_open_default(&config) == 0 &&
	    git_config_get_string_buf(&text, config, "user.email") == 0 && text.size > 0)
		address = xstrndup(text.ptr, text.size);
	git_buf_dispose(&text);
	git_config_free(config);
	return address;
}

static bool is_by(const git_signature *who, const char *address)
{
	return who && who->email && strcasecmp(who->email, address) == 0;
}

static bool any_by(git_repository *repo, git_revwalk *all, const char *address)
{
	bool found = false;
	git_oid oid;

	for (int i = 0; !found && i < MINE_COMMITS_MAX && git_revwalk_next(&oid, all) == 0; i++) {
		cleanup_git(commit) git_commit *commit = NULL;

		found = git_commit_lookup(&commit, repo, &oid) == 0 &&
			(is_by(git_commit_author(commit), address) ||
			 is_by(git_commit_committer(commit), address));
	}
	return found;
}

static int has_mine(git_repository *repo, bool *ret, struct err *err)
{
	cleanup_free char *address = own_address();
	git_revwalk *all = NULL;
	int r = git_revwalk_new(&all, repo);

	if (r < 0)
		return gitlib_err(err, "cannot walk the commits");
	/* A repository without a commit has none of the user's. */
	*ret = address && git_revwalk_push_head(all) == 0 && any_by(repo, all, address);
	git_revwalk_free(all);
	return 0;
}

static int cmd_mine(char **argv, json_t *out, struct err *err)
{
	cleanup_(opened_done) struct opened o = {0};
	bool mine = false;
	int r = open_repo(argv[0], &o, err);

	if (r == 0)
		r = has_mine(o.repo, &mine, err);
	(void)json_object_set_new(out, "mine", json_boolean(mine));
	return r;
}

static const struct {
	const char *name;
	int n_args;
	int (*run)(char **argv, json_t *out, struct err *err);
	bool quiet; /* the result is not JSON */
	bool open;  /* reads the user's settings */
	bool named; /* any number of words may follow */
} commands[] = {
	/* clang-format off */
	{"tips", 1, cmd_tips, false, false, false},
	{"apply", 2, cmd_apply, false, false, false},
	{"diff", 3, cmd_diff, true, false, false},
	{"import", 3, cmd_import, false, false, true},
	{"adopt", 4, cmd_adopt, false, false, false},
	{"held", 2, cmd_held, false, false, true},
	{"show", 4, cmd_show, true, false, false},
	{"commit", 4, cmd_commit, true, false, false},
	{"file-diff", 2, cmd_file_diff, true, false, false},
	{"settle", 4, cmd_settle, false, true, true},
	{"advance", 5, cmd_advance, false, false, false},
	{"forget", 2, cmd_forget, false, false, false},
	{"pin", 2, cmd_pin, false, false, false},
	{"unpin", 2, cmd_unpin, false, false, false},
	{"put-back", 3, cmd_put_back, false, false, false},
	{"mine", 1, cmd_mine, false, true, false},
	/* clang-format on */
};

int main(int argc, char **argv)
{
	cleanup_json json_t *out = json_object();
	struct err err = {0};
	int r = -EINVAL;

	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		if (argc < 2 || !streq(argv[1], commands[i].name) ||
		    argc < 2 + commands[i].n_args ||
		    (argc > 2 + commands[i].n_args && !commands[i].named))
			continue;
		if (commands[i].open)
			gitlib_start_open();
		else
			gitlib_start();
		r = commands[i].run(argv + 2, out, &err);
		if (r == 0 && commands[i].quiet)
			return fflush(stdout) == 0 ? 0 : EXIT_RUNTIME;
	}
	if (r < 0) {
		/* Errors go to stderr, where they cannot be confused with a diff. */
		(void)fprintf(stderr, "%s\n", err.msg[0] ? err.msg : "usage");
		return EXIT_RUNTIME;
	}
	(void)json_dumpf(out, stdout, JSON_COMPACT);
	return fflush(stdout) == 0 ? 0 : EXIT_RUNTIME;
}
