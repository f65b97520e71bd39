#include "policy/git.h"

#include <string.h>

static const char upload[] = "git-upload-pack", receive[] = "git-receive-pack";

/* A request of git: its service, its repository ("/OWNER/REPO") and its method. */
struct git_request {
	const char *repo;
	size_t repo_n;
	bool push;
	bool advertise; /* the GET of info/refs, else the POST */
};

static bool ends_with(const char *p, size_t n, const char *tail)
{
	size_t tail_n = strlen(tail);

	return n >= tail_n && memcmp(p + n - tail_n, tail, tail_n) == 0;
}

static bool is_text(const char *p, size_t n, const char *text)
{
	return strlen(text) == n && memcmp(p, text, n) == 0;
}

static size_t without(const char *p, size_t n, const char *tail)
{
	return ends_with(p, n, tail) ? n - strlen(tail) : n;
}

static bool read_advertise(const char *target, size_t path_n, size_t n, struct git_request *ret)
{
	static const char refs[] = "/info/refs", param[] = "?service=";
	size_t param_n = sizeof(param) - 1;
	const char *query = target + path_n;
	size_t query_n = n - path_n;

	if (!ends_with(target, path_n, refs) || query_n < param_n ||
	    memcmp(query, param, param_n) != 0)
		return false;
	ret->push = is_text(query + param_n, query_n - param_n, receive);
	if (!ret->push && !is_text(query + param_n, query_n - param_n, upload))
		return false;
	ret->advertise = true;
	ret->repo_n = path_n - (sizeof(refs) - 1);
	return true;
}

static bool read_request(const char *target, size_t path_n, size_t n, struct git_request *ret)
{
	ret->repo = target;
	if (read_advertise(target, path_n, n, ret))
		return true;
	ret->advertise = false;
	ret->push = ends_with(target, path_n, "/git-receive-pack");
	if ((!ret->push && !ends_with(target, path_n, "/git-upload-pack")) || n != path_n)
		return false;
	ret->repo_n = path_n - 1 - strlen(ret->push ? receive : upload);
	return true;
}

/* Wider than what is allowed on purpose: anything a server might take for one of git's requests
 * (another query beside the service, a query on the POST) must not fall through to path rules. */
bool git_is_request(const char *target, size_t path_n, size_t n)
{
	return ends_with(target, path_n, "/info/refs") ||
	       ends_with(target, path_n, "/git-upload-pack") ||
	       ends_with(target, path_n, "/git-receive-pack") ||
	       memmem(target, n, receive, strlen(receive));
}

/* "OWNER/REPO" of a rule against "/OWNER/REPO[.git]" of a request. */
static bool same_repo(const char *rule, const struct git_request *g)
{
	size_t rule_n = without(rule, strlen(rule), ".git");
	size_t repo_n = without(g->repo, g->repo_n, ".git");

	return repo_n == rule_n + 1 && memcmp(g->repo + 1, rule, rule_n) == 0;
}

static unsigned verb_fit(const char *verb, const struct git_request *g)
{
	const char *blank = strchr(verb, ' ');

	if (!blank)
		return g->push ? 0 : 1; /* "fetch" */
	if (g->push && strncmp(verb, "push ", 5) != 0)
		return 0;
	return same_repo(blank + 1, g) ? 2 : 0;
}

unsigned git_fit(const struct strv *verbs, const char *method, const char *target, size_t path_n,
		 size_t n)
{
	struct git_request g;
	unsigned best = 0;

	if (!read_request(target, path_n, n, &g) || g.repo_n < 2 ||
	    strcmp(method, g.advertise ? "GET" : "POST") != 0)
		return 0;
	for (size_t i = 0; i < verbs->n; i++) {
		unsigned fit = verb_fit(verbs->v[i], &g);

		best = fit > best ? fit : best;
	}
	return best;
}
