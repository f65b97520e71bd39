#pragma once

#include "base/strv.h"

#include <stdbool.h>

/*
 * One line about the hosts that a sandbox was refused: "2 hosts refused: a.example, b.example". The
 * names come from inside: they are escaped and cut, and the list is bounded. others: there were more
 * hosts than these. The line is the caller's; NULL when there is nothing to say.
 */
#define REFUSED_SHOWN 8
#define REFUSED_NAME_MAX 80 /* bytes of one name */
char *refused_line(const struct strv *hosts, bool others);
