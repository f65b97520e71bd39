#include "cli/net-common.h"

#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "base/buf.h"
#include "live/live.h"
#include "netrules/net-rules.h"
#include "record/store.h"

extern char **environ;

#define NAMES_SHOWN 400
#define INSPECTION_MAX (64 * KiB)

/*
 * Finds the name that the current branch's sandbox has with the agent in s->config. *ret stays NULL
 * when that name is not in `names`.
 */
static int by_agent(struct cli *cli, const struct settings *s, const struct strv *names, char **ret)
{
	const struct build_input in = {
		.places = &s->places, .environ = environ, .config = s->config};
	cleanup_(spec_freep) struct sandbox_spec *spec = spec_new();
	int r = build_identity(&in, spec, &cli->err);

	if (r == 0 && strv_has(names, spec->name))
		*ret = take_ptr(spec->name);
	return r;
}

/*
 * Finds the current branch's sandbox: the one of the agent in the settings, else the one of the
 * only other agent that has one.
 */
static int by_branch(struct cli *cli, const struct strv *names, char **ret)
{
	cleanup_settings struct settings s = {0};
	cleanup_free char *found = NULL;
	int r = settings_load(cli, NULL, &s);

	if (r == 0)
		r = by_agent(cli, &s, names, ret);
	for (size_t i = 0; r == 0 && !*ret && i < agent_count(); i++) {
		cleanup_free char *name = NULL;

		free(s.config->agent);
		s.config->agent = xstrdup(agent_at(i)->name);
		r = by_agent(cli, &s, names, &name);
		if (name && found)
			return r; /* two agents have one: the user chooses */
		if (name)
			found = take_ptr(name);
	}
	if (r == 0 && !*ret)
		*ret = take_ptr(found);
	return r;
}

static void list_names(const struct strv *names, struct buf *b)
{
	for (size_t i = 0; i < names->n; i++)
		(void)buf_printf(b, "%s%s", i ? ", " : "", names->v[i]);
}

static int choose(struct cli *cli, const char *workspace, const struct strv *own,
		  const struct strv *all, char **ret)
{
	cleanup_buf struct buf b;
	int r;

	buf_init(&b, NAMES_SHOWN);
	if (own->n == 1) {
		*ret = xstrdup(own->v[0]);
		return 0;
	}
	if (own->n > 1) {
		r = by_branch(cli, own, ret);
		if (r < 0 || *ret)
			return r;
	}
	list_names(own->n ? own : all, &b);
	if (own->n)
		return err_usage(&cli->err, "'%s' has several sandboxes; name one of: %s",
				 workspace, buf_str(&b));
	if (all->n)
		return err_usage(&cli->err, "'%s' has no sandbox; name one of: %s", workspace,
				 buf_str(&b));
	return err_usage(&cli->err, "there is no sandbox yet; see: ralph help run");
}

/* own: those of `all` whose workspace is the current one. */
static int list_own(struct cli *cli, const struct places *p, struct strv *all, struct strv *own,
		    struct sandbox_spec *here)
{
	const struct build_input in = {.places = p, .environ = environ, .config = NULL};
	int r = store_list(p, all, &cli->err);

	if (r == 0)
		r = build_identity(&in, here, &cli->err);
	for (size_t i = 0; r == 0 && i < all->n; i++) {
		cleanup_free char *owner = store_owner(p, all->v[i]);

		if (owner && streq(owner, here->workspace))
			strv_push(own, all->v[i]);
	}
	return r;
}

int net_project(struct cli *cli, const struct places *p, struct strv *ret)
{
	cleanup_(spec_freep) struct sandbox_spec *here = spec_new();
	cleanup_strv struct strv all = {0};

	return list_own(cli, p, &all, ret, here);
}

int net_record(struct cli *cli, const struct places *p, const char *name, char **ret)
{
	cleanup_(spec_freep) struct sandbox_spec *here = spec_new();
	cleanup_strv struct strv all, own;
	int r;

	strv_init(&all);
	strv_init(&own);
	*ret = NULL;
	if (name) {
		*ret = xstrdup(name);
		return 0;
	}
	r = list_own(cli, p, &all, &own, here);
	return r < 0 ? r : choose(cli, here->workspace, &own, &all, ret);
}

static int of_record(struct cli *cli, const struct places *p, const char *name,
		     struct sandbox_spec **ret)
{
	cleanup_store struct store_entry e = STORE_ENTRY_INIT;
	int r = store_open(p, name, false, &e, &cli->err);

	if (r == 0)
		r = store_read_spec(&e, ret, &cli->err);
	return r < 0 ? r : net_rules_refresh(*ret, p, environ, &cli->err);
}

static int of_next(struct cli *cli, const struct settings *s, struct sandbox_spec **ret)
{
	const struct build_input in = {
		.places = &s->places, .config = s->config, .environ = environ};
	cleanup_free char *notice = NULL;
	const struct agent *a = NULL;
	struct err unusable = {0};
	int r;

	*ret = spec_new();
	r = build_identity(&in, *ret, &cli->err);
	if (r == 0)
		r = build_agent_find(&in, &a, &cli->err);
	if (r < 0)
		return r;
	/* A login that cannot be used is a matter of the next start, not of its rules. */
	(void)build_cred(*ret, &in, a, &notice, &unusable);
	return build_net(*ret, &in, &cli->err);
}

int net_effective(struct cli *cli, const char *name, struct sandbox_spec **ret,
		  const char **ret_state)
{
	cleanup_(spec_freep) struct sandbox_spec *next = NULL;
	cleanup_settings struct settings s = {0};
	cleanup_json json_t *live = NULL;
	struct err none = {0};
	int r = settings_load(cli, NULL, &s);

	if (r == 0 && !name)
		r = of_next(cli, &s, &next);
	if (r < 0)
		return r;
	/* No record of that name is no error where none was named. */
	r = live_inspect(&s.places, name ? name : next->name, &live, name ? &cli->err : &none);
	if (r < 0 && name)
		return r;
	*ret_state = live ? "running" : name ? "stopped" : "new";
	if (name || live)
		return of_record(cli, &s.places, name ? name : next->name, ret);
	*ret = take_ptr(next);
	return 0;
}

static void show_list(struct buf *b, const struct strv *s)
{
	for (size_t i = 0; i < s->n; i++)
		(void)buf_printf(b, "%s%s", i ? "," : "", s->v[i]);
}

char *net_inspection(const struct net_rule *r)
{
	struct buf b;

	buf_init(&b, INSPECTION_MAX);
	for (const struct net_rule_field *f = net_rule_fields; f->name; f++) {
		const void *at = net_rule_at(r, f);
		const char *name = f->kind == NET_RULE_NAME ? *(char *const *)at : NULL;
		const struct strv *list = f->kind == NET_RULE_LIST ? at : NULL;

		if (!f->inspects || (!name && !(list && list->n)))
			continue;
		(void)buf_printf(&b, "%s%s%s", b.len ? " " : "", f->label ? f->label : "",
				 name ? name : "");
		if (list)
			show_list(&b, list);
	}
	return b.len ? buf_take(&b) : (buf_done(&b), xstrdup("-"));
}
