#include "loop/state.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"

#define STATE_MAX (16 * MiB)
#define STATE_VERSION 2
#define STATE_VERSION_OLDEST 1 /* has its records in loop.json, as iterations_done */

void intent_clear(struct intent *i)
{
	free(i->task);
	free(i->head);
	free(i->words);
	free(i->why);
	free(i->commit);
	*i = (struct intent){0};
}

void state_init(struct loop_state *s, int dir)
{
	*s = (struct loop_state){
		.dir = dir,
		.failing = UINT64_MAX,
		.exit_code = -1,
		.tasks = json_object(),
		.records = json_array(),
		.workers = json_object(),
	};
}

void state_done(struct loop_state *s)
{
	json_decref(s->request);
	json_decref(s->baseline);
	json_decref(s->tasks);
	json_decref(s->records);
	json_decref(s->workers);
	json_decref(s->view);
	json_decref(s->loose);
	json_decref(s->agents);
	json_decref(s->setup);
	free(s->branch);
	free(s->home_branch);
	free(s->worktree);
	free(s->marks_from);
	free(s->reason);
	intent_clear(&s->intent);
	*s = (struct loop_state){.dir = -1};
}

/* The numbers, one row each, for reading and writing alike. */
struct number {
	const char *key;
	size_t offset;
};
#define AT(member) offsetof(struct loop_state, member)
/* clang-format off */
static const struct number numbers[] = {
	{"iterations", AT(iterations)},
	{"micro_usd", AT(micro_usd)},
	{"active_ms", AT(active_ms)},
	{"input", AT(tokens.input)},
	{"output", AT(tokens.output)},
	{"cache_read", AT(tokens.cache_read)},
	{"cache_write", AT(tokens.cache_write)},
	{"seen_micro_usd", AT(seen_micro_usd)},
	{"seen_input", AT(seen.input)},
	{"seen_output", AT(seen.output)},
	{"seen_cache_read", AT(seen.cache_read)},
	{"seen_cache_write", AT(seen.cache_write)},
	{"started", AT(started)},
	{"cost_mark", AT(cost_mark)},
	{"mark_input", AT(tokens_mark.input)},
	{"mark_output", AT(tokens_mark.output)},
	{"mark_cache_read", AT(tokens_mark.cache_read)},
	{"mark_cache_write", AT(tokens_mark.cache_write)},
};
/* Numbers that states of older versions do not have. */
static const struct number later[] = {
	{"waited", AT(waited)},
	{"outage", AT(outage)},
	{"tries", AT(tries)},
	{"told", AT(told)},
	{"records_bytes", AT(records_bytes)},
};
static const struct number texts[] = {
	{"branch", AT(branch)},
	{"home_branch", AT(home_branch)},
	{"worktree", AT(worktree)},
	{"marks_from", AT(marks_from)},
	{"reason", AT(reason)},
};
static const struct number documents[] = {
	{"request", AT(request)},
	{"baseline", AT(baseline)},
	{"tasks", AT(tasks)},
	{"workers", AT(workers)},
	{"view", AT(view)},
	{"loose", AT(loose)},
	{"agents", AT(agents)},
	{"setup", AT(setup)},
};
/* clang-format on */

static inline void *at(struct loop_state *s, const struct number *n)
{
	return (char *)s + n->offset;
}

/* json_text() is needed here, because text from agents may hold any bytes. */
static json_t *text_or_none(const char *s)
{
	return s ? json_text(s) : NULL;
}

static json_t *intent_json(const struct intent *i)
{
	return json_pack(
		"{si so* so* sb si si so* si si so* so* sI sI sb sb sb sb sb}", "phase",
		(int)i->phase, "task", text_or_none(i->task), "head", text_or_none(i->head),
		"claims", i->claims, "end", (int)i->end, "promise", (int)i->last_words, "words",
		text_or_none(i->words), "verdict", (int)i->verdict, "state", (int)i->state, "why",
		text_or_none(i->why), "commit", text_or_none(i->commit), "ms", (json_int_t)i->ms,
		"attempts", (json_int_t)i->attempts, "progress", i->progress, "checked", i->checked,
		"new_head", i->new_head, "rejected", i->rejected, "committed", i->committed);
}

static char *dup_str(const json_t *j, const char *key)
{
	const char *s = json_string_value(json_object_get(j, key));

	return s ? xstrdup(s) : NULL;
}

/* Reads a number of an enum. Returns -EINVAL when it is out of range: the disk may have damaged
 * the file. */
static int read_enum(const json_t *j, const char *key, int end, int *ret)
{
	json_int_t v = json_integer_value(json_object_get(j, key));

	if (v < 0 || v >= end)
		return -EINVAL;
	*ret = (int)v;
	return 0;
}

