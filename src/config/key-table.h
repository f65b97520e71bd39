/*
 * The rows of the table of keys, in the order in which they are shown: an id and the members of
 * struct key. keys.h includes them for the ids, keys.c for the table.
 *
 * Scalars: a stronger source replaces a weaker one. Lists: every source appends to the weaker
 * ones; an entry that is there already (env.set: the same name, mounts: the same target) is
 * replaced and takes the stronger origin.
 */
/* clang-format off */
KEY(KEY_AGENT, "agent", KEY_WORD, PROJECT_SAME, AT(agent), .def = "command",
	.option = "--agent", .check = check_agent,
	.help = "the coding agent to run")
KEY(KEY_ENGINE, "engine", KEY_WORD, PROJECT_AUTO, AT(engine), .def = "auto",
	.option = "--engine", .choices = engines,
	.help = "what the sandbox is made with")
KEY(KEY_PROFILE, "profile", KEY_WORD, PROJECT_SAME, AT(profile), .def = "",
	.option = "--profile", .check = check_profile,
	.help = "the profile to load; empty for none")
KEY(KEY_IMAGE_NAME, "image.name", KEY_WORD, PROJECT_SAME, AT(image.name), .def = "",
	.option = "--image", .check = check_image,
	.help = "the image of a container; empty for ralph's own")
KEY(KEY_IMAGE_BASE, "image.base", KEY_WORD, PROJECT_SAME, AT(image.base), .def = "",
	.option = "--base", .check = check_image,
	.help = "the image that those of containers begin with; empty for the agent's")
KEY(KEY_ENV_SET, "env.set", KEY_LIST, PROJECT_NEW, AT(env.set), .option = "--env",
	.check = check_env_entry,
	.help = "variables set inside, as NAME=VALUE")
KEY(KEY_ENV_PASS, "env.pass", KEY_LIST, PROJECT_SAME, AT(env.pass), .option = "--pass",
	.check = check_env_name,
	.help = "names of host variables passed in")
KEY(KEY_ENV_REFUSE, "env.refuse", KEY_LIST, PROJECT_ANY, AT(env.refuse),
	.option = "--refuse", .check = check_refuse,
	.help = "names and values that may not be set or passed in")
KEY(KEY_IDENTITY, "identity", KEY_LIST, PROJECT_SAME, AT(identity),
	.option = "--identity", .check = check_identity,
	.help = "whose logins may be used; empty for anyone's")
KEY(KEY_MOUNTS, "mounts", KEY_MOUNT, PROJECT_SAME, AT(mounts), .option = "--mount",
	.help = "host paths shown inside")
KEY(KEY_PACKAGES, "packages", KEY_LIST, PROJECT_ANY, AT(packages), .option = "--package",
	.check = check_program,
	.help = "programs that must be found inside")
KEY(KEY_MASK, "workspace.mask", KEY_LIST, PROJECT_SAME, AT(workspace.mask),
	.option = "--mask", .check = check_mask,
	.help = "names of files that cannot be read inside")
KEY(KEY_QUARANTINE, "workspace.quarantine", KEY_CHOICE, PROJECT_LOWER,
	AT(workspace.quarantine), .def = "ask", .option = "--quarantine",
	.choices = quarantines,
	.help = "which new files that the host would run go to quarantine: ask, all, git or none")
KEY(KEY_TIER, "network.tier", KEY_CHOICE, PROJECT_LOWER, AT(network.tier),
	.def = "allowlist", .option = "--net", .choices = policy_tier_names,
	.help = "how much network there is")
KEY(KEY_ALLOW, "network.allow", KEY_LIST, PROJECT_SAME, AT(network.allow),
	.option = "--allow", .check = check_pattern,
	.help = "hosts and groups that may be reached")
KEY(KEY_DENY, "network.deny", KEY_LIST, PROJECT_ANY, AT(network.deny),
	.option = "--deny", .check = check_pattern,
	.help = "hosts that may not, whatever else allows them")
KEY(KEY_RULES, "network.rules", KEY_RULE, PROJECT_SAME, AT(network.rules),
	.option = "--rule",
	.help = "hosts whose requests are inspected one by one")
KEY(KEY_PROVIDER_TOOLS, "network.provider_tools", KEY_WORD, PROJECT_FEWER,
	AT(network.provider_tools), .def = "agent", .option = "--provider-tools",
	.check = check_provider_tools, .joined = true,
	.help = "tools that providers run for a request: agent, all, none or names")
