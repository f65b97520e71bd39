#include "tests.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/path.h"
#include "cred/claude-file.h"
#include "cred/hold/claude-lock.h"
#include "cred/hold/hold.h"

#define LOGIN                                                                                      \
	"{\"claudeAiOauth\":{\"accessToken\":\"acc\",\"refreshToken\":\"ref\",\"expiresAt\":"      \
	"1794794391454,\"scopes\":[\"a\",\"b\"],\"subscriptionType\":\"max\",\"odd\":[1]},"        \
	"\"mcpOAuth\":{\"x\":1}}"

static int parse(const char *text, struct claude_login *l, struct err *err)
{
	return claude_login_parse(text, strlen(text), l, err);
}

static void a_login_is_read_with_what_it_says(void **state)
{
	struct claude_login l = {0};
	struct err err = {0};

	assert_int_equal(parse(LOGIN, &l, &err), 0);
	assert_string_equal(l.access, "acc");
	assert_string_equal(l.refresh, "ref");
	assert_string_equal(l.scopes, "a b");
	assert_string_equal(l.subscription, "max");
	assert_true(l.expires_ms == 1794794391454ULL);
	claude_login_done(&l);
	assert_int_equal(parse("{\"claudeAiOauth\":{\"accessToken\":\"t\"}}", &l, &err), 0);
	assert_null(l.refresh);
	assert_true(l.expires_ms == 0);
	claude_login_done(&l);
}

static void what_is_no_login_is_told_apart_and_never_quoted(void **state)
{
	static const struct {
		const char *text;
		int want;
	} cases[] = {
		{"", -ENOENT},
		{" \n", -ENOENT},
		{"{", -EINVAL},
		{"{\"claudeAiOauth\":{\"accessToken\":\"sk-secret", -EINVAL},
		{"[]", -EINVAL},
		{"{}", -ENOENT},
		{"{\"claudeAiOauth\":null}", -ENOENT},
		{"{\"mcpOAuth\":{}}", -ENOENT},
		{"{\"claudeAiOauth\":\"sk-secret\"}", -EINVAL},
		{"{\"claudeAiOauth\":{\"accessToken\":7}}", -EINVAL},
		{"{\"claudeAiOauth\":{\"accessToken\":\"sk-secret\\r\\nX: y\"}}", -EINVAL},
		{"{\"claudeAiOauth\":{\"accessToken\":\"sk-secret\\u0000x\"}}", -EINVAL},
		{"{\"claudeAiOauth\":{\"accessToken\":\"sk-secret\",\"expiresAt\":\"x\"}}",
		 -EINVAL},
		{"{\"claudeAiOauth\":{\"accessToken\":\"\",\"refreshToken\":\"\",\"expiresAt\":0}}",
		 -EKEYEXPIRED},
		{"{\"claudeAiOauth\":{}}", -EKEYEXPIRED},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct claude_login l = {0};
		struct err err = {0};

		assert_int_equal(parse(cases[i].text, &l, &err), cases[i].want);
		assert_null(strstr(err.msg, "sk-secret"));
		assert_null(l.access);
	}
}

static void an_update_changes_the_login_and_keeps_the_rest(void **state)
{
	struct claude_login fresh = {.access = (char *)"acc2",
				     .refresh = (char *)"ref2",
				     .scopes = (char *)"c d",
				     .expires_ms = 5000};
	struct claude_login back = {0};
	cleanup_free char *text = NULL;
	struct err err = {0};

	assert_int_equal(claude_login_update(LOGIN, strlen(LOGIN), "ref", &fresh, &text, &err), 0);
	assert_int_equal(parse(text, &back, &err), 0);
	assert_string_equal(back.access, "acc2");
	assert_string_equal(back.refresh, "ref2");
	assert_string_equal(back.scopes, "c d");
	assert_string_equal(back.subscription, "max");
	assert_non_null(strstr(text, "\"mcpOAuth\":{\"x\":1}"));
	assert_non_null(strstr(text, "\"odd\":[1]"));
	claude_login_done(&back);
}

static void an_update_of_another_login_is_refused(void **state)
{
	struct claude_login fresh = {.access = (char *)"acc2", .expires_ms = 5000};
	char *text = NULL;
	struct err err = {0};

	assert_int_equal(claude_login_update(LOGIN, strlen(LOGIN), "older", &fresh, &text, &err),
			 -ESTALE);
	assert_int_equal(claude_login_update("{}", 2, "ref", &fresh, &text, &err), -ESTALE);
	assert_int_equal(claude_login_update("{", 1, "ref", &fresh, &text, &err), -EINVAL);
	assert_null(text);
}

