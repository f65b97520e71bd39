#include "cred/hold/cred-broker.h"

#include "base/path.h"
#include "cred/fetch.h"
#include "cred/token-store.h"

void cred_needs_done(struct cred_needs *n)
{
	for (size_t i = 0; i < n->n; i++) {
		strv_done(&n->programs[i].argv);
		free(n->programs[i].settings);
	}
	free(n->programs);
	strv_done(&n->files);
	strv_done(&n->saved);
	strv_done(&n->listed);
	strv_done(&n->read);
	strv_done(&n->locks);
	*n = (struct cred_needs){0};
}

void cred_needs_program(struct cred_needs *n, char *const argv[], const char *settings)
{
	struct cred_program *p;

	n->programs = xrealloc(n->programs, n->n + 1, sizeof(*n->programs));
	p = &n->programs[n->n++];
	*p = (struct cred_program){.settings = xstrdup_or_null(settings)};
	for (size_t i = 0; argv && argv[i]; i++)
		strv_push(&p->argv, argv[i]);
}

void cred_needs_fetch(struct cred_needs *n, const struct cred *c, const char *url)
{
	const char *own = cred_option(c, "token_url");
	cleanup_strv struct strv argv = {0};

	/* The user's own authority speaks for the user's own address alone. */
	cred_fetch_argv(c->host, own ? own : url, own ? c->ca_file : NULL, &argv);
	cred_needs_program(n, argv.v, NULL);
}

void cred_needs_source(struct cred_needs *n, const struct cred *c)
{
	const char *file = cred_source_is(c->source, "file");
	const char *store = cred_source_is(c->source, "store");
	const char *command = cred_source_is(c->source, "command");
	char *shell[] = {(char *)"/bin/sh", (char *)"-c", (char *)command, NULL};
	cleanup_strv struct strv lookup = {0};

	if (file)
		strv_push(&n->files, file);
	if (command)
		cred_needs_program(n, shell, NULL);
	if (!store)
		return;
	strv_take(&n->files, cred_store_path(c->host, store));
	cred_store_lookup_argv(store, &lookup);
	cred_needs_program(n, lookup.v, NULL);
}