KEY(KEY_KEEPALIVE, "network.keepalive", KEY_DURATION, PROJECT_SAME, AT(network.keepalive_ms),
	.def = "2m", .option = "--keepalive", .min = 1000, .max = DAY_MS, .zero = true,
	.help = "silence after which a tunnel is probed; 0 for never")
KEY(KEY_MEMORY, "limits.memory", KEY_SIZE, PROJECT_LOWER, AT(limits.memory), .def = "0",
	.option = "--memory", .min = 64 * MiB, .max = INT64_MAX, .zero = true,
	.help = "memory of a sandbox; 0 for a share of the machine")
KEY(KEY_PIDS, "limits.pids", KEY_UINT, PROJECT_LOWER, AT(limits.pids), .def = "4096",
	.option = "--pids", .min = 16, .max = 4194304,
	.help = "processes and threads")
KEY(KEY_CPU, "limits.cpu", KEY_UINT, PROJECT_LOWER0, AT(limits.cpu), .def = "0",
	.option = "--cpu", .min = 1, .max = 100000, .zero = true,
	.help = "percent of one core; 0 for all cores")
KEY(KEY_TMP, "limits.tmp", KEY_SIZE, PROJECT_LOWER, AT(limits.tmp), .def = "1G",
	.option = "--tmp", .min = 1 * MiB, .max = INT64_MAX,
	.help = "size of each temporary file system")
KEY(KEY_OPEN_FILES, "limits.open_files", KEY_UINT, PROJECT_LOWER, AT(limits.open_files),
	.def = "16384", .option = "--open-files", .min = 64, .max = 1048576,
	.help = "open files of one process")
KEY(KEY_TIMEOUT, "limits.timeout", KEY_DURATION, PROJECT_LOWER0, AT(limits.timeout_ms),
	.def = "0", .option = "--timeout", .min = 1, .max = 365 * DAY_MS, .zero = true,
	.help = "wall clock of a command; 0 for none")
KEY(KEY_BUDGET_USD, "budget.usd", KEY_MONEY, PROJECT_LOWER0, AT(budget.micro_usd),
	.def = "0", .option = "--budget", .min = 1, .max = 1000000000000000, .zero = true,
	.help = "US dollars a sandbox may spend at providers; 0 for any")
KEY(KEY_BUDGET_TOKENS, "budget.tokens", KEY_UINT, PROJECT_LOWER0, AT(budget.tokens),
	.def = "0", .option = "--budget-tokens", .min = 1, .max = INT64_MAX, .zero = true,
	.help = "tokens a sandbox may use at providers; 0 for any")
KEY(KEY_PRICES, "prices", KEY_LIST, PROJECT_SAME, AT(prices), .option = "--price",
	.check = check_price,
	.help = "what models cost, instead of what ralph knows")
KEY(KEY_INBOX_DIR, "inbox.dir", KEY_WORD, PROJECT_SAME, AT(inbox.dir), .def = "",
	.option = "--inbox", .check = check_inbox,
	.help = "where conversations are saved by themselves; off for nowhere")
KEY(KEY_INBOX_EVERY, "inbox.every", KEY_DURATION, PROJECT_SAME, AT(inbox.every_ms),
	.def = "5m", .option = "--inbox-every", .min = 1000, .max = 365 * DAY_MS, .zero = true,
	.help = "how often while a sandbox runs; 0 for at its end only")
KEY(KEY_PORTS_SHARED, "ports.shared", KEY_CHOICE, PROJECT_LOWER, AT(ports.shared), .def = "on",
	.choices = off_on,
	.help = "ports are published on 127.0.0.1 too, for one release: on or off")
KEY(KEY_LOOP_ITERATIONS, "loop.max_iterations", KEY_UINT, PROJECT_LOWER0,
	AT(loop.max_iterations), .def = "10", .option = "--max-iterations", .min = 1,
	.max = 1000000, .zero = true, .zero_word = "unlimited",
	.help = "iterations of a loop, or unlimited")
KEY(KEY_LOOP_COST, "loop.max_cost", KEY_MONEY, PROJECT_LOWER0, AT(loop.micro_usd),
	.def = "0", .option = "--max-cost", .min = 1, .max = 1000000000000000, .zero = true,
	.help = "US dollars a loop may spend; 0 for any")
