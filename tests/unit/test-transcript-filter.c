#include "tests.h"

#include "base/fd.h"
#include "base/json/json.h"
#include "transcript/writers.h"

#include <sys/mman.h>

/* In parts, so that no scanner takes this file for a leak. */
#define KEY                                                                                        \
	"ghp_"                                                                                     \
	"0123456789abcdefghijABCDEFGHIJ012345"
#define BEGIN                                                                                      \
	"-----BEGIN OPENSSH "                                                                      \
	"PRIVATE KEY-----"
#define END                                                                                        \
	"-----END OPENSSH "                                                                        \
	"PRIVATE KEY-----"
#define LINE "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtz"
#define GONE "[secret removed]"

static void append(void *arg, const char *p, size_t n)
{
	assert_int_equal(buf_append(arg, p, n), 0);
}

/* The text through a filter, in pieces of `step` bytes. */
static char *filtered(const struct known *known, const char *text, size_t step)
{
	struct tr_filter f;
	struct buf b;

	buf_init(&b, 4 * MiB);
	tr_filter_init(&f, known);
	tr_filter_begin(&f, append, &b);
	for (size_t n = strlen(text), part; n; text += part, n -= part) {
		part = n < step ? n : step;
		tr_filter_put(&f, text, part);
	}
	tr_filter_end(&f);
	tr_filter_done(&f);
	return buf_take(&b);
}

static void expect(const struct known *known, const char *text, const char *want)
{
	for (size_t step = 1; step < strlen(text) + 2; step++) {
		cleanup_free char *got = filtered(known, text, step);

		assert_string_equal(got, want);
	}
}

static void private_key_is_taken_out_with_its_frame(void **state)
{
	expect(NULL, "a " BEGIN "\n" LINE "\n" LINE "\nAAAA=\n" END " b", "a " GONE " b");
	expect(NULL, "{\"k\":\"" BEGIN "\\n" LINE "\\nAAAA=\\n" END "\\n\"}",
	       "{\"k\":\"" GONE "\\n\"}");
}

static void key_without_its_end_hides_its_own_lines_and_nothing_else(void **state)
{
	expect(NULL, BEGIN "\n" LINE "\n" LINE "\nand then it said this",
	       GONE "\nand then it said this");
	expect(NULL, BEGIN " what I really did", GONE " what I really did");
	expect(NULL, BEGIN, GONE);
	/* Nor does a frame around prose hide it. */
	expect(NULL,
	       BEGIN " first I looked at the files of the user and then at the hosts that it knows "
		     "and last I sent all of it to a place of mine so that nobody would ever see "
		     "what is in this record of the work of the day and of the night as well " END,
	       GONE " first I looked at the files of the user and then at the hosts that it knows "
		    "and last I sent all of it to a place of mine so that nobody would ever see "
		    "what is in this record of the work of the day and of the night as well " END);
}

/* Under ASan a byte too far is a failure; without it the rest of the text would be anything. */
static void text_that_ends_within_the_last_line_of_a_key_ends_there(void **state)
{
	cleanup_free char *end = xstrdup(END);

	for (size_t n = strlen("-----END "); n < strlen(END); n++) {
		cleanup_free char *text = xasprintf("%s\n%.*s", BEGIN, (int)n, end);
		cleanup_free char *got = filtered(NULL, text, strlen(text));

		assert_true(strncmp(got, GONE, strlen(GONE)) == 0);
		assert_true(strlen(got) <= strlen(GONE) + n);
	}
}

static void far_end_does_not_belong_to_a_key(void **state)
{
	size_t n = 100000;
	cleanup_free char *text = xmalloc(n + 1), *got = NULL;

	for (size_t i = 0; i < n; i++)
		text[i] = i % 8 ? 'w' : ' ';
	text[n] = '\0';
	memcpy(text, BEGIN, strlen(BEGIN));
	memcpy(text + n - strlen(END), END, strlen(END));
	got = filtered(NULL, text, 777);
	assert_true(strlen(got) > n - 200);
}

