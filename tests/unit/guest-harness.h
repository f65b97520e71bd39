#pragma once

#include "wire/guest-proto.h"

#include <stdbool.h>
#include <sys/types.h>

/*
 * A sandbox for tests: plays the engine (bwrap around the guest) and the supervisor. Every wait
 * has a deadline; a test that meets it fails.
 */
#define HARNESS_PENDING_MAX 1024

struct harness_frame {
	enum wire_type type;
	uint32_t id, value;
	int fd;
	char text[512];
};

struct harness {
	pid_t bwrap;
	int sock;
	uint32_t abi, next_id;
	int listeners[GUEST_LISTENERS_MAX];
	size_t n_listeners;
	char workspace[64]; /* on the host; /ws inside */
	struct harness_frame pending[HARNESS_PENDING_MAX];
	size_t n_pending;
};

struct harness_result {
	int code; /* or -errno of WIRE_ERROR */
	char out[64 * 1024];
	char error[512];
};

/* The rules and options most tests use. */
struct guest_setup harness_setup(void);
/* Starts it; drop_cap is left out of what the guest gets (NULL: nothing). */
void harness_start(struct harness *b, const char *drop_cap);
void harness_send_setup(struct harness *b, const struct guest_setup *s);
void harness_open(struct harness *b, const struct guest_setup *s); /* and waits for WIRE_UP */
void harness_close(struct harness *b);

uint32_t harness_spawn(struct harness *b, const int fds[3], uint32_t flags, const char *cwd,
		       const struct strv *argv, const struct strv *env);
/* argv split at blanks; the probe is /probe inside */
uint32_t harness_spawn_line(struct harness *b, const int fds[3], const char *line);
void harness_kill(struct harness *b, uint32_t id, uint32_t sig);
/* The next frame of this id; others are kept for later. */
struct harness_frame harness_wait(struct harness *b, uint32_t id);
/* Runs to the end: stdin is /dev/null, stdout and stderr together are in the result. */
void harness_run(struct harness *b, const char *line, struct harness_result *ret);
/* WIRE_SPAWNED, then WIRE_ENDED: its code, or -errno of WIRE_ERROR. */
int harness_code(struct harness *b, uint32_t id);
/* Reads until the text has come; false at end of file. */
bool harness_read_until(int fd, const char *text);

/* One for all tests of a program that leave it as it was: group set-up and end, and a command in
 * it: the first line it wrote, or its code. */
extern struct harness shared;
int harness_open_shared(void **state);
int harness_close_shared(void **state);
const char *output(const char *line);
int exit_of(const char *line);
/* False when there is no bwrap that works: the program skips. */
bool harness_available(void);
