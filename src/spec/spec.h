#pragma once

/*
 * ROOM: spec
 *
 * The one description of a sandbox. Data and its JSON; nothing here starts, mounts or opens
 * anything.
 */

#include "base/err.h"
#include "base/json/json.h"
#include "base/strv.h"
#include "policy/rule.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/*
 * The whole truth about one sandbox. The audit screen, --dry-run, an engine's argument list,
 * `ralph inspect --json`, spec.json and the self-test are all derived from this and from nothing
 * else: what is shown is what is run. Pure data: nothing here touches the system.
 */

/* The origin of a variable: shown as [~], [>], [+]. */
enum spec_origin {
	SPEC_SET,    /* by ralph */
	SPEC_PASSED, /* from the host, by the allowlist */
	SPEC_USER,   /* by the user: flag, profile, configuration */
	SPEC_ORIGIN_N,
};

/*
 * JSON never holds a value that came from the user or from the host's environment: such a value may
 * be a secret, and the record, `inspect` and reports are JSON. It holds SPEC_HIDDEN instead, and
 * spec_values() hands the values from the command line to the supervisor.
 */
struct spec_env {
	char *name, *value;
	enum spec_origin origin;
	char *source; /* "default", "host", "--env", a file … */
	/* NULL, or the credential whose phantom stands in value where SPEC_PHANTOM does. The
	 * phantom is made when the sandbox starts and is known to its supervisor and gateway alone.
	 */
	char *credential;
};

#define SPEC_PHANTOM "{phantom}"
#define SPEC_HIDDEN "***"

enum spec_mount_kind {
	SPEC_BIND_RO,	/* source bound at target, read-only */
	SPEC_BIND_RW,	/* source bound at target */
	SPEC_TMPFS,	/* empty, size and mode below */
	SPEC_PROC,	/* a new /proc of the sandbox's own pid namespace */
	SPEC_DEV,	/* a minimal /dev with its own devpts */
	SPEC_SYMLINK,	/* target is a link to source */
	SPEC_HOME_LINK, /* the same, in the sandbox's home, where it stays */
	SPEC_HOME_FILE, /* a file in the sandbox's home with the content `data`, anew at each start
			 */
	SPEC_HOME_SEED, /* the same, made where there is none and then the sandbox's own */
	SPEC_FILE,	/* target is a read-only file with the content `data` */
	SPEC_COPY, /* target is a read-only copy of the host's file `source`, as it is at start */
	SPEC_DIR,  /* an empty directory of the root */
	SPEC_MASK, /* a file is covered by nothing readable, a directory by an empty one */
	SPEC_RO,   /* target, as the mounts before it left it, becomes read-only */
	/* A file in memory of the sandbox's own, empty unless a command runs: then it holds the host's
	 * login file `source`. It covers an empty file of the home. */
	SPEC_LOGIN,
	/* Of what the workspace holds at start: none of them is a setting. */
	SPEC_PIN,     /* source bound at target, which then cannot be renamed or removed */
	SPEC_PROTECT, /* the same, read-only */
	SPEC_HIDE,    /* a file of the workspace that cannot be read */
	/* Of container engines. */
	SPEC_IMAGE,  /* the image's content, read-only */
	SPEC_VOLUME, /* source, which lies in the volume, at target */
	/* Of engines that show the workspace as it is; of the tree as well. */
	SPEC_PUT_BACK, /* source can be written, and is put back after each command */
	SPEC_OWN,      /* in one of those: left as it is */
	SPEC_MOUNT_N,
};

struct spec_mount {
	enum spec_mount_kind kind;
	char *source; /* host path, or a link's text; NULL where there is none */
	char *target;
	char *data;    /* SPEC_FILE */
	char *reason;  /* for people: why it is there */
	uint64_t size; /* SPEC_TMPFS */
	bool of_tree; /* follows from what lies in the workspace; with SPEC_PIN … SPEC_HIDE always
		       */
	bool asked;   /* the user asks for it: the setting mounts */
	uint32_t mode; /* permissions of a tmpfs, directory, file; S_IFDIR for a masked directory */
};

