#include "live/net-change.h"

#include <assert.h>
#include <fcntl.h>
#include <string.h>

#include "base/fd.h"
#include "base/path.h"
#include "netrules/groups.h"
#include "live/live.h"
#include "netrules/net-listeners.h"
#include "netrules/net-rules.h"
#include "netrules/spec-net.h"
#include "netrules/rule-files.h"
#include "record/loop-rules.h"
#include "record/store.h"

#define LOCK_MS 20000 /* for another change to finish */

const char *net_scope_name(enum net_scope s)
{
	static const char *const names[] = {"user", "project", "sandbox", "once", "loop"};

	static_assert(ARRAY_SIZE(names) == NET_SCOPE_N, "one name per scope");
	return s < NET_SCOPE_N ? names[s] : "unknown";
}

void net_changed_done(struct net_changed *c)
{
	strv_done(&c->patterns);
	strv_done(&c->sandboxes);
	strv_done(&c->notes);
}

static int lock(const struct places *p, struct err *err)
{
	cleanup_free char *path = path_join(p->state, NET_CHANGE_LOCK);
	cleanup_fd int fd = -1;
	int r = path_mkdirs(p->state, 0700, err);

	if (r < 0)
		return r;
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	r = fd < 0 ? -errno : fd_lock(fd, LOCK_MS);
	if (r < 0)
		return err_sys(err, -r, "cannot lock '%s'", path);
	return take_fd(fd);
}

static char *file_of(const struct net_change *c, enum net_scope scope)
{
	if (scope == NET_SCOPE_USER)
		return rules_user_file(c->places);
	if (scope == NET_SCOPE_ONCE)
		return rules_once_file(c->places, c->sandbox);
	if (scope == NET_SCOPE_LOOP)
		return rules_loop_file(c->places, c->loop);
	return scope == NET_SCOPE_PROJECT ? rules_project_file(c->places, c->instance)
					  : rules_sandbox_file(c->places, c->sandbox);
}

/*
 * Notes the rules that no socket inside can serve: their targets need the proxy, after a restart
 * too.
 */
static void note_proxy_only(const struct policy *p, struct strv *notes)
{
	for (size_t i = 0; i < p->n_rules; i++) {
		const struct policy_rule *r = &p->rules[i];
		const struct pattern *at = &r->pattern;

		if (r->text.deny || at->kind == PATTERN_SERVICE)
			continue;
		if (at->kind == PATTERN_CIDR)
			strv_pushf(notes, "%s: addresses are reached through the proxy only",
				   r->text.pattern);
		else if (at->ports == PORTS_ANY)
			strv_pushf(notes,
				   "%s: ports other than 80 and 443 are reached through the proxy "
				   "only",
				   r->text.pattern);
		else if (at->kind == PATTERN_BELOW && at->ports == PORTS_ONE && at->port >= 1024)
			strv_pushf(notes, "%s: is reached through the proxy only", r->text.pattern);
	}
}

static int add_to_policy(const struct net_change *c, struct policy *p, const char *pattern,
			 struct err *err)
{
	const struct groups_env env = {.environ = c->environ, .workspace = c->workspace};
	cleanup_strv struct strv hosts;
	int r = 0;

	strv_init(&hosts);
	if (pattern[0] != '@')
		strv_push(&hosts, pattern);
	else
		r = groups_expand(pattern, &env, &hosts, err);
	for (size_t i = 0; r == 0 && i < hosts.n; i++)
		r = policy_add_pattern(p, c->verb == NET_DENY, hosts.v[i], "", err);
	return r;
}

/* Everything that could be wrong with the patterns themselves. */
static int check(const struct net_change *c, struct net_changed *ret, struct err *err)
{
	cleanup_(policy_freep) struct policy *p = policy_new(POLICY_ALLOWLIST);
	cleanup_free struct gw_listener *rows = NULL;
	size_t n = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < c->n_patterns; i++) {
		cleanup_free char *canon = NULL;

		r = net_rules_canon(c->patterns[i], &canon, err);
		if (r == 0 && c->verb != NET_DROP)
			r = add_to_policy(c, p, canon, err);
		if (r == 0 && !strv_has(&ret->patterns, canon))
			strv_push(&ret->patterns, canon);
	}
	if (r == 0)
		r = net_listeners(p, &rows, &n, err);
	if (r < 0)
		err->exit_code = EXIT_USAGE;
	else
		note_proxy_only(p, &ret->notes);
	return r;
}

