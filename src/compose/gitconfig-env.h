#pragma once

#include "workspace/gitdir.h"
#include "spec/spec.h"

/*
 * The settings of a repository are read-only inside. GIT_CONFIG_COUNT and its companions give git
 * the settings that it would write there in ordinary work: the URLs of the submodules that
 * .gitmodules names, so that `git submodule update --init` finds them registered; that repacking
 * leaves info/ alone; that inode numbers are not compared where the sandbox has another kernel; and that files which cannot be read are ignored, where `git add .` would
 * fail. Call this when the workspace's mounts are in the spec. A GIT_CONFIG_COUNT that the user
 * sets takes precedence.
 */
void gitconfig_env(struct sandbox_spec *s, const struct gitdir *git);
