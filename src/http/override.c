#include "http/override.h"

#include "base/mem.h"

#include <string.h>

/* Without the "x-" that all of them begin with. */
static const struct slice names[] = {
#define ROW(name)                                                                                  \
	{                                                                                          \
		name, sizeof(name) - 1                                                             \
	}
	ROW("envoy-original-path"),  ROW("forwarded-host"),	ROW("forwarded-method"),
	ROW("forwarded-path"),	     ROW("forwarded-prefix"),	ROW("forwarded-server"),
	ROW("forwarded-uri"),	     ROW("forwarded-url"),	ROW("host"),
	ROW("http-destinationurl"),  ROW("http-host-override"), ROW("http-method"),
	ROW("http-method-override"), ROW("http-path-override"), ROW("method-override"),
	ROW("original-host"),	     ROW("original-method"),	ROW("original-path"),
	ROW("original-uri"),	     ROW("original-url"),	ROW("override-url"),
	ROW("path-override"),	     ROW("proxy-host"),		ROW("proxy-url"),
	ROW("request-uri"),	     ROW("rewrite-uri"),	ROW("rewrite-url"),
#undef ROW
};

static char folded(char c)
{
	return c == '_' ? '-' : ascii_lower(c);
}

static bool same(struct slice a, struct slice b)
{
	size_t i = 0;

	while (i < a.n && i < b.n && folded(a.p[i]) == b.p[i])
		i++;
	return i == a.n && i == b.n;
}

bool override_is(struct slice name)
{
	static const char first[] = {'e', 'f', 'h', 'm', 'o', 'p', 'r'};
	struct slice rest;

	if (name.n < 6)
		return false;
	if (folded(name.p[0]) != 'x' || folded(name.p[1]) != '-')
		return folded(name.p[0]) == 'f' && same(name, slice_of("forwarded"));
	rest = (struct slice){name.p + 2, name.n - 2};
	/* Their first letters; most fields of clients have others. */
	if (!memchr(first, folded(rest.p[0]), sizeof(first)))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (names[i].n == rest.n && same(rest, names[i]))
			return true;
	return false;
}

static bool ends(struct slice name, const char *with)
{
	size_t n = strlen(with);

	return name.n > n && same((struct slice){name.p + name.n - n, n}, slice_of(with));
}

bool override_names_path(struct slice name)
{
	return same(name, slice_of("destination")) || ends(name, "-copy-source") ||
	       ends(name, "-rename-source");
}
