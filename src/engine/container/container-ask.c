/*
 * Asks the program what is behind it. Its daemon may be on another machine, or in a
 * virtual one (Docker Desktop): a container there shares no kernel with us, so the guest can hand
 * no socket over, and the line to it is another one (container-remote.c).
 */
#include "engine/container/container.h"

#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/json/json.h"
#include "engine/cgroup.h"
#include "engine/probe-client.h"
#include "engine/probe-host.h"

#define ASK_MS 20000

struct facts {
	char *kernel, *machine, *system;
	bool rootless, desktop, remote;
	char *listen, *dial; /* where it is remote */
	unsigned controllers;
};

static void facts_done(struct facts *f)
{
	free(f->kernel);
	free(f->machine);
	free(f->system);
	free(f->listen);
	free(f->dial);
}

static const char *text(const json_t *j, const char *key)
{
	const char *s = json_string_value(json_object_get(j, key));

	return s ? s : "";
}

static bool has_word(const json_t *array, const char *word)
{
	const json_t *item;
	size_t i;

	json_array_foreach ((json_t *)array, i, item)
		if (json_is_string(item) && strstr(json_string_value(item), word))
			return true;
	return false;
}

static void read_docker(const json_t *j, struct facts *f)
{
	f->kernel = xstrdup(text(j, "KernelVersion"));
	f->rootless = has_word(json_object_get(j, "SecurityOptions"), "name=rootless");
	f->machine = xstrdup(text(j, "Architecture"));
	f->system = xstrdup(text(j, "OSType"));
	f->desktop = strstr(text(j, "OperatingSystem"), "Docker Desktop") != NULL;
	f->controllers = (json_is_true(json_object_get(j, "MemoryLimit")) ? CGROUP_MEMORY : 0) |
			 (json_is_true(json_object_get(j, "PidsLimit")) ? CGROUP_PIDS : 0) |
			 (json_is_true(json_object_get(j, "CpuCfsQuota")) ? CGROUP_CPU : 0);
}

static void read_podman(const json_t *j, struct facts *f)
{
	const json_t *host = json_object_get(j, "host");
	const json_t *own = json_object_get(host, "cgroupControllers");

	f->kernel = xstrdup(text(host, "kernel"));
	f->rootless = json_is_true(json_object_get(json_object_get(host, "security"), "rootless"));
	f->remote = json_is_true(json_object_get(host, "serviceIsRemote"));
	/* It lists what the kernel has; a plain user may use none of it in the first version. */
	if (f->rootless && !streq(text(host, "cgroupVersion"), "v2"))
		return;
	f->controllers = (has_word(own, "memory") ? CGROUP_MEMORY : 0) |
			 (has_word(own, "pids") ? CGROUP_PIDS : 0) |
			 (has_word(own, "cpu") ? CGROUP_CPU : 0);
}

static int unreachable(const struct container_dialect *d, const char *program, struct err *err)
{
	struct err why = *err;

	if (d == &container_podman)
		(void)err_set(err, EIO, "%s; see what 'podman info' says", why.msg);
	else
		(void)err_set(err, EIO,
			      "%s (%s is there, its daemon does not answer: start it, e.g. sudo "
			      "systemctl start docker; or set DOCKER_HOST, or join the group "
			      "docker)",
			      why.msg, program);
	err->exit_code = EXIT_RALPH;
	return -EIO;
}

/* The daemon's address as the program knows it; NULL: it does not say. */
static char *find_endpoint(const char *program, bool needed)
{
	static const char *const args[] = {"context", "inspect", "--format",
					   "{{.Endpoints.docker.Host}}", NULL};
	const char *said = getenv("DOCKER_HOST");
	struct err ignored;
	char *out = NULL;

	if (said && *said)
		return xstrdup(said);
	/* A question more at each start, so only where it may matter. */
	if ((!needed && !getenv("DOCKER_CONTEXT")) ||
	    container_call(program, (char *const *)args, ASK_MS, &out, &ignored) < 0)
		return NULL;
	out[strcspn(out, "\n")] = '\0';
	return out;
}

static int refuse(struct err *err)
{
	err->exit_code = EXIT_RALPH;
	return -ENOTSUP;
}

/* Its containers must be able to run our programs, and to reach us. */
static int check_remote(const struct container_dialect *d, const char *endpoint,
			const char *machine, struct facts *f, struct err *err)
{
	struct err why = {0};

	if (d == &container_podman)
		(void)err_set(err, ENOTSUP,
			      "podman runs its containers elsewhere, and the sandbox's sockets "
			      "cannot be handed over from there. Use docker for that, or an engine "
			      "of this machine");
	else if (!streq(f->system, "linux") || !streq(f->machine, machine))
		(void)err_set(
			err, ENOTSUP,
			"%s runs its containers elsewhere, on another kind of machine ('%s', "
			"'%s'; here linux, %s). Use an engine of this machine, or --engine native",
			d->program, f->system, f->machine, machine);
	else if (container_where(endpoint, f->desktop, &f->listen, &f->dial, &why) < 0)
		(void)err_set(err, ENOTSUP, "%s: %s", d->program, why.msg);
	else
		return 0;
	return refuse(err);
}

