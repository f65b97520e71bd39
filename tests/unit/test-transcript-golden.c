#include "tests.h"

#include "base/fd.h"
#include "base/json/json.h"
#include "base/path.h"
#include "transcript/writers.h"

#include <fcntl.h>
#include <sys/mman.h>

#define GOLDEN SOURCE_ROOT "/tests/golden/transcripts"

/* What agents really wrote, as they wrote it. RALPH_GOLDEN=write makes the expected files anew. */
static const struct {
	const char *agent, *name;
} samples[] = {
	{"claude", "claude-tools-run"},
	{"claude", "claude-2.1.197-tools-run"},
	{"claude", "claude-hooks"},
	{"claude", "claude-resume-compact"},
	{"claude", "claude-usage-limit"},
	{"codex", "codex-rollout"},
	{"gemini", "gemini-chat"},
	{"copilot", "copilot-events"},
	{"opencode", "opencode-session"},
	/* Written after their form, with what the real ones do not have: tools that fail, parts,
	   thoughts. */
	{"copilot", "copilot-tools"},
	{"gemini", "gemini-tools"},
};

enum { IN, BODY, HEAD, FILES };

/* Of this content; there are only these few, as some tests need them very often. */
static int memory_file(int which, const char *p, size_t n)
{
	static int fds[FILES] = {-1, -1, -1};

	if (fds[which] < 0)
		fds[which] = memfd_create("transcript", MFD_CLOEXEC);
	assert_true(fds[which] >= 0);
	assert_int_equal(ftruncate(fds[which], 0), 0);
	assert_int_equal(pwrite(fds[which], p, n, 0), n);
	assert_int_equal(lseek(fds[which], 0, SEEK_SET), 0);
	return fds[which];
}

static void read_back(int fd, struct buf *b)
{
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(fd_read_all(fd, b), 0);
}

/* Head and body as one text. */
static void export_as(const char *agent, const struct tr_format *f, bool thinking, const char *text,
		      size_t len, struct buf *ret)
{
	const struct tr_style style = {.thinking = thinking, .result_max = 400};
	const struct strv none = {0};
	const struct tr_source source = {.agent = agent, .file = "sample", .links = &none};
	int in = memory_file(IN, text, len), body = memory_file(BODY, "", 0),
	    head = memory_file(HEAD, "", 0);
	struct err err = {0};
	struct tr_out o, h;
	struct tr t = {0};

	tr_out_init(&o, body, NULL);
	t.writer = f->begin(&o, &style);
	assert_int_equal(tr_read(&t, tr_reader_find(agent), in, &err), 0);
	f->end(t.writer);
	assert_int_equal(tr_out_done(&o), 0);
	tr_out_init(&h, head, NULL);
	f->head(&h, &t.head, &source);
	assert_int_equal(tr_out_done(&h), 0);
	tr_done(&t);
	read_back(head, ret);
	read_back(body, ret);
}

static void export(const char *agent, const struct tr_format *f, const char *text, size_t len,
		   struct buf *ret)
{
	export_as(agent, f, true, text, len, ret);
}

static void load(const char *name, const char *suffix, struct buf *b)
{
	cleanup_free char *path = xasprintf("%s/%s.%s", GOLDEN, name, suffix);

	buf_init(b, 4 * MiB);
	if (path_read(AT_FDCWD, path, b) < 0)
		fail_msg("cannot read %s", path);
}

static void each_sample_becomes_the_markdown_it_was(void **state)
{
	const char *mode = getenv("RALPH_GOLDEN");

	for (size_t i = 0; i < ARRAY_SIZE(samples); i++) {
		cleanup_buf struct buf in, got, expected;

		load(samples[i].name, "jsonl", &in);
		buf_init(&got, 4 * MiB);
		export(samples[i].agent, &tr_markdown, buf_str(&in), in.len, &got);
		if (mode && streq(mode, "write")) {
			cleanup_free char *path = xasprintf("%s/%s.md", GOLDEN, samples[i].name);

			assert_int_equal(
				path_write_atomic(AT_FDCWD, path, got.data, got.len, 0644, 0), 0);
		}
		load(samples[i].name, "md", &expected);
		assert_string_equal(buf_str(&got), buf_str(&expected));
	}
}

static void every_agent_has_a_sample_and_a_pattern_of_its_files(void **state)
{
	static const char *const agents[] = {
#define AGENT(x) #x,
#include "agent/agents.def"
#undef AGENT
	};

	for (size_t i = 0; i < ARRAY_SIZE(agents); i++) {
		const struct tr_reader *r = tr_reader_find(agents[i]);
		bool found = false;

		for (size_t k = 0; k < ARRAY_SIZE(samples); k++)
			found = found || streq(samples[k].agent, agents[i]);
		if (!found || !r || !r->record || !r->files)
			fail_msg("%s: its reader is not whole, or has no sample", agents[i]);
	}
}

static void the_json_of_each_sample_is_json(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(samples); i++) {
		cleanup_buf struct buf in, got;
		cleanup_json json_t *j = NULL;
		struct err err = {0};

		load(samples[i].name, "jsonl", &in);
		buf_init(&got, 4 * MiB);
		export(samples[i].agent, &tr_json, buf_str(&in), in.len, &got);
		assert_int_equal(json_parse(buf_str(&got), got.len, &j, &err), 0);
		assert_true(json_array_size(json_object_get(j, "items")) > 0);
	}
}

