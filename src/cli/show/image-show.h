#pragma once

#include "image/image.h"

#include <stdint.h>

/*
 * Shows on stderr how an image is built: one line that changes on a terminal, else a line of the
 * log for each step.
 *
 *	cleanup_image_show struct image_show show;
 *	image_show_init(&show);
 *	struct image_request req = {…, .told = image_show_step, .arg = &show};
 */
struct image_show {
	bool terminal;
	bool open;	    /* the terminal's line holds something */
	unsigned at, of;    /* the step that was shown last */
	uint64_t step_from; /* now_ms() it began */
	char *step;
};

void image_show_init(struct image_show *s);
void image_show_step(void *show, const struct image_step *step);
/* The line is cleared: what follows stands alone. */
void image_show_done(struct image_show *s);

#define cleanup_image_show cleanup_(image_show_done)
