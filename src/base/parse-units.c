#include "base/parse.h"

#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/mem.h"

int parse_micro(const char *s, uint64_t *ret)
{
	size_t n = strspn(s, "0123456789"), places = 0;
	uint64_t whole = 0, part = 0;
	int r = parse_digits(s, n, &whole);

	if (r < 0)
		return r;
	if (s[n] == '.') {
		for (places = 0; places < 6 && isdigit((unsigned char)s[n + 1 + places]); places++)
			part = part * 10 + (uint64_t)(s[n + 1 + places] - '0');
		if (places == 0)
			return -EINVAL;
		n += 1 + places;
	}
	if (s[n])
		return -EINVAL;
	for (; places < 6; places++)
		part *= 10;
	if (__builtin_mul_overflow(whole, 1000000, &whole) ||
	    __builtin_add_overflow(whole, part, ret))
		return -ERANGE;
	return 0;
}

struct unit {
	const char *suffix;
	uint64_t factor;
};

static int parse_units(const char *s, const struct unit *units, size_t n, uint64_t *ret)
{
	size_t digits = strspn(s, "0123456789");
	uint64_t v = 0;
	int r = parse_digits(s, digits, &v);

	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++) {
		if (!streq(s + digits, units[i].suffix))
			continue;
		return __builtin_mul_overflow(v, units[i].factor, ret) ? -ERANGE : 0;
	}
	return -EINVAL;
}

int parse_size(const char *s, uint64_t *ret)
{
	static const struct unit units[] = {
		{"", 1}, {"K", KiB}, {"M", MiB}, {"G", GiB}, {"T", 1024 * GiB},
	};

	return parse_units(s, units, ARRAY_SIZE(units), ret);
}

int parse_duration(const char *s, uint64_t *ret_ms)
{
	static const struct unit units[] = {
		{"", 1000},	  {"ms", 1},	      {"s", 1000},
		{"m", 60 * 1000}, {"h", 3600 * 1000}, {"d", 86400UL * 1000},
	};

	return parse_units(s, units, ARRAY_SIZE(units), ret_ms);
}

void parse_table_word(char *s)
{
	char *to = s;

	for (; *s; s++) {
		if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] && s[3]) {
			*to++ = (char)(((unsigned)s[1] & 3) << 6 | ((unsigned)s[2] & 7) << 3 |
				       ((unsigned)s[3] & 7));
			s += 3;
		} else {
			*to++ = *s;
		}
	}
	*to = '\0';
}
