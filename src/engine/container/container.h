#pragma once

#include "base/proc.h"
#include "base/strv.h"
#include "engine/freeze.h"
#include "engine/ops.h"
#include "wire/root-proto.h"

/* Shared by the parts of the container engines; container.c has the theory of operation. */

/* Words and behaviour in which docker and podman differ. */
struct container_dialect {
	const char *program;
	const char *const *run; /* options of `run`, besides those of both */
	bool raises; /* what is not limited it raises as far as there is a number, and may not */
	const char *const *info;    /* arguments that give a JSON object about the engine */
	const char *use, *remedy;   /* of its row of `ralph doctor`, */
	const char *const *version; /* and the arguments that ask for what stands there */
};
extern const struct container_dialect container_docker, container_podman;

struct container {
	struct engine base;
	const struct container_dialect *dialect;
	const struct sandbox_spec *spec;
	char *name;
	struct strv volume; /* arguments of the program that make the volume; may be none */
	struct strv args;   /* and those that run the container */
	struct guest_root root;
	struct strv sources; /* what the root's list names, where it is called otherwise there */

	/* Of an engine elsewhere, see container-remote.c; all empty for one of this machine. */
	char *remote_name;	   /* of the outpost's container, and of the volume of both */
	const char *guest;	   /* our own program */
	struct strv remote_volume; /* arguments that make the volume, */
	struct strv remote_args;   /* the outpost, */
	struct strv remote_check;  /* and look whether it has our files, but for which */
	struct child remote;	   /* this machine's end of the line */

	/* from start() on */
	char *program; /* its path */
	bool started, paused;
	pid_t init_pid; /* the guest, seen from here */
	int init_pidfd;
	struct freeze freeze;
};

static inline struct container *container_of(struct engine *e)
{
	return (struct container *)e;
}

/* container-plan.c */
int container_plan(struct engine *e, const struct sandbox_spec *spec, struct err *err);
void container_dump(const struct engine *e, FILE *out);

/* Is this row of the spec bound from the host by itself, and not seen through another row? */
bool container_binds(const struct sandbox_spec *spec, size_t row);
void container_mount(struct strv *args, const char *type, const char *source, const char *target,
		     bool readonly);

/* Until the engine no longer knows the name. */
int container_remove(const char *program, const char *name, struct err *err);

/* container-remote.c: an engine on another machine */
static inline bool container_is_remote(const struct sandbox_spec *spec)
{
	return spec->container.remote_dial != NULL;
}
void container_plan_remote(struct container *c, const struct sandbox_spec *spec);
/* Up to where the guest is met; *ret is the line to it. */
int container_start_remote(struct container *c, int *ret, struct err *err);
int container_remove_remote(const char *program, const char *name, struct err *err);

/* container-where.c: how containers of an engine elsewhere reach this machine. endpoint: as the
 * engine's program names it, "tcp://…", "ssh://…", "unix://…". */
bool container_endpoint_is_remote(const char *endpoint);
int container_where(const char *endpoint, bool desktop, char **ret_listen, char **ret_dial,
		    struct err *err);

/* container-ask.c */
int container_doctor(const struct container_dialect *d, struct doctor_rows *ret, bool *ret_usable);
int container_probe(const struct container_dialect *d, struct err *err);
int container_ask(const struct container_dialect *d, struct sandbox_spec *spec, struct err *err);

/* container-cli.c: the program itself */
int container_find(const struct container_dialect *d, char **ret, struct err *err);
/*
 * Runs it with these arguments: 0 and what it wrote to stdout (the caller's; ret_out may be NULL),
 * or an error that ends with the first line of its complaint.
 */
int container_call(const char *program, char *const *args, int timeout_ms, char **ret_out,
		   struct err *err);
