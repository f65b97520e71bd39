#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "base/text/base64.h"
#include "base/json/json.h"
#include "cred/aws.h"
#include "cred/bearer.h"
#include "cred/gemini.h"
#include "cred/openai.h"
#include "cred/token.h"

/* What comes out of a file or an answer goes into a field of a request: it must be fit for one. */
static void must_be_sane(const char *token)
{
	if (token && *token && !token_is_sane(token))
		abort();
}

static void check_login(int r, struct file_login *l)
{
	if (r == 0) {
		must_be_sane(l->access);
		must_be_sane(l->refresh);
		must_be_sane(l->account);
	}
	file_login_done(l);
}

static void read_documents(const char *text, size_t n)
{
	int (*const parsers[])(const json_t *, struct file_login *, struct err *) = {
		codex_key_parse, codex_login_parse, gemini_login_parse};
	cleanup_json json_t *j = NULL;
	struct google_user u = {0};
	struct err err = {0};

	if (json_parse(text, n, &j, &err) < 0)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(parsers); i++) {
		struct file_login l = {0};

		check_login(parsers[i](j, &l, &err), &l);
	}
	if (google_user_parse(j, &u, &err) == 0)
		must_be_sane(u.refresh);
	google_user_done(&u);
}

static void read_answers(const char *text, size_t n)
{
	struct oauth_tokens t = {0};
	struct aws_keys k = {0};
	struct err err = {0};

	if (aws_keys_parse(text, n, &k, &err) == 0) {
		must_be_sane(k.access_key);
		must_be_sane(k.token);
	}
	aws_keys_done(&k);
	if (oauth_answer_parse(text, 1, &t, &err) == 0)
		must_be_sane(t.access);
	oauth_tokens_done(&t);
	(void)oauth_is_final(400, text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct cred_host host = {.home = "/"};
	cleanup_free char *text = xstrndup((const char *)data, size);
	cleanup_free char *token = npmrc_token(&host, text, "r.test", 443);
	struct google_user client = {0};
	cleanup_buf struct buf b;
	uint64_t ms;

	buf_init(&b, 4 * KiB);
	must_be_sane(token);
	read_documents(text, strlen(text));
	read_answers(text, strlen(text));
	(void)when_parse(text, &ms);
	(void)jwt_expires_ms(text);
	(void)base64url_get(&b, text, strlen(text));
	(void)bearer_is_git(text);
	(void)bearer_is_minting("github", text);
	(void)bearer_is_minting("npm", text);
	if (gemini_client_find((const char *)data, size, &client))
		must_be_sane(client.client_id);
	google_user_done(&client);
	return 0;
}
