#pragma once

/* Between the files of repo/wide. */
#include "base/proc.h"
#include "base/strv.h"
#include "repo/wide/wide.h"

#include <stdint.h>
#include <stdio.h>

/* ---- wide-store.c ---- */

/* The index of a pack, version 2. */
struct wide_pack {
	const unsigned char *map;
	size_t size, n;
	const unsigned char *names; /* n of WIDE_LEN, sorted */
};

struct wide_store {
	struct strv dirs; /* object directories */
	struct wide_pack *packs;
	size_t n_packs;
};

/* -errno; what was open before is closed. */
int wide_store_look(struct wide_store *s);
void wide_store_close(struct wide_store *s);
bool wide_store_has(const struct wide_store *s, const unsigned char full[WIDE_LEN]);
/* Any object whose name begins with these digits, at least four. */
bool wide_store_find(const struct wide_store *s, const char *hex, unsigned char ret[WIDE_LEN]);
int wide_pack_open(const char *path, struct wide_pack *ret);
void wide_pack_close(struct wide_pack *p);
bool wide_pack_has(const struct wide_pack *p, const unsigned char *prefix, size_t len);

/* ---- wide-git.c ---- */

struct wide_git {
	struct child reader, packer;
	int ask, pack; /* to the two */
	FILE *told;    /* from the reader */
	int packed;    /* from the packer */
	int why;       /* a memory file: what the packer said when it failed */
	bool lost;     /* the reader said what cannot be understood */
};

/* dirs[0] is the quarantine, and their git directory. */
int wide_git_start(struct wide_git *g, const struct gitdir *of, const struct strv *dirs,
		   struct err *err);
void wide_git_end(struct wide_git *g);
/* 0, -ENOENT or another error; ret NULL: its type and size alone. */
int wide_git_read(struct wide_git *g, const unsigned char full[WIDE_LEN], git_object_t *ret_type,
		  size_t *ret_size, char **ret);

/* ---- */

struct wide {
	struct wide_names *names;
	struct wide_store store;
	struct wide_git git;
	char *quarantine, *objects;
	struct wide_pack received;
};

/* wide-odb.c: received: those of w->received alone. */
int wide_odb_new(struct wide *w, bool received, git_odb **ret);
/* wide-refs.c */
int wide_refs_attach(struct wide *w, const struct gitdir *git, git_repository *repo);
