#pragma once

/*
 * ROOM: compose
 *
 * A request, the settings and this machine become a spec. Looks at the host and changes nothing;
 * what is not in the spec does not reach a sandbox.
 */

#include "agent/agent.h"
#include "base/err.h"
#include "base/json/json.h"
#include "base/strv.h"
#include "config/config.h"
#include "compose/no-guest.h"
#include "record/places.h"
#include "compose/tools.h"
#include "spec/spec.h"

/* From what the user asked for to the spec of a sandbox. Looks at the host, changes nothing. */
struct image_step;
struct gitdir;

struct build_input {
	const struct places *places;
	const struct config *config;
	const char *path;     /* workspace as the user wrote it; NULL: the current directory */
	const char *name;     /* NULL: made from agent, branch and directory */
	const char *argv0;    /* the command, for finding tools that live in $HOME; NULL: none */
	char *const *environ; /* the host's */
	const struct strv *agents_own; /* paths in the workspace that stay writable; NULL: none */
	const struct strv *may_change; /* see protect_may_change(); NULL: none */
	bool review; /* a reviewer: an empty directory in place of the workspace, and no network but
		      * the agent's provider */
	bool checks; /* of a loop: what an agent can have written is not there, but for the tree */
	bool clone;  /* the agent works in a clone of its own */
	enum spec_home home_of; /* whose home it has */
	bool direct;		/* no sandbox at all; never by a setting */
	bool every_agent; /* the logins and settings of every agent found, unless one was named */
	bool stays;	  /* commands that are not known yet follow: their programs come along */
	bool run_agent;	  /* argv0 is the agent's program: without it there is nothing to do */
	bool asks;	  /* an agent works there, which may ask a person */
	const char *loop; /* key of the loop that it works for; NULL: none */
	/* Of a task from another machine: rows as spec_credentials_to_json() has them, without a source,
	 * in place of the logins of this machine, and who answers for them. NULL: there are none. */
	const json_t *credentials;
	const char *cred_line;
	const json_t *hooks; /* that must hold, as the agent's settings have them; NULL: none */
	/* An image that a container needs is built where it is missing; image_told may be NULL. */
	bool make_image;
	void (*image_told)(void *arg, const struct image_step *step);
	void *image_arg;
	/* Told as soon as it is known whose sandbox it is and what bounds it; most of the work is
	 * still to come. May be NULL. */
	void (*begun)(void *arg, const struct places *p, const struct sandbox_spec *so_far);
	void *arg;
};

struct build {
	struct sandbox_spec *spec;
	char *argv0;  /* as it is to be run inside; NULL when none was given */
	char *cwd;    /* of a command: the current directory if it is in the workspace */
	char *notice; /* something to tell the user; may be NULL */
};

/* The program by which an agent asks, and the variable that names it. */
#define ASK_INSIDE "/run/ralph/ralph-ask"
#define ASK_ENV "RALPH_ASK"

/* Something more to tell the user. */
void build_notice(char **notice, const char *fmt, ...) printf_like(2, 3);

int build_spec(const struct build_input *in, struct build *ret, struct err *err);
void build_done(struct build *b);

/* Prints exactly what the engine would do with this spec, for --dry-run. */
int build_print_plan(const struct sandbox_spec *spec, FILE *out, struct err *err);
/*
 * Only whose sandbox it is: workspace, branch, instance, and the name unless in->config is NULL.
 * With build_net() behind it this is the network that the next sandbox here would have.
 */
int build_identity(const struct build_input *in, struct sandbox_spec *s, struct err *err);

/* build-workspace.c: the workspace, and what in it is not the agent's to write or to read */
int build_workspace(struct sandbox_spec *s, const struct build_input *in, const struct gitdir *git,
		    struct err *err);
/* build-git.c: the sandbox's private git directory, behind the workspace's own mount */
int build_git(struct sandbox_spec *s, const struct build_input *in, const struct gitdir *git,
	      struct err *err);
/* build-clone.c: instead of the workspace, a clone in the sandbox's record; the repository is
 * read-only */
