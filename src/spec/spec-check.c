#include "spec/spec.h"

#include <string.h>

#include "base/path.h"

#define SPEC_NAME_MAX 63

static int check_name(const char *name, struct err *err)
{
	size_t n = strlen(name);

	if (n == 0 || n > SPEC_NAME_MAX ||
	    strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") != n || name[0] == '-')
		return err_usage(err,
				 "'%s' is no sandbox name: use 1 to %d of a-z, 0-9 and '-', not "
				 "starting with '-'",
				 name, SPEC_NAME_MAX);
	return 0;
}

/* Records and the hand-over to the supervisor are JSON, which would silently name another path. */
static bool is_utf8(const char *s)
{
	cleanup_json json_t *j = json_string(s);

	return j != NULL;
}

static int check_path(const char *what, const char *path, struct err *err)
{
	if (path && !is_utf8(path))
		return err_usage(err, "%s '%s' is not UTF-8; rename it", what, path);
	if (!path || !path_is_normal(path))
		return err_set(err, EINVAL, "%s '%s' is not an absolute path without '.' and '..'",
			       what, path ? path : "");
	return 0;
}

static bool needs_source(enum spec_mount_kind kind)
{
	return kind == SPEC_BIND_RO || kind == SPEC_BIND_RW || kind == SPEC_COPY ||
	       kind == SPEC_PIN || kind == SPEC_PROTECT || kind == SPEC_VOLUME ||
	       kind == SPEC_PUT_BACK;
}

static bool has_data(enum spec_mount_kind kind)
{
	return kind == SPEC_FILE || kind == SPEC_HOME_FILE || kind == SPEC_HOME_SEED;
}

static int check_mount(const struct spec_mount *m, struct err *err)
{
	int r = check_path("mount target", m->target, err);

	if (r == 0 && needs_source(m->kind))
		r = check_path("mount source", m->source, err);
	if (r == 0 && has_data(m->kind) && !m->data)
		r = err_set(err, EINVAL, "'%s' has no content", m->target);
	if (r == 0 && (m->kind == SPEC_SYMLINK || m->kind == SPEC_HOME_LINK) && !m->source)
		r = err_set(err, EINVAL, "'%s' is a link to nothing", m->target);
	return r;
}

static int check_env(const struct sandbox_spec *s, const struct spec_env *e, struct err *err)
{
	if (e->credential &&
	    (!spec_credential_find(s, e->credential) || !strstr(e->value, SPEC_PHANTOM)))
		return err_set(err, EINVAL, "%s: '%s' is no phantom of a credential", e->name,
			       e->credential);
	if (e->name[0] == '\0' || strchr(e->name, '='))
		return err_usage(err, "'%s' is no name of an environment variable", e->name);
	return 0;
}

/* What becomes an argument of a program must not look like an option of it. */
static int check_word(const char *what, const char *word, struct err *err)
{
	if (word[0] == '\0' || word[0] == '-' || !is_utf8(word))
		return err_usage(err, "'%s' is no %s", word, what);
	return 0;
}

static int check_container(const struct spec_container *c, struct err *err)
{
	int r;

	if (!c->image)
		return 0;
	r = check_word("name of an image", c->image, err);
	if (r == 0)
		r = check_path("socket", c->line, err);
	if (r == 0 && !c->remote_listen != !c->remote_dial)
		r = err_usage(err, "the container has one half of its way to the gateway");
	if (r == 0 && c->remote_dial)
		r = check_word("address of this machine", c->remote_dial, err);
	if (r == 0 && c->volume)
		r = check_word("name of a volume", c->volume, err);
	return r < 0 || !c->volume ? r : check_path("directory of a volume", c->volume_dir, err);
}

int spec_check(const struct sandbox_spec *s, struct err *err)
{
	int r = check_name(s->name, err);

	if (r == 0)
		r = check_path("workspace", s->workspace, err);
	if (r == 0)
		r = check_path("home", s->home, err);
	if (r == 0 && s->clone)
		r = check_path("clone", s->clone, err);
	if (r == 0 && s->inbox)
		r = check_path("inbox", s->inbox, err);
	for (size_t i = 0; r == 0 && i < s->n_mounts; i++)
		r = check_mount(&s->mounts[i], err);
	for (size_t i = 0; r == 0 && i < s->n_watches; i++)
		r = check_path("watched directory", s->watches[i].dir, err);
	for (size_t i = 0; r == 0 && i < s->n_env; i++)
		r = check_env(s, &s->env[i], err);
	return r < 0 ? r : check_container(&s->container, err);
}