/* The directory ~/.claude of a test. */
struct world {
	char *root, *dir, *file;
	struct strv env;
	struct cred_host host;
};

static int set_up(void **state)
{
	struct world *w = xcalloc(1, sizeof(*w));
	char root[] = "/tmp/rt-claude-XXXXXX";

	assert_non_null(mkdtemp(root));
	w->root = xstrdup(root);
	w->dir = path_join(root, ".claude");
	w->file = path_join(w->dir, ".credentials.json");
	assert_int_equal(mkdir(w->dir, 0700), 0);
	strv_init(&w->env);
	w->host = (struct cred_host){.home = w->root,
				     .config = w->root,
				     .libexec = w->root,
				     .environ = w->env.v,
				     .now_ms = 1000000000};
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;
	struct err err = {0};

	(void)path_remove_tree(AT_FDCWD, w->root, &err);
	strv_done(&w->env);
	free(w->root);
	free(w->dir);
	free(w->file);
	free(w);
	return 0;
}

static void write_file(const char *path, const char *text, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
	(void)close(fd);
}

static bool exists(const char *dir, const char *name)
{
	cleanup_free char *path = path_join(dir, name);
	struct stat st;

	return lstat(path, &st) == 0;
}

static void a_lock_is_one_mans_and_leaves_nothing(void **state)
{
	struct world *w = *state;
	struct claude_lock one, two;
	struct err err = {0};

	claude_lock_init(&one, w->dir);
	claude_lock_init(&two, w->dir);
	assert_int_equal(claude_lock_refresh(&one, &err), 0);
	assert_true(exists(w->dir, ".oauth_refresh.lock"));
	assert_true(exists(w->root, ".claude.lock"));
	assert_int_equal(claude_lock_refresh(&two, &err), -EBUSY);
	assert_int_equal(claude_lock_storage(&one, &err), 0);
	assert_true(exists(w->dir, ".storage-write.lock"));
	claude_lock_done(&one);
	assert_int_equal(claude_lock_refresh(&two, &err), 0);
	claude_lock_done(&two);
	assert_false(exists(w->dir, ".oauth_refresh.lock"));
	assert_false(exists(w->dir, ".storage-write.lock"));
	assert_false(exists(w->root, ".claude.lock"));
}

static void age(const char *path, time_t seconds)
{
	struct timespec now, t[2];

	(void)clock_gettime(CLOCK_REALTIME, &now);
	t[0] = t[1] = (struct timespec){.tv_sec = now.tv_sec - seconds};
	assert_int_equal(utimensat(AT_FDCWD, path, t, 0), 0);
}

static void a_lock_nobody_touches_for_a_minute_is_taken_over(void **state)
{
	struct world *w = *state;
	cleanup_free char *lock = path_join(w->dir, ".oauth_refresh.lock");
	struct claude_lock l;
	struct err err = {0};

	assert_int_equal(mkdir(lock, 0777), 0);
	claude_lock_init(&l, w->dir);
	age(lock, 50);
	assert_int_equal(claude_lock_refresh(&l, &err), -EBUSY);
	age(lock, 120);
	assert_int_equal(claude_lock_refresh(&l, &err), 0);
	claude_lock_done(&l);
}

static void the_older_lock_of_somebody_else_holds_us_off(void **state)
{
	struct world *w = *state;
	cleanup_free char *legacy = xasprintf("%s.lock", w->dir);
	struct claude_lock l;
	struct err err = {0};

	assert_int_equal(mkdir(legacy, 0777), 0);
	claude_lock_init(&l, w->dir);
	assert_int_equal(claude_lock_refresh(&l, &err), -EBUSY);
	assert_false(exists(w->dir, ".oauth_refresh.lock"));
	claude_lock_done(&l);
	assert_true(exists(w->root, ".claude.lock"));
}

static void touching_keeps_a_lock_fresh(void **state)
{
	struct world *w = *state;
	cleanup_free char *lock = path_join(w->dir, ".oauth_refresh.lock");
	struct claude_lock l;
	struct err err = {0};
	struct stat st;

	claude_lock_init(&l, w->dir);
	assert_int_equal(claude_lock_refresh(&l, &err), 0);
	age(lock, 120);
	claude_lock_touch(&l);
	assert_int_equal(stat(lock, &st), 0);
	assert_true(time(NULL) - st.st_mtim.tv_sec < 50);
	claude_lock_done(&l);
}