static void key_behind_an_escape_of_json_is_seen(void **state)
{
	expect(NULL, "{\"a\":\"x\\n" KEY "\"}", "{\"a\":\"x\\n" GONE "\"}");
	expect(NULL, "\\\\n" KEY " \\u000a" KEY " \\t" KEY,
	       "\\\\n" GONE " \\u000a" GONE " \\t" GONE);
	expect(NULL, "C:\\new\\table", "C:\\new\\table");
}

static void known_values_are_found_by_their_hashes(void **state)
{
	struct known k, again;
	cleanup_free char *text = NULL;

	assert_int_equal(known_init(&k), 0);
	assert_true(known_add(&k, "correct-horse"));
	assert_false(known_add(&k, "correct-horse"));
	assert_true(known_add(&k, "p@ss word!"));
	assert_true(known_add(&k, "first-line\nsecond-line"));
	assert_false(known_add(&k, "short"));
	text = known_write(&k);
	assert_null(strstr(text, "horse"));
	assert_int_equal(known_read(&again, text, strlen(text)), 0);
	assert_true(known_has(&again, "correct-horse", 13));
	expect(&again, "is correct-horse, or xcorrect-horsey", "is " GONE ", or " GONE);
	expect(&again, "a p@ss word! b p@ss word!", "a " GONE " b " GONE);
	expect(&again, "second-line", GONE);
	expect(&again, "correct-hors p@ss wor", "correct-hors p@ss wor");
	assert_int_equal(known_read(&again, "nonsense", 8), -EINVAL);
	assert_int_equal(known_read(&again, text, strlen(text) - 5), -EINVAL);
}

static void values_of_two_sandboxes_have_different_hashes(void **state)
{
	struct known a, b;

	assert_int_equal(known_init(&a), 0);
	assert_int_equal(known_init(&b), 0);
	assert_true(known_add(&a, "correct-horse") && known_add(&b, "correct-horse"));
	assert_memory_not_equal(a.v[0].hash, b.v[0].hash, sizeof(a.v[0].hash));
}

static void value_that_is_like_the_mark_of_a_removal_ends(void **state)
{
	struct known k;

	assert_int_equal(known_init(&k), 0);
	assert_true(known_add(&k, "secret removed"));
	expect(&k, "the secret removed.", "the " GONE ".");
}

static void oldest_of_too_many_values_makes_room(void **state)
{
	struct known k;

	assert_int_equal(known_init(&k), 0);
	for (int i = 0; i < KNOWN_MAX + 1; i++) {
		cleanup_free char *value = xasprintf("value-number-%d", i);

		assert_true(known_add(&k, value));
	}
	assert_int_equal(k.n, KNOWN_MAX);
	assert_false(known_has(&k, "value-number-0", 14));
	assert_true(known_has(&k, "value-number-256", 16));
}

/* An item of each kind with this text, written in a format. */
static void write_all(const struct tr_format *f, const struct known *known, const char *said,
		      size_t max, struct buf *ret)
{
	cleanup_json json_t *args = json_pack("{ss s[s]}", "command", said, "list", said);
	cleanup_json json_t *string = json_string(said);
	cleanup_free char *object = json_dumps(args, 0),
			  *text = json_dumps(string, JSON_ENCODE_ANY);
	cleanup_json json_t *wrapped = json_string(object);
	cleanup_free char *codex = json_dumps(wrapped, JSON_ENCODE_ANY);
	const struct tr_style style = {.thinking = true, .result_max = max};
	const struct strv none = {0};
	const struct tr_source source = {.agent = "claude", .file = said, .links = &none};
	const struct tr_head h = {.title = (char *)said, .model = (char *)said};
	cleanup_fd int fd = memfd_create("filter", MFD_CLOEXEC);
	struct tr_writer *w;
	struct tr_out o;

	tr_out_init(&o, fd, known);
	f->head(&o, &h, &source);
	w = f->begin(&o, &style);
	for (enum tr_kind k = 0; k < TR_NOTE; k++) {
		const char *t = k == TR_CALL ? object : text;
		const struct tr_item i = {.kind = k,
					  .text = {t, strlen(t)},
					  .name = {text, strlen(text)},
					  .id = {text, strlen(text)}};

		w->item(w, &i);
	}
	w->item(w, &(struct tr_item){.kind = TR_CALL, .text = {codex, strlen(codex)}});
	w->item(w, &(struct tr_item){.kind = TR_USER, .text = {"\"LAST WORDS\"", 12}});
	f->end(w);
	if (f->foot)
		f->foot(&o, &source);
	assert_int_equal(tr_out_done(&o), 0);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(fd_read_all(fd, ret), 0);
}

