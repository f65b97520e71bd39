#include "config/keys.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/parse.h"
#include "base/text/suggest.h"

/* "none" or "direct" is no engine of a file: running without a sandbox is only ever typed. */
static const char *const engines[] = {"auto", "native",		"docker", "podman",
				      "sbx",  "docker-sandbox", NULL};
static const char *const quarantines[] = {
	[QUARANTINE_ALL] = "all",
	[QUARANTINE_GIT] = "git",
	[QUARANTINE_NONE] = "none",
	[QUARANTINE_N] = NULL,
};
static const char *const tiers[] = {
	[TIER_NONE] = "none", [TIER_ALLOWLIST] = "allowlist",
	[TIER_INET] = "inet", [TIER_FULL] = "full",
	[TIER_N] = NULL,
};
static const char *const levels[] = {
	[LOG_ERROR] = "error", [LOG_WARN] = "warning", [LOG_INFO] = "info",
	[LOG_DEBUG] = "debug", [LOG_LEVEL_N] = NULL,
};
static const char *const formats[] = {[LOG_TEXT] = "text", [LOG_JSON] = "json", NULL};

#define AT(member) .offset = offsetof(struct config, member)
#define DAY_MS (86400ULL * 1000)

/*
 * Scalars: a stronger source replaces a weaker one. Lists: every source appends to the weaker
 * ones; an entry that is there already (env.set: the same name, mounts: the same target) is
 * replaced and takes the stronger origin.
 */
