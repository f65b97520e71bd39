#pragma once

#include "base/err.h"

struct loop;
struct repo_check_result;

/* Submodules that the agent moved: put back, or taken with loop.submodules. See repo/repo-modules.h. */

/* The iteration is rejected: they are put back with all of their files. */
int modules_put_back(struct loop *l, const struct repo_check_result *c, struct err *err);
/* It is not: those that have other commits now are taken or put back. */
int modules_settle(struct loop *l, struct err *err);