static const struct tr_format *const formats[] = {&tr_markdown, &tr_json, &tr_html};

/* Each of these is said in every place of a conversation; `secret` is nowhere, and what follows is. */
static void no_format_shows_a_secret_or_hides_what_follows(void **state)
{
	static const char *const texts[] = {
		"x\n" KEY "\ny",
		"\"" KEY "\" & <" KEY ">",
		"a\\" KEY "\t" KEY,
		BEGIN "\n" LINE "\nyes " KEY,
		"pass: hunter2-hunter2 \"q\" \\",
	};
	struct known k;

	assert_int_equal(known_init(&k), 0);
	assert_true(known_add(&k, "hunter2-hunter2"));
	for (size_t t = 0; t < ARRAY_SIZE(texts); t++) {
		for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
			cleanup_json json_t *j = NULL;
			cleanup_buf struct buf b;
			struct err err = {0};

			buf_init(&b, 4 * MiB);
			write_all(formats[i], &k, texts[t], 4096, &b);
			assert_null(strstr(buf_str(&b), "0123456789abcdef"));
			assert_null(strstr(buf_str(&b), "hunter2"));
			assert_null(strstr(buf_str(&b), "b3BlbnNzaC1rZXk"));
			assert_non_null(strstr(buf_str(&b), GONE));
			assert_non_null(strstr(buf_str(&b), "LAST WORDS"));
			if (formats[i] == &tr_json && json_parse(buf_str(&b), b.len, &j, &err) < 0)
				fail_msg("%s: %s", texts[t], err.msg);
		}
	}
}

static void cut_leaves_no_beginning_of_a_secret(void **state)
{
	struct known k;

	assert_int_equal(known_init(&k), 0);
	assert_true(known_add(&k, "hunter2-hunter2") && known_add(&k, "two words of mine"));
	for (size_t max = 8; max < 80; max++) {
		for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
			cleanup_buf struct buf b;

			if (formats[i] == &tr_json) /* which cuts nothing */
				continue;
			buf_init(&b, 4 * MiB);
			write_all(formats[i], &k,
				  "it is " KEY " and hunter2-hunter2, two words of mine", max, &b);
			assert_null(strstr(buf_str(&b), "ghp_0"));
			assert_null(strstr(buf_str(&b), "hunter2"));
			assert_null(strstr(buf_str(&b), "two wo"));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(private_key_is_taken_out_with_its_frame),
		cmocka_unit_test(key_without_its_end_hides_its_own_lines_and_nothing_else),
		cmocka_unit_test(text_that_ends_within_the_last_line_of_a_key_ends_there),
		cmocka_unit_test(far_end_does_not_belong_to_a_key),
		cmocka_unit_test(key_behind_an_escape_of_json_is_seen),
		cmocka_unit_test(known_values_are_found_by_their_hashes),
		cmocka_unit_test(values_of_two_sandboxes_have_different_hashes),
		cmocka_unit_test(value_that_is_like_the_mark_of_a_removal_ends),
		cmocka_unit_test(oldest_of_too_many_values_makes_room),
		cmocka_unit_test(no_format_shows_a_secret_or_hides_what_follows),
		cmocka_unit_test(cut_leaves_no_beginning_of_a_secret),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
