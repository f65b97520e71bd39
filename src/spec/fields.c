#include "spec/fields.h"

#include <assert.h>
#include <string.h>

#include "base/path.h"
#include "policy/rule-json.h"

/* Enums have these words in JSON and for people. */

static const char *const origins[] = {
	[SPEC_SET] = "set",
	[SPEC_PASSED] = "passed",
	[SPEC_USER] = "user",
};
static_assert(ARRAY_SIZE(origins) == SPEC_ORIGIN_N, "one name per origin");

static const char *const mount_kinds[] = {
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
	[SPEC_LOGIN] = "login",
	[SPEC_PIN] = "pin",
	[SPEC_PROTECT] = "protect",
	[SPEC_HIDE] = "hide",
	[SPEC_IMAGE] = "image",
	[SPEC_VOLUME] = "volume",
	[SPEC_PUT_BACK] = "put-back",
	[SPEC_OWN] = "own",
};
static_assert(ARRAY_SIZE(mount_kinds) == SPEC_MOUNT_N, "one name per kind");

static const char *const watch_kinds[] = {
	[SPEC_WATCH_TREE] = "tree",
	[SPEC_WATCH_GIT] = "git",
	[SPEC_WATCH_WORKTREE] = "worktree",
	[SPEC_WATCH_PATH] = "path",
};
static_assert(ARRAY_SIZE(watch_kinds) == SPEC_WATCH_N, "one name per kind");

static const char *const quarantines[] = {
	[SPEC_QUARANTINE_ALL] = "all",
	[SPEC_QUARANTINE_ASK] = "ask",
	[SPEC_QUARANTINE_GIT] = "git",
	[SPEC_QUARANTINE_NONE] = "none",
};
static_assert(ARRAY_SIZE(quarantines) == SPEC_QUARANTINE_N, "one name each");

static const char *const homes[] = {
	[SPEC_HOME_PROJECT] = "project",
	[SPEC_HOME_WORKER] = "worker",
	[SPEC_HOME_ONCE] = "once",
};
static_assert(ARRAY_SIZE(homes) == SPEC_HOME_N, "one name each");

static const char *const ways[] = {
	[SPEC_WAY_PHANTOM] = "phantom",
	[SPEC_WAY_MOUNT] = "mount",
	[SPEC_WAY_PIPE] = "pipe",
	[SPEC_WAY_ENV] = "env",
};
static_assert(ARRAY_SIZE(ways) == SPEC_WAY_N, "one name per way");

static const char *const cgroup_kinds[] = {
	[SPEC_CGROUP_NONE] = "none",
	[SPEC_CGROUP_V1] = "v1",
	[SPEC_CGROUP_V2] = "v2",
	[SPEC_CGROUP_SCOPE] = "scope",
};
static_assert(ARRAY_SIZE(cgroup_kinds) == SPEC_CGROUP_N, "one name per kind");

const char *spec_mount_kind_name(enum spec_mount_kind k)
{
	return mount_kinds[k];
}

const char *spec_way_name(enum spec_way w)
{
	return ways[w];
}

/* Rows name checks of one string; tables name checks of a whole item. */

#define SPEC_NAME_MAX 63

static int check_name(const char *what, const char *name, struct err *err)
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

static int check_target(const char *what, const char *path, struct err *err)
{
	return check_path("mount target", path, err);
}

static int check_watched(const char *what, const char *path, struct err *err)
{
	return check_path("watched directory", path, err);
}

static bool needs_source(enum spec_mount_kind kind)
{
	return kind == SPEC_BIND_RO || kind == SPEC_BIND_RW || kind == SPEC_COPY ||
	       kind == SPEC_PIN || kind == SPEC_PROTECT || kind == SPEC_VOLUME ||
	       kind == SPEC_PUT_BACK || kind == SPEC_LOGIN;
}

static bool has_data(enum spec_mount_kind kind)
{
	return kind == SPEC_FILE || kind == SPEC_HOME_FILE || kind == SPEC_HOME_SEED;
}

