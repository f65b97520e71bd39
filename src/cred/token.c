#include "cred/token.h"

#include <string.h>

#include "base/text/base64.h"
#include "base/json/json.h"

#define JWT_MAX (64 * KiB)

static int digits(const char **p, int n, unsigned min, unsigned max, unsigned *ret)
{
	unsigned v = 0;

	for (int i = 0; i < n; i++, (*p)++) {
		if (**p < '0' || **p > '9')
			return -EINVAL;
		v = 10 * v + (unsigned)(**p - '0');
	}
	*ret = v;
	return v < min || v > max ? -EINVAL : 0;
}

static bool eat(const char **p, char c)
{
	if (**p != c)
		return false;
	(*p)++;
	return true;
}

/* Days since 1970 in the Gregorian calendar, for years from 1970 on. */
static uint64_t days_of(unsigned year, unsigned month, unsigned day)
{
	static const unsigned before[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
	unsigned y = year - 1;
	bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

	return (uint64_t)365 * (year - 1970) + (y / 4 - y / 100 + y / 400) -
	       (1969 / 4 - 1969 / 100 + 1969 / 400) + before[month - 1] + (leap && month > 2) +
	       day - 1;
}

/* "Z", "+01:00", "-0500": minutes east of Greenwich. */
static int offset_parse(const char **p, int *ret)
{
	unsigned hours, minutes;
	bool west = **p == '-';

	*ret = 0;
	if (eat(p, 'Z') || eat(p, 'z'))
		return 0;
	if (!eat(p, '+') && !eat(p, '-'))
		return -EINVAL;
	if (digits(p, 2, 0, 14, &hours) < 0)
		return -EINVAL;
	(void)eat(p, ':');
	if (digits(p, 2, 0, 59, &minutes) < 0)
		return -EINVAL;
	*ret = (int)(60 * hours + minutes) * (west ? -1 : 1);
	return 0;
}

int when_parse(const char *text, uint64_t *ret_ms)
{
	unsigned year, month, day, hour, minute, second, scale = 100, ms = 0;
	const char *p = text;
	int64_t seconds;
	int offset;

	if (digits(&p, 4, 1970, 9999, &year) < 0 || !eat(&p, '-') ||
	    digits(&p, 2, 1, 12, &month) < 0 || !eat(&p, '-') || digits(&p, 2, 1, 31, &day) < 0 ||
	    !(eat(&p, 'T') || eat(&p, 't') || eat(&p, ' ')) || digits(&p, 2, 0, 23, &hour) < 0 ||
	    !eat(&p, ':') || digits(&p, 2, 0, 59, &minute) < 0 || !eat(&p, ':') ||
	    digits(&p, 2, 0, 60, &second) < 0)
		return -EINVAL;
	if (eat(&p, '.')) {
		for (; *p >= '0' && *p <= '9'; p++, scale /= 10)
			ms += scale * (unsigned)(*p - '0');
	}
	if (offset_parse(&p, &offset) < 0 || *p)
		return -EINVAL;
	seconds =
		(int64_t)(days_of(year, month, day) * 86400 + hour * 3600 + minute * 60 + second) -
		(int64_t)offset * 60;
	if (seconds < 0)
		return -EINVAL;
	*ret_ms = (uint64_t)seconds * 1000 + ms;
	return 0;
}

uint64_t jwt_expires_ms(const char *token)
{
	const char *claims = strchr(token, '.'), *end;
	cleanup_json json_t *j = NULL;
	cleanup_buf struct buf b;
	struct err err = {0};
	uint64_t exp = 0;

	buf_init(&b, JWT_MAX);
	end = claims ? strchr(++claims, '.') : NULL;
	if (!end || base64url_get(&b, claims, (size_t)(end - claims)) < 0 || !b.len ||
	    json_parse(b.data, b.len, &j, &err) < 0 || json_get_uint(j, "exp", &exp, &err) < 0 ||
	    exp > UINT64_MAX / 1000)
		return 0;
	return exp * 1000;
}

bool token_is_sane(const char *token)
{
	size_t n = strlen(token);

	if (n == 0 || n > TOKEN_MAX || token[0] == ' ' || token[n - 1] == ' ')
		return false;
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)token[i] < ' ' || (unsigned char)token[i] > '~')
			return false;
	return true;
}