/* clang-format off */
const struct key keys[KEY_N] = {
	[KEY_AGENT] = { "agent", KEY_WORD, PROJECT_SAME, AT(agent), .def = "command",
		.option = "--agent", .check = check_agent,
		.help = "the coding agent to run" },
	[KEY_ENGINE] = { "engine", KEY_WORD, PROJECT_AUTO, AT(engine), .def = "auto",
		.option = "--engine", .choices = engines,
		.help = "what the sandbox is made with" },
	[KEY_IMAGE_NAME] = { "image.name", KEY_WORD, PROJECT_SAME, AT(image.name), .def = "",
		.option = "--image", .check = check_image,
		.help = "the image of a container; empty for ralph's own" },
	[KEY_PROFILE] = { "profile", KEY_WORD, PROJECT_SAME, AT(profile), .def = "",
		.option = "--profile", .check = check_profile,
		.help = "the profile to load; empty for none" },
	[KEY_IMAGE_BASE] = { "image.base", KEY_WORD, PROJECT_SAME, AT(image.base), .def = "",
		.option = "--base", .check = check_image,
		.help = "the image that those of containers begin with; empty for the agent's" },
	[KEY_ENV_SET] = { "env.set", KEY_LIST, PROJECT_NEW, AT(env.set), .option = "--env",
		.check = check_env_entry,
		.help = "variables set inside, as NAME=VALUE" },
	[KEY_ENV_PASS] = { "env.pass", KEY_LIST, PROJECT_SAME, AT(env.pass), .option = "--pass",
		.check = check_env_name,
		.help = "names of host variables passed in" },
	[KEY_ENV_REFUSE] = { "env.refuse", KEY_LIST, PROJECT_ANY, AT(env.refuse),
		.option = "--refuse", .check = check_refuse,
		.help = "names and values that may not be set or passed in" },
	[KEY_IDENTITY] = { "identity", KEY_LIST, PROJECT_SAME, AT(identity),
		.option = "--identity", .check = check_identity,
		.help = "whose logins may be used; empty for anyone's" },
	[KEY_MOUNTS] = { "mounts", KEY_MOUNT, PROJECT_SAME, AT(mounts), .option = "--mount",
		.help = "host paths shown inside" },
	[KEY_MASK] = { "workspace.mask", KEY_LIST, PROJECT_SAME, AT(workspace.mask),
		.option = "--mask", .check = check_mask,
		.help = "names of files that cannot be read inside" },
	[KEY_QUARANTINE] = { "workspace.quarantine", KEY_CHOICE, PROJECT_LOWER,
		AT(workspace.quarantine), .def = "git", .option = "--quarantine",
		.choices = quarantines,
		.help = "what the host would run is moved away: all, git or none" },
	[KEY_PACKAGES] = { "packages", KEY_LIST, PROJECT_ANY, AT(packages), .option = "--package",
		.check = check_program,
		.help = "programs that must be found inside" },
	[KEY_TIER] = { "network.tier", KEY_CHOICE, PROJECT_LOWER, AT(network.tier),
		.def = "allowlist", .option = "--net", .choices = tiers,
		.help = "how much network there is" },
	[KEY_ALLOW] = { "network.allow", KEY_LIST, PROJECT_SAME, AT(network.allow),
		.option = "--allow", .check = check_pattern,
		.help = "hosts and groups that may be reached" },
	[KEY_DENY] = { "network.deny", KEY_LIST, PROJECT_ANY, AT(network.deny),
		.option = "--deny", .check = check_pattern,
		.help = "hosts that may not, whatever else allows them" },
	[KEY_RULES] = { "network.rules", KEY_RULE, PROJECT_SAME, AT(network.rules),
		.option = "--rule",
		.help = "hosts whose requests are inspected one by one" },
	[KEY_MEMORY] = { "limits.memory", KEY_SIZE, PROJECT_LOWER, AT(limits.memory), .def = "0",
		.option = "--memory", .min = 64 * MiB, .max = INT64_MAX, .zero = true,
		.help = "memory of a sandbox; 0 for a share of the machine" },
	[KEY_PIDS] = { "limits.pids", KEY_UINT, PROJECT_LOWER, AT(limits.pids), .def = "4096",
		.option = "--pids", .min = 16, .max = 4194304,
		.help = "processes and threads" },
	[KEY_CPU] = { "limits.cpu", KEY_UINT, PROJECT_LOWER0, AT(limits.cpu), .def = "0",
		.option = "--cpu", .min = 1, .max = 100000, .zero = true,
		.help = "percent of one core; 0 for all cores" },
	[KEY_TMP] = { "limits.tmp", KEY_SIZE, PROJECT_LOWER, AT(limits.tmp), .def = "1G",
		.option = "--tmp", .min = 1 * MiB, .max = INT64_MAX,
		.help = "size of each temporary file system" },
	[KEY_OPEN_FILES] = { "limits.open_files", KEY_UINT, PROJECT_LOWER, AT(limits.open_files),
		.def = "16384", .option = "--open-files", .min = 64, .max = 1048576,
		.help = "open files of one process" },
	[KEY_TIMEOUT] = { "limits.timeout", KEY_DURATION, PROJECT_LOWER0, AT(limits.timeout_ms),
		.def = "0", .option = "--timeout", .min = 1, .max = 365 * DAY_MS, .zero = true,
		.help = "wall clock of a command; 0 for none" },
	[KEY_BUDGET_USD] = { "budget.usd", KEY_MONEY, PROJECT_LOWER0, AT(budget.micro_usd),
		.def = "0", .option = "--budget", .min = 1, .max = 1000000000000000, .zero = true,
		.help = "US dollars a sandbox may spend at providers; 0 for any" },
	[KEY_BUDGET_TOKENS] = { "budget.tokens", KEY_UINT, PROJECT_LOWER0, AT(budget.tokens),
		.def = "0", .option = "--budget-tokens", .min = 1, .max = INT64_MAX, .zero = true,
		.help = "tokens a sandbox may use at providers; 0 for any" },
	[KEY_PRICES] = { "prices", KEY_LIST, PROJECT_SAME, AT(prices), .option = "--price",
		.check = check_price,
		.help = "what models cost, instead of what ralph knows" },
	[KEY_INBOX_DIR] = { "inbox.dir", KEY_WORD, PROJECT_SAME, AT(inbox.dir), .def = "",
		.option = "--inbox", .check = check_inbox,
		.help = "where conversations are saved by themselves; off for nowhere" },
	[KEY_INBOX_EVERY] = { "inbox.every", KEY_DURATION, PROJECT_SAME, AT(inbox.every_ms),
		.def = "5m", .option = "--inbox-every", .min = 1000, .max = 365 * DAY_MS, .zero = true,
		.help = "how often while a sandbox runs; 0 for at its end only" },
	[KEY_LOOP_ITERATIONS] = { "loop.max_iterations", KEY_UINT, PROJECT_LOWER0,
		AT(loop.max_iterations), .def = "10", .option = "--max-iterations", .min = 1,
		.max = 1000000, .zero = true, .zero_word = "unlimited",
		.help = "iterations of a loop, or unlimited" },
	[KEY_LOOP_COST] = { "loop.max_cost", KEY_MONEY, PROJECT_LOWER0, AT(loop.micro_usd),
		.def = "0", .option = "--max-cost", .min = 1, .max = 1000000000000000, .zero = true,
		.help = "US dollars a loop may spend; 0 for any" },
	[KEY_LOOP_DURATION] = { "loop.max_duration", KEY_DURATION, PROJECT_LOWER0,
		AT(loop.duration_ms), .def = "0", .option = "--max-duration", .min = 1,
		.max = 365 * DAY_MS, .zero = true,
		.help = "how long a loop may work; 0 for any time" },
	[KEY_LOOP_STUCK] = { "loop.max_stuck", KEY_UINT, PROJECT_LOWER, AT(loop.max_stuck),
		.def = "3", .option = "--max-stuck", .min = 1, .max = 1000,
		.help = "iterations without progress before a task is left" },
	[KEY_LOOP_ATTEMPTS] = { "loop.max_attempts", KEY_UINT, PROJECT_LOWER,
		AT(loop.max_attempts), .def = "5", .option = "--max-attempts", .min = 1, .max = 1000,
		.help = "iterations that one task may take" },
	[KEY_LOOP_ITERATION_COST] = { "loop.iteration_cost", KEY_MONEY, PROJECT_LOWER0,
		AT(loop.iteration_micro_usd), .def = "0", .option = "--iteration-cost", .min = 1,
		.max = 1000000000000000, .zero = true,
		.help = "US dollars one iteration may spend; 0 for any" },
	[KEY_LOOP_ITERATION_TIME] = { "loop.iteration_time", KEY_DURATION, PROJECT_LOWER0,
		AT(loop.iteration_ms), .def = "1h", .option = "--iteration-time", .min = 1,
		.max = 365 * DAY_MS, .zero = true,
		.help = "how long one iteration may take; 0 for any time" },
	[KEY_LOOP_IDLE_TIME] = { "loop.idle_time", KEY_DURATION, PROJECT_LOWER0, AT(loop.idle_ms),
		.def = "15m", .option = "--idle-time", .min = 1, .max = 365 * DAY_MS, .zero = true,
		.help = "how long an agent may say nothing; 0 for any time" },
	[KEY_LOOP_GRACE] = { "loop.grace", KEY_DURATION, PROJECT_LOWER, AT(loop.grace_ms),
		.def = "10s", .option = "--grace", .min = 1, .max = DAY_MS,
		.help = "how long an agent may take to end after its result" },
	[KEY_LOOP_VERIFY] = { "loop.verify", KEY_LIST, PROJECT_ANY, AT(loop.verify),
		.option = "--verify", .check = check_command,
		.help = "commands that must succeed before a task is done" },
	[KEY_LOOP_VERIFY_TIME] = { "loop.verify_time", KEY_DURATION, PROJECT_LOWER,
		AT(loop.verify_ms), .def = "10m", .option = "--verify-time", .min = 1,
		.max = 365 * DAY_MS,
		.help = "how long one such command may take" },
	[KEY_LOOP_RESERVE] = { "loop.weekly_reserve", KEY_UINT, PROJECT_ANY, AT(loop.reserve),
		.def = "0%", .option = "--weekly-reserve", .min = 1, .max = 100, .zero = true,
		.unit = "%",
		.help = "how much of the provider's weekly limit is left alone" },
	[KEY_LOOP_NOTIFY] = { "loop.notify", KEY_WORD, PROJECT_SAME, AT(loop.notify), .def = "",
		.option = "--notify", .check = check_command,
		.help = "command of the host that is run when a loop ends" },
#define ENDPOINT(x, title) [KEY_PROVIDER_##x] = { "providers." #x, KEY_PROVIDER, PROJECT_SAME, \
		AT(providers.x), .option = "--provider", \
		.help = "where " title " is reached instead of its public address" },
