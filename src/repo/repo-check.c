#include "repo/repo-check.h"

#include <stdio.h>
#include <string.h>

#include "git/tree-path.h"
#include "repo/repo-secret.h"

#define SHOWN_MAX 200

void check_found(struct check *c, enum repo_severity severity, const char *rule, const char *path,
		 const char *fmt, ...)
{
	cleanup_free char *shown = gitpath_shown(path ? path : "", path ? strlen(path) : 0, 400);
	cleanup_free char *text = NULL, *harmless = NULL;
	va_list ap;

	if (json_array_size(c->findings) >= REPO_FINDINGS_MAX) {
		c->more = true;
		/* A reason to reject is recorded even when the list is full, so that the verdict
		 * is right. */
		if (severity < REPO_REJECT)
			return;
		(void)json_array_remove(c->findings, REPO_FINDINGS_MAX - 1);
	}
	va_start(ap, fmt);
	text = xvasprintf(fmt, ap);
	va_end(ap);
	harmless = gitpath_shown(text, strlen(text), 800);
	(void)json_array_append_new(c->findings,
				    json_pack("{si ss ss so so}", "severity", (int)severity, "rule",
					      rule, "commit", c->commit, "path", json_text(shown),
					      "text", json_text(harmless)));
}

/* Checks the author or the committer. */
static void check_person(struct check *c, const char *role, const git_signature *who)
{
	const struct repo_rules *want = c->rules;

	if ((want->name && !streq(who->name, want->name)) ||
	    (want->email && !streq(who->email, want->email)))
		check_found(c, REPO_REJECT, "author", NULL,
			    "The %s of this commit is '%.100s <%.100s>', not '%s <%s>'.", role,
			    who->name, who->email, want->name ? want->name : "…",
			    want->email ? want->email : "…");
}

static void check_message(struct check *c, git_commit *commit)
{
	const char *message = git_commit_message_raw(commit);
	const char *header = git_commit_raw_header(commit);
	size_t line;
	enum repo_secret found =
		repo_secret_find(c->known, message, strlen(message), NULL, 0, &line);

	if (found == REPO_SECRET_NONE)
		found = repo_secret_find(c->known, header, strlen(header), NULL, 0, &line);
	if (found >= REPO_SECRET_KEY)
		check_found(c, REPO_REJECT, "secret", NULL,
			    found == REPO_SECRET_VALUE
				    ? "The message of this commit has a secret of yours in it."
				    : "The message of this commit has a key in it.");
}

static void damaged(struct check *c, const git_oid *oid)
{
	char hex[REPO_OID_LEN + 1];

	check_found(c, REPO_REJECT, "damaged", NULL,
		    "Object %s is not there, or not what its name says.",
		    git_oid_tostr(hex, sizeof(hex), oid));
}

static int check_commit(struct check *c, git_commit *commit, git_commit *parent, struct err *err)
{
	check_person(c, "author", git_commit_author(commit));
	check_person(c, "committer", git_commit_committer(commit));
	check_message(c, commit);
	return check_changes(c, parent, commit, err);
}

/* Returns 1 and the commit's only parent. Returns 0 for a root or a rejected parent: the walk
 * ends. */
static int parent_of(struct check *c, git_commit *commit, git_commit **ret)
{
	unsigned n = git_commit_parentcount(commit);

	if (n > 1) {
		check_found(c, REPO_REJECT, "history", NULL,
			    "This is a merge; only a line of commits is taken over.");
		return 0;
	}
	if (n == 0) {
		if (*c->from)
			check_found(c, REPO_REJECT, "history", NULL,
				    "The history was rewritten: it does not lead to %.12s any "
				    "more.",
				    c->from);
		return 0;
	}
	if (git_commit_parent(ret, commit, 0) < 0) {
		damaged(c, git_commit_parent_id(commit, 0));
		return 0;
	}
	return 1;
}