static int read_intent(const json_t *j, struct intent *i)
{
	int phase, end, promise, verdict, state;

	if (!j)
		return 0;
	if (read_enum(j, "phase", INTENT_N, &phase) < 0 ||
	    read_enum(j, "end", RUN_END_N, &end) < 0 ||
	    read_enum(j, "promise", LAST_WORDS_DECIDE + 1, &promise) < 0 ||
	    read_enum(j, "verdict", VERDICT_N, &verdict) < 0 ||
	    read_enum(j, "state", TASK_STATE_N, &state) < 0)
		return -EINVAL;
	*i = (struct intent){
		.phase = (enum intent_phase)phase,
		.task = dup_str(j, "task"),
		.head = dup_str(j, "head"),
		.claims = json_is_true(json_object_get(j, "claims")),
		.end = (enum run_end)end,
		.last_words = (enum last_words_kind)promise,
		.words = dup_str(j, "words"),
		.verdict = (enum verdict)verdict,
		.state = (enum task_state)state,
		.why = dup_str(j, "why"),
		.commit = dup_str(j, "commit"),
		.ms = (uint64_t)json_integer_value(json_object_get(j, "ms")),
		.attempts = (uint64_t)json_integer_value(json_object_get(j, "attempts")),
		.progress = json_is_true(json_object_get(j, "progress")),
		.checked = json_is_true(json_object_get(j, "checked")),
		.new_head = json_is_true(json_object_get(j, "new_head")),
		.rejected = json_is_true(json_object_get(j, "rejected")),
		.committed = json_is_true(json_object_get(j, "committed")),
	};
	return 0;
}

static int read_document(struct loop_state *s, const json_t *j, struct err *err)
{
	uint64_t version = 0;
	int r = json_get_uint(j, "version", &version, err);

	if (r == 0 && (version < STATE_VERSION_OLDEST || version > STATE_VERSION))
		r = err_set(err, EINVAL, "it was written by another version of ralph");
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(numbers); i++)
		r = json_get_uint(j, numbers[i].key, at(s, &numbers[i]), err);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(later); i++)
		if (json_object_get(j, later[i].key))
			r = json_get_uint(j, later[i].key, at(s, &later[i]), err);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(texts); i++)
		*(char **)at(s, &texts[i]) = dup_str(j, texts[i].key);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(documents); i++) {
		json_t **to = at(s, &documents[i]), *v = json_object_get(j, documents[i].key);

		if (!v)
			continue;
		json_decref(*to);
		*to = json_incref(v);
	}
	if (r < 0)
		return r;
	(void)json_array_extend(s->records, json_object_get(j, "iterations_done"));
	s->stashed = json_is_true(json_object_get(j, "stashed"));
	s->exit_code = (int)json_integer_value(json_object_get(j, "exit_code"));
	if (json_object_get(j, "failing"))
		s->failing = (uint64_t)json_integer_value(json_object_get(j, "failing"));
	return read_intent(json_object_get(j, "intent"), &s->intent) < 0
		       ? err_set(err, EINVAL, "its 'intent' is damaged")
		       : 0;
}

/* ---- records ---- */

void state_records_clear(struct loop_state *s)
{
	(void)json_array_clear(s->records);
	s->recorded = 0;
	s->records_bytes = 0;
}

/* Drops the older half; what is left is written once more. */
static void drop_older(struct loop_state *s)
{
	for (size_t n = json_array_size(s->records) / 2; n > 0; n--)
		(void)json_array_remove(s->records, 0);
	s->recorded = 0;
	s->records_bytes = 0;
}

static int add_line(struct loop_state *s, const char *line, size_t n, struct err *err)
{
	json_t *record = NULL;
	int r = json_parse(line, n, &record, err);

	if (r == 0)
		(void)json_array_append_new(s->records, record);
	return r;
}

/* A file that is too short was being halved when the loop was killed: its whole lines count. */
static int load_records(struct loop_state *s, struct err *err)
{
	const char *p, *end, *line;
	cleanup_buf struct buf b;
	int r = 0;

	buf_init(&b, 2 * STATE_RECORDS_BYTES_MAX);
	if (s->records_bytes == 0)
		return 0;
	r = path_read(s->dir, STATE_RECORDS_FILE, &b);
	if (r < 0)
		return err_sys(err, -r, "cannot read the loop's " STATE_RECORDS_FILE);
	p = buf_str(&b);
	end = p + (b.len < s->records_bytes ? b.len : s->records_bytes);
	s->records_bytes = 0;
	while (r == 0 && (line = memchr(p, '\n', (size_t)(end - p)))) {
		r = add_line(s, p, (size_t)(line - p), err);
		s->records_bytes += (uint64_t)(line + 1 - p);
		p = line + 1;
	}
	s->recorded = json_array_size(s->records);
	return r < 0 ? err_wrap(err, r, "the loop's " STATE_RECORDS_FILE) : 0;
}

