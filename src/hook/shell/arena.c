#include "hook/shell/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

#define BLOCK (32 * KiB)

struct arena_block {
	struct arena_block *next;
	size_t used, size;
	_Alignas(16) char data[];
};

void arena_init(struct arena *a, size_t max)
{
	*a = (struct arena){.max = max};
}

void arena_done(struct arena *a)
{
	while (a->blocks) {
		struct arena_block *next = a->blocks->next;

		free(a->blocks);
		a->blocks = next;
	}
}

_Noreturn void arena_give_up(struct arena *a, const char *why)
{
	a->why = why;
	longjmp(a->out, 1);
}

void *arena_alloc(struct arena *a, size_t n)
{
	struct arena_block *b = a->blocks;
	void *p;

	n = (n + 15) & ~(size_t)15;
	if (!b || b->size - b->used < n) {
		size_t size = n > BLOCK ? n : BLOCK;

		if (size > a->max - a->used)
			arena_give_up(a, "it takes too much memory to judge");
		a->used += size;
		b = xcalloc(1, sizeof(*b) + size);
		b->size = size;
		b->next = a->blocks;
		a->blocks = b;
	}
	p = b->data + b->used;
	b->used += n;
	return p;
}

char *arena_strndup(struct arena *a, const char *s, size_t n)
{
	char *p = arena_alloc(a, n + 1);

	if (n)
		memcpy(p, s, n);
	return p;
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
	char *text, *p;
	va_list ap;

	va_start(ap, fmt);
	text = xvasprintf(fmt, ap);
	va_end(ap);
	p = arena_strndup(a, text, strlen(text));
	free(text);
	return p;
}
