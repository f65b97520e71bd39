#pragma once

#include "base/err.h"
#include "base/json/json.h"

/*
 * `repo adopt ROOT NAME HEAD SETTINGS`: a new repository at ROOT, whose files are there already,
 * with the commits of the stream on stdin (import.h). settings: text for its configuration file,
 * which the caller has checked. Fills out as import_run() does. After an error the caller removes
 * what is left of ROOT/.git.
 */
int adopt_run(const char *root, const char *name, const char *head, const char *settings,
	      json_t *out, struct err *err);