static bool file_has(const char *path, const char *pattern)
{
	cleanup_(net_policy_clear) struct net_policy rules = {0};
	struct err ignored = {0};

	if (rules_read(path, &rules, &ignored) < 0)
		return false;
	for (size_t i = 0; i < rules.n_rules; i++)
		if (streq(rules.rules[i].pattern, pattern))
			return true;
	return false;
}

/* A rule that is not in this scope may well be in another. */
static int check_there(const struct net_change *c, const char *pattern, struct err *err)
{
	cleanup_free char *path = file_of(c, c->scope);

	if (file_has(path, pattern))
		return 0;
	for (enum net_scope s = NET_SCOPE_USER; s < NET_SCOPE_SANDBOX; s++) {
		cleanup_free char *other =
			s == NET_SCOPE_USER || c->instance ? file_of(c, s) : NULL;

		if (other && s != c->scope && file_has(other, pattern))
			return err_set(err, ENOENT,
				       "no such rule for the %s; run: ralph net rm --%s '%s'",
				       net_scope_name(c->scope), net_scope_name(s), pattern);
	}
	return err_set(err, ENOENT, "no rule about '%s' was added for the %s; see: ralph net ls",
		       pattern, net_scope_name(c->scope));
}

static int write_down(const struct net_change *c, const struct strv *patterns, struct err *err)
{
	cleanup_free char *path = file_of(c, c->scope);
	int r = 0;

	for (size_t i = 0; r == 0 && c->verb == NET_DROP && i < patterns->n; i++)
		r = check_there(c, patterns->v[i], err);
	for (size_t i = 0; r == 0 && i < patterns->n; i++)
		r = c->verb == NET_DROP
			    ? rules_drop(path, patterns->v[i], err)
			    : rules_set(path, c->verb == NET_DENY, patterns->v[i], c->until, err);
	return r;
}

/* A socket that is missing since an earlier change was told of then. */
static bool is_about(const struct strv *patterns, const char *row)
{
	const char *port = strpbrk(row, ": ");

	for (size_t i = 0; port && i < patterns->n; i++) {
		const char *p = patterns->v[i], *colon = strrchr(p, ':');

		if (p[0] == '@' || (colon && streq(colon + 1, port + 1)))
			return true;
	}
	return false;
}

static void add_notes(const char *name, const json_t *answer, const struct strv *patterns,
		      struct strv *notes)
{
	const json_t *row, *rows = json_object_get(answer, "after_restart");
	const char *tier = json_string_value(json_object_get(answer, "tier"));
	size_t i;

	if (tier && streq(tier, "none")) {
		strv_pushf(notes, "sandbox '%s' has no network; its tier is 'none'", name);
		return;
	}
	if (json_is_true(json_object_get(answer, "ended")))
		strv_pushf(notes,
			   "the gateway of sandbox '%s' has ended; it has no network until: ralph "
			   "stop %s",
			   name, name);
	json_array_foreach (rows, i, row) {
		const char *what = json_string_value(row);

		if (!what || !is_about(patterns, what))
			continue;
		strv_pushf(notes,
			   strncmp(what, "localhost:", 10) == 0
				   ? "%s: is there in sandbox '%s' from its next start on (ralph "
				     "stop %s)"
				   : "%s: works in sandbox '%s' through the proxy now, and without "
				     "it from the next start on (ralph stop %s)",
			   what, name, name);
	}
}

static bool concerns(const struct net_change *c, const struct sandbox_spec *s)
{
	if (c->scope == NET_SCOPE_SANDBOX || c->scope == NET_SCOPE_ONCE)
		return streq(s->name, c->sandbox);
	if (c->scope == NET_SCOPE_LOOP)
		return s->loop && streq(s->loop, c->loop);
	return c->scope == NET_SCOPE_USER || streq(s->instance, c->instance);
}

/* Closed the line without an answer: well if it was ending, else it refuses in its own way. */
static int still_live(const struct places *p, const char *name, struct err *err)
{
	cleanup_json json_t *answer = NULL;
	struct err ignored = {0};

	if (live_inspect(p, name, &answer, &ignored) < 0 || !answer)
		return 0;
	return err_set(err, EPROTO, "sandbox '%s' does not take rules; run: ralph stop %s", name,
		       name);
}

