#include "spec/spec.h"

#include <assert.h>
#include <string.h>

static char *dup_or_null(const char *s)
{
	return s ? xstrdup(s) : NULL;
}

struct sandbox_spec *spec_new(void)
{
	return xcalloc(1, sizeof(struct sandbox_spec));
}

static void env_done(struct spec_env *e)
{
	free(e->name);
	free(e->value);
	free(e->source);
	free(e->credential);
}

static void mount_done(struct spec_mount *m)
{
	free(m->source);
	free(m->target);
	free(m->data);
	free(m->reason);
}

static void credential_done(struct spec_credential *c)
{
	free(c->name);
	free(c->provider);
	free(c->source);
	free(c->origin);
	free(c->ca_file);
	free(c->endpoint);
	free(c->phantom);
	strv_done(&c->requests);
	strv_done(&c->options);
}

struct sandbox_spec *spec_free(struct sandbox_spec *s)
{
	if (!s)
		return NULL;
	for (size_t i = 0; i < s->n_watches; i++)
		free(s->watches[i].dir);
	free(s->watches);
	for (size_t i = 0; i < s->n_env; i++)
		env_done(&s->env[i]);
	for (size_t i = 0; i < s->n_mounts; i++)
		mount_done(&s->mounts[i]);
	net_policy_clear(&s->net);
	for (size_t i = 0; i < s->n_credentials; i++)
		credential_done(&s->credentials[i]);
	free(s->credentials);
	strv_done(&s->prices);
	free(s->env);
	free(s->mounts);
	free(s->limits.method);
	for (size_t i = 0; i < s->limits.n_cgroups; i++)
		free(s->limits.cgroups[i].dir);
	free(s->name);
	free(s->engine);
	free(s->agent);
	free(s->workspace);
	free(s->branch);
	free(s->clone);
	free(s->inbox);
	free(s->instance);
	free(s->home);
	free(s->hostname);
	free(s->template);
	free(s->container.image);
	free(s->container.line);
	free(s->container.volume);
	free(s->container.volume_dir);
	free(s->container.remote_listen);
	free(s->container.remote_dial);
	free(s);
	return NULL;
}

const struct spec_env *spec_env_find(const struct sandbox_spec *s, const char *name)
{
	for (size_t i = 0; i < s->n_env; i++)
		if (streq(s->env[i].name, name))
			return &s->env[i];
	return NULL;
}

void spec_env_set(struct sandbox_spec *s, const char *name, const char *value,
		  enum spec_origin origin, const char *source)
{
	struct spec_env *e = (struct spec_env *)spec_env_find(s, name);

	if (e) {
		env_done(e);
	} else {
		s->env = xrealloc(s->env, s->n_env + 1, sizeof(*e));
		e = &s->env[s->n_env++];
	}
	*e = (struct spec_env){
		.name = xstrdup(name),
		.value = xstrdup(value),
		.origin = origin,
		.source = dup_or_null(source),
	};
}

struct spec_mount *spec_mount_add(struct sandbox_spec *s, enum spec_mount_kind kind,
				  const char *source, const char *target, const char *reason)
{
	struct spec_mount *m;

	s->mounts = xrealloc(s->mounts, s->n_mounts + 1, sizeof(*m));
	m = &s->mounts[s->n_mounts++];
	*m = (struct spec_mount){
		.kind = kind,
		.source = dup_or_null(source),
		.target = xstrdup(target),
		.reason = xstrdup(reason),
	};
	return m;
}

void spec_watch_add(struct sandbox_spec *s, enum spec_watch_kind kind, const char *dir)
{
	s->watches = xrealloc(s->watches, s->n_watches + 1, sizeof(*s->watches));
	s->watches[s->n_watches++] = (struct spec_watch){.kind = kind, .dir = xstrdup(dir)};
}

