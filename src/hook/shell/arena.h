#pragma once

#include <setjmp.h>
#include <stddef.h>

/*
 * Memory of one judgement: it grows up to a limit and is freed all at once. When a judgement is
 * impossible (no shell, too deep, too much), arena_give_up() jumps to the caller's setjmp(), from
 * any depth. The functions in between own nothing except the arena's memory.
 */
struct arena {
	struct arena_block *blocks;
	size_t used; /* of all blocks */
	size_t max;
	const char *why; /* reason for giving up */
	jmp_buf out;
};

void arena_init(struct arena *a, size_t max);
void arena_done(struct arena *a);
void *arena_alloc(struct arena *a, size_t n); /* zeroed */
char *arena_strndup(struct arena *a, const char *s, size_t n);
char *arena_printf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
_Noreturn void arena_give_up(struct arena *a, const char *why);
