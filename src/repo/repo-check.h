#pragma once

#include "base/text/needles.h"
#include "repo/repo-parts.h"

/* In the child of repo_check(). */
struct check {
	git_repository *git;
	git_odb *odb;
	const struct repo_rules *rules;
	struct needles *known;
	const char *from, *to;
	json_t *findings;
	bool more;
	uint64_t added, paths;
	bool too_much, too_many;       /* said once */
	char commit[REPO_OID_LEN + 1]; /* the one that is looked at */
};

/* A finding; path may be NULL. */
void check_found(struct check *c, enum repo_severity severity, const char *rule, const char *path,
		 const char *fmt, ...) printf_like(5, 6);
/* What a commit changes, compared with its parent (NULL: all of it). */
int check_changes(struct check *c, git_commit *parent, git_commit *commit, struct err *err);