static int check_where(const struct container_dialect *d, const char *program, struct facts *f,
		       struct err *err)
{
	cleanup_free char *endpoint = NULL;
	struct utsname u;

	if (uname(&u) < 0)
		return err_sys(err, errno, "cannot ask which kernel this is");
	f->remote = f->remote || f->desktop || !streq(u.release, f->kernel);
	if (d != &container_podman)
		endpoint = find_endpoint(program, f->remote && !f->desktop);
	f->remote = f->remote || container_endpoint_is_remote(endpoint);
	return f->remote ? check_remote(d, endpoint, u.machine, f, err) : 0;
}

/* The guest makes one, without any power; root of this machine might, and proves nothing. */
static int check_userns(struct err *err)
{
	struct host_facts f;

	host_facts(&f);
	if (!f.apparmor_restrict && !f.clone_off && !f.max_zero)
		return 0;
	f.root = false;
	(void)err_set(err, EPERM, "%s", host_native_remedy(&f, false, EPERM));
	err->exit_code = EXIT_RALPH;
	return -EPERM;
}

static int find_facts(const struct container_dialect *d, const char *program, struct facts *f,
		      struct err *err)
{
	cleanup_json json_t *j = NULL;
	cleanup_free char *out = NULL;
	int r = container_call(program, (char *const *)d->info, ASK_MS, &out, err);

	if (r == 0)
		r = json_parse(out, strlen(out), &j, err);
	/* Without a daemon the client still tells about itself. */
	if (r == 0 && json_array_size(json_object_get(j, "ServerErrors")) > 0)
		r = err_set(
			err, EIO, "%s",
			json_string_value(json_array_get(json_object_get(j, "ServerErrors"), 0)));
	if (r < 0)
		return unreachable(d, program, err);
	if (d == &container_podman)
		read_podman(j, f);
	else
		read_docker(j, f);
	r = check_where(d, program, f, err);
	return r < 0 || f->remote ? r : check_userns(err);
}

int container_doctor(const struct container_dialect *d, struct doctor_rows *ret, bool *ret_usable)
{
	cleanup_(host_client_done) struct host_client c = {0};

	host_client_ask(d->program, d->version, &c);
	host_client_row(&c, d->program, d->use, d->remedy, ret);
	*ret_usable = c.answers;
	return 0;
}

int container_probe(const struct container_dialect *d, struct err *err)
{
	cleanup_(facts_done) struct facts f = {0};
	cleanup_free char *program = NULL;
	int r = container_find(d, &program, err);

	return r < 0 ? r : find_facts(d, program, &f, err);
}

/* Variables of the image, PATH among them, are the sandbox's unless somebody says otherwise. */
static int ask_image(const struct container_dialect *d, const char *program,
		     struct sandbox_spec *spec, struct err *err)
{
	char *const args[] = {
		"image", "inspect", "--format", "{{json .Config.Env}}", spec->container.image,
		NULL};
	cleanup_free char *out = NULL;
	cleanup_json json_t *j = NULL;
	const json_t *item;
	size_t i;

	if (container_call(program, args, ASK_MS, &out, err) < 0) {
		(void)err_usage(err,
				"%s has no image '%s'; build or pull it (%s pull %s), or name "
				"another with --image",
				d->program, spec->container.image, d->program,
				spec->container.image);
		return -ENOENT;
	}
	j = json_loads(out, JSON_DECODE_ANY, NULL);
	json_array_foreach (j, i, item) {
		const char *entry = json_string_value(item),
			   *eq = entry ? strchr(entry, '=') : NULL;
		cleanup_free char *name = eq ? xstrndup(entry, (size_t)(eq - entry)) : NULL;

		if (name && *name)
			spec_env_set(spec, name, eq + 1, SPEC_SET, "image");
	}
	return 0;
}

int container_ask(const struct container_dialect *d, struct sandbox_spec *spec, struct err *err)
{
	cleanup_(facts_done) struct facts f = {0};
	cleanup_free char *program = NULL;
	int r = container_find(d, &program, err);

	if (r == 0)
		r = find_facts(d, program, &f, err);
	if (r == 0)
		r = ask_image(d, program, spec, err);
	if (r < 0)
		return r;
	/* Docker Desktop makes what root of a container writes this user's. */
	spec->container.as_root = f.rootless || f.desktop || geteuid() == 0;
	spec->container.remote_listen = take_ptr(f.listen);
	spec->container.remote_dial = take_ptr(f.dial);
	spec->limits.controllers = f.controllers;
	return 0;
}