/* A fetch of the test's own, in libexec: counts its runs, and answers this. */
static void answer(struct world *w, const char *json)
{
	cleanup_free char *program = path_join(w->root, "fetch");
	cleanup_free char *text =
		xasprintf("#!/bin/sh\ncat >>%s/asked\necho >>%s/asked\nprintf '%%s' '%s'\n",
			  w->root, w->root, json);

	write_file(program, text, 0700);
}

static size_t asked(const struct world *w)
{
	cleanup_free char *path = path_join(w->root, "asked");
	cleanup_buf struct buf b;
	size_t n = 0;

	buf_init(&b, 64 * KiB);
	if (path_read(AT_FDCWD, path, &b) < 0)
		return 0;
	for (size_t i = 0; i < b.len; i++)
		n += b.data[i] == '\n';
	return n;
}

#define FRESH                                                                                      \
	"{\"status\":200,\"body\":\"{\\\"access_token\\\":\\\"acc2\\\",\\\"refresh_token\\\":"     \
	"\\\"ref2\\\",\\\"expires_in\\\":3600}\"}"
#define EXPIRED                                                                                    \
	"{\"claudeAiOauth\":{\"accessToken\":\"acc\",\"refreshToken\":\"ref\",\"expiresAt\":1000}" \
	"}"

static struct cred *new_cred(struct world *w)
{
	cleanup_free char *source = xasprintf("file:%s", w->file);
	struct err err = {0};
	struct cred *c = cred_new(&w->host, "anthropic-oauth", "anthropic", source,
				  "https://api.anthropic.com", &err);

	assert_non_null(c);
	return c;
}

static int ask(struct cred *c, bool rejected, char **ret, struct err *err)
{
	const struct cred_request r = {.method = "POST",
				       .host = "api.anthropic.com",
				       .target = "/v1/messages",
				       .port = 443,
				       .content_type = "",
				       .body_sha256 = "",
				       .rejected = rejected};
	struct cred_header h;
	int res;

	cred_header_init(&h);
	res = cred_answer(c, &r, &h, err);
	*ret = res == 0 && h.set.n ? xstrdup(h.set.v[0]) : NULL;
	cred_header_done(&h);
	return res;
}

static void an_expired_login_is_renewed_once_and_saved(void **state)
{
	struct world *w = *state;
	cleanup_free char *got = NULL, *again = NULL;
	struct claude_login l = {0};
	struct cred *c = new_cred(w);
	cleanup_buf struct buf b;
	struct err err = {0};

	buf_init(&b, 64 * KiB);
	write_file(w->file, EXPIRED, 0600);
	answer(w, FRESH);
	assert_int_equal(ask(c, false, &got, &err), 0);
	assert_string_equal(got, "Authorization: Bearer acc2");
	assert_int_equal(ask(c, false, &again, &err), 0);
	assert_string_equal(again, got);
	assert_int_equal(asked(w), 1);
	assert_int_equal(path_read(AT_FDCWD, w->file, &b), 0);
	assert_int_equal(parse(buf_str(&b), &l, &err), 0);
	assert_string_equal(l.refresh, "ref2");
	assert_true(l.expires_ms == w->host.now_ms + 3600000);
	claude_login_done(&l);
	(void)cred_free(c);
}

static void what_somebody_else_renewed_is_taken_and_nothing_is_posted(void **state)
{
	struct world *w = *state;
	cleanup_free char *first = NULL, *second = NULL;
	struct cred *c = new_cred(w);
	struct err err = {0};

	write_file(w->file,
		   "{\"claudeAiOauth\":{\"accessToken\":\"one\",\"refreshToken\":\"ref\","
		   "\"expiresAt\":2000000000}}",
		   0600);
	answer(w, FRESH);
	assert_int_equal(ask(c, false, &first, &err), 0);
	write_file(w->file,
		   "{\"claudeAiOauth\":{\"accessToken\":\"two\",\"refreshToken\":\"ref9\","
		   "\"expiresAt\":2000000000}}",
		   0600);
	/* The upstream refused "one"; the file has another by now. */
	assert_int_equal(ask(c, true, &second, &err), 0);
	assert_string_equal(second, "Authorization: Bearer two");
	assert_int_equal(asked(w), 0);
	(void)cred_free(c);
}

