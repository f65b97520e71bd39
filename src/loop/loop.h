#pragma once

/*
 * ROOM: loop
 *
 * The iterations: a fresh agent each time, proposals, verification, verdict. Lists of work belong
 * to work, git to repo, and display to view.
 */

#include "agent/agent.h"
#include "base/ev.h"
#include "loop/control.h"
#include "work/draft.h"
#include "loop/loop-limits.h"
#include "repo/repo-held.h"
#include "repo/repo.h"
#include "loop/loop-request.h"
#include "loop/show.h"
#include "loop/state.h"
#include "loop/workers/pace.h"
#include "work/work.h"
#include "compose/build.h"
#include "record/loops.h"

/*
 * DOC: Theory of operation
 *
 *	setup.c     opens the workspace, its state and the work; checks before the start
 *	tree.c      the repository: checks before the start, cleanup at the end
 *	recover.c   finishes the interrupted step of a killed loop
 *	loop.c      chooses the next task, until there is none or a limit is reached
 *	round.c     one iteration: journal, sandbox, agent, proposals, verification, verdict
 *	commits.c   judges the agent's commits
 *	proposal.c  moves the loop's branch to what was judged, and no other reference
 *	tree/       the agent's tree: files that are not committed, or not the agent's to change
 *	sandbox-run.c  the sandbox of an iteration: started afresh each time, so that the
 *	            workspace's protection is computed again and nothing of the last agent is left
 *	verify.c    the commands that prove a task, in a sandbox of their own
 *	fallback/   other agents, when the provider is not available
 *	prepare/    the commands of loop.setup
 *	report/     tells of refused hosts, quarantined files and conversations
 *	wait.c      waits until a provider's limit ends
 *	ending.c    the exit code, the summary
 *	notify/     tells the user of events
 *
 * There is one thread and one event loop; everything that runs is a job in the sandbox (job.c) or a
 * short blocking call.
 */
enum loop_exit {
	LOOP_DONE = 0,
	LOOP_LIMIT = 3,
	LOOP_STUCK = 4,
	LOOP_BLOCKED = 5,
	LOOP_DECIDE = 6,
	LOOP_PROVIDER = 7, /* not available: a limit, or an outage */
	LOOP_CREDENTIAL = 8,
	LOOP_PAUSED = 9,
};

struct fallback;
struct home_line;

struct loop {
	struct loop_request q;
	const struct config *config;
	const struct agent *agent;
	const struct agent *reviewer; /* NULL: no reviews */
	enum loop_mode mode;	      /* for a resumed loop: its original mode */
	struct loop_limits limits;
	struct pace pace;		       /* of workers elsewhere */
	size_t slots;			       /* of --parallel; 1: one task at a time */
	const struct config_place *placement;  /* where workers run; NULL: here */
	struct placed_streams *placed_streams; /* to their nodes; NULL: there is none */
	struct placed_cred *placed_cred;       /* asked for them; NULL: not yet */
	struct placed_people
		*placed_people; /* what people and agents say to each other; NULL: nobody yet */
	struct home_line *home_line;	 /* of a placed worker; NULL: it is none */
	struct placed_gate *placed_gate; /* what dials for them; NULL: not yet */
	struct placed_base *placed_base; /* what they start from; NULL: nothing was sent yet */
	struct placed *placed_takes;	 /* those with commits to be taken over; NULL: none */
	struct ev *ev;
	struct control control;
	struct show show;
	int workspace, dir, logs; /* the workspace, .ralph, its logs */
	struct loop_path place;	  /* of the state */
	bool shared;		  /* the agent reaches all of the workspace: see work_where */
	struct loop_state state;
	struct work *work;   /* NULL: no list, only a prompt */
	struct draft *draft; /* list that is being planned; NULL: none */
	struct repo *repo;   /* NULL: no repository */
	char *root;	     /* working directory of the agent: the workspace, or a worktree */
	int root_fd;
	char *git_name, *git_email;
	struct repo_made made; /* by this start: the loop's branch and its worktree */
	/* the sandbox */
	struct build build;
	bool fresh;	      /* the next start of the sandbox is with an empty home */
	int hold;	      /* connection that keeps the sandbox running */
	uint64_t allowance;   /* spending limit of this iteration in micro-dollars; 0: none */
	uint64_t round_began; /* now_ms(); 0: none */
	uint64_t active_mark; /* state.active_ms when the round began */
	char *tool;	      /* current tool call of the agent */
	const struct task *task;
	json_t *refused;     /* hosts, for the record of this iteration; NULL: none */
	json_t *quarantined; /* files, likewise */
	char *transcript;    /* name of its conversation; NULL: none */
	uint64_t resets_at, weekly_used, weekly_resets_at; /* reported by the last agent */
	struct fallback *fallback;			   /* other agents; NULL: none */
	const char *phase;
	bool idle;	       /* there is nothing to do */
	bool anywhere;	       /* commands to type name the workspace, wherever they are typed */
	const char *next;      /* such a command, for the status; NULL: none */
	struct strv questions; /* of tasks, not yet told: see notify_question() */
	struct strv asks_told; /* ids; see loop-asks.c */
	int rules_held;	       /* see record/loop-rules.h; -1: not held */
	bool over;	       /* all is done: nothing to resume */
	uint64_t asks_looked_ms;
	char *stopped_by; /* reason of a worker that cannot go on; NULL: none */
};

