#include "worker/node.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/find-program.h"
#include "base/log.h"
#include "build-config.h"
#include "engine/engine.h"

#define VERSION_MS 10000 /* for a program to say its version */
#define VERSION_MAX 256
#define CANCEL_MS 20000

extern char **environ;

/* Batch systems name the job in the environment of what they start. */
/* clang-format off */
static const struct {
	const char *variable, *kind;
} jobs[] = {
	{"SLURM_JOB_ID", "slurm"},
	{"RALPH_POD",	 "pod"}, /* the Job's template sets it from metadata.name */
	{"PBS_JOBID",	 "pbs"},
	{"LSB_JOBID",	 "lsf"},
};
/* clang-format on */

/* A name of the environment's, as a message may hold it. */
static bool is_name(const char *s)
{
	for (const char *p = s; p && *p; p++)
		if (*p <= 0x20 || *p > 0x7e)
			return false;
	return s && *s && strlen(s) <= FLEET_TEXT_MAX - 16;
}

char *node_name(void)
{
	static const char *const variables[] = {"SLURMD_NODENAME", "RALPH_NODE"};
	char host[FLEET_TEXT_MAX + 1] = "";

	for (size_t i = 0; i < ARRAY_SIZE(variables); i++)
		if (is_name(getenv(variables[i])))
			return xstrdup(getenv(variables[i]));
	(void)gethostname(host, sizeof(host) - 1);
	return xstrdup(is_name(host) ? host : "unnamed");
}

char *node_job(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(jobs); i++)
		if (is_name(getenv(jobs[i].variable)))
			return xasprintf("%s %s", jobs[i].kind, getenv(jobs[i].variable));
	/* In a pod the host's name is the pod's. */
	if (getenv("KUBERNETES_SERVICE_HOST")) {
		cleanup_free char *name = node_name();

		return xasprintf("pod %s", name);
	}
	return xstrdup("");
}

void node_cancel_job(void)
{
	cleanup_free char *scancel = NULL, *out = NULL;
	const char *id = getenv("SLURM_JOB_ID"), *path = getenv("PATH");
	struct err err = {0};
	int code = 0;

	if (!is_name(id) || !path || !(scancel = path_find_program("scancel", path)))
		return;
	/* A worker in an allocation of the user's, `salloc`, ends its own step alone. */
	if (is_name(getenv("SLURM_STEP_ID")) && !streq(getenv("SLURM_STEP_ID"), "0"))
		return;
	if (run_capture((char *[]){scancel, (char *)(uintptr_t)id, NULL}, environ, CANCEL_MS,
			VERSION_MAX, &out, &code, &err) < 0)
		log_warn("worker", "cannot cancel job %s: %s", id, err.msg);
}

/* The first word with a digit of what `PROGRAM --version` prints; "" where there is none. */
static char *version_of(char *program)
{
	cleanup_free char *out = NULL;
	struct err ignored;
	char *save = NULL;
	int code = 0;

	if (run_capture((char *[]){program, (char *)(uintptr_t) "--version", NULL}, environ,
			VERSION_MS, VERSION_MAX, &out, &code, &ignored) < 0 ||
	    code != 0)
		return xstrdup("");
	for (char *w = strtok_r(out, " \t\n", &save); w; w = strtok_r(NULL, " \t\n", &save))
		if (strpbrk(w, "0123456789") && is_name(w))
			return xstrdup(w);
	return xstrdup("");
}

static json_t *agents_here(bool versions)
{
	const char *path = getenv("PATH");
	json_t *a = json_array();

	for (size_t i = 0; path && i < agent_count(); i++) {
		const struct agent *g = agent_at(i);
		cleanup_free char *program =
			g->program ? path_find_program(g->program, path) : NULL;
		cleanup_free char *version =
			program && versions ? version_of(program) : xstrdup("");

		if (program)
			(void)json_array_append_new(a, json_pack("{ss ss so}", "name", g->name,
								 "version", version, "path",
								 json_text(program)));
	}
	return a;
}

/* Messages of HELLO are one line without control characters. */
static void plain(char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			*s = ' ';
}

json_t *node_hello(const struct fleet_start *start, size_t slots)
{
	cleanup_free char *node = node_name(), *job = node_job();
	cleanup_json json_t *agents = agents_here(start->probe);
	struct timespec t;
	struct err err = {0};
	struct fleet_hello h = {
		.protocol = FLEET_PROTOCOL,
		.version = RALPH_VERSION,
		.node = node,
		.job = job,
		.engine = "",
		.why = err.msg,
		.agents = agents,
		.slots = slots,
		.pid = (uint64_t)getpid(),
	};

	if (engine_find(*start->engine ? start->engine : "auto", &h.engine, &err) == 0)
		h.usable = engine_probe(h.engine, &err) == 0;
	plain(err.msg);
	(void)clock_gettime(CLOCK_REALTIME, &t);
	h.time_ms = (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
	return fleet_hello_json(&h);
}
