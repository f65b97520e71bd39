#pragma once

#include "workspace/gitdir.h"
#include "spec/spec.h"

/*
 * The settings of a repository are read-only inside. What git would write there in the course of
 * ordinary work is told to it by GIT_CONFIG_COUNT and its companions instead: the URLs of the
 * submodules that .gitmodules names, so that `git submodule update --init` finds them registered;
 * that repacking leaves info/ alone; and that files which cannot be read are to be ignored, where
 * `git add .` would fail. To be called when the workspace's mounts are in the spec. A user who sets
 * GIT_CONFIG_COUNT has the last word.
 */
void gitconfig_env(struct sandbox_spec *s, const struct gitdir *git);
