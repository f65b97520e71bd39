#pragma once

#include "base/err.h"

/* `ralph logs`, the loop program's verb: argv is WORKSPACE N FOLLOW RAW COLOR. */
int logs_main(int argc, char **argv, struct err *err);
