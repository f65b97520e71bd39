/*
 * Reports how full an agent's context is, from the usage that the provider counted for the last
 * answer in the transcript. Each threshold is reported once. A full context ends the iteration: the
 * next one starts with a fresh context, which is better than a summary.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json/jpick.h"
#include "base/parse.h"
#include "hook/hook.h"

#define TAIL                                                                                       \
	(512 * KiB) /* of the transcript: the last answer is in it, unless a result is longer */

static const unsigned int marks[] = {90, 80, 70, 60, 50};

/* Context sizes of models, by a part of their name; the first match counts. */
static const struct {
	const char *part;
	uint64_t tokens;
} models[] = {
	{"[1m]", 1000000},    {"gemini", 1048576}, {"gpt-5", 272000},
	{"gpt-4.1", 1047576}, {"", 200000},
};

static uint64_t context_size(const char *model, uint64_t used)
{
	const char *told = getenv("RALPH_CONTEXT_TOKENS");
	uint64_t size;

	if (told && parse_uint(told, 1000, 1000000000, &size) == 0)
		return size;
	for (size_t i = 0;; i++)
		if (strstr(model, models[i].part)) {
			size = models[i].tokens;
			break;
		}
	/* A context that exceeds its nominal size belongs to a large variant of the model. */
	return used > size ? 1000000 : size;
}

/* Returns the tokens of an answer of the main agent; 0 for any other record. */
static uint64_t used_in(struct jtext record, uint64_t *size)
{
	static const char *const names[] = {"type", "message", "isSidechain", "isApiErrorMessage"};
	static const char *const inner[] = {"usage", "model"};
	static const char *const counts[] = {"input_tokens", "cache_read_input_tokens",
					     "cache_creation_input_tokens", "output_tokens"};
	cleanup_free char *model = NULL;
	struct jtext v[4], m[2], c[4];
	uint64_t used = 0;

	if (!jpick(record, names, v, 4) || !jtext_eq(v[0], "assistant") || jtext_true(v[2]) ||
	    jtext_true(v[3]))
		return 0;
	if (!jpick(v[1], inner, m, 2) || !jpick(m[0], counts, c, 4))
		return 0;
	for (int i = 0; i < 4; i++) {
		uint64_t n = jtext_uint(c[i]);

		used += n < 100000000 ? n : 0;
	}
	model = jtext_dup(m[1], 256);
	*size = context_size(model ? model : "", used);
	return used;
}

/* Returns the percentage of the context that the last answer used; 0: unknown. */
static unsigned int percent_used(const char *transcript)
{
	cleanup_fd int fd = open(transcript, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	cleanup_buf struct buf b;
	struct stat st;
	ssize_t n;
	off_t from;

	buf_init(&b, TAIL);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || buf_reserve(&b, TAIL) < 0)
		return 0;
	from = st.st_size > (off_t)TAIL ? st.st_size - (off_t)TAIL : 0;
	n = pread(fd, b.data, TAIL, from);
	for (char *end = n > 0 ? b.data + n : NULL; end && end > b.data;) {
		char *line = memrchr(b.data, '\n', (size_t)(end - b.data));
		const char *start = line ? line + 1 : b.data;
		uint64_t size = 0, used;

		/* The first line of a tail may be cut; it is then no JSON object. */
		used = used_in((struct jtext){start, (size_t)(end - start)}, &size);
		if (used && size)
			return (unsigned int)(used >= size ? 100 : used * 100 / size);
		end = line;
	}
	return 0;
}

static void put_context(unsigned int percent, struct buf *text)
{
	(void)buf_printf(text, "ralph: %u %% of the context is used. ", percent);
	(void)buf_puts(
		text,
		percent >= 90
			? "Stop now: commit what works, note what is left in progress.txt, and end."
		: percent >= 80 ? "Finish the step at hand, commit it, note what is left in "
				  "progress.txt, and end."
		: percent >= 70 ? "Begin nothing new; bring the step at hand to a commit."
				: "Keep to the task at hand, and read only what it needs.");
}

static void say(const struct buf *text)
{
	cleanup_buf struct buf out;

	buf_init(&out, 32 * KiB);
	(void)buf_puts(&out, "{\"hookSpecificOutput\":{\"hookEventName\":\"PostToolUse\","
			     "\"additionalContext\":");
	(void)buf_put_quoted(&out, buf_str((struct buf *)(uintptr_t)text));
	(void)buf_puts(&out, "}}\n");
	(void)fd_write_all(STDOUT_FILENO, out.data, out.len);
}

int hook_post_tool_use(const struct hook_input *in, int read_error)
{
	static const char over[] =
		"{\"continue\":false,\"stopReason\":\"ralph: the context is full; the next "
		"iteration begins with a fresh one\"}\n";
	unsigned int told, percent, mark = 0;
	cleanup_buf struct buf text;

	buf_init(&text, 8 * KiB);

	if (read_error < 0)
		hook_say("post-tool-use: what the agent sent is not understood, ignoring it");
	if (read_error < 0 || in->subagent || !hook_in_loop(in->cwd))
		return 0;
	told = session_level(in->session);
	if (told == SESSION_OVER) {
		(void)fd_write_all(STDOUT_FILENO, over, strlen(over));
		return 0;
	}
	percent = in->transcript ? percent_used(in->transcript) : 0;
	for (size_t i = 0; i < ARRAY_SIZE(marks) && !mark; i++)
		if (percent >= marks[i])
			mark = marks[i];
	hook_put_refused(in->session, &text);
	if (mark > told && session_set_level(in->session, mark) == 0)
		put_context(percent, &text);
	if (text.len)
		say(&text);
	return 0;
}

/* A refused compaction is only postponed. The next post-tool-use ends the iteration. */
int hook_pre_compact(const struct hook_input *in, int read_error)
{
	if (read_error < 0)
		hook_say("pre-compact: what the agent sent is not understood, ignoring it");
	if (read_error < 0 || in->subagent || !hook_in_loop(in->cwd))
		return 0;
	if (session_set_level(in->session, SESSION_OVER) < 0)
		return 0;
	hook_say("the context is full; this iteration ends, the next one begins with a fresh "
		 "context");
	return HOOK_EXIT_BLOCK;
}