/* Returns the exit code, or -errno. */
int loop_run(struct loop *l, struct err *err);

/* Prints what has changed in the list of work. */
void loop_show_news(struct loop *l);
/* Returns what the limits count: neither iterations without a provider nor their time. */
struct loop_used loop_used(const struct loop *l);

/* setup.c */
int loop_open(struct loop *l, int request_fd, struct err *err);
/* Returns the location of the work's state and the part of it that the agent can reach. */
struct work_where loop_where(const struct loop *l);
void loop_close(struct loop *l);
/* Resets the counters of a loop that is not resumed, after the work of a killed loop was
 * finished. */
int loop_begin_anew(struct loop *l, struct err *err);
/* Checks everything else before an agent runs unattended: clock, disk, a sandbox that answers
 * and that refuses traffic without a rule. */
int loop_preflight(struct loop *l, struct err *err);
/* Fails with exit code 8 when a credential is missing or has changed. */
int loop_check_credentials(struct loop *l, struct err *err);
/* The same for another agent with these settings. */
int loop_check_credentials_of(struct loop *l, const struct agent *a, const struct config *c,
			      struct err *err);

/* tree.c: opens the repository, gets it ready (dirty trees, branch, worktree), and opens the tree
 * that the agent works in; at the end pushes, clears away, and gives the user's changes back. */
int tree_open(struct loop *l, struct err *err);
/* *ret: another branch than the loop's is checked out, and the repository has the list. */
int tree_elsewhere(struct loop *l, bool *ret, struct err *err);
int tree_prepare(struct loop *l, struct err *err);
int tree_root(struct loop *l, struct err *err);
void tree_finish(struct loop *l, int code);
/* For a start that was refused: goes back to the user's branch, and removes the branch and the worktree
 * that it has made. */
void tree_forget_branch(struct loop *l);
/* Pushes the loop's branch if the user asks for that; logs a failure. */
void tree_push(struct loop *l);
/* Commits the marks in a list that the repository has: of a task that is done (NULL: all that is
 * left). A failure is only logged: the next call tries again. The caller calls state_save(). */
void tree_commit_marks(struct loop *l, const struct task *t);
/* Returns the user's PATH without directories that the agent can write, for programs that the
 * host runs. */
char *tree_path(const struct loop *l);

/* clear.c: exports the conversations of a sandbox, keeps its event log and removes it. *ret_kept is
 * the directory of the log, below the workspace; the caller frees it. Without a sandbox, returns 0
 * and NULL. */
int clear_sandbox(struct loop *l, const char *name, char **ret_kept, struct err *err);

/* recover.c */
int loop_recover(struct loop *l, struct err *err);

/* sandbox-run.c */
int loop_sandbox_build(struct loop *l, struct err *err);
int loop_sandbox_start(struct loop *l, struct err *err);
/* Starts it for the checks instead: with a home and a git directory that no agent wrote. */
int loop_sandbox_start_checks(struct loop *l, struct err *err);
/* Stops the sandbox, and logs a failure to do so. */
void loop_sandbox_stop(struct loop *l);
/* Stops it, and copies its conversations to the project's home. */
void loop_sandbox_keep(struct loop *l);
/* Returns the agent's command line inside the sandbox, and its additional environment variables. */
int loop_sandbox_agent_argv(const struct loop *l, struct strv *ret, struct err *err);
void loop_sandbox_agent_env(const struct loop *l, struct strv *ret);
/* Without a sandbox, the command gets the user's environment. */
void loop_sandbox_host_env(struct strv *ret);

