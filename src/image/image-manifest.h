#pragma once

#include "base/buf.h"
#include "base/err.h"

/*
 * A directory that is given to a builder, as text: one line for each entry, in the order of their
 * names' bytes, with kind, permissions, the SHA-256 of a file's content or a link's text, and the
 * path. Times and the order of the directory leave no trace.
 *
 * Nothing is followed, and what could lead a builder out of the directory is refused: links that
 * leave it, pipes, sockets, devices. So is a .dockerignore: what is not to be sent should not be
 * there. Errors name the path; exit code 2.
 */
#define IMAGE_CONTEXT_BYTES_MAX (64 * MiB)
#define IMAGE_CONTEXT_FILES_MAX 4096
#define IMAGE_CONTEXT_DEPTH_MAX 32
#define IMAGE_MANIFEST_MAX (4 * MiB)

/* dir: the directory; name: what it is called in messages. */
int image_manifest(int dir, const char *name, struct buf *out, struct err *err);
/* The error of one that is beyond these limits. */
int image_context_too_large(const char *name, struct err *err);
