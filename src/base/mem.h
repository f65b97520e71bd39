#pragma once

/*
 * Memory and ownership helpers. Running out of memory aborts: every size a peer can influence is
 * bounded elsewhere, so a failed allocation is a machine in trouble, not an input to handle.
 */

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#define KiB ((size_t)1024)
#define MiB (1024 * KiB)
#define GiB (1024 * MiB)

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define streq(a, b) (strcmp((a), (b)) == 0)

#define cleanup_(fn) __attribute__((cleanup(fn)))
#define printf_like(fmt, args) __attribute__((format(printf, fmt, args)))

static inline void freep(void *p)
{
	free(*(void **)p);
}

#define cleanup_free cleanup_(freep)

/* Hand ownership out of a cleanup variable: the variable becomes NULL. */
#define take_ptr(p)                                                                                \
	({                                                                                         \
		__typeof__(p) *_pp = &(p);                                                         \
		__typeof__(p) _v = *_pp;                                                           \
		*_pp = NULL;                                                                       \
		_v;                                                                                \
	})

/* x_free(NULL) works for every x: define the cleanup handler of a heap type in one line. */
#define DEFINE_FREEP(type, free_fn)                                                                \
	static inline void free_fn##p(type **p)                                                    \
	{                                                                                          \
		if (*p)                                                                            \
			free_fn(*p);                                                               \
	}

void *xmalloc(size_t size);
void *xcalloc(size_t n, size_t size);
void *xrealloc(void *p, size_t n, size_t size); /* n * size, checked for overflow */
char *xstrdup(const char *s);
char *xstrdup_or_null(const char *s); /* NULL for NULL */
char *xstrndup(const char *s, size_t n);
char *xasprintf(const char *fmt, ...) printf_like(1, 2);
char *xvasprintf(const char *fmt, va_list ap) printf_like(1, 0);
