#include "fuzz.h"

#include "base/buf.h"
#include "policy/request.h"

#include <assert.h>
#include <string.h>

/*
 * Lines: a pattern, a host, a path prefix, a target. What a pattern allows must be the host itself,
 * below its suffix or inside its range; a deny rule beside it always wins; and a target that passes
 * is sent in a form that passes again.
 */
static bool ends_with(const struct host *h, const char *suffix)
{
	size_t n = strlen(suffix);

	return h->len > n && strcmp(h->name + h->len - n, suffix) == 0;
}

static void check_match(const struct pattern *p, const struct host *h)
{
	if (!pattern_has_host(p, h))
		return;
	if (p->kind == PATTERN_NAME)
		assert(strcmp(p->name, h->name) == 0);
	if (p->kind == PATTERN_BELOW)
		assert(ends_with(h, p->name) && h->name[h->len - p->len - 1] == '.');
	if (p->kind == PATTERN_CIDR)
		assert(h->kind != HOST_NAME && cidr_contains(&p->cidr, &h->ip));
}

static void check_request(struct policy *p, const char *prefix, const char *target)
{
	cleanup_buf struct buf a, b;
	cleanup_strv struct strv paths = {0};
	struct net_rule t = {.pattern = "h.test"};
	struct verdict v, got, again;
	struct host h;
	struct err err;

	buf_init(&a, REQUEST_TARGET_MAX);
	buf_init(&b, REQUEST_TARGET_MAX);
	strv_push(&paths, prefix);
	t.paths = paths;
	if (host_parse("h.test", 6, &h, &err) < 0 || policy_add(p, &t, &err) < 0)
		return;
	policy_name(p, &h, 443, &v);
	if (!v.allow)
		return;
	policy_request(p, &v, &h, 443, "GET", target, strlen(target), &a, &got);
	if (!got.allow)
		return;
	policy_request(p, &v, &h, 443, "GET", a.data, a.len, &b, &again);
	assert(again.allow && a.len == b.len && memcmp(a.data, b.data, a.len) == 0);
	assert(!memmem(a.data, strcspn(a.data, "?"), "/../", 4));
}

static void check_decision(const char *pattern, const struct host *h)
{
	cleanup_(policy_freep) struct policy *p = policy_new(POLICY_ALLOWLIST);
	struct verdict v;
	struct err err;
	char text[512];

	policy_name(p, h, 443, &v);
	assert(!v.allow);
	if (policy_add_pattern(p, false, pattern, "fuzz", &err) < 0)
		return;
	policy_name(p, h, 443, &v);
	verdict_explain(p, &v, h, 443, text, sizeof(text));
	verdict_remedy(p, &v, h, 443, text, sizeof(text));
	if (!v.allow)
		return;
	assert(pattern_has_host(&p->rules[0].pattern, h));
	assert(h->kind == HOST_NAME || addr_class(&h->ip) != ADDR_UNSPECIFIED);
	assert(policy_add_pattern(p, true, pattern, "fuzz", &err) == 0);
	policy_name(p, h, 443, &v);
	assert(!v.allow && v.reason == POLICY_DENY_RULE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_(policy_freep) struct policy *p = policy_new(POLICY_ALLOWLIST);
	cleanup_free char *text = xstrndup((const char *)data, size);
	char *line[4] = {text, NULL, NULL, NULL};
	struct pattern pattern;
	struct err err = {0};
	struct host h;

	for (size_t i = 1; i < ARRAY_SIZE(line); i++) {
		line[i] = line[i - 1] + strcspn(line[i - 1], "\n");
		if (*line[i])
			*line[i]++ = '\0';
	}
	if (host_parse(line[1], strlen(line[1]), &h, &err) == 0) {
		if (pattern_parse(line[0], true, &pattern, &err) == 0)
			check_match(&pattern, &h);
		check_decision(line[0], &h);
	}
	check_request(p, line[2], line[3]);
	return 0;
}
