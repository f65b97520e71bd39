#pragma once

#include "base/strv.h"

/*
 * The packages that npm has laid beside this one because it needs them: programs for this platform
 * (…/node_modules/@openai/codex-linux-x64 for …/node_modules/@openai/codex), libraries, and what
 * those need in turn. In order of finding, at most TOOLS_NPM_MAX. Packages that it has within
 * itself, as in a global installation, are not among them.
 */
#define TOOLS_NPM_MAX 40

void tools_npm_beside(const char *package, struct strv *ret);