static void invalid_grant_leaves_the_file_and_is_not_asked_twice(void **state)
{
	struct world *w = *state;
	char *got = NULL;
	struct cred *c = new_cred(w);
	cleanup_buf struct buf b;
	struct err err = {0};

	buf_init(&b, 64 * KiB);
	write_file(w->file, EXPIRED, 0600);
	answer(w, "{\"status\":400,\"body\":\"{\\\"error\\\":\\\"invalid_grant\\\"}\"}");
	assert_int_equal(ask(c, false, &got, &err), -EKEYREJECTED);
	assert_non_null(strstr(err.msg, "claude /login"));
	c->retry_ms = 0;
	assert_int_equal(ask(c, false, &got, &err), -EKEYREJECTED);
	assert_int_equal(asked(w), 1);
	assert_int_equal(path_read(AT_FDCWD, w->file, &b), 0);
	assert_string_equal(buf_str(&b), EXPIRED);
	(void)cred_free(c);
}

static void a_renewal_that_fails_for_now_leaves_the_old_token_in_use(void **state)
{
	static const char *const answers[] = {
		"{\"status\":503,\"body\":\"\"}",
		"{\"error\":\"could not resolve host\"}",
		"{\"status\":200,\"body\":\"<html>\"}",
		"{\"status\":200,\"body\":\"{\\\"access_token\\\":\\\"\\\"}\"}",
		"",
	};
	struct world *w = *state;

	for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
		cleanup_free char *got = NULL;
		struct cred *c = new_cred(w);
		struct err err = {0};

		write_file(w->file, EXPIRED, 0600);
		answer(w, answers[i]);
		assert_int_equal(ask(c, false, &got, &err), 0);
		assert_string_equal(got, "Authorization: Bearer acc");
		(void)cred_free(c);
	}
}

static void a_refused_token_is_renewed(void **state)
{
	struct world *w = *state;
	cleanup_free char *first = NULL, *second = NULL;
	struct cred *c = new_cred(w);
	struct err err = {0};

	write_file(w->file,
		   "{\"claudeAiOauth\":{\"accessToken\":\"acc\",\"refreshToken\":\"ref\","
		   "\"expiresAt\":2000000000}}",
		   0600);
	answer(w, FRESH);
	assert_int_equal(ask(c, false, &first, &err), 0);
	assert_string_equal(first, "Authorization: Bearer acc");
	assert_int_equal(ask(c, true, &second, &err), 0);
	assert_string_equal(second, "Authorization: Bearer acc2");
	assert_int_equal(asked(w), 1);
	(void)cred_free(c);
}

static void what_could_not_be_saved_is_used_and_saved_later(void **state)
{
	struct world *w = *state;
	cleanup_free char *lock = path_join(w->dir, ".storage-write.lock");
	cleanup_free char *first = NULL, *second = NULL;
	struct cred *c = new_cred(w);
	cleanup_buf struct buf before, after;
	struct err err = {0};

	buf_init(&before, 64 * KiB);
	buf_init(&after, 64 * KiB);
	write_file(w->file, EXPIRED, 0600);
	answer(w, FRESH);
	assert_int_equal(mkdir(lock, 0777), 0); /* somebody writes, and does not end */
	assert_int_equal(ask(c, false, &first, &err), 0);
	assert_string_equal(first, "Authorization: Bearer acc2");
	assert_int_equal(path_read(AT_FDCWD, w->file, &before), 0);
	assert_string_equal(buf_str(&before), EXPIRED);
	assert_int_equal(rmdir(lock), 0);
	assert_int_equal(ask(c, false, &second, &err), 0);
	assert_string_equal(second, first);
	assert_int_equal(path_read(AT_FDCWD, w->file, &after), 0);
	assert_non_null(strstr(buf_str(&after), "ref2"));
	assert_int_equal(asked(w), 1);
	(void)cred_free(c);
}

#define IN_WORLD(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_login_is_read_with_what_it_says),
		cmocka_unit_test(what_is_no_login_is_told_apart_and_never_quoted),
		cmocka_unit_test(an_update_changes_the_login_and_keeps_the_rest),
		cmocka_unit_test(an_update_of_another_login_is_refused),
		IN_WORLD(a_lock_is_one_mans_and_leaves_nothing),
		IN_WORLD(a_lock_nobody_touches_for_a_minute_is_taken_over),
		IN_WORLD(the_older_lock_of_somebody_else_holds_us_off),
		IN_WORLD(touching_keeps_a_lock_fresh),
		IN_WORLD(an_expired_login_is_renewed_once_and_saved),
		IN_WORLD(what_somebody_else_renewed_is_taken_and_nothing_is_posted),
		IN_WORLD(invalid_grant_leaves_the_file_and_is_not_asked_twice),
		IN_WORLD(a_renewal_that_fails_for_now_leaves_the_old_token_in_use),
		IN_WORLD(a_refused_token_is_renewed),
		IN_WORLD(what_could_not_be_saved_is_used_and_saved_later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