static int give(const struct net_change *c, const char *name, struct net_changed *ret,
		struct err *err)
{
	cleanup_(spec_freep) struct sandbox_spec *spec = NULL;
	cleanup_store struct store_entry e = STORE_ENTRY_INIT;
	cleanup_json json_t *answer = NULL, *changed = NULL;
	struct err ignored = {0};
	int r;

	/* First, because a sandbox that is being started has its record once it answers. A record
	 * that is gone or damaged is of no live sandbox. */
	if (live_inspect(c->places, name, &answer, &ignored) < 0 || !answer ||
	    store_open(c->places, name, false, &e, &ignored) < 0 ||
	    store_read_spec(&e, &spec, &ignored) < 0 || !concerns(c, spec))
		return 0;
	r = net_rules_refresh(spec, c->places, c->environ, err);
	if (r == 0)
		r = live_net(c->places, name, &spec->net, &changed, err);
	if (r < 0)
		return r;
	if (!changed)
		return still_live(c->places, name, err);
	strv_push(&ret->sandboxes, name);
	if (c->verb == NET_ALLOW)
		add_notes(name, changed, &ret->patterns, &ret->notes);
	return 0;
}

static int give_all(const struct net_change *c, struct net_changed *ret, struct err *err)
{
	cleanup_strv struct strv names;
	int first = 0, r;

	strv_init(&names);
	r = store_list(c->places, &names, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < names.n; i++) {
		struct err own = {0};

		r = give(c, names.v[i], ret, &own);
		if (r < 0 && first == 0) {
			first = r;
			*err = own;
		} else if (r < 0) {
			strv_push(&ret->notes, own.msg);
		}
	}
	return first < 0 ? err_wrap(err, first, "the rules are kept, but not in force everywhere")
			 : 0;
}

/* The loop that this record's worker belongs to sends it its rules. */
static bool is_placed(const struct places *p, const struct store_entry *e)
{
	cleanup_(spec_freep) struct sandbox_spec *spec = NULL;
	struct err ignored;

	return store_read_spec(e, &spec, &ignored) == 0 && spec->place && spec->loop &&
	       loop_rules_count(p, spec->loop);
}

/* *c becomes a change of the sandbox's own file, where that of a live one is of another machine. */
static int check_live(struct net_change *c, const struct store_entry *e, struct err *err)
{
	cleanup_json json_t *live = NULL;
	int r = live_inspect(c->places, c->sandbox, &live, err);

	if (r == 0 && !live && is_placed(c->places, e))
		c->scope = NET_SCOPE_SANDBOX;
	else if (r == 0 && !live)
		r = err_set(err, ENOENT,
			    "sandbox '%s' does not run, so nothing can be allowed once; leave out "
			    "--once",
			    c->sandbox);
	return r;
}

int net_change(const struct net_change *asked, struct net_changed *ret, struct err *err)
{
	cleanup_store struct store_entry e = STORE_ENTRY_INIT;
	struct net_change own = *asked, *c = &own;
	cleanup_fd int held = -1;
	int r = 0;

	strv_init(&ret->patterns);
	strv_init(&ret->sandboxes);
	strv_init(&ret->notes);
	if (c->scope == NET_SCOPE_SANDBOX || c->scope == NET_SCOPE_ONCE)
		r = store_open(c->places, c->sandbox, false, &e, err);
	if (r == 0 && c->scope == NET_SCOPE_ONCE)
		r = check_live(c, &e, err);
	if (r == 0)
		r = check(c, ret, err);
	if (r < 0)
		return r;
	held = lock(c->places, err);
	if (held < 0)
		return held;
	r = write_down(c, &ret->patterns, err);
	return r < 0 ? r : give_all(c, ret, err);
}

int net_catch_up(const struct places *p, char *const *host_env, const char *name, struct err *err)
{
	const struct net_change c = {
		.places = p,
		.environ = host_env,
		.verb = NET_DROP, /* nothing new, so nothing to note */
		.scope = NET_SCOPE_SANDBOX,
		.sandbox = name,
	};
	cleanup_(net_changed_done) struct net_changed done = {0};
	cleanup_fd int held = lock(p, err);

	return held < 0 ? held : give(&c, name, &done, err);
}
