#pragma once

/*
 * ROOM: cred
 *
 * Logins of the host: finding them and telling how they stand. Values of credentials do not
 * enter; only cred/hold has them.
 */

#include "base/buf.h"
#include "base/err.h"
#include "base/strv.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Credentials of the host, one row per way a user can be logged in (table in config/providers.def).
 *
 * DOC: Theory of operation
 *
 * Two programs use a row. The command line probes: it looks whether the host has such a credential
 * and whether it can be used, cheaply, without a network and without keeping a value. The result is
 * a reference (struct cred_ref) that goes into the spec. The credential helper (libexec/ralph/cred,
 * one per sandbox that has credentials, started with the first question) turns references into
 * values: it reads the source again when it has changed, answers for one request at a time which
 * header fields to set, signs, and renews before it expires. It reads no byte from the network: a
 * renewal is one run of libexec/ralph/fetch, which knows one request and ends with its answer.
 *
 * Nothing here logs, prints or returns a value except in struct cred_header.
 */

/*
 * The acts of a confined process's broker: see hold/cred-broker.h. Programs and paths are those
 * of a list that was made before; others are refused.
 */
struct cred_broker {
	int (*start)(const struct cred_broker *b, char *const argv[], int in, int out,
		     struct err *err);
	/* Waits for what was started; kill: ends it first. */
	int (*end)(const struct cred_broker *b, bool kill, int *ret_code, struct err *err);
	int (*open)(const struct cred_broker *b, const char *path); /* for reading, or -errno */
	int (*save)(const struct cred_broker *b, const char *path,
		    const char *text); /* or -errno */
};

/* The host's directories, environment and clock; tests give their own. */
struct cred_host {
	const char *home;
	const char *config;   /* ralph's own, with the stored tokens */
	const char *libexec;  /* ralph's own programs: fetch */
	char *const *environ; /* the user's; PATH in it has nothing that a sandbox can write */
	const char *project;  /* the workspace, which a sandbox may have written; NULL: none */
	uint64_t now_ms;      /* since 1970; 0: the clock's */
	const struct cred_broker *broker; /* NULL: this process does all by itself */
};

const char *cred_host_env(const struct cred_host *h, const char *name); /* NULL: not set, empty */
uint64_t cred_host_now(const struct cred_host *h);
/* The path of something below the user's home. */
char *cred_host_home(const struct cred_host *h, const char *below);

/* The result of a probe: a reference, never a value. It becomes struct spec_credential. */
struct cred_ref {
	const struct cred_provider *provider;
	char *name;   /* "anthropic"; for bearer rows the user's name for it */
	char *source; /* "file:PATH", "env:NAME", "store:NAME", "command:…", "aws:PROFILE" */
	char *origin; /* the provider's, or what the source itself says; the user's setting wins */
	struct strv options;
	uint64_t expires_ms; /* 0: not known, or never */
	bool renewable;	     /* it can be renewed without a person */
	char *warning;	     /* for the user: a file that others may read; NULL: none */
};

enum cred_probe {
	CRED_MISSING, /* skipped silently */
	CRED_FOUND,
	CRED_UNUSABLE, /* there, but expired for good, torn, unreadable: err says what to run */
};

/* The file in which a program keeps its login, for the ways `mount` and `pipe`. */
struct cred_login_file {
	const char *variable;	/* the program's own, for its directory; NULL: it has none */
	const char *dir, *name; /* dir: below the user's home */
};

/* One row of the table: the facts about a provider that are the same for every user. */
struct cred_provider {
	const char *name;     /* "anthropic-oauth" */
	const char *service;  /* "anthropic": a sandbox has one credential of a service, the first
				 found */
	const char *origin;   /* "https://api.anthropic.com" */
	const char *endpoint; /* "anthropic": /_ralph/anthropic/ */
	const char *phantom; /* how the phantom begins: "sk-ant-oat01-"; what is random stands for a
				'*' where there is one */
	const char *placeholder; /* a variable that clients inside insist on: it gets the phantom;
				    NULL: none */
	const char *login;	 /* the command that logs in: "claude /login" */
	bool ends; /* what a request gets ends by itself: a signature, or a token of some hours */
	const char *const *requests; /* "POST /v1/messages" …: what may be asked with it; no request
					that would mint, list or change credentials */
	const struct cred_login_file *file; /* NULL: there is none */
	enum cred_probe (*probe)(const struct cred_host *h, struct cred_ref *ret, struct err *err);
};

/* The table is config/providers.def; hold.h has the other half of a row, for the helper alone. */
size_t cred_provider_count(void);
const struct cred_provider *cred_provider_at(size_t i); /* in order of precedence */
const struct cred_provider *cred_provider_find(const char *name);
/* The login file of a service; NULL: none of its rows has one. */
const struct cred_login_file *cred_login_file(const char *service);

void cred_ref_init(struct cred_ref *r);
void cred_ref_done(struct cred_ref *r);

/*
 * The credential of a service on this host: the first row of that service that is found or is
 * unusable (err says why). CRED_MISSING when there is none.
 */
enum cred_probe cred_probe(const struct cred_host *h, const char *service, struct cred_ref *ret,
			   struct err *err);

/*
 * For probes and holders: a file of the user's with a secret in it. 0 with its content in b (made
 * by the caller with CRED_FILE_MAX), -ENOENT when it is not there, else err says what is wrong
 * with it. *ret_warning is set, on the heap, when others may read it. b is to be wiped.
 */
#define CRED_FILE_MAX (256 * KiB)
int cred_read_file(const struct cred_host *h, const char *path, struct buf *b, char **ret_warning,
		   struct err *err);
/* For reading, without waiting for a pipe's other end; or -errno. */
int cred_open(const struct cred_host *h, const char *path);
/* Replaces the file in one step, for its owner alone. A link stays one. */
int cred_save(const struct cred_host *h, const char *path, const char *text, struct err *err);
void cred_wipe(struct buf *b);
/* Wipes and frees a string; NULL is fine. */
char *cred_secret_free(char *s);

static inline void cred_secret_freep(char **s)
{
	*s = cred_secret_free(*s);
}

#define cleanup_secret cleanup_(cred_secret_freep)

/* "file:/x" → "/x" when source begins with kind and ':', else NULL. */
const char *cred_source_is(const char *source, const char *kind);