static int write_lines(const struct loop_state *s, struct buf *b)
{
	cleanup_fd int fd = openat(s->dir, STATE_RECORDS_FILE,
				   O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	int r;

	if (fd < 0 || ftruncate(fd, (off_t)s->records_bytes) < 0 || lseek(fd, 0, SEEK_END) < 0)
		return -errno;
	r = fd_write_all(fd, buf_str(b), b->len);
	return r == 0 && fsync(fd) < 0 ? -errno : r;
}

/* Appends the records that the file does not have. They count with the next loop.json. */
static int append_records(struct loop_state *s, struct err *err)
{
	cleanup_buf struct buf b;
	int r;

	buf_init(&b, STATE_RECORDS_BYTES_MAX);
	if (json_array_size(s->records) > STATE_RECORDS_MAX ||
	    s->records_bytes > STATE_RECORDS_BYTES_MAX)
		drop_older(s);
	if (s->recorded == json_array_size(s->records))
		return 0;
	for (size_t i = s->recorded; i < json_array_size(s->records); i++) {
		cleanup_free char *line = json_dumps(json_array_get(s->records, i), JSON_COMPACT);

		if (!line || buf_printf(&b, "%s\n", line) < 0)
			return err_set(err, EINVAL, "a record cannot be written as JSON");
	}
	r = write_lines(s, &b);
	if (r < 0)
		return err_sys(err, -r, "cannot write the loop's " STATE_RECORDS_FILE);
	s->recorded = json_array_size(s->records);
	s->records_bytes += b.len;
	return 0;
}

/* ---- the document ---- */

int state_load(struct loop_state *s, struct err *err)
{
	cleanup_json json_t *j = NULL;
	cleanup_buf struct buf b;
	int r;

	buf_init(&b, STATE_MAX);
	r = path_read(s->dir, STATE_FILE, &b);
	if (r == -ENOENT)
		return err_set(err, ENOENT, "there was no loop in this workspace");
	if (r < 0)
		return err_sys(err, -r, "cannot read the loop's " STATE_FILE);
	r = json_parse(buf_str(&b), b.len, &j, err);
	if (r == 0)
		r = read_document(s, j, err);
	return r < 0 ? err_wrap(err, r, "the loop's " STATE_FILE) : load_records(s, err);
}

static void put_numbers(struct loop_state *s, const struct number *v, size_t n, json_t *j)
{
	for (size_t i = 0; i < n; i++)
		(void)json_object_set_new(j, v[i].key,
					  json_integer((json_int_t) * (uint64_t *)at(s, &v[i])));
}

static json_t *to_document(struct loop_state *s)
{
	json_t *j = json_pack("{si sb si}", "version", STATE_VERSION, "stashed", s->stashed,
			      "exit_code", s->exit_code);

	put_numbers(s, numbers, ARRAY_SIZE(numbers), j);
	put_numbers(s, later, ARRAY_SIZE(later), j);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (*(char **)at(s, &texts[i]))
			(void)json_object_set_new(j, texts[i].key,
						  json_text(*(char **)at(s, &texts[i])));
	for (size_t i = 0; i < ARRAY_SIZE(documents); i++)
		if (*(json_t **)at(s, &documents[i]))
			(void)json_object_set(j, documents[i].key,
					      *(json_t **)at(s, &documents[i]));
	if (s->failing != UINT64_MAX)
		(void)json_object_set_new(j, "failing", json_integer((json_int_t)s->failing));
	if (s->intent.phase != INTENT_NONE)
		(void)json_object_set_new(j, "intent", intent_json(&s->intent));
	return j;
}

int state_save(struct loop_state *s, struct err *err)
{
	cleanup_json json_t *j = NULL;
	cleanup_free char *text = NULL;
	int r = append_records(s, err);

	if (r < 0)
		return r;
	j = to_document(s);
	text = json_dumps(j, JSON_INDENT(1));
	if (!text)
		return err_set(err, EINVAL, "the loop's state cannot be written as JSON");
	r = path_write_atomic(s->dir, STATE_FILE, text, strlen(text), 0600, PATH_WRITE_SYNC);
	return r < 0 ? err_sys(err, -r, "cannot write the loop's " STATE_FILE) : 0;
}

/* A review that waits is of the same change after the host's own commit. */
static void move_head(json_t *review, const char *from, const char *to)
{
	const char *head = json_string_value(json_object_get(review, "head"));

	if (head && from && streq(head, from))
		(void)json_object_set_new(review, "head", json_string(to));
}

void state_marks_made(struct loop_state *s, const char *head)
{
	const char *id;
	json_t *t;

	json_object_foreach (s->tasks, id, t) {
		const char *base = json_string_value(json_object_get(t, "base"));

		if (base && s->marks_from && streq(base, s->marks_from))
			(void)json_object_set_new(t, "base", json_string(head));
		move_head(json_object_get(t, "review"), s->marks_from, head);
	}
	free(s->marks_from);
	s->marks_from = NULL;
}

json_t *state_task(struct loop_state *s, const char *id)
{
	json_t *t = json_object_get(s->tasks, id);

	if (t)
		return t;
	t = json_object();
	(void)json_object_set_new(s->tasks, id, t);
	return t;
}

uint64_t state_task_uint(struct loop_state *s, const char *id, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(state_task(s, id), key));
}

const char *state_task_str(struct loop_state *s, const char *id, const char *key)
{
	return json_string_value(json_object_get(state_task(s, id), key));
}

void state_task_set(struct loop_state *s, const char *id, const char *key, json_t *value)
{
	(void)json_object_set_new(state_task(s, id), key, value);
}