KEY(KEY_LOOP_DURATION, "loop.max_duration", KEY_DURATION, PROJECT_LOWER0,
	AT(loop.duration_ms), .def = "0", .option = "--max-duration", .min = 1,
	.max = 365 * DAY_MS, .zero = true,
	.help = "how long a loop may work; 0 for any time")
KEY(KEY_LOOP_OUTAGE, "loop.max_outage", KEY_DURATION, PROJECT_LOWER0, AT(loop.outage_ms),
	.def = "4h", .option = "--max-outage", .min = 1, .max = 365 * DAY_MS, .zero = true,
	.help = "how long a loop waits for a provider that is not available; 0 for any time")
KEY(KEY_LOOP_STUCK, "loop.max_stuck", KEY_UINT, PROJECT_LOWER, AT(loop.max_stuck),
	.def = "3", .option = "--max-stuck", .min = 1, .max = 1000,
	.help = "iterations without progress before a task is left")
KEY(KEY_LOOP_ATTEMPTS, "loop.max_attempts", KEY_UINT, PROJECT_LOWER,
	AT(loop.max_attempts), .def = "5", .option = "--max-attempts", .min = 1, .max = 1000,
	.help = "iterations that one task may take")
KEY(KEY_LOOP_ITERATION_COST, "loop.iteration_cost", KEY_MONEY, PROJECT_LOWER0,
	AT(loop.iteration_micro_usd), .def = "0", .option = "--iteration-cost", .min = 1,
	.max = 1000000000000000, .zero = true,
	.help = "US dollars one iteration may spend; 0 for any")
KEY(KEY_LOOP_ITERATION_TIME, "loop.iteration_time", KEY_DURATION, PROJECT_LOWER0,
	AT(loop.iteration_ms), .def = "1h", .option = "--iteration-time", .min = 1,
	.max = 365 * DAY_MS, .zero = true,
	.help = "how long one iteration may take; 0 for any time")
KEY(KEY_LOOP_IDLE_TIME, "loop.idle_time", KEY_DURATION, PROJECT_LOWER0, AT(loop.idle_ms),
	.def = "15m", .option = "--idle-time", .min = 1, .max = 365 * DAY_MS, .zero = true,
	.help = "how long an agent may say nothing; 0 for any time")
KEY(KEY_LOOP_GRACE, "loop.grace", KEY_DURATION, PROJECT_LOWER, AT(loop.grace_ms),
	.def = "10s", .option = "--grace", .min = 1, .max = DAY_MS,
	.help = "how long an agent may take to end after its result")
KEY(KEY_LOOP_VERIFY, "loop.verify", KEY_LIST, PROJECT_ANY, AT(loop.verify),
	.option = "--verify", .check = check_command,
	.help = "commands that must succeed before a task is done")
KEY(KEY_LOOP_MAY_CHANGE, "loop.may_change", KEY_LIST, PROJECT_SAME, AT(loop.may_change),
	.check = check_may_change,
	.help = "protected files that an agent of a loop may change")
KEY(KEY_LOOP_VERIFY_TIME, "loop.verify_time", KEY_DURATION, PROJECT_LOWER,
	AT(loop.verify_ms), .def = "10m", .option = "--verify-time", .min = 1,
	.max = 365 * DAY_MS,
	.help = "how long one such command may take")
KEY(KEY_LOOP_SETUP, "loop.setup", KEY_LIST, PROJECT_ANY, AT(loop.setup),
	.option = "--setup", .check = check_command,
	.help = "commands that prepare a sandbox, once, and again when their inputs changed")
KEY(KEY_LOOP_MODEL, "loop.model", KEY_WORD, PROJECT_SAME, AT(loop.model), .def = "",
	.option = "--model", .check = check_model,
	.help = "the agent's model; empty for its own choice")
KEY(KEY_LOOP_FALLBACK, "loop.fallback", KEY_WORD, PROJECT_SAME, AT(loop.fallback), .def = "",
	.option = "--fallback", .check = check_fallback,
	.help = "agents that go on when the provider is not available; empty for none")
KEY(KEY_LOOP_FALLBACK_AFTER, "loop.fallback_after", KEY_DURATION, PROJECT_SAME,
	AT(loop.fallback_ms), .def = "15m", .option = "--fallback-after", .min = 1,
	.max = 365 * DAY_MS,
	.help = "how long a limit or an outage is waited for before the next agent goes on")
