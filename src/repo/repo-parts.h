#pragma once

#include "git/libgit.h"
#include "repo/repo.h"
#include "workspace/gitdir.h"

/* Shared by the files that implement repo.h. */

struct repo {
	struct gitdir git; /* read without libgit2; only this decides where the repository is */
	char *state;
	json_t *view; /* NULL until it is taken or set */
	int limit_ms; /* time limit of one child */
};

#define REPO_WORK_MS (10 * 60 * 1000)
#define REPO_REPLY_MAX (16 * MiB)

/* The job of a child. */
struct repo_job {
	const struct repo *repo;
	git_repository *git; /* NULL with REPO_TASK_VIEW */
	const void *arg;
	int fd;
};

/* Returns 0 or -errno; the answer goes to `out`, an object. */
typedef int repo_job_fn(struct repo_job *j, json_t *out, struct err *err);

enum repo_task_flags {
	REPO_TASK_WRITE = 1 << 0, /* may write the working tree and the git directory */
	REPO_TASK_VIEW = 1 << 1,  /* may read the user's settings; opens no repository */
};

struct repo_task {
	repo_job_fn *run;
	const void *arg; /* the child has a copy of everything it points to */
	enum repo_task_flags flags;
	const char *also; /* another writable directory; NULL: none */
	int fd;		  /* descriptor passed to the child; -1: none */
};
#define REPO_TASK(fn, argument, how)                                                               \
	{                                                                                          \
		.run = (fn), .arg = (argument), .flags = (how), .fd = -1,                          \
	}

/* Forks the child and waits for it. *ret (may be NULL): its `out`. */
int repo_work(struct repo *r, const struct repo_task *t, json_t **ret, struct err *err);

/* In the child: refuses links and the like in the git directory that lead elsewhere. */
int repo_scan(const struct repo *r, struct err *err);
/* In the child: opens the repository with the settings of the view only. */
int repo_open_git(const struct repo *r, git_repository **ret, struct err *err);
/* Lists of the view: "alternates", as in their file; "readable", paths outside that git reads. */
const json_t *repo_view_list(const struct repo *r, const char *key); /* NULL: there is no view */
const char *repo_view_setting(const struct repo *r, const char *key);

/* In the child: hashes the repository's configuration file. */
int repo_config_hash(const struct repo *r, char hex[REPO_OID_LEN + 1]);

/* In the child. */
int repo_oid_of(const char *hex, git_oid *ret, struct err *err);
void repo_put_oid(json_t *out, const char *key, const git_oid *oid);
int repo_signature(const struct repo *r, git_signature **ret, struct err *err);
/* Returns refs/heads/… of HEAD, NULL when detached; *ret_oid is zero when there is no commit
 * yet. */
int repo_head_ref(git_repository *git, char **ret_ref, git_oid *ret_oid, struct err *err);
/*
 * The status of the changed files; *ret stays NULL when there are none. base: against this tree, with
 * the index that libgit2 has; NULL: HEAD's, with the index of the git directory, and libgit2 reads
 * its index anew afterwards.
 */
int repo_status(struct repo_job *j, git_tree *base, git_status_list **ret, struct err *err);
size_t repo_status_count(git_status_list *list);
bool repo_is_ours(const char *path); /* below .ralph */

/* In the parent: reads a commit name from an answer. */
int repo_answer_oid(const json_t *out, const char *key, struct repo_oid *ret);
char *repo_answer_str(const json_t *out, const char *key); /* NULL: none */
void repo_answer_list(const json_t *out, const char *key, struct strv *ret);

/* Notes in the state directory. -ENOENT: there is no such note. */
char *repo_note_name(const struct repo *r, const char *name); /* name of its file */
int repo_note_read(const struct repo *r, const char *name, json_t **ret, struct err *err);
int repo_note_write(const struct repo *r, const char *name, const json_t *content, struct err *err);
/* Removes the locks of a killed child that worked on this note. */
int repo_note_locks(struct repo *r, const char *name, struct err *err);
int repo_note_remove(const struct repo *r, const char *name, struct err *err);
