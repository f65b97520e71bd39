#include "loop/workers/room.h"

#include <stddef.h>
#include <string.h>

#include "base/mem.h"
#include "base/parse.h"

uint64_t room_slots(const struct room *room, const char **ret_what)
{
	const struct {
		const char *name;
		uint64_t all, each;
	} rows[] = {{"memory", room->memory, room->memory_each},
		    {"disk space", room->disk, room->disk_each},
		    {"the limit of open files", room->files, room->files_each}};
	uint64_t most = UINT64_MAX;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].all / rows[i].each < most) {
			most = rows[i].all / rows[i].each;
			*ret_what = rows[i].name;
		}
	return most ? most : 1;
}

uint64_t room_meminfo(const char *text, const char *key)
{
	const char *p = strstr(text, key);
	char digits[24] = "";
	uint64_t v;
	size_t n;

	if (!p)
		return 0;
	p += strlen(key);
	p += strspn(p, " ");
	n = strspn(p, "0123456789");
	if (n >= sizeof(digits))
		return 0;
	memcpy(digits, p, n);
	return parse_uint(digits, 0, UINT64_MAX / KiB, &v) < 0 ? 0 : v * KiB;
}
