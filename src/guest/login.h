#pragma once

#include "guest/guest.h"

/*
 * Logins of way pipe. Each is a file of a tmpfs that is mounted nowhere else, over an empty file of
 * the home: it lies in no directory that outlives the sandbox. pid 1 keeps it open and writes it for
 * a command, whose end empties it again. It also ends with the mount namespace, so with the
 * sandbox, however that ends.
 */

/* Mounts the files, in the root that is at `below` ("": our own); while the guest still may. */
int login_make(struct guest *g, const char *below, struct err *err);

bool login_is_needed(const struct wire_msg *spawn);
/* Copies the logins that came with the frame into the files. */
int login_fill(const struct guest *g, const struct wire_msg *spawn, struct err *err);
void login_wipe(const struct guest *g);
