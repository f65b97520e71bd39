#pragma once

#include "work/listing.h"

/*
 * A Markdown plan as its lines: which of them are steps ("### Step 3: title [done]") or boxes
 * ("- [x] title"), and what belongs to which. Where there is a step, steps are the tasks and the
 * boxes below one are its criteria; else the outermost boxes are the tasks, and those below one
 * its criteria. What stands in code fences is neither. Places are offsets into the text.
 */
#define PLAN_ITEMS_MAX 20000

struct plan_item {
	bool step;
	char *id;		 /* NULL: no task of its own */
	size_t owner;		 /* the task it belongs to, itself for a task; PLAN_NOBODY */
	unsigned line;		 /* from 1 */
	unsigned indent;	 /* of a box, in columns */
	unsigned level;		 /* of a heading */
	size_t box;		 /* the byte between the brackets; of a box */
	size_t number, number_n; /* "3", of a step */
	size_t title, title_n;
	size_t mark, mark_n; /* " [done]", blanks in front included; n 0: none, it would go here */
	size_t why, why_n;   /* of a blocked one */
	enum task_state said;
	size_t body, end; /* of a task: behind its line, to where it is over */
};

#define PLAN_NOBODY ((size_t)-1)

struct plan {
	struct plan_item *items; /* steps and boxes, in order */
	size_t n;
	bool steps;
};

/* -E2BIG: there are more items than PLAN_ITEMS_MAX, or more tasks than WORK_TASKS_MAX. */
int plan_scan(const char *text, size_t len, struct plan *ret);
void plan_done(struct plan *p);

#define cleanup_plan cleanup_(plan_done)

/* Goes through lines: *at begins as 0, and is behind the line's end afterwards. *ret_n is without
 * that end. */
bool plan_line(const char *text, size_t len, size_t *at, size_t *ret, size_t *ret_n);

/* Where a line opens or closes a fence. */
struct plan_fence {
	char c;
	unsigned n; /* 0: outside */
};
/* true: the line is in a fence, or is one. */
bool plan_fenced(struct plan_fence *f, const char *line, size_t n);

int plan_read(const char *name, const char *text, size_t len, struct listing *ret, struct err *err);
void plan_judge(const char *put, size_t put_len, const char *theirs, size_t len, const char *id,
		struct proposals *ret);

/* front-matter.c: what stands between two lines "---" at the very beginning: branch, base, depends,
 * verify; others are not ours. *ret_body: behind it; 0: there is none. */
int front_read(const char *name, const char *text, size_t len, struct listing *l, size_t *ret_body,
	       struct err *err);
