#include "cli/terminal/ask.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <termios.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text/term.h"

#define ANSWER_MAX 64
#define TRIES 3 /* then it is no: what types nonsense is no person */

bool ask_possible(void)
{
	return isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
}

/*
 * Reads one line, byte by byte, because the bytes after it belong to the command. Returns false at
 * the end of the input.
 */
static bool read_line(char *out, size_t size)
{
	size_t n = 0;
	char c;

	for (;;) {
		ssize_t got = read(STDIN_FILENO, &c, 1);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		if (c == '\n')
			break;
		if (n < size - 1 && c != '\r')
			out[n++] = c;
	}
	out[n] = '\0';
	return true;
}

enum answer { ANSWER_NO, ANSWER_YES, ANSWER_DEFAULT, ANSWER_SHOW, ANSWER_OTHER };

static enum answer read_answer(void)
{
	char text[ANSWER_MAX];

	if (!read_line(text, sizeof(text))) {
		(void)fputc('\n', stderr);
		return ANSWER_NO;
	}
	if (!text[0])
		return ANSWER_DEFAULT;
	if (strcasecmp(text, "y") == 0 || strcasecmp(text, "yes") == 0)
		return ANSWER_YES;
	if (strcasecmp(text, "n") == 0 || strcasecmp(text, "no") == 0)
		return ANSWER_NO;
	return streq(text, "?") ? ANSWER_SHOW : ANSWER_OTHER;
}

int ask_or_show(const char *question, bool by_default, int (*show)(void *arg), void *arg,
		bool *ret_yes, struct err *err)
{
	enum answer answer = ANSWER_OTHER;

	if (!ask_possible())
		return err_set(err, ENOTTY, "there is no terminal to ask on");
	for (int i = 0; i < TRIES && answer >= ANSWER_SHOW; i++) {
		int r = answer == ANSWER_SHOW && show ? show(arg) : 0;

		if (r < 0)
			return r;
		term_puts(stderr, question);
		(void)fprintf(stderr, " [%s%s] ", by_default ? "Y/n" : "y/N",
			      show ? ", ? shows everything" : "");
		(void)fflush(stderr);
		answer = read_answer();
	}
	*ret_yes = answer == ANSWER_DEFAULT ? by_default : answer == ANSWER_YES;
	return 0;
}

char ask_choice(const char *question, const char *letters)
{
	char answer[ANSWER_MAX];

	for (int i = 0; ask_possible() && i < TRIES; i++) {
		/* What was typed before the question is no answer to it. */
		(void)tcflush(STDIN_FILENO, TCIFLUSH);
		term_puts(stderr, question);
		(void)fputc(' ', stderr);
		(void)fflush(stderr);
		if (!read_line(answer, sizeof(answer))) {
			(void)fputc('\n', stderr);
			break;
		}
		if (!answer[0])
			break;
		if (!answer[1] && strchr(letters, tolower((unsigned char)answer[0])))
			return (char)tolower((unsigned char)answer[0]);
	}
	return letters[0];
}

int ask(const char *question, bool by_default, bool *ret_yes, struct err *err)
{
	return ask_or_show(question, by_default, NULL, NULL, ret_yes, err);
}

int ask_text(const char *prompt, char *out, size_t size, struct err *err)
{
	if (!ask_possible())
		return err_set(err, ENOTTY, "there is no terminal to ask on");
	(void)fprintf(stderr, "%s ", prompt);
	(void)fflush(stderr);
	if (!read_line(out, size)) {
		(void)fputc('\n', stderr);
		out[0] = '\0';
	}
	return 0;
}
