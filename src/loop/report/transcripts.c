/* The conversations of a loop: each is named after its task and iteration, and an index page links
 * to them. They are in the inbox, in a directory of the loop: conversations/TIME-SANDBOX. */
#include "loop/report/report.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/path.h"
#include "live/autosave.h"
#include "live/export-names.h"
#include "live/inbox.h"
#include "record/name.h"
#include "record/store.h"
#include "transcript/export.h"

#define TASK_NAME_MAX 40
#define INDEX_MAX (4 * MiB)

/* Returns the name of the loop's directory; the caller frees it. */
static char *loop_name(const struct loop *l)
{
	time_t t = (time_t)l->state.started;
	struct tm tm = {0};
	char when[32];

	(void)gmtime_r(&t, &tm);
	(void)strftime(when, sizeof(when), "%Y-%m-%dT%H-%M-%SZ", &tm);
	return xasprintf("%s-%s", when, l->build.spec->name);
}

char *transcripts_path(const struct loop *l, const struct task *t, uint64_t iteration)
{
	cleanup_free char *dir = loop_name(l),
			  *task = t ? name_part(t->id, TASK_NAME_MAX) : xstrdup("prompt");

	return xasprintf("%s/%s-iteration-%03llu", dir, task, (unsigned long long)iteration);
}

void transcripts_name(struct loop *l, const struct task *t)
{
	cleanup_free char *record = store_record(&l->q.places, l->build.spec->name);
	int r;

	if (l->q.direct)
		return;
	free(l->transcript);
	l->transcript = transcripts_path(l, t, l->state.iterations);
	r = export_names_add(record, l->transcript);
	if (r < 0)
		log_warn("loop", "the conversation of this iteration gets no name of its own: %s",
			 strerror(-r));
}

void transcripts_wait(struct loop *l)
{
	cleanup_free char *record = NULL;
	struct err err = {0};

	if (!l->build.spec || l->q.direct)
		return;
	record = store_record(&l->q.places, l->build.spec->name);
	if (autosave_wait(&l->q.places, record, l->build.spec, &err) < 0)
		log_warn("loop", "%s", err.msg);
}

/* Appends text for a cell of a table: nothing in it is markup. */
static void put_text(struct buf *b, const char *s)
{
	for (; *s; s++) {
		if ((unsigned char)*s < ' ' || *s == 0x7f)
			(void)buf_putc(b, ' ');
		else if (strchr("\\`*_{}[]()<>#+-!|&~", *s))
			(void)buf_printf(b, "\\%c", *s);
		else
			(void)buf_putc(b, *s);
	}
}

static const char *text_of(const json_t *row, const char *key)
{
	const char *s = json_string_value(json_object_get(row, key));

	return s ? s : "";
}

/* Appends a row; true: it links to a conversation. */
static bool put_row(struct buf *b, int conversations, const json_t *row)
{
	const char *name = text_of(row, "transcript");
	cleanup_free char *file = xasprintf("%s.md", name);
	cleanup_fd int fd = *name ? path_open_beneath(conversations, file, O_PATH, 0) : -1;
	uint64_t cost = (uint64_t)json_integer_value(json_object_get(row, "micro_usd"));

	(void)buf_printf(b, "| %lld | ",
			 (long long)json_integer_value(json_object_get(row, "iteration")));
	put_text(b, text_of(row, "task"));
	(void)buf_puts(b, " ");
	put_text(b, text_of(row, "title"));
	(void)buf_printf(b, " | %s | " SHOW_USD " | %.8s | ", text_of(row, "verdict"),
			 SHOW_USD_ARGS(cost), text_of(row, "commit"));
	if (fd >= 0)
		(void)buf_printf(b, "[%s](../%s)", path_base(name), file);
	(void)buf_puts(b, " |\n");
	return fd >= 0;
}

/* Opens the loop's directory below the inbox, for which the conversations stand. */
static int write_index(int conversations, const char *dir, const struct buf *b)
{
	cleanup_fd int to = -1;

	if (mkdirat(conversations, dir, 0755) < 0 && errno != EEXIST)
		return -errno;
	to = path_open_beneath(conversations, dir, O_RDONLY | O_DIRECTORY, 0);
	return to < 0 ? to : path_write_atomic(to, "index.md", b->data, b->len, 0644, 0);
}

char *transcripts_index(const struct loop *l)
{
	const struct sandbox_spec *spec = l->build.spec;
	cleanup_free char *dir = spec ? loop_name(l) : NULL;
	cleanup_fd int inbox = -1, conversations = -1;
	struct err ignored;
	cleanup_buf struct buf b;
	bool any = false;
	json_t *row;
	size_t i;
	int r;

	buf_init(&b, INDEX_MAX);
	if (!dir || !spec->inbox || l->q.direct)
		return NULL;
	inbox = inbox_open(spec, spec->inbox, &ignored);
	conversations = path_open_beneath(inbox, TR_DIR, O_RDONLY | O_DIRECTORY, 0);
	if (inbox < 0 || conversations < 0)
		return NULL;
	(void)buf_puts(&b, "# The loop in ");
	put_text(&b, l->q.workspace);
	(void)buf_puts(&b, "\n\n| # | Task | Verdict | Cost | Commit | Conversation |\n"
			   "|--:|---|---|--:|---|---|\n");
	json_array_foreach (l->state.records, i, row)
		any = put_row(&b, conversations, row) || any;
	r = any ? write_index(conversations, dir, &b) : 0;
	if (r < 0)
		log_warn("loop", "cannot write the index of the conversations: %s", strerror(-r));
	return any && r == 0 ? xasprintf("%s/" TR_DIR "/%s/index.md", spec->inbox, dir) : NULL;
}
