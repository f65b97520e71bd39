#include "events/usage-kept.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"

int usage_keep(const char *state, const char *sandbox, int record, struct err *err)
{
	cleanup_free char *path = path_join(state, USAGE_KEPT_FILE), *text = NULL, *line = NULL;
	cleanup_json json_t *rows = usage_carry(record), *j = NULL;
	cleanup_fd int fd = -1;

	if (json_array_size(rows) == 0)
		return 0;
	j = json_pack("{ss sO}", "sandbox", sandbox, "usage", rows);
	text = json_dumps(j, JSON_COMPACT);
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (!text || fd < 0)
		return err_sys(err, text ? errno : EINVAL, "cannot open '%s'", path);
	/* One write: lines of two removals at once do not mix. */
	line = xasprintf("%s\n", text);
	return write(fd, line, strlen(line)) == (ssize_t)strlen(line)
		       ? 0
		       : err_sys(err, errno, "cannot write '%s'", path);
}

static uint64_t number(const json_t *row, const char *name)
{
	json_int_t v = json_integer_value(json_object_get(row, name));

	return v > 0 ? (uint64_t)v : 0;
}

static const char *text_of(const json_t *row, const char *name)
{
	const char *s = json_string_value(json_object_get(row, name));

	return s ? s : "";
}

/* A line that a killed removal left half-written is none. */
static void give_line(const char *line, size_t len, usage_kept_fn *fn, void *arg)
{
	cleanup_json json_t *j = json_loadb(line, len, 0, NULL);
	json_t *row;
	size_t i;

	json_array_foreach (json_object_get(j, "usage"), i, row) {
		const struct usage_event e = {
			.time = text_of(row, "day"),
			.credential = text_of(row, "credential"),
			.model = text_of(row, "model"),
			.tokens = {number(row, "input"), number(row, "output"),
				   number(row, "cache_read"), number(row, "cache_write")},
			.micro_usd = number(row, "micro_usd"),
			.requests = number(row, "requests"),
		};

		fn(arg, text_of(j, "sandbox"), &e);
	}
}

int usage_kept_each(const char *state, usage_kept_fn *fn, void *arg, struct err *err)
{
	cleanup_free char *path = path_join(state, USAGE_KEPT_FILE), *line = NULL;
	FILE *f = fopen(path, "re");
	size_t room = 0;
	ssize_t n;

	if (!f)
		return errno == ENOENT ? 0 : err_sys(err, errno, "cannot read '%s'", path);
	while ((n = getline(&line, &room, f)) > 0)
		give_line(line, (size_t)n, fn, arg);
	(void)fclose(f);
	return 0;
}
