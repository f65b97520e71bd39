#pragma once

#include <stdint.h>

/* Quantities for people, in tables; the caller frees them. */
char *human_size(uint64_t bytes);   /* "512 B", "3.4 MiB" */
char *human_span(uint64_t seconds); /* "90s", "5m", "3h", "2d" */
