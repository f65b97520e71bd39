#include "netrules/net-check.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/proc.h"
#include "policy/idna.h"
#include "policy/request.h"
#include "netrules/spec-net.h"

#define TARGET_MAX (16 * KiB)
#define SENTENCE_SIZE 1024
#define LOOKUP_MS 10000
#define LOOKUP_OUT_MAX (64 * KiB)
#define ADDRESSES_MAX 64

struct target {
	struct host host;
	uint16_t port;
	char *path; /* of a URL that has one; NULL */
};

static void target_done(struct target *t)
{
	free(t->path);
}

/* "https://host:port/path?query" without its scheme: gives the authority's length. */
static int split_url(const char *rest, struct target *t, size_t *ret_n, struct err *err)
{
	size_t n = strcspn(rest, "/?#");

	if (memchr(rest, '@', n))
		return err_usage(err, "leave user name and password out of the URL");
	if (strchr(rest, '#'))
		return err_usage(err, "leave the part behind '#' out of the URL");
	if (rest[n])
		t->path = xasprintf("%s%s", rest[n] == '?' ? "/" : "", rest + n);
	*ret_n = n;
	return 0;
}

static bool is_bare_ipv6(const char *s)
{
	const char *colon = strchr(s, ':');

	return s[0] != '[' && colon && strchr(colon + 1, ':');
}

static int read_target(const char *text, struct target *t, struct err *err)
{
	cleanup_free char *authority = NULL, *ascii = NULL;
	uint16_t port = 443;
	size_t n;
	int r = 0;

	if (strlen(text) > TARGET_MAX)
		return err_usage(err, "the target is too long");
	if (strncasecmp(text, "http://", 7) == 0) {
		port = 80;
		text += 7;
		r = split_url(text, t, &n, err);
	} else if (strncasecmp(text, "https://", 8) == 0) {
		text += 8;
		r = split_url(text, t, &n, err);
	} else {
		n = strlen(text);
	}
	if (r < 0)
		return r;
	authority = xstrndup(text, n);
	r = idna_to_ascii(authority, &ascii, err);
	if (r < 0)
		return r;
	if (is_bare_ipv6(ascii)) {
		t->port = port;
		r = host_parse(ascii, strlen(ascii), &t->host, err);
	} else {
		r = host_parse_authority(ascii, strlen(ascii), port, &t->host, &t->port, err);
	}
	if (r < 0)
		err->exit_code = EXIT_USAGE;
	return r;
}

static void explain(const struct policy *p, const struct verdict *v, const struct target *t,
		    struct net_answer *a)
{
	const struct policy_rule *rule = policy_rule_of(p, v);
	char text[SENTENCE_SIZE];

	a->allow = v->allow;
	a->reason = xstrdup(policy_reason_name(v->reason));
	verdict_explain(p, v, &t->host, t->port, text, sizeof(text));
	a->why = xstrdup(text);
	verdict_remedy(p, v, &t->host, t->port, text, sizeof(text));
	a->remedy = xstrdup(v->allow ? "" : text);
	if (rule) {
		a->rule = xstrdup(rule->text.pattern);
		a->source = xstrdup(rule->text.source);
	}
}

static int judge_request(const struct policy *p, const struct net_question *q,
			 const struct target *t, struct verdict *v, struct net_answer *a,
			 struct err *err)
{
	const char *path = q->path ? q->path : t->path;
	struct verdict of_request;
	cleanup_buf struct buf b;

	buf_init(&b, REQUEST_TARGET_MAX);
	if (!path && !q->method) {
		a->note = xstrdup("each request is judged; see --method and --path");
		return 0;
	}
	a->method = xstrdup(q->method ? q->method : "GET");
	a->path = xstrdup(path ? path : "/");
	if (a->path[0] != '/')
		return err_usage(err, "a path begins with '/'");
	policy_request(p, v, &t->host, t->port, a->method, a->path, strlen(a->path), &b,
		       &of_request);
	*v = of_request;
	return 0;
}