struct spec_credential *spec_credential_add(struct sandbox_spec *s, const char *name,
					    const char *provider)
{
	struct spec_credential *c;

	s->credentials = xrealloc(s->credentials, s->n_credentials + 1, sizeof(*c));
	c = &s->credentials[s->n_credentials++];
	*c = (struct spec_credential){.name = xstrdup(name), .provider = xstrdup(provider)};
	strv_init(&c->requests);
	strv_init(&c->options);
	return c;
}

const struct spec_credential *spec_credential_find(const struct sandbox_spec *s, const char *name)
{
	for (size_t i = 0; i < s->n_credentials; i++)
		if (streq(s->credentials[i].name, name))
			return &s->credentials[i];
	return NULL;
}

void spec_env_phantom(struct sandbox_spec *s, const char *name, const char *value,
		      const char *credential)
{
	spec_env_set(s, name, value, SPEC_SET, "ralph");
	((struct spec_env *)spec_env_find(s, name))->credential = xstrdup(credential);
}

void spec_environ(const struct sandbox_spec *s, struct strv *out)
{
	for (size_t i = 0; i < s->n_env; i++)
		if (!s->env[i].credential)
			strv_pushf(out, "%s=%s", s->env[i].name, s->env[i].value);
}

const char *spec_origin_mark(enum spec_origin o)
{
	static const char *const marks[] = {
		[SPEC_SET] = "[~]",
		[SPEC_PASSED] = "[>]",
		[SPEC_USER] = "[+]",
	};
	static_assert(ARRAY_SIZE(marks) == SPEC_ORIGIN_N, "one mark per origin");

	return marks[o];
}

const char *spec_mount_kind_name(enum spec_mount_kind k)
{
	static const char *const names[] = {
		[SPEC_BIND_RO] = "ro",
		[SPEC_BIND_RW] = "rw",
		[SPEC_TMPFS] = "tmpfs",
		[SPEC_PROC] = "proc",
		[SPEC_DEV] = "dev",
		[SPEC_SYMLINK] = "symlink",
		[SPEC_HOME_LINK] = "home-link",
		[SPEC_HOME_FILE] = "home-file",
		[SPEC_HOME_SEED] = "home-seed",
		[SPEC_FILE] = "file",
		[SPEC_DIR] = "dir",
		[SPEC_MASK] = "mask",
		[SPEC_RO] = "remount-ro",
		[SPEC_COPY] = "copy",
		[SPEC_PIN] = "pin",
		[SPEC_PROTECT] = "protect",
		[SPEC_HIDE] = "hide",
		[SPEC_IMAGE] = "image",
		[SPEC_VOLUME] = "volume",
		[SPEC_PUT_BACK] = "put-back",
		[SPEC_OWN] = "own",
	};
	static_assert(ARRAY_SIZE(names) == SPEC_MOUNT_N, "one name per kind");

	return names[k];
}

const char *spec_watch_name(enum spec_watch_kind k)
{
	static const char *const names[] = {
		[SPEC_WATCH_TREE] = "tree",
		[SPEC_WATCH_GIT] = "git",
		[SPEC_WATCH_WORKTREE] = "worktree",
		[SPEC_WATCH_PATH] = "path",
	};
	static_assert(ARRAY_SIZE(names) == SPEC_WATCH_N, "one name per kind");

	return names[k];
}

const char *spec_quarantine_name(enum spec_quarantine q)
{
	static const char *const names[] = {
		[SPEC_QUARANTINE_ALL] = "all",
		[SPEC_QUARANTINE_GIT] = "git",
		[SPEC_QUARANTINE_NONE] = "none",
	};
	static_assert(ARRAY_SIZE(names) == SPEC_QUARANTINE_N, "one name each");

	return names[q];
}

const char *spec_way_name(enum spec_way w)
{
	static const char *const names[] = {
		[SPEC_WAY_PHANTOM] = "phantom",
		[SPEC_WAY_MOUNT] = "mount",
		[SPEC_WAY_PIPE] = "pipe",
		[SPEC_WAY_ENV] = "env",
	};
	static_assert(ARRAY_SIZE(names) == SPEC_WAY_N, "one name per way");

	return names[w];
}
