#include "live/autosave.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/buf.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/text/known.h"
#include "base/text/mask.h"
#include "base/path.h"
#include "live/export-names.h"
#include "live/inbox.h"
#include "record/home.h"
#include "record/store.h"

#define RESULT_MAX_DEFAULT (4 * KiB)
#define NICENESS 10 /* behind the agent */
#define VALUES_LOCK_MS 5000
#define KNOWN_JSON_MAX (64 * MiB)

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

static bool is_projects(const struct sandbox_spec *spec)
{
	return spec && spec->home_key && spec->home_of == SPEC_HOME_PROJECT;
}

/* Which conversations were saved, and in which state. All sandboxes with one memory share it. */
static char *known_of(const struct places *p, const char *record, const struct sandbox_spec *spec)
{
	cleanup_free char *memory = NULL;

	if (spec && spec->container.volume_dir) {
		memory = home_memory(p, record, spec);
		return xasprintf("%s.exported.json", memory);
	}
	return is_projects(spec) ? home_beside(p, spec->home_key, "exported.json")
				 : path_join(record, "exported.json");
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
	cleanup_free char *path = path_join(record, "values");
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

bool values_know(const char *record, const char *value)
{
	cleanup_free char *path = path_join(record, "values");
	struct known known;

	return load_values(path, &known) == 0 && known_has(&known, value, strlen(value));
}

static int write_values(const char *path, const struct known *k)
{
	cleanup_free char *text = known_write(k);

	return path_write_atomic(AT_FDCWD, path, text, strlen(text), 0600, 0);
}

/* Adds the values of a record that has the project's salt. */
static bool merge_values(const char *path, struct known *all)
{
	struct known k;

	return load_values(path, &k) == 0 && known_merge(all, &k);
}

/* Every sandbox of the project writes to the same home, so an export knows the values of all. */
static int gather_values(const struct places *p, const char *path, struct known *all)
{
	cleanup_strv struct strv names = {0};
	bool added = false;
	struct err ignored;

	(void)store_names(p, &names, &ignored);
	for (size_t i = 0; i < names.n; i++) {
		cleanup_free char *record = store_record(p, names.v[i]);
		cleanup_free char *values = path_join(record, "values");

		added = merge_values(values, all) || added;
	}
	return added ? write_values(path, all) : 0;
}

static int lock_values(const struct places *p, const char *key)
{
	cleanup_free char *path = home_beside(p, key, "values.lock"), *dir = home_dir(p);
	cleanup_fd int fd = -1;
	struct err ignored;
	int r = path_mkdirs(dir, 0700, &ignored);

	if (r < 0)
		return r;
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	r = fd < 0 ? -errno : fd_lock(fd, VALUES_LOCK_MS);
	return r < 0 ? r : take_fd(fd);
}

/* The project's set, with what its records have; extra: a record that has no name any more. */
static int project_values(const struct places *p, const struct sandbox_spec *spec,
			  const char *extra, struct known *ret)
{
	cleanup_free char *path = home_beside(p, spec->home_key, "values");
	cleanup_free char *more = path_join(extra, "values");
	cleanup_fd int lock = lock_values(p, spec->home_key);
	struct stat st;
	int r = lock < 0 ? lock : load_values(path, ret);

	if (r == 0 && (merge_values(more, ret) || lstat(path, &st) < 0))
		r = write_values(path, ret);
	return r < 0 ? r : gather_values(p, path, ret);
}

static bool shares_values(const struct sandbox_spec *spec)
{
	return spec && spec->home_key && spec->home_of != SPEC_HOME_ONCE;
}

static bool same_salt(const struct known *a, const struct known *b)
{
	return memcmp(a->salt, b->salt, sizeof(a->salt)) == 0;
}

int values_begin(const struct places *p, const char *record, const struct sandbox_spec *spec)
{
	cleanup_free char *own = path_join(record, "values"), *path = NULL;
	struct known all, ours;
	struct stat st;
	int r;

	if (!shares_values(spec))
		return 0;
	path = home_beside(p, spec->home_key, "values");
	r = lstat(path, &st) < 0 ? project_values(p, spec, record, &all) : load_values(path, &all);
	if (r == 0 && lstat(own, &st) == 0 && load_values(own, &ours) == 0 &&
	    same_salt(&all, &ours))
		return 0;
	return r < 0 ? r : write_values(own, &all);
}

int values_settle(const struct places *p, const char *record, const struct sandbox_spec *spec)
{
	struct known all;

	return shares_values(spec) ? project_values(p, spec, record, &all) : 0;
}

/* The hashes of all values that were ever given to a sandbox of this home, for the export. */
static int values_fd(const struct places *p, const char *record, const struct sandbox_spec *spec)
{
	cleanup_free char *path = path_join(record, "values"), *text = NULL;
	cleanup_strv struct strv values = {0};
	struct known known;
	int r;

	secret_values(spec, &values);
	r = remember(path, &values, &known);
	if (r == 0 && shares_values(spec))
		r = project_values(p, spec, record, &known);
	if (r < 0)
		return r;
	text = known_write(&known);
	return fd_memfd("values", text, strlen(text));
}

void autosave_adopt(const struct places *p, const char *record, const struct sandbox_spec *spec)
{
	cleanup_free char *known = path_join(record, "exported.json"),
			  *to = home_beside(p, spec->home_key, "exported.json"),
			  *values = path_join(record, "values"),
			  *all = home_beside(p, spec->home_key, "values");
	struct known k;
	struct stat st;

	(void)renameat2(AT_FDCWD, known, AT_FDCWD, to, RENAME_NOREPLACE);
	if (lstat(values, &st) == 0 && lstat(all, &st) < 0 && load_values(values, &k) == 0)
		(void)write_values(all, &k);
}

static json_t *read_object(const char *path)
{
	json_t *j = NULL;
	cleanup_buf struct buf b;
	struct err ignored;

	buf_init(&b, KNOWN_JSON_MAX);
	if (path_read(AT_FDCWD, path, &b) < 0 || json_parse(buf_str(&b), b.len, &j, &ignored) < 0 ||
	    !json_is_object(j)) {
		json_decref(j);
		return json_object();
	}
	return j;
}

void autosave_take_known(const struct places *p, const char *record,
			 const struct sandbox_spec *spec)
{
	struct sandbox_spec of_project = *spec;
	cleanup_free char *from = path_join(record, "exported.json"), *to = NULL, *lock = NULL,
			  *text = NULL;
	cleanup_json json_t *ours = read_object(from), *all = NULL;
	cleanup_fd int fd = -1;

	of_project.home_of = SPEC_HOME_PROJECT;
	to = known_of(p, record, &of_project);
	lock = xasprintf("%s.lock", to);
	fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (json_object_size(ours) == 0 || fd < 0 || fd_lock(fd, VALUES_LOCK_MS) < 0)
		return;
	all = read_object(to);
	(void)json_object_update_missing(all, ours);
	text = json_dumps(all, JSON_COMPACT);
	if (text)
		(void)path_write_atomic(AT_FDCWD, to, text, strlen(text), 0600, 0);
}

int export_run(const struct places *p, const char *record, const struct sandbox_spec *spec,
	       const char *out, const struct export_options *options, struct strv *argv,
	       struct run *ret, struct err *err)
{
	uint64_t max = options->max_result ? options->max_result : RESULT_MAX_DEFAULT;
	int values = values_fd(p, record, spec);

	if (values < 0)
		return err_sys(err, -values, "cannot remember the values of the sandbox");
	strv_take(argv, places_program(p, "export"));
	strv_take(argv, home_memory(p, record, spec));
	strv_push(argv, out);
	strv_take(argv, known_of(p, record, spec));
	strv_push(argv, options->format ? options->format : "md");
	strv_pushf(argv, "%lld", (long long)options->since_ms);
	strv_push(argv, options->thinking ? "1" : "0");
	strv_pushf(argv, "%llu", (unsigned long long)max);
	strv_take(argv, export_names_path(record));
	push_agents(argv, options->agent);
	*ret = (struct run)RUN_INIT;
	ret->argv = argv->v;
	ret->stdio[0] = values;
	return 0;
}

static bool has_conversation(const struct places *p, const char *record,
			     const struct sandbox_spec *spec)
{
	cleanup_free char *memory = home_memory(p, record, spec);

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
	cleanup_fd int inbox = -1;
	cleanup_free char *dir = NULL;
	struct run run;
	struct child child;
	int r;

	if (!spec->inbox || !has_conversation(p, record, spec))
		return -ENOENT;
	inbox = inbox_open(spec, spec->inbox, err);
	r = inbox < 0 ? inbox
		      : export_run(p, record, spec, spec->inbox, &options, &argv, &run, err);
	if (r < 0)
		return r;
	dir = xasprintf("/proc/self/fd/%d", inbox);
	run.dir = dir;
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
	cleanup_free char *record = store_record(p, name);
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