#include "config/providers.def"
	[KEY_CREDENTIALS] = { "credentials", KEY_CREDENTIAL, PROJECT_SAME, AT(credentials),
		.option = "--credential",
		.help = "how sandboxes come by credentials, and further ones" },
	[KEY_LOG_LEVEL] = { "log.level", KEY_CHOICE, PROJECT_SAME, AT(log.level), .def = "info",
		.option = "--log-level", .choices = levels,
		.help = "the least important message that is shown" },
	[KEY_LOG_FORMAT] = { "log.format", KEY_CHOICE, PROJECT_SAME, AT(log.format),
		.def = "text", .option = "--log-format", .choices = formats,
		.help = "text or JSON lines" },
};

#define MOUNT(member) .name = #member, .offset = offsetof(struct raw_mount, member)
const struct key_field mount_fields[MOUNT_FIELDS_N] = {
	[MOUNT_PATH]   = { MOUNT(path), .required = true },
	[MOUNT_MODE]   = { MOUNT(mode) },
	[MOUNT_TARGET] = { MOUNT(target) },
};

#define RULE(member) .name = #member, .offset = offsetof(struct raw_rule, member)
const struct key_field rule_fields[RULE_FIELDS_N] = {
	[RULE_HOST]       = { RULE(host), .required = true },
	[RULE_METHODS]    = { RULE(methods), .list = true },
	[RULE_PATHS]      = { RULE(paths), .list = true },
	[RULE_GIT]        = { RULE(git), .list = true },
	[RULE_CREDENTIAL] = { RULE(credential) },
};

