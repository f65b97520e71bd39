#include "base/text/human.h"

#include "base/mem.h"

char *human_size(uint64_t bytes)
{
	static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
	double v = (double)bytes / 1024;
	size_t i = 0;

	if (bytes < 1024)
		return xasprintf("%llu B", (unsigned long long)bytes);
	while (v >= 1024 && i + 1 < ARRAY_SIZE(units)) {
		v /= 1024;
		i++;
	}
	return xasprintf(v < 10 ? "%.1f %s" : "%.0f %s", v, units[i]);
}

char *human_span(uint64_t seconds)
{
	static const struct {
		uint64_t until, unit;
		char letter;
	} spans[] = {{120, 1, 's'}, {7200, 60, 'm'}, {172800, 3600, 'h'}, {UINT64_MAX, 86400, 'd'}};
	size_t i = 0;

	while (seconds >= spans[i].until)
		i++;
	return xasprintf("%llu%c", (unsigned long long)(seconds / spans[i].unit), spans[i].letter);
}