/* The directories in which a file that the host would run may appear while the sandbox lives. */
enum spec_watch_kind {
	SPEC_WATCH_TREE,     /* the top of a writable tree */
	SPEC_WATCH_GIT,	     /* a git directory */
	SPEC_WATCH_WORKTREE, /* the git directory of a linked worktree */
	SPEC_WATCH_PATH,     /* a directory of the user's PATH */
	SPEC_WATCH_N,
};

struct spec_watch {
	enum spec_watch_kind kind;
	char *dir; /* on the host */
};

/* ralph shows each new file that the host would run, and moves these files to quarantine. */
enum spec_quarantine {
	SPEC_QUARANTINE_ALL, /* all of them */
	SPEC_QUARANTINE_ASK, /* all of them when everything has ended; a person may take them back */
	SPEC_QUARANTINE_GIT, /* the files in git directories */
	SPEC_QUARANTINE_NONE,
	SPEC_QUARANTINE_N,
};

/* How a sandbox comes by a credential. */
enum spec_way {
	SPEC_WAY_PHANTOM, /* it has a phantom; the gateway sets the real one on the way out */
	SPEC_WAY_MOUNT,	  /* the host's own file, bound read-write */
	SPEC_WAY_PIPE,	  /* in memory of the sandbox (SPEC_LOGIN) while a command runs */
	SPEC_WAY_ENV,	  /* as variables of each command */
	SPEC_WAY_N,
};

/* A credential by reference: never a value. */
struct spec_credential {
	char *name;	/* its name in rules and endpoints: "anthropic", "github" */
	char *provider; /* the row of cred/ that knows how: "anthropic-oauth" … */
	enum spec_way way;
	char *source;	/* on the host: "file:PATH", "env:NAME", "store:NAME", "command:…" */
	char *origin;	/* "https://api.anthropic.com": the only place it is sent to */
	char *ca_file;	/* trust for that origin alone; NULL: as for every other host */
	char *endpoint; /* http://proxy/_ralph/ENDPOINT/ leads to origin; NULL: only rules use it */
	char *phantom;	/* how its phantom begins, as clients expect it: "sk-ant-oat01-" */
	bool private;	/* the user set the origin: it may lie on a private address */
	struct strv
		requests;    /* requests that the endpoint allows: rows, see policy/request-row.h */
	struct strv options; /* the provider's own, NAME=VALUE: "region=us-east-1" */
	uint64_t expires_ms; /* as seen when the spec was made; 0: not known, or never */
};

/* Limits on the cost of providers; 0: no limit. */
struct spec_budget {
	uint64_t micro_usd, tokens;
};

/* A limit of each process of a command. */
#define SPEC_RLIMITS_MAX 8
struct spec_rlimit {
	int resource; /* RLIMIT_… */
	uint64_t value;
};

/* The kind of cgroup that bounds the sandbox as a whole, and the directories it is made in. */
enum spec_cgroup_kind {
	SPEC_CGROUP_NONE,
	SPEC_CGROUP_V1,
	SPEC_CGROUP_V2,
	SPEC_CGROUP_SCOPE,
	SPEC_CGROUP_N
};

#define SPEC_CGROUPS_MAX 3
struct spec_cgroup {
	char *dir;
	uint32_t controllers;
};

struct spec_limits {
	uint64_t memory, pids, cpu, tmp, open_files, timeout_ms;
	char *method; /* "cgroup v2 …", "cgroup v1", "rlimits": what will enforce them */
	struct spec_rlimit rlimits[SPEC_RLIMITS_MAX];
	size_t n_rlimits;
	enum spec_cgroup_kind cgroup;
	struct spec_cgroup cgroups[SPEC_CGROUPS_MAX];
	size_t n_cgroups;
	uint32_t controllers; /* enum cgroup_controllers that bound the sandbox as a whole */
};

/* Whose home a sandbox has. */
enum spec_home {
	SPEC_HOME_PROJECT, /* the project's, shared with its other sandboxes */
	SPEC_HOME_WORKER,  /* its own, empty at first: no session before wrote into it */
	SPEC_HOME_ONCE,	   /* its own, and gone with it */
	SPEC_HOME_N,
};

