#pragma once

#include "image/image-cmd.h"
#include "image/image-tool.h"
#include "image/image.h"

/*
 * Runs a build to its end, with all that it says in the file `log`, and tells req of its steps;
 * once a second again of the one it is at. The error of a build that fails names the file.
 */
#define IMAGE_LOG_MAX (64 * MiB) /* what comes behind it is dropped */
#define IMAGE_BUILD_MS (3 * 60 * 60 * 1000)

int image_build_run(const struct image_request *req, const struct image_tool *t,
		    const struct image_build *b, const char *log, struct err *err);

/* Is this line of a builder's the beginning of a step? Its text is within the line. */
bool image_step_parse(const char *line, struct image_step *ret);