/* round.c: runs one iteration of a task (NULL: of the prompt). *ret is its judgement. */
int round_run(struct loop *l, struct task *t, struct judgement *ret, struct err *err);
/* Runs the second half for an interrupted iteration: checks the commits and judges the task. */
int round_verify(struct loop *l, struct task *t, struct judgement *ret, struct err *err);
struct iteration;
/* Finds the causes of the run's end that are not the agent's. */
void round_find_cause(struct loop *l, struct iteration *it);
/* Returns how long one run of an agent may take now, in ms; 0: any time. */
uint64_t round_time(const struct loop *l);
/* round-settle.c: writes the judgement to the task and updates the counters. */
int round_settle(struct loop *l, struct task *t, struct err *err);
/* Prints the judgement, and writes it to the event log. */
void round_tell(struct loop *l, const struct task *t, const struct judgement *j);

/* commits.c: takes the agent's commits onto the loop's branch, or puts the files back. The result is
 * saved in the intent. It runs once for each iteration, before anything is restored. */
int commits_check(struct loop *l, struct err *err);

/* proposal.c: the branch of the repository at root, and the index with it, become the commit that passed the
 * check. Waits for an index that is locked. */
int proposal_advance(struct loop *l, const char *root, const struct repo_proposal *p,
		     const char *commit, struct err *err);
/* The same for the loop's own repository, where the record of a shared git directory follows. */
int proposal_take(struct loop *l, const struct repo_proposal *p, const char *commit,
		  struct err *err);
/* Nothing of an earlier agent is held as a proposal any more; what nothing else keeps is told. kept: a
 * commit with a reference of its own; "": none. */
int proposal_settle(struct loop *l, const char *kept, struct err *err);
/* True when the agent has made a commit. */
bool proposal_any(struct loop *l);
/* Lists what stays held of the agents: references, sorted. */
void proposal_others(struct loop *l, struct strv *ret);

/* verify.c: records which commands already fail before the first iteration */
int verify_baseline(struct loop *l, struct err *err);
struct verify_result {
	bool ok;	  /* no counted command fails */
	uint64_t failing; /* commands that fail, whether they count or not */
	size_t commands;  /* 0: none that verifies it */
	char *report;	  /* for the next prompt; NULL on success */
	char *output;	  /* of all commands, for a reviewer; NULL without a command */
};
int verify_run(struct loop *l, const struct task *t, struct verify_result *ret, struct err *err);
/* Runs the commands of all these tasks, each once. `commands` is their number. */
int verify_tasks(struct loop *l, const struct task *const *tasks, size_t n,
		 struct verify_result *ret, struct err *err);
void verify_result_done(struct verify_result *v);

/* True when a command verifies this task: one that failed before the loop and still does is none. */
bool verify_proves(const struct loop *l, const struct task *t);
/* Returns how many tasks of the list a command verifies. */
size_t verify_proved(const struct loop *l);

/* prompt.c: builds the prompt; the caller frees it. */
int prompt_make(struct loop *l, const struct task *t, char **ret, struct err *err);

/* tree/left-behind.c: notes for the next prompt what an iteration that was cut off left. The caller calls
 * state_save(). */
void left_behind_note(struct loop *l, const struct task *t);

/* answers.c: takes in the answers from `ralph answer`, which makes their tasks ready again. */
int answers_take(struct loop *l, struct err *err);
/* Writes a task's answers and notes for an agent; asked: how a question is introduced. */
void answers_put(struct buf *b, const json_t *answers, const char *asked);
/* True when there is an answer that was not taken in yet. */
bool answers_wait(const struct loop *l);

/* status.c: status.json of the state */
void status_write(struct loop *l, const char *phase, uint64_t until);

/* wait.c: returns 0 after the wait, else the exit code that ends the loop (paused, a signal). */
int wait_until(struct loop *l, uint64_t until, const char *what);
/* When the limit ends that home has told this worker of, in seconds since 1970; 0: none holds. */
uint64_t wait_told(const struct loop *l);
/* Waits as long as it holds: home may also say that it is over. */
int wait_while_told(struct loop *l, const char *what);

/* ending.c: prints and writes the summary, notifies the user, and returns the exit code. */
int ending(struct loop *l, int code, const char *reason);
/* After an iteration of a placed loop: prints the summary so far as one line. */
void ending_progress(const struct loop *l);
/* Says that there is nothing to do, and why; changes nothing but what --push asks for. */
/* loop-asks.c: what agents ask a person for */
void loop_asks_put(struct loop *l, struct buf *b); /* into the prompt */
/* For struct iteration, with the loop: its agent waits for a person right now. */
bool loop_asks_wait(void *loop, const struct iteration *it);
void loop_asks_tell(struct loop *l); /* the person hears of new ones */

int ending_idle(struct loop *l, int code, const char *reason);