/* Settings of container engines; all NULL for other engines. */
struct spec_container {
	char *image;	  /* its content is the root filesystem */
	char *line;	  /* a socket on the host, at which the guest meets its supervisor */
	char *volume;	  /* its name; NULL: none */
	char *volume_dir; /* its directory on the host */
	bool as_root;	  /* root of a container is this user outside of it */
	/* Of an engine on another machine, or in a virtual one; NULL: it is of this kernel. */
	char *remote_listen; /* address of this machine, where the gateway listens for the sandbox
			      */
	char *remote_dial;   /* how containers there call that address */
};

/*
 * The sandbox's private git directory (docs/internals/private-git.md): a directory of its record,
 * made from the user's repository. Its mounts are rows of the spec like others.
 */
struct spec_git {
	char *private;		   /* on the host; NULL: the sandbox has none */
	char *at;		   /* inside */
	char *covers;		   /* of the workspace; NULL: what it stands for is not in there */
	char *root, *dir, *common; /* of the repository; NULL: there is none, and it begins empty */
	struct strv named;	   /* programs that its settings name, see guard_named_list() */
};

/* Of an engine whose sandboxes have a kernel of their own; NULL for others. */
struct spec_kernel {
	char *program; /* on the host: runs that kernel */
	char *version; /* of all that it consists of: what is known of one holds for no other */
};

struct sandbox_spec {
	char *name;
	char *engine;
	char *agent;
	struct strv agents; /* others whose settings and logins it has too, by name */
	char *workspace;    /* real path; the same inside */
	char *branch;	    /* NULL: not a repository, or no branch */
	char *clone; /* the agent's own clone, which stands for the workspace inside; NULL: none */
	char *instance; /* hex SHA-256: the instance key */
	char *home;	/* path of HOME inside; record/home.h says where its content is */
	char *project;	/* whose home it is: the git common directory, else the workspace; NULL */
	char *home_key; /* of the project's home; NULL: the engine keeps the home, or 0.2 did */
	enum spec_home home_of;
	bool checks; /* of a loop: a home and a git directory that no agent wrote, for this start alone */
	char *loop; /* key of the loop that it works for, one for all its workers; NULL: none */
	char *place; /* of a record that stands for a worker on another machine; NULL: it is a sandbox */
	char *hostname;
	char *template; /* image that an engine without a guest begins with; NULL: its own choice */
	char *inbox;	/* directory for automatically saved conversations; NULL: none */
	uint64_t inbox_every_ms; /* 0: only when the sandbox ends */
	uint64_t keepalive_ms;	 /* of silence before a tunnel is probed; 0: never */
	uint32_t uid, gid;	 /* shown inside */
	uint16_t port; /* of the host's loopback, for the gateway's endpoints; 0: they are inside */
	struct spec_env *env;
	size_t n_env;
	struct strv env_refuse;	   /* patterns of variables that no command may be given */
	struct spec_mount *mounts; /* in order: later ones lie on top */
	size_t n_mounts;
	struct spec_watch *watches;
	size_t n_watches;
	enum spec_quarantine quarantine;
	struct net_policy net;
	struct spec_credential *credentials;
	size_t n_credentials;
	char *cred_line; /* socket of a worker, which has questions about them answered at home; NULL:
			  * they are this machine's */
	struct spec_budget budget;
	struct strv provider_tools; /* of providers, that requests may use; "all": any */
	struct strv may_change;	    /* protected paths of the workspace that a loop may change */
	struct strv mask;	    /* the user's own patterns of names to hide */
	struct strv prices;	    /* the user's own: MODEL=INPUT/OUTPUT[/READ/WRITE] */
	struct spec_limits limits;
	struct spec_container container;
	struct spec_git git;
	struct spec_kernel kernel;
};

struct sandbox_spec *spec_new(void);
struct sandbox_spec *spec_free(struct sandbox_spec *s);

/* Is it laid into the sandbox's home before the start, rather than mounted? */
static inline bool spec_is_of_home(enum spec_mount_kind k)
{
	return k == SPEC_HOME_LINK || k == SPEC_HOME_FILE || k == SPEC_HOME_SEED;
}

