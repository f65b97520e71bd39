#pragma once

#include "loop/work.h"

/* .ralph/state: what the host knows of the tasks. */

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

int kept_read(int root, struct kept *ret, struct err *err);
const struct kept_task *kept_find(const struct kept *k, const char *id);
bool kept_all_done(const struct kept *k);
/* Makes .ralph and what belongs there when it is not there yet. */
int kept_places(int root, struct err *err);
int kept_write(const struct work *w, struct err *err);

/* What ralph ignores in .ralph, for git. */
extern const char work_gitignore[];

/* What the agent reaches is kept here as it was before its turn, for putting it back. */
#define KEPT_SOURCE WORK_STATE_DIR "/source"
#define KEPT_PROGRESS WORK_STATE_DIR "/progress"
/* What was put back, so that nothing is lost that somebody has written; the last few. */
#define KEPT_ASIDE WORK_STATE_DIR "/put-back"
#define KEPT_ASIDE_MAX 8
void kept_aside(int root, const char *path, const struct buf *text);