static int check_mount(const void *item, const struct sandbox_spec *whole, struct err *err)
{
	const struct spec_mount *m = item;
	int r = needs_source(m->kind) ? check_path("mount source", m->source, err) : 0;

	if (r == 0 && has_data(m->kind) && !m->data)
		r = err_set(err, EINVAL, "'%s' has no content", m->target);
	if (r == 0 && (m->kind == SPEC_SYMLINK || m->kind == SPEC_HOME_LINK) && !m->source)
		r = err_set(err, EINVAL, "'%s' is a link to nothing", m->target);
	return r;
}

static int check_env(const void *item, const struct sandbox_spec *whole, struct err *err)
{
	const struct spec_env *e = item;

	if (e->credential &&
	    (!spec_credential_find(whole, e->credential) || !strstr(e->value, SPEC_PHANTOM)))
		return err_set(err, EINVAL, "%s: '%s' is no phantom of a credential", e->name,
			       e->credential);
	if (e->name[0] == '\0' || strchr(e->name, '='))
		return err_usage(err, "'%s' is no name of an environment variable", e->name);
	return 0;
}

static const char *env_value_shown(const void *item)
{
	const struct spec_env *e = item;

	return e->origin == SPEC_SET ? e->value : SPEC_HIDDEN;
}

/* A word that becomes an argument of a program must not look like an option of it. */
static int check_word(const char *what, const char *word, struct err *err)
{
	if (word[0] == '\0' || word[0] == '-' || !is_utf8(word))
		return err_usage(err, "'%s' is no %s", word, what);
	return 0;
}

/* Only the engines that have another kernel fill it. */
static int check_kernel(const void *item, const struct sandbox_spec *whole, struct err *err)
{
	const struct spec_kernel *k = item;

	return k->program ? check_path("the kernel's program", k->program, err) : 0;
}

static int check_container(const void *item, const struct sandbox_spec *whole, struct err *err)
{
	const struct spec_container *c = item;
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

static int check_git(const void *item, const struct sandbox_spec *whole, struct err *err)
{
	const struct spec_git *g = item;
	const char *const paths[] = {g->at, g->covers, g->root, g->dir, g->common};
	int r = g->private ? check_path("private git directory", g->private, err) : 0;

	if (r == 0 && g->private && (!g->at || !g->root != !g->dir || !g->dir != !g->common))
		r = err_set(err, EINVAL, "the private git directory has only some of its paths");
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(paths); i++)
		r = paths[i] ? check_path("git directory", paths[i], err) : 0;
	return r;
}

/* The network is policy's: its rows are in policy/rule.c. */

static int net_from_json(const json_t *j, void *at, struct err *err)
{
	return net_policy_from_json(j, at, err);
}

static json_t *net_to_json(const void *at)
{
	return net_policy_to_json(at);
}

static void net_done(void *at)
{
	net_policy_clear(at);
}

/* A difference is reported as one of these, the first ones first. */
enum {
	ENGINE = 1,
	WORKSPACE,
	USER,
	IMAGE,
	QUARANTINE,
	MASK,
	MOUNT,
	NETWORK,
	CREDENTIAL,
	LIMITS,
	BUDGET,
	PART_N
};

/* clang-format off */
const char *const spec_parts[] = {
	[ENGINE] = "engine",
	[WORKSPACE] = "workspace",
	[USER] = "user",
	[IMAGE] = "image",
	[QUARANTINE] = "quarantine",
	[MASK] = "masked names",
	[MOUNT] = "mount",
	[NETWORK] = "network",
	[CREDENTIAL] = "credential",
	[LIMITS] = "limits",
	[BUDGET] = "budget",
	[PART_N] = NULL,
};
/* clang-format on */

