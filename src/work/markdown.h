#pragma once

#include "work/listing.h"

/*
 * A Markdown plan as a list of steps ("### Step 3: title [done]") and boxes ("- [x] title"), each
 * with its owner. In a plan with steps, the steps are the tasks, and the boxes below a step are its
 * criteria. Without steps, the outermost boxes are the tasks, and the boxes below are their
 * criteria. Lines in code fences are ignored. Positions are offsets into the text.
 */
#define PLAN_ITEMS_MAX 20000

struct plan_item {
	bool step;
	char *id;		 /* NULL: not a task */
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

/* Returns -E2BIG for more than PLAN_ITEMS_MAX items or WORK_TASKS_MAX tasks. */
int plan_scan(const char *text, size_t len, struct plan *ret);
void plan_done(struct plan *p);

#define cleanup_plan cleanup_(plan_done)

/* Iterates over lines: *at starts at 0 and moves past the end of each line. *ret_n does not
 * count the line end. */
bool plan_line(const char *text, size_t len, size_t *at, size_t *ret, size_t *ret_n);

/* State of the fence parser: the fence that is open. */
struct plan_fence {
	char c;
	unsigned n; /* 0: outside */
};
/* Returns true when the line is inside a fence, or opens or closes one. */
bool plan_fenced(struct plan_fence *f, const char *line, size_t n);

int plan_read(const char *name, const char *text, size_t len, struct listing *ret, struct err *err);
void plan_judge(const char *put, size_t put_len, const char *theirs, size_t len, const char *id,
		struct proposals *ret);

/* front-matter.c: reads the text between two "---" lines at the very beginning: branch, base,
 * depends, verify; other keys are ignored. *ret_body: offset after it; 0: there is no front
 * matter. */
int front_read(const char *name, const char *text, size_t len, struct listing *l, size_t *ret_body,
	       struct err *err);
