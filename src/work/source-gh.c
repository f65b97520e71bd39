#include "work/source.h"

#include <ctype.h>
#include <string.h>

#include "base/parse.h"
#include "base/path.h"
#include "work/gh.h"
#include "work/markdown.h"
#include "work/text.h"
#include "workspace/gitdir.h"

#define FIELDS "number,title,body,labels,state"
#define CANDIDATES "200"
#define DEPENDS_MAX 50 /* of one issue */
#define STATUS "status:"
#define READY "status:ready"

/* An issue is text that a stranger on the internet may have written: it is data, and only the
 * agent gets it. */
struct gh {
	struct gh_run run;
	char number[24];
	char *title;
	struct strv labels;
};

struct gh *gh_free(struct gh *gh)
{
	if (!gh)
		return NULL;
	gh_run_done(&gh->run);
	free(gh->title);
	strv_done(&gh->labels);
	free(gh);
	return NULL;
}

bool gh_is_any(const char *wish, const char *source)
{
	size_t n = strlen(wish);

	if (strncmp(source, "gh:", 3) != 0)
		return false;
	return streq(wish, "gh") ||
	       (!strchr(wish, '#') && strncmp(wish, source, n) == 0 && source[n] == '#');
}

static const char *text_of(const json_t *j, const char *key)
{
	const char *s = json_string_value(json_object_get(j, key));

	return s ? s : "";
}

static void labels_of(const json_t *issue, struct strv *ret)
{
	const json_t *list = json_object_get(issue, "labels");

	for (size_t i = 0; i < json_array_size(list); i++)
		strv_push(ret, text_of(json_array_get(list, i), "name"));
}

static int view(const struct gh *gh, const char *number, json_t **ret, struct err *err)
{
	const char *const args[] = {"view", number, "--json", FIELDS, NULL};

	return gh_issue(&gh->run, args, NULL, ret, err);
}

static bool is_done(const json_t *issue)
{
	cleanup_strv struct strv labels = {0};

	labels_of(issue, &labels);
	return strv_has(&labels, STATUS "done") || streq(text_of(issue, "state"), "CLOSED");
}

/* "#12" and "12" */
static int number_of(const char *s, char ret[24])
{
	uint64_t n = 0;

	if (parse_uint(s + (*s == '#'), 1, INT64_MAX, &n) < 0)
		return -EINVAL;
	(void)snprintf(ret, 24, "%llu", (unsigned long long)n);
	return 0;
}

int gh_depends(struct gh *gh, const struct strv *numbers, struct err *err)
{
	for (size_t i = 0; i < numbers->n; i++) {
		cleanup_json json_t *issue = NULL;
		char number[24];
		int r;

		if (i == DEPENDS_MAX)
			return err_usage(err, "#%s: depends on more than %d issues", gh->number,
					 DEPENDS_MAX);
		if (number_of(numbers->v[i], number) < 0)
			return err_usage(err,
					 "#%s: depends on '%.60s', which is no number of an issue; "
					 "write depends: [12, 13]",
					 gh->number, numbers->v[i]);
		r = view(gh, number, &issue, err);
		if (r < 0)
			return r;
		if (!is_done(issue))
			return err_usage(err,
					 "#%s: depends on #%s, which is not labelled status:done; "
					 "build that first",
					 gh->number, number);
	}
	return 0;
}

static int take_issue(struct gh *gh, const json_t *issue, struct err *err)
{
	const json_t *number = json_object_get(issue, "number");

	if (!json_is_integer(number) || json_integer_value(number) <= 0)
		return err_set(err, EPROTO, "gh's answer has no number of an issue");
	(void)snprintf(gh->number, sizeof(gh->number), "%lld",
		       (long long)json_integer_value(number));
	free(gh->title);
	gh->title = text_short(text_of(issue, "title"), strlen(text_of(issue, "title")), 200);
	strv_done(&gh->labels);
	labels_of(issue, &gh->labels);
	return 0;
}

/* True when all dependencies are done. An issue whose front matter does not parse counts as
 * ready; its error is reported when it is chosen. */
static bool can_start(struct gh *gh, const json_t *issue)
{
	cleanup_listing struct listing l = {0};
	const char *body = text_of(issue, "body");
	struct err ignored = {0};
	size_t at = 0;

	return front_read("", body, strlen(body), &l, &at, &ignored) < 0 ||
	       gh_depends(gh, &l.depends, &ignored) == 0;
}

static int by_number(const void *a, const void *b)
{
	json_int_t x = json_integer_value(json_object_get(*(json_t *const *)a, "number"));
	json_int_t y = json_integer_value(json_object_get(*(json_t *const *)b, "number"));

	return (x > y) - (x < y);
}