#define PROVIDER(member) .name = #member, .offset = offsetof(struct raw_provider, member)
const struct key_field provider_fields[PROVIDER_FIELDS_N] = {
	[PROVIDER_ORIGIN]    = { PROVIDER(origin) },
	[PROVIDER_CA_FILE]   = { PROVIDER(ca_file) },
	[PROVIDER_TOKEN_URL] = { PROVIDER(token_url) },
};

#define CREDENTIAL(member) .name = #member, .offset = offsetof(struct raw_credential, member)
const struct key_field credential_fields[CREDENTIAL_FIELDS_N] = {
	[CREDENTIAL_NAME]   = { CREDENTIAL(name), .required = true },
	[CREDENTIAL_WAY]    = { CREDENTIAL(way) },
	[CREDENTIAL_SOURCE] = { CREDENTIAL(source) },
};
/* clang-format on */

const struct key_field *key_fields(enum key_type type, size_t *ret_n)
{
	switch ((unsigned)type) {
	case KEY_MOUNT:
		*ret_n = MOUNT_FIELDS_N;
		return mount_fields;
	case KEY_RULE:
		*ret_n = RULE_FIELDS_N;
		return rule_fields;
	case KEY_PROVIDER:
		*ret_n = PROVIDER_FIELDS_N;
		return provider_fields;
	case KEY_CREDENTIAL:
		*ret_n = CREDENTIAL_FIELDS_N;
		return credential_fields;
	default:
		*ret_n = 0;
		return NULL;
	}
}

size_t key_section(const struct key *k)
{
	const char *dot = strchr(k->name, '.');

	return dot ? (size_t)(dot - k->name) : 0;
}

const char *key_leaf(const struct key *k)
{
	const char *dot = strchr(k->name, '.');

	return dot ? dot + 1 : k->name;
}

enum key_id key_find(const char *name, size_t len)
{
	for (enum key_id id = 0; id < KEY_N; id++)
		if (strlen(keys[id].name) == len && memcmp(keys[id].name, name, len) == 0)
			return id;
	return KEY_N;
}

void key_env_name(const struct key *k, char ret[KEY_ENV_MAX])
{
	(void)snprintf(ret, KEY_ENV_MAX, "RALPH_%s", k->name);
	for (char *p = ret; *p; p++)
		*p = *p == '.' ? '_' : (char)toupper((unsigned char)*p);
}

bool config_key(size_t i, struct config_key *ret)
{
	const struct key *k = &keys[i];

	if (i >= KEY_N)
		return false;
	*ret = (struct config_key){
		.name = k->name,
		.option = k->option,
		.help = k->help,
		.default_value = k->def			   ? k->def
				 : k->type == KEY_PROVIDER ? "{}"
							   : "[]",
		.choices = k->choices,
		.is_list = key_is_list((enum key_id)i),
	};
	key_env_name(k, ret->env);
	return true;
}

