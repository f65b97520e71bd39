#pragma once

#include "base/buf.h"
#include "base/strv.h"

/*
 * What an agent tells a hook: one JSON object on stdin, in the form of Claude Code; the names that
 * Codex, Gemini CLI and Copilot have for the same are known too. It is read as it comes; only what
 * is needed is kept, so a file's content in there costs nothing.
 */
#define INPUT_MAX (64 * MiB)   /* of all of it */
#define INPUT_TEXT (256 * KiB) /* of a command or a patch */
#define INPUT_PATH (8 * KiB)   /* of anything else */
#define INPUT_MANY 256	       /* commands and paths */

struct hook_input {
	char *tool, *cwd, *transcript, *session;
	bool stop_active, subagent;
	bool has_tool_input;
	struct strv commands; /* texts that a shell is to run */
	struct strv paths;    /* files that a tool opens */
	struct strv patches;  /* texts of apply_patch, which name files */
};

/* -EBADMSG: no such object; -E2BIG: something is longer than its limit; what has been read is
 * there. */
int hook_input_read(int fd, struct hook_input *ret);
void hook_input_done(struct hook_input *in);
