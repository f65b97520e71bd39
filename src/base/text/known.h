#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A set of values that can be recognised in a text and not read back: each is kept as its length
 * and a salted SHA-256. So that not every place of a text has to be hashed, 16 bits of a rolling
 * sum with a secret factor are kept beside it: one place in 65,536 passes these by chance.
 *
 * A value whose bytes are all letters of words (base/text/mask.h) is looked for inside of words;
 * any other value anywhere.
 */
#define KNOWN_MAX 256	   /* values; the oldest make room */
#define KNOWN_SHORTEST 8   /* a shorter value is an ordinary word */
#define KNOWN_LONGEST 4096 /* of a longer value this much counts */
#define KNOWN_SALT 16
#define KNOWN_TEXT_MAX (64 * 1024)

struct known_value {
	uint32_t len;
	uint16_t sum;
	bool is_word;
	unsigned char hash[32];
};

struct known {
	unsigned char salt[KNOWN_SALT];
	uint64_t factor; /* follows from the salt */
	struct known_value v[KNOWN_MAX];
	size_t n;
	size_t shortest_word, longest_text; /* 0: there is none of the kind */
};

/* An empty set with a new salt. 0, or -errno. */
int known_init(struct known *k);
/* The set as text, which the caller frees, and back. A text that is not one: -EINVAL. */
char *known_write(const struct known *k);
int known_read(struct known *k, const char *text, size_t n);

/* Adds each line of a value that is long enough. True: one of them is new. */
bool known_add(struct known *k, const char *value);
/* Adds the values of a set with the same salt. True: one of them is new. */
bool known_merge(struct known *k, const struct known *from);
/* Is this exact value in the set? */
bool known_has(const struct known *k, const char *value, size_t n);
/* Is one of the values inside of this word? */
bool known_in_word(const struct known *k, const char *p, size_t n);
/* Returns the first place of the i-th value in a text; n: it is not there. */
size_t known_find(const struct known *k, size_t i, const char *p, size_t n);
