#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * Values that are not to be shown whole: by the name of their variable (API_KEY, DB_PASSWORD,
 * GITHUB_TOKEN …) or by their own shape (what vendors begin their keys with, tokens in three parts,
 * passwords in URLs, private keys, long random words). A guess on the safe side, for screens and
 * logs; nothing that is to be kept from anybody else may rely on it.
 */
bool mask_is_secret(const char *name, const char *value);
/* Only what cannot well be anything else: keys by what vendors begin them with, private keys. */
bool mask_is_key(const char *value);
/* The same for whoever goes through a text word by word: what a word is made of, and whether one
 * is a vendor's key. */
size_t mask_word_len(const char *p, size_t n);
size_t mask_gap_len(const char *p, size_t n); /* up to the next word */
#define MASK_KEY_MIN 16			      /* no vendor's key is shorter */
bool mask_is_key_word(const char *word, size_t n);

/*
 * Returns the first 4 characters with "…" behind them; "***" for fewer than 16 characters. The
 * caller frees it. Text that is no UTF-8 counts byte by byte.
 */
char *mask_text(const char *value);