/* Walks from the newest commit back, along the parents that the commits name. */
static int check_line(struct check *c, unsigned max, unsigned *ret_n, struct err *err)
{
	cleanup_git(commit) git_commit *commit = NULL;
	git_oid from = {0}, to;
	int r = repo_oid_of(c->to, &to, err), more = 1;

	if (r == 0 && *c->from)
		r = repo_oid_of(c->from, &from, err);
	if (r < 0 || git_oid_equal(&from, &to))
		return r;
	if (git_commit_lookup(&commit, c->git, &to) < 0) {
		damaged(c, &to);
		return 0;
	}
	for (*ret_n = 0; more && !git_oid_equal(git_commit_id(commit), &from); ++*ret_n) {
		cleanup_git(commit) git_commit *parent = NULL;

		(void)git_oid_tostr(c->commit, sizeof(c->commit), git_commit_id(commit));
		if (*ret_n == max) {
			check_found(c, REPO_REJECT, "size", NULL,
				    "There are more than %u commits, or they do not lead to "
				    "%.12s.",
				    max, c->from);
			break;
		}
		more = parent_of(c, commit, &parent);
		r = check_commit(c, commit, parent, err);
		if (r < 0)
			return r;
		if (more) {
			git_commit_free(commit);
			commit = take_ptr(parent);
		}
	}
	return 0;
}

static struct needles *known_of(const struct strv *values)
{
	return values && values->n ? needles_new((const char *const *)values->v, values->n) : NULL;
}

static int do_check(struct repo_job *j, json_t *out, struct err *err)
{
	struct check c = *(const struct check *)j->arg;
	unsigned n = 0;
	int r;

	c.git = j->git;
	c.findings = json_array();
	c.known = known_of(c.rules->values);
	(void)json_object_set_new(out, "findings", c.findings);
	r = git_repository_odb(&c.odb, j->git) < 0 ? gitlib_err(err, "cannot read the objects") : 0;
	if (r == 0)
		r = check_line(&c, c.rules->commits_max ? c.rules->commits_max : REPO_COMMITS_MAX,
			       &n, err);
	(void)json_object_set_new(out, "commits", json_integer(n));
	(void)json_object_set_new(out, "added", json_integer((json_int_t)c.added));
	(void)json_object_set_new(out, "paths", json_integer((json_int_t)c.paths));
	(void)json_object_set_new(out, "more", json_boolean(c.more));
	git_odb_free(c.odb);
	return r;
}

static char *str_of(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return xstrdup(s ? s : "");
}

static int by_severity(const void *a, const void *b)
{
	const struct repo_finding *x = a, *y = b;

	return (int)y->severity - (int)x->severity;
}

static void take_result(const json_t *out, struct repo_check_result *ret)
{
	const json_t *list = json_object_get(out, "findings"), *f;
	size_t i;

	*ret = (struct repo_check_result){
		.findings = xcalloc(json_array_size(list) + 1, sizeof(*ret->findings)),
		.counts = true,
		.more = json_is_true(json_object_get(out, "more")),
		.commits = (unsigned)json_integer_value(json_object_get(out, "commits")),
		.added = (uint64_t)json_integer_value(json_object_get(out, "added")),
		.paths = (uint64_t)json_integer_value(json_object_get(out, "paths")),
	};
	json_array_foreach (list, i, f) {
		json_int_t severity = json_integer_value(json_object_get(f, "severity"));

		ret->findings[ret->n_findings++] = (struct repo_finding){
			/* An unknown severity counts as the worst. */
			.severity = severity == REPO_NOTE   ? REPO_NOTE
				    : severity == REPO_WARN ? REPO_WARN
							    : REPO_REJECT,
			.rule = str_of(f, "rule"),
			.commit = str_of(f, "commit"),
			.path = str_of(f, "path"),
			.text = str_of(f, "text"),
		};
		if (ret->findings[i].severity == REPO_REJECT)
			ret->counts = false;
	}
	qsort(ret->findings, ret->n_findings, sizeof(*ret->findings), by_severity);
}

int repo_check(struct repo *r, const char *from, const char *to, const struct repo_rules *rules,
	       struct repo_check_result *ret, struct err *err)
{
	const struct check arg = {.rules = rules, .from = from, .to = to};
	const struct repo_task task = REPO_TASK(do_check, &arg, 0);
	cleanup_json json_t *out = NULL;
	int rc = repo_work(r, &task, &out, err);

	if (rc == 0)
		take_result(out, ret);
	return rc;
}

void repo_check_done(struct repo_check_result *c)
{
	for (size_t i = 0; i < c->n_findings; i++) {
		free(c->findings[i].rule);
		free(c->findings[i].commit);
		free(c->findings[i].path);
		free(c->findings[i].text);
	}
	free(c->findings);
	*c = (struct repo_check_result){0};
}
