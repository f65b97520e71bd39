#pragma once

#include "base/err.h"

/* Where ralph keeps things, found once per process from the environment (see ralph(1), FILES). */
struct places {
	char *home;    /* $HOME, real path */
	char *config;  /* $XDG_CONFIG_HOME/ralph */
	char *state;   /* $XDG_STATE_HOME/ralph */
	char *runtime; /* $XDG_RUNTIME_DIR/ralph, or /tmp/ralph-UID */
	char *libexec; /* ralph's own programs */
	char *data;    /* shipped profiles and the like */
};

/* Looks, and makes nothing. */
int places_find(struct places *ret, struct err *err);
void places_done(struct places *p);
/* A program of ours: PLACES/libexec/NAME. */
char *places_program(const struct places *p, const char *name);
/* Where conversations are kept: a setting, or a directory of ralph's; NULL: nowhere. */
char *places_inbox(const struct places *p, const char *setting);
