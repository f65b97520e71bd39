#include "view/records.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"
#include "record/loops.h"
#include "view/log-view.h"

#define RECORDS_FILE "records.jsonl"
#define RECORDS_BYTES_MAX (64 * MiB)

/* A line that is no record is skipped: the loop may be writing the last one. */
static json_t *last_of(const char *text, size_t n, uint64_t iteration)
{
	const char *end = text + n;
	json_t *found = NULL;

	for (const char *line = text, *nl; line < end; line = nl + 1) {
		json_t *j;

		nl = memchr(line, '\n', (size_t)(end - line));
		if (!nl)
			break;
		j = json_loadb(line, (size_t)(nl - line), 0, NULL);
		if (json_is_object(j) && (uint64_t)log_number(j, "iteration") == iteration) {
			json_decref(found);
			found = j;
		} else {
			json_decref(j);
		}
	}
	return found;
}

int records_find(const struct places *p, const char *workspace, uint64_t iteration, json_t **ret,
		 struct err *err)
{
	cleanup_loop_place struct loop_path at = LOOP_PLACE_INIT;
	cleanup_buf struct buf b;
	cleanup_fd int fd = -1;
	int r = loops_find(p, workspace, &at, err);

	buf_init(&b, RECORDS_BYTES_MAX);
	if (r < 0)
		return r;
	fd = at.state < 0 ? -1
			  : path_open_beneath(at.state, RECORDS_FILE, O_RDONLY | O_NONBLOCK, 0);
	if (at.state >= 0 && fd < 0 && errno != ENOENT)
		return err_sys(err, errno, "cannot open the records of the loop");
	r = fd >= 0 ? fd_read_all(fd, &b) : 0;
	if (r < 0)
		return err_sys(err, -r, "cannot read the records of the loop");
	*ret = last_of(b.data, b.len, iteration);
	return *ret ? 0
		    : err_set(err, ENOENT, "no loop of '%s' has ended an iteration %llu", workspace,
			      (unsigned long long)iteration);
}
