#include "hook/pattern.h"

#include <string.h>

#include "hook/marks.h"

#define STEPS_MAX 20000 /* comparisons of one match; beyond it, it is taken to fit */

static bool may_be(const char *w, const char *t, int *steps)
{
	if (--*steps < 0)
		return true;
	for (; *w; w++, t++) {
		if (*w == MARK_EMPTY) {
			t--;
			continue;
		}
		if (*w == MARK_ANY || *w == MARK_STAR) {
			for (;; t++) {
				if (may_be(w + 1, t, steps))
					return true;
				if (!*t || (*w == MARK_STAR && *t == '/'))
					return false;
			}
		}
		if (!*t || (*w == MARK_ONE ? *t == '/' : *w != *t))
			return false;
	}
	return !*t;
}

bool pattern_may_be(const char *word, const char *text)
{
	int steps = STEPS_MAX;

	return may_be(word, text, &steps);
}

static bool path_fits(const char *start, const char *w, const char *p, int *steps)
{
	if (--*steps < 0)
		return true;
	if (p[0] == '*' && p[1] == '*') {
		for (;; w++) {
			if (path_fits(start, w, p + 2, steps))
				return true;
			if (!*w)
				return false;
		}
	}
	if (p[0] == '*') {
		for (;; w++) {
			if (path_fits(start, w, p + 1, steps))
				return true;
			if (!*w || *w == '/')
				return false;
		}
	}
	if (*w == MARK_STAR) {
		if (path_fits(start, w + 1, p, steps))
			return true;
		/* At the start of a name no dot is meant. */
		if (!*p || *p == '/' || (*p == '.' && (w == start || w[-1] == '/')))
			return false;
		return path_fits(start, w, p + 1, steps);
	}
	if (!*w || !*p)
		return !*w && !*p;
	if (*w == MARK_ONE)
		return *p != '/' && !(*p == '.' && (w == start || w[-1] == '/')) &&
		       path_fits(start, w + 1, p + 1, steps);
	return *w == *p && path_fits(start, w + 1, p + 1, steps);
}

bool pattern_path(const char *word, const char *pattern)
{
	int steps = STEPS_MAX;

	return path_fits(word, word, pattern, &steps);
}
