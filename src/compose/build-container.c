/*
 * A container engine needs more than other engines: an image, a socket where the guest meets its
 * supervisor, and a volume that keeps the agent's memory when the sandbox is removed.
 */
#include "compose/build.h"

#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/path.h"
#include "engine/engine.h"
#include "spec/host-env.h"
#include "image/image.h"

#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define LOGIN_MAX 32

/* Only what is there can be planned and shown: its variables are the sandbox's. */
static int find_image(const struct image_request *req, char **ret, struct err *err)
{
	cleanup_image_view struct image_view v = {0};
	int r = image_look(req, &v, err);

	if (r < 0)
		return r;
	if (!v.ref || !v.there)
		return err_usage(err,
				 "the image of agent %s is not built yet; run: ralph --engine %s "
				 "image build %s (or name another with --image)",
				 req->agent, req->engine, req->agent);
	*ret = xstrdup(v.ref);
	return 0;
}

int build_image(const struct sandbox_spec *s, const struct build_input *in, char **ret,
		struct err *err)
{
	cleanup_(spec_freep) struct sandbox_spec *written = spec_new();
	cleanup_strv struct strv env = {0};
	struct image_request req = {
		.places = in->places,
		.engine = engine_images(s->engine),
		.agent = s->agent,
		.workspace = s->workspace,
		.base = in->config->image.base,
		.told = in->image_told,
		.arg = in->image_arg,
	};

	if (in->config->image.name) {
		*ret = xstrdup(in->config->image.name);
		return 0;
	}
	/* An agent may have left a program called docker in the project. */
	(void)spec_mount_add(written, SPEC_BIND_RW, s->workspace, s->workspace, "workspace");
	host_environ(written, in->environ, &env);
	req.environ = env.v;
	return in->make_image ? image_ensure(&req, ret, err) : find_image(&req, ret, err);
}

int build_container(struct sandbox_spec *s, const struct build_input *in, struct err *err)
{
	cleanup_free char *dir = path_join(in->places->runtime, s->name);
	int r = build_image(s, in, &s->container.image, err);

	if (r < 0)
		return r;
	s->container.line = path_join(dir, "line");
	return engine_ask(s, err);
}

char *build_image_path(const struct sandbox_spec *s)
{
	const struct spec_env *path = spec_env_find(s, "PATH");

	/* The directory that the agent can write comes last, as with every engine. */
	return xasprintf("%s:%s/.local/bin", path ? path->value : DEFAULT_PATH, s->home);
}

/* Reads /etc/passwd directly: looking names up in other services needs shared libraries. */
static char *login_of(uid_t uid)
{
	FILE *f = fopen("/etc/passwd", "re");
	const struct passwd *pw = NULL;
	char *name = NULL;

	while (f && (pw = fgetpwent(f)) && pw->pw_uid != uid)
		;
	if (pw)
		name = xstrdup(pw->pw_name);
	if (f)
		(void)fclose(f);
	return name;
}

/* The user's name as far as it can be part of a volume's. */
static char *login(void)
{
	cleanup_free char *name = login_of(geteuid());
	const char *text = name ? name : getenv("USER");
	size_t n = text ? strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				       "0123456789_.-")
			: 0;

	if (n == 0 || n > LOGIN_MAX || text[n] || strchr("_.-", text[0]))
		return xasprintf("uid%u", geteuid());
	return xstrdup(text);
}

void build_volume(struct sandbox_spec *s, const struct build_input *in, const struct agent *a)
{
	cleanup_free char *name = NULL, *volumes = NULL;

	if (!a->state[0])
		return;
	name = login();
	volumes = path_join(in->places->state, "volumes");
	s->container.volume = xasprintf("%s-llm", name);
	s->container.volume_dir = path_join(volumes, s->container.volume);
	for (const char *const *dir = a->state; *dir; dir++) {
		cleanup_free char *source =
			xasprintf("%s/%s/%s", s->container.volume_dir, s->home_key, *dir);
		cleanup_free char *target = path_join(s->home, *dir);

		(void)spec_mount_add(s, SPEC_VOLUME, source, target,
				     "what the agent remembers, kept when the sandbox is removed");
	}
}
