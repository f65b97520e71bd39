#pragma once

#include "image/image-cmd.h"
#include "image/image-tool.h"
#include "image/image.h"

/*
 * Runs a build to its end, writes its output to the file `log`, and reports its steps to req; the
 * current step is reported once a second. The error of a failed build names the file.
 */
#define IMAGE_LOG_MAX (64 * MiB) /* further output is dropped */
#define IMAGE_BUILD_MS (3 * 60 * 60 * 1000)

int image_build_run(const struct image_request *req, const struct image_tool *t,
		    const struct image_build *b, const char *log, struct err *err);

/* True when this line of a builder starts a step. Its text points into the line. */
bool image_step_parse(const char *line, struct image_step *ret);
