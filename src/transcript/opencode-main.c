/*
 * libexec/ralph/opencode: converts the conversations of opencode's database, for
 * libexec/ralph/export.
 *
 *	opencode SCRATCH [WAL]     stdin: the database; WAL: the descriptor of its write-ahead log
 *
 * Each session becomes SCRATCH/opencode.db/ID.jsonl. A session that another session started becomes
 * SCRATCH/opencode.db/PARENT/subagents/agent-ID.jsonl. There is one line per session, message and
 * part, in their order. The input is hostile: the program gives up nearly all rights first, and
 * SQLite is told to trust nothing in the file.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/json/json.h"
#include "base/parse.h"
#include "transcript/reader-confine.h"
#include "transcript/transcript.h"

#define OUT_DIR "opencode.db"
#define SESSIONS_MAX 100000
#define ROWS_MAX 50000000 /* of messages and parts in all */
#define CELL_MAX (16 * MiB)
#define ID_MAX 128
#define COPY_SIZE (256 * KiB)

struct reading {
	sqlite3 *db;
	sqlite3_stmt *messages, *parts;
	uint64_t rows;
	struct buf line;
};

static int copy_to(int from, const char *name)
{
	cleanup_fd int to = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	cleanup_free char *b = xmalloc(COPY_SIZE);
	off_t at = 0;
	ssize_t n;

	if (to < 0)
		return -errno;
	while ((n = pread(from, b, COPY_SIZE, at)) > 0) {
		int r = fd_write_all(to, b, (size_t)n);

		if (r < 0)
			return r;
		at += n;
	}
	return n < 0 ? -errno : 0;
}

static int sql_err(struct err *err, sqlite3 *db)
{
	return err_set(err, EIO, "opencode's database: %s", sqlite3_errmsg(db));
}

/* Reads a copy, because opencode may be writing; the schema of the file is not trusted. */
static int open_copy(struct reading *r, int wal, struct err *err)
{
	static const char settings[] = "PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON;"
				       "PRAGMA temp_store=MEMORY; PRAGMA locking_mode=EXCLUSIVE;"
				       "PRAGMA mmap_size=0; PRAGMA cache_size=-8000;";
	static const int off[] = {SQLITE_DBCONFIG_ENABLE_TRIGGER, SQLITE_DBCONFIG_ENABLE_VIEW,
				  SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, SQLITE_DBCONFIG_DQS_DML,
				  SQLITE_DBCONFIG_DQS_DDL};
	int e = copy_to(STDIN_FILENO, "db");

	if (e == 0 && wal >= 0)
		e = copy_to(wal, "db-wal");
	if (e < 0)
		return err_sys(err, -e, "cannot copy opencode's database");
	/* The database is opened for writing, so that its write-ahead log is applied. */
	if (sqlite3_open_v2("db", &r->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW, NULL))
		return sql_err(err, r->db);
	(void)sqlite3_limit(r->db, SQLITE_LIMIT_LENGTH, CELL_MAX);
	(void)sqlite3_limit(r->db, SQLITE_LIMIT_ATTACHED, 0);
	(void)sqlite3_db_config(r->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(off); i++)
		(void)sqlite3_db_config(r->db, off[i], 0, NULL);
	return sqlite3_exec(r->db, settings, NULL, NULL, NULL) ? sql_err(err, r->db) : 0;
}

static int prepare(struct reading *r, const char *sql, sqlite3_stmt **ret, struct err *err)
{
	return sqlite3_prepare_v2(r->db, sql, -1, ret, NULL) ? sql_err(err, r->db) : 0;
}

static const char *text(sqlite3_stmt *s, int column)
{
	const unsigned char *t = sqlite3_column_text(s, column);

	return t ? (const char *)t : "";
}

static void put_string(struct buf *b, const char *key, const char *value)
{
	cleanup_json json_t *j = json_text(value);
	cleanup_free char *s = json_dumps(j, JSON_ENCODE_ANY | JSON_ENSURE_ASCII);

	(void)buf_printf(b, ",\"%s\":%s", key, s ? s : "\"\"");
}

static void put_time(struct buf *b, sqlite3_int64 ms)
{
	time_t t = (time_t)(ms / 1000);
	struct tm tm;

	if (ms > 0 && gmtime_r(&t, &tm) && tm.tm_year < 8000)
		(void)buf_printf(b, ",\"time\":\"%04d-%02d-%02dT%02d:%02d:%02d.%03dZ\"",
				 tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour,
				 tm.tm_min, tm.tm_sec, (int)(ms % 1000));
}

/* Writes one of opencode's JSON documents on one line: a line break is never inside a string. */
static void put_document(struct buf *b, sqlite3_stmt *s, int column)
{
	const char *p = text(s, column);
	size_t n = (size_t)sqlite3_column_bytes(s, column), at;

	(void)buf_printf(b, ",\"data\":");
	at = b->len;
	(void)buf_append(b, n ? p : "null", n ? n : 4);
	for (; at < b->len; at++)
		if ((unsigned char)b->data[at] < 0x20)
			b->data[at] = ' ';
}

static int put_line(struct reading *r, int fd)
{
	int e;

	(void)buf_printf(&r->line, "}\n");
	e = fd_write_all(fd, r->line.data, r->line.len);
	buf_clear(&r->line);
	return ++r->rows > ROWS_MAX ? -EFBIG : e;
}