#define CLONE_ORIGIN "/run/ralph/origin.git"
int build_clone(struct sandbox_spec *s, const struct build_input *in, const struct gitdir *git,
		struct err *err);
/* *ret is the command that makes the clone inside; it runs when the clone is empty. */
void build_clone_command(const struct sandbox_spec *s, struct strv *ret);
bool build_clone_is_made(const struct sandbox_spec *s);
/* The programs that the user's settings of git name in this repository: guard_named_list(). */
int build_named(const struct places *places, const struct gitdir *git, struct strv *ret,
		struct err *err);
/* Protects a directory that is writable inside as build_workspace() does; git may be NULL. */
int build_guard(struct sandbox_spec *s, const struct build_input *in, const struct gitdir *git,
		const char *source, const char *target, struct err *err);
/* Directories of the user's PATH that can be written inside. */
void build_watch_path(struct sandbox_spec *s, const char *path);
/* build-root.c: the file system around the workspace */
void build_root(struct sandbox_spec *s);
/* build-container.c: the image, and what its engine says of it and of this machine. build_image():
 * the user's choice, else the one that is made from the project's Dockerfile or ralph's own. */
int build_image(const struct sandbox_spec *s, const struct build_input *in, char **ret,
		struct err *err);
int build_container(struct sandbox_spec *s, const struct build_input *in, struct err *err);
/* The agent's memory, in the project's directory of the login's own volume. */
void build_volume(struct sandbox_spec *s, const struct build_input *in, const struct agent *a);
/* PATH inside: the image's own. */
char *build_image_path(const struct sandbox_spec *s);
/* build-net.c: rules, and what programs inside need to know of the gateway */
int build_net(struct sandbox_spec *s, const struct build_input *in, struct err *err);
/* build-browser.c: after build_net(). */
void build_browsers(struct sandbox_spec *s, const struct places *p);
/* build-cred.c: the credentials of the agent's services and of the user's rules, by reference;
 * *notice gets what the user should know of them, behind what is there */
int build_cred(struct sandbox_spec *s, const struct build_input *in, const struct agent *a,
	       char **notice, struct err *err);
/* build-agent.c: what the agent's row asks for; its credentials are in the spec already */
int build_agent_find(const struct build_input *in, const struct agent **ret, struct err *err);
int build_agent_net(struct sandbox_spec *s, const struct build_input *in, struct err *err);
int build_agent(struct sandbox_spec *s, const struct build_input *in, const struct agent *a,
		struct err *err);
/* Can the agent that was asked for work in this sandbox at all? */
int build_agent_check(const struct sandbox_spec *s, const struct build_input *in,
		      const struct agent *a, const struct tools *t, struct err *err);
/*
 * build-agents.c: s->agents, whose settings and logins the sandbox has besides those of its own agent.
 * A live sandbox of that name keeps what it has. True: the programs of the user's PATH are to be
 * brought, for commands to come.
 */
bool build_agents(struct sandbox_spec *s, const struct build_input *in, char **notice);
/* The i-th of them; NULL behind the last. */
const struct agent *build_agent_at(const struct sandbox_spec *s, size_t i);
/* The host's PATH, longer where it lacks the directory of an agent's program; NULL: empty. */
char *build_search_path(const struct sandbox_spec *s, const struct agent *a, const char *home);
void build_programs(const struct sandbox_spec *s, struct strv *ret);
/* build-no-guest.c: all of it, for an engine without a guest */
int build_no_guest(struct sandbox_spec *s, const struct build_input *in, const struct gitdir *git,
		   const struct agent *a, char **notice, struct err *err);
/* The user's own mounts. */
int build_mounts(struct sandbox_spec *s, const struct build_input *in, struct err *err);
/* build-env.c; path NULL: inside is not made of the host's files */
int build_env(struct sandbox_spec *s, const struct build_input *in, const char *path,
	      struct err *err);
/* CLAUDE_CODE_USE_BEDROCK and what RALPH_DOCKER_ENV lists, for engines with images of their own. */
int build_env_forwarded(struct sandbox_spec *s, const struct build_input *in, struct err *err);
