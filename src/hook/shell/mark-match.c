#include "hook/shell/mark-match.h"

#include <string.h>

#include "hook/shell/marks.h"

#define STEPS_MAX 2000 /* comparisons of one path; beyond it, the path counts as a match */

/* MARK_STAR is treated as MARK_ANY, because names have no slash. So only the last wildcard needs
 * backtracking. */
bool pattern_may_be(const char *word, const char *text)
{
	const char *star = NULL, *from = NULL;

	for (;;) {
		if (*word == MARK_EMPTY) {
			word++;
		} else if (*word == MARK_ANY || *word == MARK_STAR) {
			star = ++word;
			from = text;
		} else if (*text && (*word == *text || (*word == MARK_ONE && *text != '/'))) {
			word++;
			text++;
		} else if (!*text && !*word) {
			return true;
		} else if (star && *from) {
			word = star;
			text = ++from;
		} else {
			return false;
		}
	}
}

static bool path_fits(const char *start, const char *w, const char *p, int *steps);

/* A wildcard of the pattern takes any text of the word, up to a slash; a double one takes
 * slashes too. */
static bool taken_by_pattern(const char *start, const char *w, const char *p, int *steps)
{
	bool any = p[1] == '*';

	for (p += any ? 2 : 1;; w++) {
		if (path_fits(start, w, p, steps))
			return true;
		if (!*w || (!any && *w == '/'))
			return false;
	}
}

/* True when a glob at w may stand for this byte. At the start of a name it does not match a dot. */
static bool globbed(const char *start, const char *w, char c)
{
	return c && c != '/' && !(c == '.' && (w == start || w[-1] == '/'));
}

static bool path_fits(const char *start, const char *w, const char *p, int *steps)
{
	if (--*steps < 0)
		return true;
	if (*p == '*')
		return taken_by_pattern(start, w, p, steps);
	if (*w == MARK_STAR)
		return path_fits(start, w + 1, p, steps) ||
		       (globbed(start, w, *p) && path_fits(start, w, p + 1, steps));
	if (!*w || !*p)
		return !*w && !*p;
	if (*w == MARK_ONE ? !globbed(start, w, *p) : *w != *p)
		return false;
	return path_fits(start, w + 1, p + 1, steps);
}

bool pattern_path(const char *word, const char *pattern)
{
	int steps = STEPS_MAX;

	return path_fits(word, word, pattern, &steps);
}
