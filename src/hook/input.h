#pragma once

#include "base/buf.h"
#include "base/strv.h"

/*
 * The input of a hook: one JSON object on stdin, in the format of Claude Code; the names that
 * Codex, Gemini CLI and Copilot use are known too. It is parsed as a stream and only the needed
 * values are kept, so file contents in it use no memory.
 */
#define INPUT_MAX (64 * MiB)   /* in total */
#define INPUT_TEXT (256 * KiB) /* of a command or a patch */
#define INPUT_PATH (8 * KiB)   /* of anything else */
#define INPUT_MANY 256	       /* commands and paths */

struct hook_input {
	char *tool, *cwd, *transcript, *session;
	bool stop_active, subagent;
	bool has_tool_input;
	struct strv commands; /* scripts for a shell */
	struct strv paths;    /* files that a tool opens */
	struct strv patches;  /* texts of apply_patch, which name files */
};

/* Returns -EBADMSG without a valid object, -E2BIG when a value exceeds its limit; the values
 * read so far are kept. */
int hook_input_read(int fd, struct hook_input *ret);
void hook_input_done(struct hook_input *in);
