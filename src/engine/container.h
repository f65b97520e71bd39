#pragma once

#include "base/strv.h"
#include "engine/engine.h"
#include "wire/root.h"

/* Shared by the parts of the container engines; container.c has the theory of operation. */

/* What docker and podman say differently. */
struct container_dialect {
	const char *program;
	const char *const *run; /* options of `run`, besides those of both */
	bool raises; /* what is not limited it raises as far as there is a number, and may not */
	const char *const *info; /* arguments that give a JSON object about the engine */
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

	/* from start() on */
	char *program; /* its path */
	bool started;
	pid_t init_pid; /* the guest, seen from here */
	int init_pidfd;
};

static inline struct container *container_of(struct engine *e)
{
	return (struct container *)e;
}

/* container-plan.c */
int container_plan(struct engine *e, const struct sandbox_spec *spec, struct err *err);
void container_dump(const struct engine *e, FILE *out);

/* container-ask.c */
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
