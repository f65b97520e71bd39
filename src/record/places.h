#pragma once

#include "base/err.h"

/* ralph's directories, found once per process from the environment (see ralph(1), FILES). */
struct places {
	char *home;    /* $HOME, real path */
	char *config;  /* $XDG_CONFIG_HOME/ralph */
	char *state;   /* $XDG_STATE_HOME/ralph */
	char *runtime; /* $XDG_RUNTIME_DIR/ralph, or /tmp/ralph-UID */
	char *libexec; /* ralph's own programs */
	char *data;    /* shipped profiles and the like */
};

/* Only looks, and creates nothing. */
int places_find(struct places *ret, struct err *err);
void places_done(struct places *p);
/* Returns the path of one of ralph's programs: PLACES/libexec/NAME. */
char *places_program(const struct places *p, const char *name);
/* Returns the directory for conversations: a setting, or one of ralph's; NULL: none. */
char *places_inbox(const struct places *p, const char *setting);
