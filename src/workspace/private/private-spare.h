#pragma once

#include "workspace/gitdir.h"

#include <sha256.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * One private git directory per repository that is made before anybody needs it: after a `run
 * --rm`, when the user has the answer already. The next start claims it by a rename, and uses it if
 * nothing that it was made from has changed. docs/internals/private-git.md, "Spares".
 *
 *	STATE/spares/KEY/git	the directory; what is beside it has the names of a record
 */
#define PRIVATE_SPARE_DIR "git"
#define PRIVATE_SPARE_TOLD "git.told"
#define PRIVATE_SPARE_OF "git.of"
#define PRIVATE_SPARE_INDEX_MAX (64 * 1024 * 1024) /* a spare is no reason to fill a disk */
#define PRIVATE_SPARES_MAX 16			   /* repositories; beyond that all others go */

/* What a start knows of the one that it claimed. */
struct private_spare {
	int dir;	 /* STATE/spares/KEY; -1: none was claimed */
	uint64_t source; /* git_stamp_source() of the repository it was made from */
	uint64_t stamp;	 /* git_stamp() of the directory itself */
	bool young;	 /* struct private_git's */
	bool is_old;	 /* anything that is done to it now has another time */
	char sum[SHA256_DIGEST_STRING_LENGTH]; /* of everything in it, as it was made */
};

/* Moves the directory into the record, in which there is none; the repository may have changed. */
bool private_spare_claim(const char *state, const struct gitdir *git, int record,
			 struct private_spare *ret);
/*
 * Says whether the claimed directory is what would be made now, and moves what belongs to it into
 * the record. If not, it is the caller's to fill again.
 */
bool private_spare_accept(const struct private_spare *s, const struct gitdir *git, int record);
void private_spare_done(struct private_spare *s);

/*
 * After a run: the directory of the record becomes the spare again if it is as it was made and
 * may_return, or else a new one is made, if the repository is one for which that works. of: the
 * content of PRIVATE_SPARE_OF. may_return: nothing that ever had the directory runs any more.
 */
int private_spare_keep(const char *state, const struct gitdir *git, const char *of, int record,
		       const struct private_spare *s, bool may_return, struct err *err);
