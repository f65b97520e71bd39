#pragma once

#include "base/text/needles.h"
#include "repo/repo-parts.h"

/* State of repo_check() in its child. */
struct check {
	git_repository *git;
	git_odb *odb;
	const struct repo_rules *rules;
	struct needles *known;
	const char *from, *to;
	json_t *findings;
	bool more;
	uint64_t added, paths;
	bool too_much, too_many;       /* reported once only */
	char commit[REPO_OID_LEN + 1]; /* the commit that is being checked */
};

/* Adds a finding; path may be NULL. */
void check_found(struct check *c, enum repo_severity severity, const char *rule, const char *path,
		 const char *fmt, ...) printf_like(5, 6);
/* Checks the changes of a commit against its parent (NULL: the whole tree is new). */
int check_changes(struct check *c, git_commit *parent, git_commit *commit, struct err *err);
