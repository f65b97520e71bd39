#pragma once

#include <stdbool.h>

/*
 * Words are judged before they are really expanded, so parts of them may be unknown. In a judged
 * string these bytes stand for things that are not plain bytes. A script that contains such a byte
 * is read with MARK_OTHER in its place, which matches nothing.
 */
enum mark {
	MARK_ANY = 1, /* any text, known only at run time */
	MARK_STAR,    /* * of a glob: text without a slash */
	MARK_ONE,     /* ? or […] of a glob: one byte, no slash */
	MARK_SPLIT,   /* a border between two fields */
	MARK_OPEN,    /* { , and } of braces that are expanded */
	MARK_COMMA,
	MARK_CLOSE,
	MARK_EMPTY, /* a quote was here: the field exists, even if it is empty */
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

/* Returns the byte that a mark replaced, if there was one. */
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