static void add_address(const struct policy *p, const struct verdict *name, const struct target *t,
			const char *text, struct net_answer *a)
{
	char why[SENTENCE_SIZE];
	struct net_address *to;
	struct verdict v;
	struct ip ip;

	if (a->n_addresses == ADDRESSES_MAX || ip_parse(text, strlen(text), &ip) < 0)
		return;
	for (size_t i = 0; i < a->n_addresses; i++)
		if (streq(a->addresses[i].text, text))
			return;
	policy_addr(p, name, &ip, t->port, &v);
	verdict_explain(p, &v, &t->host, t->port, why, sizeof(why));
	a->addresses = xrealloc(a->addresses, a->n_addresses + 1, sizeof(*a->addresses));
	to = &a->addresses[a->n_addresses++];
	*to = (struct net_address){.text = xstrdup(text), .allow = v.allow, .why = xstrdup(why)};
}

/* By a program of the system's, since a statically linked one cannot ask all its name services. */
static int look_up(const struct policy *p, const struct verdict *name, const struct target *t,
		   struct net_answer *a, struct err *err)
{
	char *argv[] = {(char *)"/usr/bin/getent", (char *)"ahosts", (char *)t->host.name, NULL};
	char *env[] = {(char *)"PATH=/usr/bin:/bin", (char *)"LC_ALL=C", NULL};
	cleanup_free char *out = NULL;
	bool any = false;
	int code = 0, r;

	r = run_capture(argv, env, LOOKUP_MS, LOOKUP_OUT_MAX, &out, &code, err);
	if (r < 0)
		return err_wrap(err, r, "cannot look '%s' up", t->host.name);
	for (char *line = out, *end; code == 0 && *line; line = end) {
		end = strchrnul(line, '\n');
		if (*end)
			*end++ = '\0';
		line[strcspn(line, " \t")] = '\0';
		add_address(p, name, t, line, a);
	}
	for (size_t i = 0; i < a->n_addresses; i++)
		any |= a->addresses[i].allow;
	if (a->n_addresses == 0) {
		free(a->note);
		a->note = xstrdup("the name has no address");
	} else if (!any) {
		free(a->why);
		a->why = xstrdup(a->addresses[0].why);
		a->allow = false;
	}
	return 0;
}

static int judge(const struct policy *p, const struct net_question *q, const struct target *t,
		 struct net_answer *a, struct err *err)
{
	struct verdict name, v;
	int r = 0;

	policy_name(p, &t->host, t->port, &name);
	v = name;
	a->inspect = name.allow && name.inspect;
	if (a->inspect)
		r = judge_request(p, q, t, &v, a, err);
	else if (name.allow && (q->path || t->path || q->method))
		a->note = xstrdup("no rule for this host looks at requests");
	if (r < 0)
		return r;
	explain(p, &v, t, a);
	if (v.allow && q->resolve && t->host.kind == HOST_NAME && !name.service)
		r = look_up(p, &name, t, a, err);
	return r;
}

int net_check(const struct net_policy *net, const struct net_question *q, struct net_answer *ret,
	      struct err *err)
{
	cleanup_(policy_freep) struct policy *p = NULL;
	cleanup_(target_done) struct target t = {.path = NULL};
	int r = read_target(q->target, &t, err);

	*ret = (struct net_answer){0};
	if (r == 0)
		r = policy_compile(net, &p, err);
	if (r < 0)
		return r;
	ret->host = xstrdup(t.host.name);
	ret->port = t.port;
	ret->literal = t.host.kind != HOST_NAME;
	if (ret->literal)
		ret->class = xasprintf("%s address", addr_class_name(addr_class(&t.host.ip)));
	r = judge(p, q, &t, ret, err);
	if (r == 0 && !ret->note)
		ret->note = xstrdup("");
	if (r < 0)
		net_answer_done(ret);
	return r;
}

void net_answer_done(struct net_answer *a)
{
	char *texts[] = {a->class, a->host,   a->method, a->path, a->reason,
			 a->why,   a->remedy, a->note,	 a->rule, a->source};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		free(texts[i]);
	for (size_t i = 0; i < a->n_addresses; i++) {
		free(a->addresses[i].text);
		free(a->addresses[i].why);
	}
	free(a->addresses);
	*a = (struct net_answer){0};
}

char *net_host_text(const char *text)
{
	struct err ignored;
	struct host h;

	return xstrdup(host_parse(text, strlen(text), &h, &ignored) < 0 ? text : h.name);
}
