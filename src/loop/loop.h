#pragma once

/*
 * ROOM: loop
 *
 * The iterations: a fresh agent each time, proposals, verification, verdict. Lists are work's,
 * git is repo's, showing is view's.
 */

#include "agent/agent.h"
#include "base/ev.h"
#include "loop/control.h"
#include "work/draft.h"
#include "loop/loop-limits.h"
#include "repo/repo.h"
#include "loop/loop-request.h"
#include "loop/show.h"
#include "loop/state.h"
#include "work/work.h"
#include "compose/build.h"
#include "record/loops.h"

/*
 * DOC: Theory of operation
 *
 *	setup.c     the workspace, its state, the work; what must hold before
 *	tree.c      the repository: what must hold before, what becomes of it afterwards
 *	recover.c   what a killed loop was about to do
 *	loop.c      which task is next, until there is none or a limit is reached
 *	round.c     one iteration: journal, sandbox, agent, proposals, verification, verdict
 *	commits.c   what the agent committed: it counts, or is taken back
 *	loose.c     what lies in the tree and is in no commit
 *	sandbox-run.c  the sandbox of an iteration: a fresh start each time, so that what
 *	            protects the workspace is found anew, and nothing of the last agent is left
 *	wait.c      until a provider's limit ends
 *	ending.c    why it ended, the summary, what is told to whom
 *
 * One thread, one event loop; everything that runs is a job in the sandbox (job.c) or a short
 * blocking call.
 */
enum loop_exit {
	LOOP_DONE = 0,
	LOOP_LIMIT = 3,
	LOOP_STUCK = 4,
	LOOP_BLOCKED = 5,
	LOOP_DECIDE = 6,
	LOOP_RATE = 7,
	LOOP_CREDENTIAL = 8,
	LOOP_PAUSED = 9,
};

struct loop {
	struct loop_request q;
	const struct config *config;
	const struct agent *agent;
	enum loop_mode mode; /* of a resumed one, what it was */
	struct loop_limits limits;
	struct ev *ev;
	struct control control;
	struct show show;
	int workspace, dir, logs; /* the workspace, .ralph, its logs */
	struct loop_path place;	  /* of the state */
	bool shared;		  /* the agent reaches all of the workspace: see work_where */
	struct loop_state state;
	struct work *work;   /* NULL: the prompt is all there is */
	struct draft *draft; /* the list that is being planned; NULL */
	struct repo *repo;   /* NULL: no repository */
	char *root;	     /* where the agent works: the workspace, or a worktree */
	int root_fd;
	char *git_name, *git_email;
	/* the sandbox */
	struct build build;
	int hold;	      /* a connection: it stays up at least as long */
	uint64_t allowance;   /* what this iteration may spend, in micro-dollars; 0: anything */
	uint64_t round_began; /* now_ms(); 0: none */
	uint64_t active_mark; /* state.active_ms when the turn began */
	char *tool;	      /* what the agent does just now */
	const struct task *task;
	uint64_t resets_at, weekly_used, weekly_resets_at; /* what the last agent heard */
	const char *phase;
};

/* Returns the exit code, or -errno. */
int loop_run(struct loop *l, struct err *err);

/* setup.c */
int loop_open(struct loop *l, int request_fd, struct err *err);
/* Whose state the work is in, and what its agent reaches. */
struct work_where loop_where(const struct loop *l);
void loop_close(struct loop *l);
/* Not one that goes on: its counters begin at nothing. After what a killed one left is finished. */
int loop_begin_anew(struct loop *l, struct err *err);
/* Everything else that must hold before an agent is left alone: clock, disk, a sandbox that answers
 * and refuses what no rule allows. */
int loop_preflight(struct loop *l, struct err *err);
/* Is a credential missing, or not what it was? Exit 8. */
int loop_check_credentials(struct loop *l, struct err *err);

/* tree.c: opens the repository, gets it ready (dirty trees, branch, worktree), and opens the tree
 * that the agent works in; at the end pushes, clears away, and gives the user's changes back. */
int tree_open(struct loop *l, struct err *err);
int tree_prepare(struct loop *l, struct err *err);
int tree_root(struct loop *l, struct err *err);
void tree_finish(struct loop *l, int code);
/* The user's PATH without what the agent can write: for programs that the host runs. */
char *tree_path(const struct loop *l);

/* clear.c: removes a sandbox when what was said in it is saved, and its event log is in *ret_kept,
 * a directory below the workspace; the caller frees it. NULL, and 0, when there is none. */
int clear_sandbox(struct loop *l, const char *name, char **ret_kept, struct err *err);

/* recover.c */
int loop_recover(struct loop *l, struct err *err);

/* sandbox-run.c */
int loop_sandbox_build(struct loop *l, struct err *err);
int loop_sandbox_start(struct loop *l, struct err *err);
/* What the agent left is shown; the sandbox ends. */
void loop_sandbox_stop(struct loop *l);
/* The agent's command line inside, and what it has besides the sandbox's environment. */
int loop_sandbox_agent_argv(const struct loop *l, struct strv *ret, struct err *err);
void loop_sandbox_agent_env(const struct loop *l, struct strv *ret);
/* Without a sandbox the user's environment is the command's. */
void loop_sandbox_host_env(struct strv *ret);

/* round.c: one iteration of a task (NULL: of the prompt). *ret: what it was worth. */
int round_run(struct loop *l, struct task *t, struct judgement *ret, struct err *err);
/* The second half, for what was interrupted: commits are checked, the task is settled. */
int round_verify(struct loop *l, struct task *t, struct judgement *ret, struct err *err);
/* round-settle.c: what was judged is written to the task and counted. */
int round_settle(struct loop *l, struct task *t, struct err *err);
/* For the eye, and for `ralph events`. */
void round_tell(struct loop *l, const struct task *t, const struct judgement *j);

/* commits.c: new commits since the iteration began count, or are taken back: the intent says so,
 * and is saved. Once for each iteration, before anything is put back. */
int commits_check(struct loop *l, struct err *err);

/* verify.c: what fails already before the first iteration */
int verify_baseline(struct loop *l, struct err *err);
struct verify_result {
	bool ok;	  /* nothing that counts fails */
	uint64_t failing; /* commands that fail, whether they count or not */
	char *report;	  /* for the next prompt; NULL when all is well */
};
int verify_run(struct loop *l, const struct task *t, struct verify_result *ret, struct err *err);
void verify_result_done(struct verify_result *v);

/* prompt.c: what the agent reads; the caller frees it. */
int prompt_make(struct loop *l, const struct task *t, char **ret, struct err *err);

/* answers.c: what `ralph answer` left is taken in: the task is ready again. */
int answers_take(struct loop *l, struct err *err);

/* status.c: status.json of the state */
void status_write(struct loop *l, const char *phase, uint64_t until);

/* wait.c: 0 when it is over, else the exit code that ends the loop (paused, a signal). */
int wait_until(struct loop *l, uint64_t until, const char *what);

/* ending.c: prints and writes the summary, tells the user, and gives the exit code back. */
int ending(struct loop *l, int code, const char *reason);