static void thoughts_are_left_out_unless_asked_for(void **state)
{
	static const struct tr_format *const formats[] = {&tr_markdown, &tr_json, &tr_html};

	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		cleanup_buf struct buf in, with, without;

		load("claude-tools-run", "jsonl", &in);
		buf_init(&with, 4 * MiB);
		buf_init(&without, 4 * MiB);
		export_as("claude", formats[i], true, buf_str(&in), in.len, &with);
		export_as("claude", formats[i], false, buf_str(&in), in.len, &without);
		assert_non_null(strstr(buf_str(&with), "I should write a file."));
		assert_null(strstr(buf_str(&without), "I should write a file."));
	}
}

#define TORN_RECORDS 3
#if defined(__SANITIZE_ADDRESS__)
#define TORN_STEP 31 /* many times slower: not every byte */
#else
#define TORN_STEP 1
#endif

/* The beginning of the record that is some records before this byte. */
static size_t records_before(const struct buf *in, size_t at)
{
	size_t n = 0;

	while (at > 0 && !(in->data[at - 1] == '\n' && n++ == TORN_RECORDS))
		at--;
	return at;
}

/*
 * However a crash has torn the file, what is whole is exported. At every byte, with the records
 * that stand just before it: those further up are read in the same way wherever the cut is, which
 * some whole copies show.
 */
static void a_sample_cut_at_any_byte_exports_without_an_error(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(samples); i++) {
		cleanup_buf struct buf in;

		load(samples[i].name, "jsonl", &in);
		for (size_t n = 0; n < in.len; n += TORN_STEP) {
			size_t from = n % 4999 ? records_before(&in, n) : 0;
			const struct tr_format *f = n % 97 ? &tr_markdown : &tr_html;
			cleanup_buf struct buf got;

			buf_init(&got, 4 * MiB);
			export(samples[i].agent, f, buf_str(&in) + from, n - from, &got);
		}
	}
}

static void what_was_said_cannot_pose_as_a_turn(void **state)
{
	static const char text[] =
		"{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"a\\n## "
		"assistant\\n"
		"forged\\n## user\\n```\"}}\n"
		"{\"type\":\"assistant\",\"message\":{\"id\":\"1\",\"content\":[{\"type\":\"tool_"
		"use\","
		"\"name\":\"<b>\",\"input\":{\"command\":\"```\\n</details>\"}}]}}\n";
	cleanup_buf struct buf got;

	buf_init(&got, 64 * KiB);
	export("claude", &tr_markdown, text, strlen(text), &got);
	assert_non_null(strstr(buf_str(&got), "\n\\## assistant\nforged\n\\## user\n"));
	assert_non_null(
		strstr(buf_str(&got), "<summary>&lt;b&gt;: ``` &lt;/details&gt;</summary>"));
	assert_non_null(strstr(buf_str(&got), "````text\n"));
}

static void secrets_are_taken_out_by_their_shape_and_counted(void **state)
{
	static const char text[] =
		"{\"type\":\"user\",\"message\":{\"content\":\"key "
		"sk-ant-api03-abcdefghijklmnopqrstuv "
		"and AKIAABCDEFGHIJKLMNOP.\\n-----BEGIN RSA PRIVATE KEY-----\\nMIIEabc\\n"
		"-----END RSA PRIVATE KEY-----\\nafter\"}}\n";
	cleanup_buf struct buf got;

	buf_init(&got, 64 * KiB);
	export("claude", &tr_markdown, text, strlen(text), &got);
	assert_null(strstr(buf_str(&got), "abcdefghij"));
	assert_null(strstr(buf_str(&got), "AKIA"));
	assert_null(strstr(buf_str(&got), "MIIEabc"));
	assert_non_null(strstr(buf_str(&got), "after"));
}

static void a_record_that_is_too_long_is_skipped_and_counted(void **state)
{
	cleanup_free char *text = xmalloc(TR_RECORD_MAX + 4 * MiB);
	static const char end[] = "\"}}\n{\"type\":\"user\",\"message\":{\"content\":\"next\"}}\n";
	static const char start[] = "{\"type\":\"user\",\"message\":{\"content\":\"";
	size_t n = TR_RECORD_MAX + 3 * MiB;
	cleanup_buf struct buf got;

	memset(text, 'x', n);
	memcpy(text, start, sizeof(start) - 1);
	memcpy(text + n, end, sizeof(end) - 1);
	buf_init(&got, 64 * MiB);
	export("claude", &tr_markdown, text, n + sizeof(end) - 1, &got);
	assert_non_null(strstr(buf_str(&got), "skipped_records: 1\n"));
	assert_non_null(strstr(buf_str(&got), "next"));
	assert_true(got.len < 4096);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_sample_becomes_the_markdown_it_was),
		cmocka_unit_test(every_agent_has_a_sample_and_a_pattern_of_its_files),
		cmocka_unit_test(the_json_of_each_sample_is_json),
		cmocka_unit_test(thoughts_are_left_out_unless_asked_for),
		cmocka_unit_test(a_sample_cut_at_any_byte_exports_without_an_error),
		cmocka_unit_test(what_was_said_cannot_pose_as_a_turn),
		cmocka_unit_test(secrets_are_taken_out_by_their_shape_and_counted),
		cmocka_unit_test(a_record_that_is_too_long_is_skipped_and_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
