#include "engine/probe-client.h"

#include <stdlib.h>
#include <string.h>

#include "base/find-program.h"
#include "base/mem.h"
#include "base/proc.h"

#define ASK_MS 1000
#define OUTPUT_MAX (64 * KiB)

void host_client_env(struct strv *env)
{
	static const char *const names[] = {
		"HOME",
		"PATH",
		"XDG_RUNTIME_DIR",
		"XDG_CONFIG_HOME",
		"XDG_DATA_HOME",
		"DBUS_SESSION_BUS_ADDRESS",
		"DOCKER_HOST",
		"DOCKER_CONTEXT",
		"DOCKER_CONFIG",
		"DOCKER_TLS_VERIFY",
		"DOCKER_CERT_PATH",
		"SSH_AUTH_SOCK", /* of one that is reached by ssh:// */
		"CONTAINERS_CONF",
		"CONTAINER_HOST",
		"CONTAINERS_STORAGE_CONF",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *v = getenv(names[i]);

		if (v)
			strv_pushf(env, "%s=%s", names[i], v);
	}
}

static void ask(struct host_client *c, char *const argv[])
{
	cleanup_strv struct strv env = {0}, words = {0};
	cleanup_free char *out = NULL;
	struct err ignored = {0};
	int code = 1;

	host_client_env(&env);
	if (run_capture(argv, env.v, ASK_MS, OUTPUT_MAX, &out, &code, &ignored) < 0 || code != 0)
		return;
	out[strcspn(out, "\n")] = '\0';
	strv_split(&words, out, ' ');
	c->answers = words.n > 0;
	if (words.n)
		c->version = xstrdup(words.v[words.n - 1]);
}

void host_client_ask(const char *program, const char *const *args, struct host_client *ret)
{
	cleanup_strv struct strv argv = {0};
	struct host_client c = {.path = path_find_program(program, getenv("PATH"))};

	if (c.path) {
		strv_push(&argv, c.path);
		for (; *args; args++)
			strv_push(&argv, *args);
		ask(&c, argv.v);
	}
	*ret = c;
}

void host_client_done(struct host_client *c)
{
	free(c->path);
	free(c->version);
	*c = (struct host_client){0};
}

void host_client_row(const struct host_client *c, const char *name, const char *use,
		     const char *remedy, struct doctor_rows *ret)
{
	if (!c->path)
		doctor_rows_add(ret, name, DOCTOR_MISSING, use, NULL, "not on PATH");
	else if (!c->answers)
		doctor_rows_add(ret, name, DOCTOR_LIMITED, use, remedy, "%s, does not answer",
				c->path);
	else
		doctor_rows_add(ret, name, DOCTOR_OK, use, NULL, "%s, %s", c->path, c->version);
}