KEY(KEY_LOOP_RESERVE, "loop.weekly_reserve", KEY_UINT, PROJECT_ANY, AT(loop.reserve),
	.def = "0%", .option = "--weekly-reserve", .min = 1, .max = 100, .zero = true,
	.unit = "%",
	.help = "how much of the provider's weekly limit is left alone")
KEY(KEY_LOOP_SUBMODULES, "loop.submodules", KEY_CHOICE, PROJECT_LOWER, AT(loop.submodules),
	.def = "refuse", .option = "--submodules", .choices = submodules,
	.help = "whether an agent's commits may move a submodule: refuse or take")
KEY(KEY_LOOP_NOTIFY, "loop.notify", KEY_WORD, PROJECT_SAME, AT(loop.notify), .def = "",
	.option = "--notify", .check = check_notify,
	.help = "how you are told about a loop: a command, webhook:URL or desktop:")
KEY(KEY_LOOP_REVIEW, "loop.review", KEY_WORD, PROJECT_SAME, AT(loop.review), .def = "",
	.option = "--review", .check = check_reviewer,
	.help = "the agent that reviews each task before it is done; empty for none")
KEY(KEY_LOOP_REVIEW_MODEL, "loop.review_model", KEY_WORD, PROJECT_SAME, AT(loop.review_model),
	.def = "", .option = "--review-model", .check = check_model,
	.help = "the reviewer's model; empty for its own choice")
KEY(KEY_LOOP_REVIEW_CAP, "loop.review_cap", KEY_UINT, PROJECT_LOWER, AT(loop.review_cap),
	.def = "5", .option = "--review-cap", .min = 1, .max = 1000,
	.help = "how often a reviewer may ask for changes to a task before you are asked")
KEY(KEY_FLEET_PLACE, "fleet.place", KEY_WORD, PROJECT_NEVER, AT(fleet.place), .def = "",
	.option = "--place", .check = check_place,
	.help = "the placement for tasks of --parallel; empty for this machine")
KEY(KEY_FLEET_LEASE, "fleet.lease", KEY_DURATION, PROJECT_NEVER, AT(fleet.lease_ms),
	.def = "1m", .option = "--lease", .min = 5000, .max = DAY_MS,
	.help = "silence after which a worker elsewhere is given up")
KEY(KEY_FLEET_PASS, "fleet.pass", KEY_LIST, PROJECT_NEVER, AT(fleet.pass),
	.option = "--place-pass", .check = check_env_name,
	.help = "further variables that the commands of placements get")
KEY(KEY_FLEET_PLACES, "fleet.places", KEY_PLACE, PROJECT_NEVER, AT(fleet.places),
	.option = "--places",
	.help = "placements: commands that start workers on other machines")
#define ENDPOINT(x, title)                                                                         \
	KEY(KEY_PROVIDER_##x, "providers." #x, KEY_PROVIDER, PROJECT_SAME, AT(providers.x),        \
	    .option = "--provider",                                                                \
	    .help = "where " title " is reached instead of its public address")
#include "config/providers.def"
KEY(KEY_CREDENTIALS, "credentials", KEY_CREDENTIAL, PROJECT_SAME, AT(credentials),
	.option = "--credential",
	.help = "how sandboxes come by credentials, and further ones")
KEY(KEY_AUDIT, "audit", KEY_CHOICE, PROJECT_NEVER, AT(audit), .def = "changes",
	.option = "--audit", .choices = audits,
	.help = "what is shown before a start on a terminal: changes, full or off")
KEY(KEY_CLIPBOARD, "terminal.clipboard", KEY_CHOICE, PROJECT_LOWER, AT(terminal.clipboard),
	.def = "off", .option = "--clipboard", .choices = clipboards,
	.help = "whether programs inside may write your clipboard: off or write")
KEY(KEY_NOTIFY, "terminal.notify", KEY_CHOICE, PROJECT_LOWER, AT(terminal.notify), .def = "off",
	.option = "--terminal-notify", .choices = off_on,
	.help = "whether they may show notifications and progress: off or on")
KEY(KEY_LOG_LEVEL, "log.level", KEY_CHOICE, PROJECT_SAME, AT(log.level), .def = "info",
	.option = "--log-level", .choices = levels,
	.help = "the least important message that is shown")
KEY(KEY_LOG_FORMAT, "log.format", KEY_CHOICE, PROJECT_SAME, AT(log.format),
	.def = "text", .option = "--log-format", .choices = formats,
	.help = "text or JSON lines")
/* clang-format on */
