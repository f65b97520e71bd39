#pragma once

#include "work/work.h"

/* The loop's state: what the host knows of the tasks. Names are below its directory. */
#define KEPT_TASKS "tasks.json"

/* What a state file says of one task; strings are owned. */
struct kept_task {
	char *id, *why, *commit;
	enum task_state state, said;
	unsigned attempts;
	char fingerprint[TASK_HASH_LEN + 1];
};

struct kept {
	char *source; /* NULL: there is no state yet */
	char *open;   /* the turn that was not ended; NULL */
	/* What the agent reaches in it, in the workspace; NULL. */
	char *reach, *log_reach;
	struct kept_task *tasks;
	size_t n;
};

void kept_done(struct kept *k);

#define cleanup_kept cleanup_(kept_done)

/* dir: the state; -1: there is none. */
int kept_read(int dir, struct kept *ret, struct err *err);
bool kept_all_done(const struct kept *k);
/* Makes .ralph and what belongs there when it is not there yet; *state too where it is -1. */
int kept_places(int root, int *state, struct err *err);
int kept_write(struct work *w, struct err *err);

/* What ralph ignores in .ralph, for git. */
extern const char work_gitignore[];
/* Puts it there where nothing is; before anything else, as it would be committed otherwise. */
int work_put_ignore(int dir, struct err *err);

/* What the agent reaches is kept here as it was before its turn, for putting it back. */
#define KEPT_SOURCE "source"
#define KEPT_PROGRESS "progress"
/* What was put back, so that nothing is lost that somebody has written; the last few. */
#define KEPT_ASIDE "put-back"
#define KEPT_ASIDE_MAX 8
void kept_aside(int state, const char *path, const struct buf *text);
