#pragma once

#include "base/err.h"
#include "spec/spec.h"

struct gitdir;
struct private_git;

/* Covers the places of submodules that have no git directory. p: the plan of the private one. */
int build_gitlinks(struct sandbox_spec *s, const struct gitdir *g, const struct private_git *p,
		   struct err *err);
