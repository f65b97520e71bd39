#pragma once

#include <stdbool.h>

/*
 * Words are judged before they are expanded for real, so parts of them may be unknown. In a string
 * that is judged these bytes stand for what is not a plain byte; a script that has such a byte
 * itself is read with MARK_OTHER in its place, which fits nothing.
 */
enum mark {
	MARK_ANY = 1, /* some text, or none: only known when it runs */
	MARK_STAR,    /* * of a glob: text without a slash */
	MARK_ONE,     /* ? or […] of a glob: one byte, no slash */
	MARK_SPLIT,   /* a border between two fields */
	MARK_OPEN,    /* { , and } of braces that are expanded */
	MARK_COMMA,
	MARK_CLOSE,
	MARK_EMPTY, /* a quote stood here: the field is there, even empty */
	MARK_OTHER = 0x7f,
};

static inline char mark_plain(char c)
{
	return c >= MARK_ANY && c <= MARK_EMPTY ? MARK_OTHER : c;
}

static inline bool mark_is(char c)
{
	return c >= MARK_ANY && c <= MARK_EMPTY;
}

/* The byte that a mark was, where it was one. */
static inline char mark_byte(char mark)
{
	switch (mark) {
	case MARK_STAR:
		return '*';
	case MARK_ONE:
		return '?';
	case MARK_OPEN:
		return '{';
	case MARK_COMMA:
		return ',';
	case MARK_CLOSE:
		return '}';
	case MARK_SPLIT:
		return ' ';
	default:
		return mark;
	}
}