static int write_parts(struct reading *r, const char *message, int fd)
{
	int e = 0;

	(void)sqlite3_reset(r->parts);
	(void)sqlite3_bind_text(r->parts, 1, message, -1, SQLITE_TRANSIENT);
	while (e == 0 && sqlite3_step(r->parts) == SQLITE_ROW) {
		(void)buf_printf(&r->line, "{\"kind\":\"part\"");
		put_time(&r->line, sqlite3_column_int64(r->parts, 0));
		put_document(&r->line, r->parts, 1);
		e = put_line(r, fd);
	}
	return e;
}

static int write_messages(struct reading *r, const char *session, int fd)
{
	int e = 0;

	(void)sqlite3_reset(r->messages);
	(void)sqlite3_bind_text(r->messages, 1, session, -1, SQLITE_TRANSIENT);
	while (e == 0 && sqlite3_step(r->messages) == SQLITE_ROW) {
		(void)buf_printf(&r->line, "{\"kind\":\"message\"");
		put_string(&r->line, "id", text(r->messages, 0));
		put_time(&r->line, sqlite3_column_int64(r->messages, 1));
		put_document(&r->line, r->messages, 2);
		e = put_line(r, fd);
		if (e == 0)
			e = write_parts(r, text(r->messages, 0), fd);
	}
	return e;
}

enum { ID, PARENT, DIRECTORY, VERSION, CREATED, UPDATED };
#define SESSION_SQL                                                                                \
	"SELECT id, parent_id, directory, version, time_created, time_updated FROM session"        \
	" ORDER BY time_created, id"

/* An id becomes a file name, so only letters, digits, '_' and '-' are allowed. */
static bool is_id(const char *s)
{
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");

	return n > 0 && n <= ID_MAX && !s[n];
}

static char *file_name(const char *id, const char *parent)
{
	cleanup_free char *dir = NULL, *below = NULL;

	if (!is_id(parent))
		return xasprintf(OUT_DIR "/%s.jsonl", id);
	dir = xasprintf(OUT_DIR "/%s", parent);
	below = xasprintf("%s/subagents", dir);
	(void)mkdir(dir, 0700);
	(void)mkdir(below, 0700);
	return xasprintf("%s/agent-%s.jsonl", below, id);
}

static int write_session(struct reading *r, sqlite3_stmt *s)
{
	sqlite3_int64 updated = sqlite3_column_int64(s, UPDATED);
	const struct timespec times[2] = {
		{.tv_nsec = UTIME_OMIT},
		{.tv_sec = (time_t)(updated / 1000), .tv_nsec = (long)(updated % 1000) * 1000000}};
	cleanup_free char *name = file_name(text(s, ID), text(s, PARENT));
	cleanup_fd int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int e;

	if (fd < 0)
		return -errno;
	(void)buf_printf(&r->line, "{\"kind\":\"session\"");
	put_string(&r->line, "id", text(s, ID));
	if (*text(s, PARENT))
		put_string(&r->line, "parent", text(s, PARENT));
	put_string(&r->line, "directory", text(s, DIRECTORY));
	put_string(&r->line, "version", text(s, VERSION));
	put_time(&r->line, sqlite3_column_int64(s, CREATED));
	e = put_line(r, fd);
	if (e == 0)
		e = write_messages(r, text(s, ID), fd);
	if (e == 0 && updated > 0 && futimens(fd, times) < 0)
		e = -errno;
	return e;
}

static int write_sessions(struct reading *r, struct err *err)
{
	sqlite3_stmt *s = NULL;
	int n = 0, e = prepare(r, SESSION_SQL, &s, err), step = SQLITE_DONE;

	if (e == 0)
		e = prepare(r,
			    "SELECT id, time_created, data FROM message WHERE session_id=?1"
			    " ORDER BY time_created, id",
			    &r->messages, err);
	if (e == 0)
		e = prepare(r,
			    "SELECT time_created, data FROM part WHERE message_id=?1 ORDER BY id",
			    &r->parts, err);
	while (e == 0 && n++ < SESSIONS_MAX && (step = sqlite3_step(s)) == SQLITE_ROW)
		if (is_id(text(s, ID))) {
			e = write_session(r, s);
			if (e < 0 && e != -EEXIST)
				e = err_sys(err, -e, "cannot write a session of opencode's");
			else
				e = 0;
		}
	if (e == 0 && step != SQLITE_DONE && step != SQLITE_ROW)
		e = sql_err(err, r->db);
	(void)sqlite3_finalize(s);
	return e;
}

static int confine_here(struct err *err)
{
	cleanup_fd int here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (here < 0)
		return err_sys(err, errno, "cannot open the directory of the copy");
	return tr_confine((int[]){-1, -1}, here, err);
}

int main(int argc, char **argv)
{
	struct reading r = {0};
	struct err err = {0};
	uint64_t wal = 0;
	int e;

	buf_init(&r.line, 4 * CELL_MAX);
	if (argc < 2 || argc > 3 || (argc == 3 && parse_uint(argv[2], 3, INT_MAX, &wal) < 0) ||
	    chdir(argv[1]) < 0 || mkdir(OUT_DIR, 0700) < 0) {
		(void)fprintf(stderr, "ralph: opencode: it is started by 'ralph export'\n");
		return EXIT_USAGE;
	}
	e = confine_here(&err);
	if (e == 0)
		e = open_copy(&r, argc == 3 ? (int)wal : -1, &err);
	if (e == 0)
		e = write_sessions(&r, &err);
	if (e < 0)
		(void)fprintf(stderr, "ralph: export: %s\n", err.msg);
	(void)sqlite3_finalize(r.messages);
	(void)sqlite3_finalize(r.parts);
	(void)sqlite3_close(r.db);
	buf_done(&r.line);
	return e < 0 ? EXIT_RUNTIME : EXIT_OK;
}
