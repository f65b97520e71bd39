#pragma once

#include <stddef.h>
#include <stdint.h>

/* What each target defines: libFuzzer calls it, or fuzz-main.c with the files of a corpus. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
