#include "cli/show/why.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "view/log-view.h"
#include "cli/net-common.h"
#include "compose/tools.h"
#include "policy/protect.h"
#include "record/connect.h"
#include "workspace/quarantine.h"
#include "record/store.h"

/* The path as it is meant: absolute, its directory without links; what it names need not exist. */
static int absolute(const char *path, char **ret, struct err *err)
{
	cleanup_free char *cwd = getcwd(NULL, 0), *joined = NULL, *dir = NULL, *real = NULL;

	if (!cwd)
		return err_sys(err, errno, "cannot tell the current directory");
	if (path[0] == '~' && (path[1] == '/' || !path[1]) && getenv("HOME"))
		joined = xasprintf("%s%s", getenv("HOME"), path + 1);
	else
		joined = path_join(cwd, path);
	dir = path_dir(joined);
	real = realpath(joined, NULL);
	if (real) {
		struct stat st;

		/* A link itself is where it is. */
		if (lstat(joined, &st) == 0 && !S_ISLNK(st.st_mode)) {
			*ret = take_ptr(real);
			return 0;
		}
	}
	free(real);
	real = realpath(dir, NULL);
	*ret = real ? path_join(real, path_base(joined)) : xstrdup(joined);
	return 0;
}

static int of_record(const struct why_input *in, struct sandbox_spec **ret)
{
	cleanup_store struct store_entry e = STORE_ENTRY_INIT;
	const struct places *p = &in->settings->places;
	cleanup_free char *name = NULL;
	cleanup_fd int live = -1;
	int r = net_record(in->cli, p, in->sandbox, &name);

	if (r == 0 && !in->sandbox)
		r = live_connect(p, name, &live, &in->cli->err);
	if (r == 0 && !in->sandbox && live < 0)
		return err_set(&in->cli->err, ESRCH, "sandbox '%s' is not running", name);
	if (r == 0)
		r = store_open(p, name, false, &e, &in->cli->err);
	return r < 0 ? r : store_read_spec(&e, ret, &in->cli->err);
}

/*
 * Finds the spec of the sandbox that was named or runs here; else makes that of the next start.
 */
static int find_spec(const struct why_input *in, struct sandbox_spec **ret, struct build *b)
{
	const struct settings_target target = {0};
	cleanup_settings struct settings s = {0};
	struct err none = in->cli->err;
	int r = of_record(in, ret);

	if (r == 0 || in->sandbox)
		return r;
	in->cli->err = none;
	r = settings_build(in->cli, &target, &s, b);
	if (r == 0)
		*ret = take_ptr(b->spec);
	return r;
}

static bool find_quarantined(const struct places *p, const char *path, struct why *w)
{
	cleanup_strv struct strv ids = {0};
	struct err ignored = {0};

	if (quarantine_list(p, SHELF_QUARANTINE, &ids, &ignored) < 0)
		return false;
	for (size_t i = ids.n; i > 0; i--) {
		cleanup_json json_t *meta = NULL;

		if (quarantine_meta(p, SHELF_QUARANTINE, ids.v[i - 1], &meta, &ignored) < 0 ||
		    !path_under(path, log_text(meta, "path")))
			continue;
		w->refused = true;
		w->why = xasprintf("it was moved to quarantine (%s) out of sandbox '%s': %s",
				   ids.v[i - 1], log_text(meta, "sandbox"), log_text(meta, "why"));
		w->remedy = xasprintf("ralph quarantine release %s", ids.v[i - 1]);
		return true;
	}
	return false;
}

/* Finds the mount that covers this path; NULL: there is none. */
static const struct spec_mount *covering(const struct sandbox_spec *s, const char *path)
{
	const struct spec_mount *found = NULL;

	for (size_t i = 0; i < s->n_mounts; i++) {
		const struct spec_mount *m = &s->mounts[i];

		/* The last word over the whole root changes nothing that was mounted. */
		if (path_under(path, m->target) && (m->kind != SPEC_RO || !streq(m->target, "/")))
			found = m;
	}
	return found;
}

static void explain_mask(const struct why_input *in, const char *path, struct why *w)
{
	const struct strv *masks = &in->settings->config->workspace.mask;
	size_t item = SIZE_MAX;

	for (size_t i = 0; i < masks->n; i++)
		if (fnmatch(masks->v[i], path_base(path), 0) == 0)
			item = i;
	w->why = xstrdup("it cannot be read inside: files of such a name hold secrets");
	why_setting(w, in->settings->config, "workspace.mask", item);
	if (item == SIZE_MAX) {
		free(w->origin);
		w->origin = xstrdup("default"); /* one of ralph's own patterns */
	} else {
		w->rule = xstrdup(masks->v[item]);
	}
	w->remedy = xasprintf("ralph run --mask '!%s'", path_base(path));
}

/* A mount of the user's own, or one that ralph makes. */
static void explain_read_only(const struct why_input *in, const struct spec_mount *m,
			      const char *path, struct why *w)
{
	const struct config *c = in->settings->config;

	w->why = xasprintf("it can be read inside and not written: %s", m->reason);
	for (size_t i = 0; i < c->n_mounts; i++)
		if (streq(c->mounts[i].target ? c->mounts[i].target : c->mounts[i].path, m->target))
			why_setting(w, c, "mounts", i);
	if (w->setting &&
	    !tools_may_hold_key(m->source ? m->source : path, in->settings->places.home))
		w->remedy = xasprintf("RALPH_MOUNTS=%s:rw ralph run", m->source ? m->source : path);
}

