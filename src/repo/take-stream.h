#pragma once

#include "base/err.h"
#include "git/libgit.h"

#include <stdbool.h>

struct buf;

/*
 * A stream from git in a sandbox: lines, then a pack. Nothing of it is believed; what a peer can
 * lengthen has a limit here.
 */
#define REPO_LINE_MAX 1024
#define REPO_PACK_MAX ((uint64_t)4 * GiB)

struct repo_stream {
	int fd;
	char chunk[64 * KiB];
	size_t at, len;
	uint64_t total;
	/* Of the part that is read: what follows it is not seen until it has ended. */
	uint64_t left;
	git_indexer_progress_cb progress; /* while a pack is read; NULL: nobody asks */
	void *arg;
};

struct repo_stream *repo_stream_new(int fd);
/* One line without its newline: 1, 0 at the end of the stream, -EPROTO. */
int repo_stream_line(struct repo_stream *s, struct buf *line);
/* From here on `n` bytes are all there is. At their end repo_stream_leave() skips what was not read;
 * -EPROTO: the stream ends before. */
void repo_stream_enter(struct repo_stream *s, uint64_t n);
int repo_stream_leave(struct repo_stream *s);
/* Up to n bytes; 0 at the end. */
ssize_t repo_stream_read(struct repo_stream *s, void *p, size_t n);
/*
 * The rest of it is a pack, which goes to pack_dir with its index. 0: it holds no objects, and nothing
 * was written; 1: *ret_name is the hash that its files are named by.
 */
int repo_stream_pack(struct repo_stream *s, git_odb *odb, const char *pack_dir, git_oid *ret_name,
		     struct err *err);
/* The same pack, as it is, to a descriptor. 1: it was written. */
int repo_stream_copy_pack(struct repo_stream *s, int to, struct err *err);
