/*
 * libexec/ralph/fetch URL [CA_FILE]: one HTTPS request, described as JSON on stdin, answered as JSON on
 * stdout: {"status": 200, "body": "…"} or {"error": "…"}. Knows nothing else, keeps nothing, writes no
 * file. A URL that is a secret is part of the description, and the argument is '-'. See cred/fetch.h.
 */
#include "cred/fetch.h"

#include <curl/curl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json/json.h"

#define REQUEST_MAX (4 * FETCH_BODY_MAX)
#define HEADERS_MAX 32

static int answer(json_t *j)
{
	cleanup_json json_t *out = j;
	cleanup_secret char *text = out ? json_dumps(out, JSON_COMPACT) : NULL;

	if (!text || fd_write_all(STDOUT_FILENO, text, strlen(text)) < 0)
		return EXIT_RUNTIME;
	return EXIT_OK;
}

static int refuse(const char *why)
{
	return answer(json_pack("{so}", "error", json_text(why)));
}

static size_t on_body(char *p, size_t size, size_t n, void *arg)
{
	return buf_append(arg, p, size * n) < 0 ? 0 : size * n;
}

struct request {
	const char *method, *url, *content_type, *body, *ca_file;
	json_t *headers;
	uint64_t timeout_ms;
};

static int read_request(const json_t *j, struct request *r, struct err *err)
{
	int res = json_get_str(j, "method", &r->method, err);

	if (res == 0)
		res = json_opt_str(j, "url", &r->url, err);
	if (res == 0)
		res = json_opt_str(j, "content_type", &r->content_type, err);
	if (res == 0)
		res = json_opt_str(j, "body", &r->body, err);
	if (res == 0)
		res = json_get_uint(j, "timeout_ms", &r->timeout_ms, err);
	if (res == 0)
		res = json_get_array(j, "headers", &r->headers, err);
	if (res == 0 &&
	    (json_array_size(r->headers) > HEADERS_MAX || r->timeout_ms > (uint64_t)FETCH_MS))
		res = err_set(err, EINVAL, "the request is too large");
	return res;
}

static struct curl_slist *make_headers(const struct request *r)
{
	cleanup_free char *type =
		xasprintf("Content-Type: %s", r->content_type ? r->content_type : "");
	struct curl_slist *list = r->content_type ? curl_slist_append(NULL, type) : NULL;
	json_t *h;
	size_t i;

	json_array_foreach (r->headers, i, h) {
		const char *s = json_string_value(h);

		if (s && !strpbrk(s, "\r\n"))
			list = curl_slist_append(list, s);
	}
	return list;
}

static void set_up(CURL *c, const struct request *r, struct curl_slist *headers, struct buf *body,
		   char *why)
{
	const char *bundle = getenv("SSL_CERT_FILE"), *dir = getenv("SSL_CERT_DIR");

	(void)curl_easy_setopt(c, CURLOPT_URL, r->url);
	(void)curl_easy_setopt(c, CURLOPT_CUSTOMREQUEST, r->method);
	(void)curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "https");
	(void)curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 0L);
	(void)curl_easy_setopt(c, CURLOPT_SSL_VERIFYPEER, 1L);
	(void)curl_easy_setopt(c, CURLOPT_SSL_VERIFYHOST, 2L);
	(void)curl_easy_setopt(c, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	(void)curl_easy_setopt(c, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	(void)curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, (long)r->timeout_ms);
	(void)curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS, (long)r->timeout_ms / 2);
	(void)curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
	(void)curl_easy_setopt(c, CURLOPT_HTTPHEADER, headers);
	(void)curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_body);
	(void)curl_easy_setopt(c, CURLOPT_WRITEDATA, body);
	(void)curl_easy_setopt(c, CURLOPT_ERRORBUFFER, why);
	if (r->body) {
		(void)curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE, (long)strlen(r->body));
		(void)curl_easy_setopt(c, CURLOPT_POSTFIELDS, r->body);
	}
	if (r->ca_file) {
		(void)curl_easy_setopt(c, CURLOPT_CAINFO, r->ca_file);
		(void)curl_easy_setopt(c, CURLOPT_CAPATH, NULL);
	} else if (bundle && *bundle) {
		(void)curl_easy_setopt(c, CURLOPT_CAINFO, bundle);
	} else if (dir && *dir) {
		(void)curl_easy_setopt(c, CURLOPT_CAPATH, dir);
	}
}

static int perform(const struct request *r)
{
	CURL *c = curl_easy_init();
	struct curl_slist *headers = make_headers(r);
	char why[CURL_ERROR_SIZE] = "";
	cleanup_(cred_wipe) struct buf body;
	long status = 0;
	CURLcode code;
	json_t *text;

	buf_init(&body, FETCH_BODY_MAX);
	if (!c)
		return refuse("libcurl does not start");
	set_up(c, r, headers, &body, why);
	code = curl_easy_perform(c);
	(void)curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_cleanup(c);
	curl_slist_free_all(headers);
	if (code != CURLE_OK)
		return refuse(why[0] ? why : curl_easy_strerror(code));
	text = json_stringn(body.len ? body.data : "", body.len);
	if (!text)
		return refuse("the answer is not text");
	return answer(json_pack("{sI so}", "status", (json_int_t)status, "body", text));
}

int main(int argc, char *argv[])
{
	struct rlimit none = {0, 0};
	struct err err = {0};
	cleanup_json json_t *j = NULL;
	cleanup_(cred_wipe) struct buf in;
	struct request r = {0};

	buf_init(&in, REQUEST_MAX);
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    setrlimit(RLIMIT_CORE, &none) < 0)
		return refuse("cannot protect itself");
	if (fd_read_all(STDIN_FILENO, &in) < 0 || json_parse(buf_str(&in), in.len, &j, &err) < 0 ||
	    argc < 2 || argc > 3 || read_request(j, &r, &err) < 0)
		return refuse("the request is malformed");
	if (streq(argv[1], "-") != (r.url != NULL))
		return refuse("the request names no URL, or two");
	r.url = r.url ? r.url : argv[1];
	r.ca_file = argv[2];
	return perform(&r);
}