/* Chooses the oldest issue first. */
static int choose(struct gh *gh, struct err *err)
{
	const char *const args[] = {"list", "--label", "spec",	   "--label", READY,  "--state",
				    "open", "--limit", CANDIDATES, "--json",  FIELDS, NULL};
	cleanup_json json_t *list = NULL;
	cleanup_free json_t **sorted = NULL;
	size_t n;
	int r = gh_issue(&gh->run, args, NULL, &list, err);

	if (r < 0)
		return r;
	n = json_array_size(list);
	sorted = xcalloc(n + 1, sizeof(json_t *));
	for (size_t i = 0; i < n; i++)
		sorted[i] = json_array_get(list, i);
	qsort(sorted, n, sizeof(json_t *), by_number);
	for (size_t i = 0; i < n; i++)
		if (take_issue(gh, sorted[i], err) == 0 && can_start(gh, sorted[i]))
			return 0;
	return err_set(err, ENODATA,
		       n ? "gh:%s: every ready issue depends on one that is not done"
			 : "gh:%s: no open issue is labelled spec and status:ready",
		       gh->run.repo);
}

/* Finds the repository that the request names, or the repository of the workspace. */
static int repo_of(const char *workspace, const char *wish, char **ret, struct err *err)
{
	struct gitdir g = {0};
	cleanup_free char *url = NULL;
	char *repo = NULL;
	int r;

	if (strncmp(wish, "gh:", 3) == 0 && wish[3] && wish[3] != '#') {
		repo = xstrndup(wish + 3, strcspn(wish + 3, "#"));
		if (gh_repo_valid(repo)) {
			*ret = repo;
			return 0;
		}
		free(repo);
		return err_usage(err, "'%s' names no repository; write gh:OWNER/NAME", wish);
	}
	r = gitdir_find(workspace, NULL, &g, err);
	if (r == 0)
		url = gitdir_origin(&g);
	gitdir_done(&g);
	repo = url ? gh_repo_of(url) : NULL;
	if (!repo)
		return err_usage(err,
				 "'%s': the remote 'origin' is no repository that gh knows; "
				 "write gh:OWNER/NAME",
				 wish);
	*ret = repo;
	return 0;
}

int gh_find(const char *workspace, const char *wish, struct source *s, struct err *err)
{
	const char *hash = strchr(wish, '#');
	cleanup_free char *repo = NULL;
	struct gh *gh = s->gh = xcalloc(1, sizeof(*gh));
	int r = repo_of(workspace, wish, &repo, err);

	if (r == 0)
		r = gh_run_init(workspace, repo, &gh->run, err);
	if (r == 0 && hash && number_of(hash, gh->number) < 0)
		r = err_usage(err, "'%s' names no issue; write gh:OWNER/NAME#12", wish);
	else if (r == 0 && !hash)
		r = choose(gh, err);
	if (r < 0)
		return r;
	s->kind = WORK_GH;
	s->format = &format_plan;
	s->name = xasprintf("gh:%s#%s", repo, gh->number);
	s->copy = xasprintf(WORK_AGENT_DIR "/issue-%s.md", gh->number);
	return 0;
}

/* An issue without tasks is itself one task: it gets a box, which also holds its mark. */
static void add_box(const struct gh *gh, struct buf *text)
{
	cleanup_plan struct plan p = {0};
	bool any = false;

	if (plan_scan(buf_str(text), text->len, &p) < 0)
		return;
	for (size_t i = 0; i < p.n; i++)
		any |= p.items[i].id != NULL;
	if (!any)
		(void)buf_printf(text, "%s- [ ] %s\n", text->len ? "\n\n" : "",
				 *gh->title ? gh->title : "what the title says");
}

int gh_read(struct gh *gh, struct buf *text, struct err *err)
{
	cleanup_json json_t *issue = NULL;
	int r = view(gh, gh->number, &issue, err);

	if (r == 0)
		r = take_issue(gh, issue, err);
	if (r == 0 && buf_puts(text, text_of(issue, "body")) < 0)
		r = err_set(err, EFBIG, "#%s is too long", gh->number);
	if (r == 0)
		add_box(gh, text);
	return r;
}

int gh_write(struct gh *gh, const struct buf *text, struct err *err)
{
	const char *const args[] = {"edit", gh->number, "--body-file", "-", NULL};

	return gh_issue(&gh->run, args, text, NULL, err);
}

int gh_status(struct gh *gh, const char *status, struct err *err)
{
	cleanup_free char *want = xasprintf(STATUS "%s", status);
	cleanup_strv struct strv args = {0}, labels = {0};
	int r;

	strv_push(&args, "edit");
	strv_push(&args, gh->number);
	for (size_t i = 0; i < gh->labels.n; i++) {
		const char *l = gh->labels.v[i];

		if (strncmp(l, STATUS, strlen(STATUS)) != 0 || streq(l, want)) {
			strv_push(&labels, l);
			continue;
		}
		/* gh parses this value as a list, so a comma or quote would have a meaning. */
		if (strpbrk(l, ",\"\n"))
			continue;
		strv_push(&args, "--remove-label");
		strv_push(&args, l);
	}
	if (!strv_has(&labels, want)) {
		strv_push(&args, "--add-label");
		strv_push(&args, want);
		strv_push(&labels, want);
	}
	if (args.n == 2)
		return 0;
	r = gh_issue(&gh->run, (const char *const *)args.v, NULL, NULL, err);
	if (r == 0) {
		strv_done(&gh->labels);
		gh->labels = labels;
		labels = (struct strv){0};
	}
	return r;
}