const char *key_hint(const char *section, size_t section_len, const char *word, char *buf,
		     size_t size)
{
	char names[KEY_N][32];
	const char *candidates[KEY_N], *near;
	enum key_id dotted = key_find(word, strlen(word));
	size_t n = 0;

	if (dotted < KEY_N && key_section(&keys[dotted])) {
		(void)snprintf(buf, size, "; write it as '%.*s: {%s: …}'",
			       (int)key_section(&keys[dotted]), word, key_leaf(&keys[dotted]));
		return buf;
	}
	for (enum key_id id = 0; id < KEY_N; id++) {
		const struct key *k = &keys[id];
		size_t len = key_section(k);
		bool here = len == section_len && memcmp(k->name, section, len) == 0;

		/* The right word in the wrong place is the surest hint of all. */
		if (!here && streq(key_leaf(k), word)) {
			(void)snprintf(buf, size, "; did you mean '%s'?", k->name);
			return buf;
		}
		if (here)
			(void)snprintf(names[n], sizeof(names[n]), "%s", key_leaf(k));
		else if (section_len == 0)
			(void)snprintf(names[n], sizeof(names[n]), "%.*s", (int)len, k->name);
		else
			continue;
		candidates[n] = names[n];
		n++;
	}
	near = suggest(word, candidates, n);
	if (near && section_len)
		(void)snprintf(buf, size, "; did you mean '%.*s.%s'?", (int)section_len, section,
			       near);
	else if (near)
		(void)snprintf(buf, size, "; did you mean '%s'?", near);
	else
		(void)snprintf(buf, size, "; ralph-config(5) lists the keys");
	return buf;
}

static int choice_index(const struct key *k, const char *text, struct err *err)
{
	char list[128] = "";
	const char *near;
	size_t n = 0, len = 0;

	for (; k->choices[n]; n++) {
		if (streq(k->choices[n], text))
			return (int)n;
		len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%s", n ? ", " : "",
					k->choices[n]);
	}
	near = suggest(text, k->choices, n);
	if (near)
		return err_usage(err, "'%.60s' is not known; did you mean '%s'?", text, near);
	return err_usage(err, "'%.60s' is not known; use one of %s", text, list);
}

static const char *const number_kinds[] = {
	[KEY_UINT] = "a whole number; write it in base 10 without sign or leading zero",
	[KEY_SIZE] = "a size; write it like 512, 64M or 8G",
	[KEY_MONEY] = "an amount; write it like 20 or 0.5",
	[KEY_DURATION] = "a duration; write it like 90, 500ms, 5m or 2h",
};

static int set_number(uint64_t *at, const struct key *k, const char *text, struct err *err)
{
	size_t len = strlen(text), unit = k->unit ? strlen(k->unit) : 0;
	cleanup_free char *bare = NULL;
	uint64_t v = 0;
	int r;

	if (k->zero_word && streq(text, k->zero_word)) {
		*at = 0;
		return 0;
	}
	if (k->zero_word && streq(text, "0"))
		return err_usage(err, "'0' would mean no limit; write '%s' for that", k->zero_word);
	if (unit && len > unit && streq(text + len - unit, k->unit))
		bare = xstrndup(text, len - unit);
	text = bare ? bare : text;
	if (k->type == KEY_SIZE)
		r = parse_size(text, &v);
	else if (k->type == KEY_DURATION)
		r = parse_duration(text, &v);
	else if (k->type == KEY_MONEY)
		r = parse_micro(text, &v);
	else
		r = parse_uint(text, 0, UINT64_MAX, &v);
	if (r == -EINVAL)
		return err_usage(err, "'%.60s' is not %s", text, number_kinds[k->type]);
	if (r < 0 || (v > k->max))
		return err_usage(err, "'%.60s' is too large; use a smaller value", text);
	if (v < k->min && !(v == 0 && k->zero)) {
		if (k->type == KEY_SIZE)
			return err_usage(err, "'%.60s' is too small; use at least %lluM", text,
					 (unsigned long long)(k->min / MiB));
		return err_usage(err, "'%.60s' is too small; use at least %llu", text,
				 (unsigned long long)k->min);
	}
	*at = v;
	return 0;
}

int key_set_scalar(struct config *c, enum key_id id, const char *text, struct err *err)
{
	const struct key *k = &keys[id];
	void *at = key_at(c, id);
	const char *wrong;
	int index;

	if (key_is_number(id))
		return set_number(at, k, text, err);
	if (k->choices) {
		index = choice_index(k, text, err);
		if (index < 0)
			return index;
		if (k->type == KEY_CHOICE) {
			*(int *)at = index;
			return 0;
		}
	}
	wrong = k->check ? k->check(text) : NULL;
	if (wrong)
		return err_usage(err, "'%.60s' %s", text, wrong);
	free(*(char **)at);
	*(char **)at = *text ? xstrdup(text) : NULL;
	return 0;
}
