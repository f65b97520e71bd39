#pragma once

#include "base/buf.h"
#include "base/err.h"

/*
 * Describes the context directory of a build as text: one line per entry, sorted by the bytes of
 * the names, with kind, permissions, the SHA-256 of a file's content or a link's target, and the
 * path. Times and directory order have no influence.
 *
 * Links are not followed. Entries that could lead a builder out of the directory are refused: links
 * that leave it, pipes, sockets, devices. A .dockerignore is refused too: files that must not be
 * sent should not be there. Errors name the path; exit code 2.
 */
#define IMAGE_CONTEXT_BYTES_MAX (64 * MiB)
#define IMAGE_CONTEXT_FILES_MAX 4096
#define IMAGE_CONTEXT_DEPTH_MAX 32
#define IMAGE_MANIFEST_MAX (4 * MiB)

/* dir: the directory; name: its name in messages. */
int image_manifest(int dir, const char *name, struct buf *out, struct err *err);
/* Returns the error for a context beyond these limits. */
int image_context_too_large(const char *name, struct err *err);
