#include "web/desk.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "view/log-view.h"
#include "workspace/quarantine.h"

#define CONTENT_MAX (256 * KiB)
#define LINK_TEXT_MAX 4096

json_t *desk_quarantine(struct desk *d)
{
	cleanup_strv struct strv ids = {0};
	json_t *rows = json_array();
	struct err ignored;

	if (!d->from)
		(void)quarantine_list(&d->places, SHELF_QUARANTINE, &ids, &ignored);
	for (size_t i = ids.n; i > 0; i--) {
		json_t *row = NULL;

		if (quarantine_meta(&d->places, SHELF_QUARANTINE, ids.v[i - 1], &row, &ignored) < 0)
			row = json_pack("{ss ss}", "id", ids.v[i - 1], "why",
					"its record is damaged");
		(void)json_array_append_new(rows, row);
	}
	return json_pack("{so}", "rows", rows);
}

/* Reads the content for people. True: all of it is shown, so that the hash of what was shown is a
 * hash of what is there. */
static bool read_content(int entry, struct buf *b, const char **kind)
{
	struct stat st;

	*kind = "none";
	if (fstatat(entry, "content", &st, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	if (S_ISLNK(st.st_mode)) {
		char text[LINK_TEXT_MAX];
		ssize_t n = readlinkat(entry, "content", text, sizeof(text));

		*kind = "link";
		return n >= 0 && n < (ssize_t)sizeof(text) && buf_append(b, text, (size_t)n) == 0;
	}
	if (S_ISREG(st.st_mode)) {
		int r = path_read(entry, "content", b);

		*kind = b->len && memchr(b->data, '\0', b->len) ? "binary" : "text";
		return r == 0;
	}
	*kind = S_ISDIR(st.st_mode) ? "directory" : "other";
	return false;
}

json_t *desk_held(struct desk *d, const char *id, unsigned *status)
{
	const struct verb_args args = {.quarantine = id};
	cleanup_json json_t *meta = NULL, *content = NULL;
	cleanup_fd int entry = -1;
	cleanup_free char *hash = NULL;
	json_t *j, *acts = NULL, *shown;
	const char *kind;
	cleanup_buf struct buf b;
	struct err err = {0};
	bool whole;

	buf_init(&b, CONTENT_MAX);
	if (d->from || quarantine_meta(&d->places, SHELF_QUARANTINE, id, &meta, &err) < 0)
		return desk_error(status, 404, "there is no such entry");
	entry = quarantine_open(&d->places, SHELF_QUARANTINE, id, &err);
	if (entry < 0)
		return desk_error(status, 404, "there is no such entry");
	whole = read_content(entry, &b, &kind);
	content = json_text(streq(kind, "binary") ? "" : buf_str(&b));
	whole = whole && !streq(kind, "binary");
	hash = desk_seen(content);
	shown = json_pack("{ss so so ss}", "id", id, "path", json_text(log_text(meta, "path")),
			  "why", json_text(log_text(meta, "why")), "content", hash);
	acts = json_array();
	desk_put_act(acts, "drop", id, json_incref(shown), &args);
	/* What cannot be shown whole is not put back from here. */
	if (whole)
		desk_put_act(acts, "release", id, json_incref(shown), &args);
	json_decref(shown);
	j = json_copy(meta);
	(void)json_object_update_new(j, json_pack("{ss ss sO sb so}", "id", id, "kind", kind,
						  "text", content, "whole", whole, "acts", acts));
	return j;
}
