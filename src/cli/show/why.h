#pragma once

#include "base/json/json.h"
#include "cli/frame/command.h"
#include "cli/settings.h"
#include "spec/spec.h"

/* The answer of `ralph why`: the parts find it, cmd-why.c shows it. */
struct why {
	char *about;   /* "example.com:443" */
	bool refused;  /* the thing was refused, or would be */
	char *why;     /* a sentence */
	char *rule;    /* the rule that decided; NULL: none */
	char *setting; /* "network.allow"; NULL: none is behind it */
	char *origin;  /* of the setting: "FILE:LINE", "default" …; NULL: not known */
	char *remedy;  /* the one command that would change it; NULL: there is none */
	char *seen;    /* a sentence from the log; NULL: nothing */
};

void why_done(struct why *w);
/* The setting and where it comes from; item: of a list, SIZE_MAX: the setting as a whole. */
void why_setting(struct why *w, const struct config *c, const char *key, size_t item);

struct why_input {
	struct cli *cli;
	const struct settings *settings;
	const char *sandbox; /* the one that was named; NULL: the current workspace's */
};

/* Explains the gateway's decision about a host. */
int why_host(const struct why_input *in, const char *target, struct why *ret);
/* Explains how a sandbox sees a path of the host. */
int why_path(const struct why_input *in, const char *path, struct why *ret);
/* Explains one record of the log. */
int why_event(const struct why_input *in, const json_t *record, struct why *ret);
