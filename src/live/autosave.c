#include "live/autosave.h"

#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/buf.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/text/known.h"
#include "base/text/mask.h"
#include "base/path.h"
#include "record/store.h"

#define RESULT_MAX_DEFAULT (4 * KiB)
#define NICENESS 10 /* behind the agent */

void secret_values(const struct sandbox_spec *spec, struct strv *ret)
{
	for (size_t i = 0; spec && i < spec->n_env; i++)
		if (spec->env[i].origin != SPEC_SET && !streq(spec->env[i].value, SPEC_HIDDEN) &&
		    mask_is_secret(spec->env[i].name, spec->env[i].value))
			strv_push(ret, spec->env[i].value);
}

static void push_agents(struct strv *argv, const char *only)
{
	if (only) {
		strv_push(argv, only);
		return;
	}
	for (size_t i = 0; i < agent_count(); i++)
		strv_push(argv, agent_at(i)->name);
}

/*
 * Conversations are in the sandbox's home, or in a volume that outlives it. All sandboxes with that
 * volume share its conversations, and ralph saves them once.
 */
static bool has_volume(const struct sandbox_spec *spec)
{
	return spec && spec->container.volume_dir;
}

static char *memory_of(const char *record, const struct sandbox_spec *spec)
{
	return has_volume(spec) ? xstrdup(spec->container.volume_dir) : path_join(record, "home");
}

static char *known_of(const char *record, const struct sandbox_spec *spec)
{
	return has_volume(spec) ? xasprintf("%s.exported.json", spec->container.volume_dir)
				: path_join(record, "exported.json");
}

static char *values_of(const char *record, const struct sandbox_spec *spec)
{
	return has_volume(spec) ? xasprintf("%s.values", spec->container.volume_dir)
				: path_join(record, "values");
}

/* A file that is torn is replaced: what it knew cannot be got back, and no export must fail. */
static int load_values(const char *path, struct known *ret)
{
	cleanup_buf struct buf b;

	buf_init(&b, KNOWN_TEXT_MAX);
	if (path_read(AT_FDCWD, path, &b) == 0 && known_read(ret, buf_str(&b), b.len) == 0)
		return 0;
	return known_init(ret);
}

static int remember(const char *path, const struct strv *values, struct known *ret)
{
	cleanup_free char *text = NULL;
	bool added = false;
	int r = load_values(path, ret);

	for (size_t i = 0; r == 0 && i < values->n; i++)
		added = known_add(ret, values->v[i]) || added;
	if (r < 0 || !added)
		return r;
	text = known_write(ret);
	return path_write_atomic(AT_FDCWD, path, text, strlen(text), 0600, 0);
}

int values_remember(const char *record, const struct sandbox_spec *spec, const struct strv *env)
{
	cleanup_free char *path = values_of(record, spec);
	cleanup_strv struct strv values = {0};
	struct known known;

	for (size_t i = 0; i < env->n; i++) {
		const char *eq = strchrnul(env->v[i], '=');
		cleanup_free char *name = xstrndup(env->v[i], (size_t)(eq - env->v[i]));
		const struct spec_env *own = spec_env_find(spec, name);

		if (*eq && !(own && own->origin == SPEC_SET) && mask_is_secret(name, eq + 1))
			strv_push(&values, eq + 1);
	}
	return values.n ? remember(path, &values, &known) : 0;
}

bool values_know(const char *record, const struct sandbox_spec *spec, const char *value)
{
	cleanup_free char *path = values_of(record, spec);
	struct known known;

	return load_values(path, &known) == 0 && known_has(&known, value, strlen(value));
}

/* The hashes of all values that the sandbox was ever given, for the export. */
static int values_fd(const char *record, const struct sandbox_spec *spec)
{
	cleanup_free char *path = values_of(record, spec), *text = NULL;
	cleanup_strv struct strv values = {0};
	struct known known;
	int r;

	secret_values(spec, &values);
	r = remember(path, &values, &known);
	if (r < 0)
		return r;
	text = known_write(&known);
	return fd_memfd("values", text, strlen(text));
}

int export_run(const struct places *p, const char *record, const struct sandbox_spec *spec,
	       const char *out, const struct export_options *options, struct strv *argv,
	       struct run *ret, struct err *err)
{
	uint64_t max = options->max_result ? options->max_result : RESULT_MAX_DEFAULT;
	int values = values_fd(record, spec);

	if (values < 0)
		return err_sys(err, -values, "cannot remember the values of the sandbox");
	strv_take(argv, places_program(p, "export"));
	strv_take(argv, memory_of(record, spec));
	strv_push(argv, out);
	strv_take(argv, known_of(record, spec));
	strv_push(argv, options->format ? options->format : "md");
	strv_pushf(argv, "%lld", (long long)options->since_ms);
	strv_push(argv, options->thinking ? "1" : "0");
	strv_pushf(argv, "%llu", (unsigned long long)max);
	push_agents(argv, options->agent);
	*ret = (struct run)RUN_INIT;
	ret->argv = argv->v;
	ret->stdio[0] = values;
	return 0;
}

static bool has_conversation(const char *record, const struct sandbox_spec *spec)
{
	cleanup_free char *memory = memory_of(record, spec);

	for (size_t i = 0; i < agent_count(); i++) {
		const char *below = agent_at(i)->conversations;
		cleanup_free char *path = NULL;

		if (!below)
			continue;
		path = path_join(memory, below);
		if (faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
			return true;
	}
	return false;
}

static int step_back(void *arg)
{
	(void)setpriority(PRIO_PROCESS, 0, NICENESS);
	return 0;
}

int autosave_start(const struct places *p, const char *record, const struct sandbox_spec *spec,
		   struct child *ret, struct err *err)
{
	const struct export_options options = {0};
	cleanup_strv struct strv argv = {0};
	struct run run;
	struct child child;
	int r;

	if (!spec->inbox || !has_conversation(record, spec))
		return -ENOENT;
	r = path_mkdirs(spec->inbox, 0700, err);
	if (r == 0)
		r = export_run(p, record, spec, spec->inbox, &options, &argv, &run, err);
	if (r < 0)
		return r;
	run.dir = "/";
	run.flags = RUN_NEW_SESSION | (ret ? RUN_DIE_WITH_US : 0);
	run.before_exec = step_back;
	r = run_start(&run, ret ? ret : &child, err);
	closep(&run.stdio[0]);
	if (r == 0 && !ret)
		closep(&child.pidfd); /* the export goes on by itself */
	return r;
}

int autosave_wait(const struct places *p, const char *record, const struct sandbox_spec *spec,
		  struct err *err)
{
	struct child child = {.pid = -1, .pidfd = -1};
	int r = autosave_start(p, record, spec, &child, err);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	r = run_wait(&child);
	return r == 0 ? 0 : err_set(err, EIO, "the export ended with %d", r);
}

int autosave_now(const struct places *p, const char *name)
{
	cleanup_(spec_freep) struct sandbox_spec *spec = NULL;
	cleanup_store struct store_entry e = STORE_ENTRY_INIT;
	cleanup_free char *home = store_home(p, name), *record = path_dir(home);
	struct err err = {0};
	int r = store_open(p, name, false, &e, &err);

	if (r == 0)
		r = store_read_spec(&e, &spec, &err);
	if (r == 0)
		r = autosave_start(p, record, spec, NULL, &err);
	if (r < 0 && r != -ENOENT)
		log_debug("export", "%s", err.msg);
	return r;
}
