#pragma once

#include <stddef.h>
#include <stdint.h>

/* The n digits at s, without a sign or a leading zero. 0 or -errno. */
int parse_digits(const char *s, size_t n, uint64_t *ret);
/*
 * Strict readers of numbers: base 10, the whole string, no sign, no blanks, no leading zero.
 * 0 or -EINVAL (not such a number) or -ERANGE (outside min..max).
 */
int parse_uint(const char *s, uint64_t min, uint64_t max, uint64_t *ret);
/* "20", "0.5", "12.345678": in millionths, with at most six digits behind the point. */
int parse_micro(const char *s, uint64_t *ret);
/* "512", "4K", "64M", "8G", "1T": powers of 1024. */
int parse_size(const char *s, uint64_t *ret);
/* "90" (seconds), "500ms", "30s", "5m", "2h", "2d"; the result is in milliseconds. */
int parse_duration(const char *s, uint64_t *ret_ms);

/* A word of the kernel's tables (mountinfo) without its octal escapes, in place. */
void parse_table_word(char *s);