#define MEMBER(type, member) (((struct type *)0)->member)
#define AT(type, member) .at = offsetof(struct type, member)
#define VALUE(type, member) AT(type, member), .size = sizeof(MEMBER(type, member))
/* A member whose type says what it is; any other type does not compile. */
#define FIELD(type, member)                                                                        \
	VALUE(type, member), .kind = _Generic(MEMBER(type, member),                                \
		char *: FIELD_STR,                                                                 \
		struct strv: FIELD_STRV,                                                           \
		bool: FIELD_BOOL,                                                                  \
		uint16_t: FIELD_UINT,                                                              \
		uint32_t: FIELD_UINT,                                                              \
		uint64_t: FIELD_UINT)
#define WORD(type, member, names)                                                                  \
	VALUE(type, member), .kind = FIELD_WORD, .words = (names), .n = ARRAY_SIZE(names)
#define SECTION(type, member, table) AT(type, member), .kind = FIELD_SECTION, .of = &(table)
#define LIST(type, member, table)                                                                  \
	AT(type, member), .kind = FIELD_LIST, .of = &(table),                                      \
			  .count_at = offsetof(struct type, n_##member)
#define ARRAY(type, member, table) LIST(type, member, table), .n = ARRAY_SIZE(MEMBER(type, member))
#define TABLE(type, fields)                                                                        \
	.rows = (fields), .n_rows = ARRAY_SIZE(fields), .size = sizeof(struct type)
#define OPTIONAL .optional = true

/* clang-format off */
static const struct spec_field env_rows[] = {
	{ "name",       FIELD(spec_env, name) },
	{ "value",      FIELD(spec_env, value), .shown_as = env_value_shown },
	{ "origin",     WORD(spec_env, origin, origins) },
	{ "source",     FIELD(spec_env, source), OPTIONAL },
	{ "credential", FIELD(spec_env, credential), OPTIONAL },
};

static const struct spec_field mount_rows[] = {
	{ "kind",       WORD(spec_mount, kind, mount_kinds), .part = MOUNT },
	{ "source",     FIELD(spec_mount, source), OPTIONAL, .part = MOUNT },
	{ "target",     FIELD(spec_mount, target), .part = MOUNT, .check = check_target },
	{ "data",       FIELD(spec_mount, data), OPTIONAL, .part = MOUNT },
	{ "reason",     FIELD(spec_mount, reason) },
	{ "size",       FIELD(spec_mount, size), OPTIONAL, .part = MOUNT },
	{ "mode",       FIELD(spec_mount, mode), OPTIONAL, .part = MOUNT },
	{ "of_tree",    FIELD(spec_mount, of_tree), OPTIONAL },
	{ "asked",      FIELD(spec_mount, asked), OPTIONAL },
};

static const struct spec_field watch_rows[] = {
	{ "kind",       WORD(spec_watch, kind, watch_kinds) },
	{ "dir",        FIELD(spec_watch, dir), .check = check_watched },
};

/* When a credential expires is what was seen of it, not what it is. */
static const struct spec_field credential_rows[] = {
	{ "name",       FIELD(spec_credential, name), .part = CREDENTIAL },
	{ "provider",   FIELD(spec_credential, provider), .part = CREDENTIAL },
	{ "way",        WORD(spec_credential, way, ways), .part = CREDENTIAL },
	{ "source",     FIELD(spec_credential, source), OPTIONAL, .part = CREDENTIAL },
	{ "origin",     FIELD(spec_credential, origin), OPTIONAL, .part = CREDENTIAL },
	{ "ca_file",    FIELD(spec_credential, ca_file), OPTIONAL, .part = CREDENTIAL },
	{ "endpoint",   FIELD(spec_credential, endpoint), OPTIONAL, .part = CREDENTIAL },
	{ "phantom",    FIELD(spec_credential, phantom), OPTIONAL, .part = CREDENTIAL },
	{ "private",    FIELD(spec_credential, private), OPTIONAL, .part = CREDENTIAL },
	{ "requests",   FIELD(spec_credential, requests), OPTIONAL, .part = CREDENTIAL },
	{ "options",    FIELD(spec_credential, options), OPTIONAL, .part = CREDENTIAL },
	{ "expires_ms", FIELD(spec_credential, expires_ms), OPTIONAL },
};

static const struct spec_field budget_rows[] = {
	{ "micro_usd",  FIELD(spec_budget, micro_usd), .part = BUDGET },
	{ "tokens",     FIELD(spec_budget, tokens), .part = BUDGET },
};

static const struct spec_field cgroup_rows[] = {
	{ "dir",         FIELD(spec_cgroup, dir) },
	{ "controllers", FIELD(spec_cgroup, controllers) },
};

static const struct spec_field container_rows[] = {
	{ "image",      FIELD(spec_container, image), .part = IMAGE, .shown = true },
	{ "line",       FIELD(spec_container, line) },
	{ "volume",     FIELD(spec_container, volume), OPTIONAL },
	{ "volume_dir", FIELD(spec_container, volume_dir), OPTIONAL },
	{ "as_root",    FIELD(spec_container, as_root) },
	{ "far_listen", FIELD(spec_container, remote_listen), OPTIONAL },
	{ "far_dial",   FIELD(spec_container, remote_dial), OPTIONAL },
};

static const struct spec_field kernel_rows[] = {
	{ "program", FIELD(spec_kernel, program) },
	{ "version", FIELD(spec_kernel, version) },
};

static const struct spec_field git_rows[] = {
	{ "private",    FIELD(spec_git, private) },
	{ "at",         FIELD(spec_git, at) },
	{ "covers",     FIELD(spec_git, covers), OPTIONAL },
	{ "root",       FIELD(spec_git, root), OPTIONAL },
	{ "dir",        FIELD(spec_git, dir), OPTIONAL },
	{ "common",     FIELD(spec_git, common), OPTIONAL },
	{ "named",      FIELD(spec_git, named), OPTIONAL },
};

const struct spec_table spec_env_table = {
	TABLE(spec_env, env_rows), .check = check_env, .name_at = offsetof(struct spec_env, name), .unique = true,
};
const struct spec_table spec_mount_table = { TABLE(spec_mount, mount_rows), .check = check_mount };
static const struct spec_table watch_table = { TABLE(spec_watch, watch_rows) };
static const struct spec_table credential_table = {
	TABLE(spec_credential, credential_rows), .name_at = offsetof(struct spec_credential, name),
};
static const struct spec_table budget_table = { TABLE(spec_budget, budget_rows) };
static const struct spec_table cgroup_table = { TABLE(spec_cgroup, cgroup_rows) };
static const struct spec_table kernel_table = { TABLE(spec_kernel, kernel_rows), .check = check_kernel };
static const struct spec_table git_table = { TABLE(spec_git, git_rows), .check = check_git };
static const struct spec_table container_table = {
	TABLE(spec_container, container_rows), .check = check_container,
};

/* Times and the way limits are enforced belong to commands. */
static const struct spec_field limit_rows[] = {
	{ "memory",      FIELD(spec_limits, memory), .part = LIMITS },
	{ "pids",        FIELD(spec_limits, pids), .part = LIMITS },
	{ "cpu",         FIELD(spec_limits, cpu), .part = LIMITS },
	{ "tmp",         FIELD(spec_limits, tmp), .part = LIMITS },
	{ "open_files",  FIELD(spec_limits, open_files), .part = LIMITS },
	{ "timeout_ms",  FIELD(spec_limits, timeout_ms) },
	{ "method",      FIELD(spec_limits, method), OPTIONAL },
	{ "controllers", FIELD(spec_limits, controllers) },
	{ "cgroup",      WORD(spec_limits, cgroup, cgroup_kinds) },
	{ "cgroups",     ARRAY(spec_limits, cgroups, cgroup_table) },
	/* at 0: the functions get the whole struct. */
	{ "rlimits",     .kind = FIELD_CUSTOM, .write = rlimits_to_json, .read = rlimits_from_json },
};
static const struct spec_table limits_table = { TABLE(spec_limits, limit_rows) };

#define CREDENTIALS \
	{ "credentials", LIST(sandbox_spec, credentials, credential_table), .part = CREDENTIAL }

static const struct spec_field spec_rows[] = {
	{ "name",       FIELD(sandbox_spec, name), .check = check_name },
	{ "engine",     FIELD(sandbox_spec, engine), .part = ENGINE, .shown = true },
	{ "agent",      FIELD(sandbox_spec, agent) },
	{ "agents",     FIELD(sandbox_spec, agents), OPTIONAL },
	{ "workspace",  FIELD(sandbox_spec, workspace), .part = WORKSPACE, .shown = true,
			.check = check_path },
	{ "branch",     FIELD(sandbox_spec, branch), OPTIONAL },
	{ "clone",      FIELD(sandbox_spec, clone), OPTIONAL, .check = check_path },
	{ "instance",   FIELD(sandbox_spec, instance), OPTIONAL },
	{ "home",       FIELD(sandbox_spec, home), .part = USER, .check = check_path },
	{ "project",    FIELD(sandbox_spec, project), OPTIONAL, .check = check_path },
	{ "home_key",   FIELD(sandbox_spec, home_key), OPTIONAL, .check = check_name },
	{ "home_of",    WORD(sandbox_spec, home_of, homes), OPTIONAL },
	{ "checks",     FIELD(sandbox_spec, checks), OPTIONAL },
	{ "loop",       FIELD(sandbox_spec, loop), OPTIONAL, .check = check_name },
	{ "place",      FIELD(sandbox_spec, place), OPTIONAL },
	{ "hostname",   FIELD(sandbox_spec, hostname) },
	{ "template",   FIELD(sandbox_spec, template), OPTIONAL, .part = IMAGE },
	{ "inbox",      FIELD(sandbox_spec, inbox), OPTIONAL, .check = check_path },
	{ "inbox_every_ms", FIELD(sandbox_spec, inbox_every_ms), OPTIONAL },
	{ "keepalive_ms", FIELD(sandbox_spec, keepalive_ms), OPTIONAL },
	{ "uid",        FIELD(sandbox_spec, uid), .part = USER },
	{ "gid",        FIELD(sandbox_spec, gid), .part = USER },
	{ "port",       FIELD(sandbox_spec, port), OPTIONAL },
	{ "env",        LIST(sandbox_spec, env, spec_env_table) },
	{ "env_refuse", FIELD(sandbox_spec, env_refuse), OPTIONAL },
	{ "mounts",     LIST(sandbox_spec, mounts, spec_mount_table), .part = MOUNT,
			.difference = mount_difference },
	{ "watches",    LIST(sandbox_spec, watches, watch_table) },
	{ "quarantine", WORD(sandbox_spec, quarantine, quarantines), .part = QUARANTINE },
	{ "network",    AT(sandbox_spec, net), .kind = FIELD_CUSTOM, .read = net_from_json,
			.write = net_to_json, .done = net_done, .part = NETWORK,
			.difference = net_difference },
	CREDENTIALS,
	{ "cred_line",  FIELD(sandbox_spec, cred_line), OPTIONAL, .check = check_path },
	{ "provider_tools", FIELD(sandbox_spec, provider_tools), OPTIONAL, .part = NETWORK },
	{ "budget",     SECTION(sandbox_spec, budget, budget_table) },
	{ "may_change", FIELD(sandbox_spec, may_change), OPTIONAL, .part = QUARANTINE },
	{ "mask", FIELD(sandbox_spec, mask), OPTIONAL, .part = MASK },
	{ "prices",     FIELD(sandbox_spec, prices), OPTIONAL, .part = BUDGET },
	{ "limits",     SECTION(sandbox_spec, limits, limits_table) },
	{ "git",        SECTION(sandbox_spec, git, git_table), OPTIONAL },
	{ "container",  SECTION(sandbox_spec, container, container_table), OPTIONAL },
	{ "kernel",     SECTION(sandbox_spec, kernel, kernel_table), OPTIONAL },
};
const struct spec_table spec_table = { TABLE(sandbox_spec, spec_rows) };

static const struct spec_field credentials_row[] = { CREDENTIALS };
const struct spec_table spec_credentials_table = { TABLE(sandbox_spec, credentials_row) };
/* clang-format on */
