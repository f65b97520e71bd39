#pragma once

#include "work/work.h"

/* The loop's state: the host's own data about the tasks. Names are relative to its directory. */
#define KEPT_TASKS "tasks.json"

/* The entry of one task in the state file; strings are owned. */
struct kept_task {
	char *id, *why, *commit;
	enum task_state state, said;
	unsigned attempts;
	char fingerprint[TASK_HASH_LEN + 1];
};

struct kept {
	char *source; /* NULL: no state yet */
	char *open;   /* id of the task with an open turn; NULL: none */
	/* Files in the workspace that the agent can reach in that turn; NULL: none. */
	char *reach, *log_reach;
	struct kept_task *tasks;
	size_t n;
};

void kept_done(struct kept *k);

#define cleanup_kept cleanup_(kept_done)

/* dir is the state directory; -1: there is none. */
int kept_read(int dir, struct kept *ret, struct err *err);
bool kept_all_done(const struct kept *k);
/* Creates .ralph and its .gitignore if missing, and the state directory if *state is -1. */
int kept_places(int root, int *state, struct err *err);
int kept_write(struct work *w, struct err *err);

/* The .gitignore of .ralph. */
extern const char work_gitignore[];
/* Writes .gitignore if missing. It comes first, because other files would be committed without
 * it. */
int work_put_ignore(int dir, struct err *err);

/* Copies of the files that the agent can reach, from before its turn, for restoring them. */
#define KEPT_SOURCE "source"
#define KEPT_PROGRESS "progress"
/* Copies of the last few versions that ralph reverted, so that no text is lost. */
#define KEPT_ASIDE "put-back"
#define KEPT_ASIDE_MAX 8
void kept_aside(int state, const char *path, const struct buf *text);