/* Does it show a directory of the host's, to be written? */
static inline bool spec_is_writable(enum spec_mount_kind k)
{
	return k == SPEC_BIND_RW || k == SPEC_VOLUME;
}

static inline void spec_freep(struct sandbox_spec **s)
{
	(void)spec_free(*s);
}

/* Adding to it; strings are copied, NULL stays NULL. A variable that is there is replaced. */
void spec_env_set(struct sandbox_spec *s, const char *name, const char *value,
		  enum spec_origin origin, const char *source);
const struct spec_env *spec_env_find(const struct sandbox_spec *s, const char *name);
struct spec_mount *spec_mount_add(struct sandbox_spec *s, enum spec_mount_kind kind,
				  const char *source, const char *target, const char *reason);
void spec_mount_done(struct spec_mount *m); /* frees what it holds */
/* Is this path of the host the user's git directory, which the private one covers inside? */
bool spec_git_covers(const struct sandbox_spec *s, const char *path);
void spec_watch_add(struct sandbox_spec *s, enum spec_watch_kind kind, const char *dir);
struct spec_credential *spec_credential_add(struct sandbox_spec *s, const char *name,
					    const char *provider);
const struct spec_credential *spec_credential_find(const struct sandbox_spec *s, const char *name);
/* A variable whose value holds SPEC_PHANTOM, for the phantom of this credential. */
void spec_env_phantom(struct sandbox_spec *s, const char *name, const char *value,
		      const char *credential);
/* The environment of a command as NAME=VALUE, but for those that hold a phantom: they are the
 * supervisor's to add. */
/* A protected file of the workspace, by its path on the host, that a loop may change. */
bool spec_may_change(const struct sandbox_spec *s, const char *path);
bool spec_may_change_below(const struct sandbox_spec *s, const char *dir); /* something in it */
void spec_environ(const struct sandbox_spec *s, struct strv *out);

/* The values that JSON does not hold, as NAME=VALUE. Of a spec that came from JSON,
 * spec_take_values() is an error unless it gets each of them. */
void spec_values(const struct sandbox_spec *s, struct strv *out);
int spec_take_values(struct sandbox_spec *s, const struct strv *values, struct err *err);

/* The checks that hold for every spec, whoever made it: absolute normal paths, names without '=',
 * sane limits. An engine may rely on them. */
int spec_check(const struct sandbox_spec *s, struct err *err);

json_t *spec_to_json(const struct sandbox_spec *s);
int spec_from_json(const json_t *j, struct sandbox_spec **ret, struct err *err);
/* The credentials alone, as {"credentials": […]}: what the credential helper is given. */
json_t *spec_credentials_to_json(const struct sandbox_spec *s);
/*
 * May a command that asks for `want` run in a sandbox that lives as `live`? NULL when it may, else
 * the first difference, in words. Everything wanted must be there. More that is read-only, as the
 * tools of another command are, is no difference. Other mounts and hosts that the live sandbox has
 * beyond those wanted are a difference where `beyond` is NULL, else they are named there. Variables
 * and time limits belong to commands, not to the sandbox.
 */
char *spec_difference(const struct sandbox_spec *live, const struct sandbox_spec *want,
		      struct strv *beyond);

/*
 * What changed for the user since `agreed`: a line for each change, in words. Everything counts that
 * lets the sandbox read, write, reach or spend more or less, and each variable of the user's. These do
 * not count: the content of the workspace, the programs of the host that a command needs, variables
 * that ralph sets, times.
 */
void spec_changes(const struct sandbox_spec *agreed, const struct sandbox_spec *now,
		  struct strv *out);

char *spec_agents_text(const struct sandbox_spec *s);	  /* "claude, codex", or its one agent */
char *spec_tools_text(const struct sandbox_spec *s);	  /* "web_search, mcp_servers", "none" */
const char *spec_origin_mark(enum spec_origin o);	  /* "[~]" … */
const char *spec_mount_kind_name(enum spec_mount_kind k); /* "ro", "rw", "tmpfs" … */
const char *spec_way_name(enum spec_way w);		  /* "phantom" … */