/* The login of an agent, a key: what it is for works without it. */
static void explain_private(const struct why_input *in, const struct sandbox_spec *s,
			    const char *path, struct why *w)
{
	const struct spec_credential *login = NULL;

	for (size_t i = 0; i < s->n_credentials; i++) {
		const char *source = s->credentials[i].source;

		if (source && strncmp(source, "file:", 5) == 0 && streq(source + 5, path))
			login = &s->credentials[i];
	}
	w->refused = true;
	if (login)
		w->why = xasprintf(
			"it holds the login '%s' and is not inside: there, an agent has a "
			"placeholder token, and the gateway swaps in the real one",
			login->name);
	else
		w->why = xstrdup(
			"keys and logins are kept in such places, and none of them is "
			"inside: an agent has a placeholder token, and the gateway swaps in "
			"the real one");
	why_setting(w, in->settings->config, "credentials", SIZE_MAX);
}

static void explain_absent(const struct why_input *in, const struct sandbox_spec *s,
			   const char *path, struct why *w)
{
	bool home = s->home && path_under(path, s->home);

	w->refused = true;
	w->why = xasprintf(home ? "it is not there inside: the sandbox has a home of its own at "
				  "'%s'"
				: "it is not there inside: nothing of the host is but what was "
				  "mounted",
			   s->home ? s->home : "");
	why_setting(w, in->settings->config, "mounts", SIZE_MAX);
	w->remedy = xasprintf("RALPH_MOUNTS=%s:ro ralph run", path);
}

/* Who would run it, by its own name or that of a directory above it; "" for what has no rule. */
static char *who_runs(const char *path)
{
	cleanup_free char *at = xstrdup(path);

	while (strlen(at) > 1) {
		cleanup_free char *dir = path_dir(at);
		const char *name = path_base(at), *parent = path_base(dir);
		const struct protect_rule *r = protect_match(PROTECT_TREE, parent, name);

		for (enum protect_base b = PROTECT_GIT; !r && b < PROTECT_BASE_N; b++)
			r = strstr(dir, ".git") ? protect_match(b, "", name) : NULL;
		if (r)
			return xasprintf("; %s uses it %s", r->who, r->when);
		free(at);
		at = take_ptr(dir);
	}
	return xstrdup("");
}

static void explain_mount(const struct why_input *in, const struct spec_mount *m, const char *path,
			  struct why *w)
{
	cleanup_free char *who = who_runs(path);

	w->refused = true;
	switch (m->kind) {
	case SPEC_HIDE:
		explain_mask(in, path, w);
		break;
	case SPEC_PROTECT:
		w->why = xasprintf(
			"it can be read inside and not written, as the host would run "
			"it: %s%s; no setting lets an agent write it, and what appears in "
			"such a place goes to quarantine",
			m->reason, who);
		w->rule = xasprintf("protected: %s", m->target);
		why_setting(w, in->settings->config, "workspace.quarantine", SIZE_MAX);
		break;
	case SPEC_PUT_BACK:
		w->why = xasprintf("it can be written inside, and is put back as it was after each "
				   "command, as the host would run it: %s%s; what was written goes "
				   "to quarantine",
				   m->reason, who);
		w->rule = xasprintf("protected: %s", m->target);
		break;
	case SPEC_BIND_RO:
	case SPEC_RO:
	case SPEC_COPY:
	case SPEC_FILE:
		explain_read_only(in, m, path, w);
		break;
	case SPEC_MASK:
		w->why = xasprintf("it is covered: %s", m->reason);
		break;
	case SPEC_BIND_RW:
	case SPEC_VOLUME:
	case SPEC_PIN:
	case SPEC_OWN:
		w->refused = false;
		w->why = xasprintf("it can be read and written inside: %s%s", m->reason, who);
		break;
	case SPEC_TMPFS:
	case SPEC_LOGIN:
	case SPEC_PROC:
	case SPEC_DEV:
	case SPEC_IMAGE:
	case SPEC_SYMLINK:
	case SPEC_HOME_LINK:
	case SPEC_HOME_FILE:
	case SPEC_HOME_SEED:
	case SPEC_DIR:
	case SPEC_MOUNT_N:
		w->why = xasprintf("the sandbox has its own '%s' there: %s", m->target, m->reason);
		break;
	}
}

/* In the sandbox's own home or clone the host's file of that path is not there. */
static bool is_other_place(const struct spec_mount *m)
{
	return m->kind == SPEC_BIND_RW && m->source && !streq(m->source, m->target);
}

static void explain_git(const struct sandbox_spec *spec, struct why *w)
{
	w->refused = true;
	w->why = xstrdup("your git directory is not there inside, as the host would run what is in "
			 "it: the sandbox has one of its own in its place, with your objects "
			 "read-only");
	w->rule = xasprintf("private: %s", spec->git.covers);
}

int why_path(const struct why_input *in, const char *path, struct why *ret)
{
	cleanup_(spec_freep) struct sandbox_spec *spec = NULL;
	cleanup_(build_done) struct build b = {0};
	cleanup_free char *at = NULL;
	const struct spec_mount *m;
	int r = absolute(path, &at, &in->cli->err);

	if (r < 0)
		return r;
	ret->about = xstrdup(at);
	if (find_quarantined(&in->settings->places, at, ret)) {
		why_setting(ret, in->settings->config, "workspace.quarantine", SIZE_MAX);
		return 0;
	}
	r = find_spec(in, &spec, &b);
	if (r < 0)
		return r;
	m = covering(spec, at);
	if (spec_git_covers(spec, at))
		explain_git(spec, ret);
	else if (m && !(is_other_place(m) && spec->home && streq(m->target, spec->home)))
		explain_mount(in, m, at, ret);
	else if (tools_may_hold_key(at, in->settings->places.home))
		explain_private(in, spec, at, ret);
	else
		explain_absent(in, spec, at, ret);
	return 0;
}
