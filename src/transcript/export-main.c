/*
 * libexec/ralph/export: exports the conversations of one sandbox's home, for `ralph export`.
 *
 *	export HOME OUT KNOWN FORMAT SINCE-MS THINKING RESULT-MAX NAMES AGENT...
 *
 * It is started in the directory for the conversations, which OUT names: its caller has opened that
 * without following an agent's links. KNOWN is the file that records earlier exports. NAMES is the
 * file with the names of conversations (live/export-names.h), or none. The values that are secret
 * come on stdin, as hashes (base/text/known.h); the result goes to stdout as JSON. This is a separate
 * executable because it reads files that an agent wrote, and because hashing needs OpenSSL.
 *
 * There are two processes. The first opens the directories, has opencode's database converted to
 * files, and keeps KNOWN, which is next to files that no conversation may change. Its child gives
 * up everything except the home and OUT/conversations. It then reads and writes conversations, and
 * returns the new content of KNOWN in a memory file.
 */
#include "transcript/export.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/parse.h"
#include "base/path.h"
#include "base/proc.h"
#include "transcript/reader-confine.h"
#include "transcript/opencode-dir.h"

#define RECORD_MAX (64 * MiB)
#define LOCK_MS (30 * 60 * 1000)

enum { HOME = 1, OUT, KNOWN, FORMAT, SINCE, THINKING, RESULT_MAX, NAMES, AGENTS };

static void *hash_begin(void)
{
	EVP_MD_CTX *c = EVP_MD_CTX_new();

	if (!c || EVP_DigestInit_ex(c, EVP_sha256(), NULL) != 1)
		abort(); /* out of memory */
	return c;
}

static void hash_bytes(void *state, const void *p, size_t n)
{
	(void)EVP_DigestUpdate(state, p, n);
}

static char *hash_end(void *state)
{
	unsigned char md[EVP_MAX_MD_SIZE];
	unsigned int n = 0;
	struct buf b;

	buf_init(&b, 2 * EVP_MAX_MD_SIZE + 1);
	(void)EVP_DigestFinal_ex(state, md, &n);
	EVP_MD_CTX_free(state);
	for (unsigned int i = 0; i < n; i++)
		(void)buf_printf(&b, "%02x", md[i]);
	return buf_take(&b);
}

static const struct tr_hash sha256 = {hash_begin, hash_bytes, hash_end};

static int read_values(struct known *ret, struct err *err)
{
	cleanup_buf struct buf b;
	int r;

	buf_init(&b, KNOWN_TEXT_MAX);
	r = fd_read_all(STDIN_FILENO, &b);
	if (r == 0 && b.len)
		r = known_read(ret, buf_str(&b), b.len);
	return r < 0 ? err_sys(err, -r, "cannot read the known values") : 0;
}

/* An unreadable file counts as empty: everything is exported once more. */
static json_t *read_known(const char *path)
{
	json_t *known = NULL;
	cleanup_buf struct buf b;
	struct err ignored;

	buf_init(&b, RECORD_MAX);
	if (path_read(AT_FDCWD, path, &b) == 0 &&
	    json_parse(buf_str(&b), b.len, &known, &ignored) == 0 && json_is_object(known))
		return known;
	json_decref(known);
	return json_object();
}

static int open_dir(const char *path, struct err *err)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? err_sys(err, errno, "cannot open '%s'", path) : fd;
}

/* Only one export at a time runs for each sandbox: two would overwrite each other's records. */
static int lock(const char *known, struct err *err)
{
	cleanup_free char *path = xasprintf("%s.lock", known);
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600), r;

	if (fd < 0)
		return err_sys(err, errno, "cannot open '%s'", path);
	r = fd_lock(fd, LOCK_MS);
	if (r < 0) {
		closep(&fd);
		return err_sys(err, -r, "another export of this sandbox is still at work");
	}
	return fd;
}

/* The conversations of opencode's database as files, in a private directory. */
struct opencode {
	int dir;     /* -ENOENT: nothing new */
	bool partly; /* the database could only be read in part */
	char *key;   /* names its state in KNOWN; NULL: a partial export, which is not remembered */
	char *state;
	struct err err;
};

static void open_opencode(struct opencode *o, int home, char **argv, const json_t *known,
			  const char *scratch)
{
	cleanup_free char *libexec = path_dir(argv[0]), *program = path_join(libexec, "opencode");
	const char *before;

	if (streq(argv[SINCE], "0"))
		o->key = xasprintf("opencode.db %s %s", argv[FORMAT], argv[OUT]);
	before = o->key ? json_string_value(json_object_get(known, o->key)) : NULL;
	for (char **agent = argv + AGENTS; *agent; agent++)
		if (streq(*agent, "opencode"))
			o->dir = opencode_dir(home, program, scratch, before, &o->state, &o->partly,
					      &o->err);
}

static int export_opencode(struct tr_job *job, const struct opencode *o, struct tr_tally *t,
			   struct err *err)
{
	struct tr_job there = *job;
	int r = o->dir == -ENOENT ? 0 : o->dir;

	if (o->dir >= 0) {
		uint64_t failed = t->failed;

		there.home = o->dir;
		r = tr_export(&there, t, err);
		r = o->partly ? -EIO : r;
		/* A database that is remembered is not read again until it changes. */
		if (r == 0 && t->failed == failed && o->key)
			(void)json_object_set_new(job->known, o->key, json_string(o->state));
	}
	if (r < 0 && *o->err.msg)
		*err = o->err;
	t->failed += o->partly;
	return r;
}

/* The work of the child, and its descriptors. */
struct reading {
	int home, out, conversations, names, result;
	json_t *known;
	struct opencode opencode;
};

static int read_all(const struct reading *w, char **argv, struct tr_tally *t, struct err *err)
{
	struct known values = {0};
	uint64_t since = 0, max = 0;
	struct tr_job job = {
		.home = w->home,
		.out = w->out,
		.format = tr_format_find(argv[FORMAT]),
		.style = {.thinking = streq(argv[THINKING], "1")},
		.known_values = &values,
		.known = w->known,
		.names = w->names,
		.hash = &sha256,
	};
	int first = read_values(&values, err);

	if (first < 0)
		return first;
	if (!job.format || parse_uint(argv[SINCE], 0, UINT64_MAX, &since) < 0 ||
	    parse_uint(argv[RESULT_MAX], 0, TR_RESULT_MAX_LIMIT, &max) < 0)
		return err_set(err, EINVAL, "these are not the arguments of export");
	job.since_ms = since;
	job.style.result_max = (size_t)max;
	for (char **agent = argv + AGENTS; *agent; agent++) {
		struct err ignored = {0}, *e = first ? &ignored : err;
		int r = 0;

		job.agent = *agent;
		if (streq(job.agent, "opencode"))
			r = export_opencode(&job, &w->opencode, t, e);
		else if (tr_reader_find(job.agent))
			r = tr_export(&job, t, e);
		first = first ? first : r;
	}
	return first;
}

/* This does not use printf(), which would query the terminal. */
static void report(const struct tr_tally *t, int r, const struct err *err)
{
	cleanup_free char *said =
		xasprintf("{\"written\":%llu,\"unchanged\":%llu,\"empty\":%llu,\"failed\":%llu,"
			  "\"skipped_records\":%llu,\"secrets_removed\":%llu,\"bytes\":%llu}\n",
			  (unsigned long long)t->written, (unsigned long long)t->unchanged,
			  (unsigned long long)t->empty, (unsigned long long)t->failed,
			  (unsigned long long)t->skipped_records, (unsigned long long)t->scrubbed,
			  (unsigned long long)t->bytes);

	if (r < 0)
		(void)fprintf(stderr, "ralph: export: %s\n", err->msg);
	(void)fd_write_all(STDOUT_FILENO, said, strlen(said));
}

/* A record that is not whole is no record: everything would count as new, or as known. */
static int hand_over(int result, const json_t *known, struct err *err)
{
	cleanup_free char *text = json_dumps(known, JSON_COMPACT);
	int r = text ? fd_write_all(result, text, strlen(text)) : -ENOMEM;

	if (r < 0 && ftruncate(result, 0) < 0)
		abort(); /* a killed child leaves no record either */
	return r < 0 ? err_sys(err, -r, "cannot hand over what was exported") : 0;
}

static int child_main(const struct reading *w, char **argv)
{
	struct tr_tally t = {0};
	struct err err = {0}, late = {0};
	int r;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	free(sha256.end(sha256.begin())); /* OpenSSL reads its settings before the confinement */
	r = tr_confine((const int[]){w->home, w->opencode.dir}, w->conversations, &err);
	if (r == 0) {
		r = read_all(w, argv, &t, &err);
		if (hand_over(w->result, w->known, &late) < 0 && r == 0) {
			err = late;
			r = -EIO;
		}
	}
	report(&t, r, &err);
	return r < 0 ? EXIT_RUNTIME : EXIT_OK;
}

/* The child wrote these bytes and may have been compromised: here they are only written to the
 * file. A child that failed has left none, and the record stays as it was. */
static int keep_known(const char *path, int result, struct err *err)
{
	cleanup_buf struct buf b;
	int r;

	buf_init(&b, RECORD_MAX);
	r = lseek(result, 0, SEEK_SET) < 0 ? -errno : fd_read_all(result, &b);
	if (r == 0 && b.len > 0)
		r = path_write_atomic(AT_FDCWD, path, buf_str(&b), b.len, 0600, 0);
	return r < 0 ? err_sys(err, -r, "cannot write '%s'", path) : 0;
}

static int read_in_child(struct reading *w, char **argv, int *ret_code, struct err *err)
{
	int status = 0;
	pid_t pid;

	w->result = memfd_create("known", MFD_CLOEXEC);
	pid = w->result < 0 ? -1 : fork();
	if (pid < 0)
		return err_sys(err, errno, "cannot start a reader");
	if (pid == 0)
		_exit(child_main(w, argv));
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return err_sys(err, errno, "cannot wait for the reader");
	if (WIFSIGNALED(status))
		return err_set(err, EIO, "signal %d ended the reader of conversations",
			       WTERMSIG(status));
	*ret_code = WEXITSTATUS(status);
	return keep_known(argv[KNOWN], w->result, err);
}

/* Sandboxes share OUT: the directory goes, when it is empty, with the last export that uses it. */
static void leave_out(int out)
{
	if (flock(out, LOCK_EX | LOCK_NB) == 0)
		(void)unlinkat(out, TR_DIR, AT_REMOVEDIR);
}

static void reading_done(struct reading *w)
{
	json_decref(w->known);
	closep(&w->home);
	closep(&w->conversations);
	closep(&w->names);
	closep(&w->result);
	closep(&w->opencode.dir);
	free(w->opencode.key);
	free(w->opencode.state);
	if (w->out >= 0)
		leave_out(w->out);
	closep(&w->out);
}

static int open_all(struct reading *w, char **argv, struct err *err)
{
	w->home = open_dir(argv[HOME], err);
	w->out = w->home < 0 ? -1 : open_dir(".", err);
	if (w->home < 0 || w->out < 0)
		return w->home < 0 ? w->home : w->out;
	w->names = open(argv[NAMES], O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	/* Where it cannot be locked, no export can remove the directory either. */
	(void)flock(w->out, LOCK_SH);
	if (mkdirat(w->out, TR_DIR, 0755) < 0 && errno != EEXIST)
		return err_sys(err, errno, "cannot make '%s/" TR_DIR "'", argv[OUT]);
	w->conversations = path_open_beneath(w->out, TR_DIR, O_RDONLY | O_DIRECTORY, 0);
	if (w->conversations < 0)
		return err_sys(err, -w->conversations, "cannot open '%s/" TR_DIR "'", argv[OUT]);
	return 0;
}

static int run(char **argv, int *ret_code, struct err *err)
{
	cleanup_(reading_done) struct reading w = {.home = -1,
						   .out = -1,
						   .conversations = -1,
						   .names = -1,
						   .result = -1,
						   .opencode.dir = -ENOENT};
	cleanup_free char *scratch = xasprintf("%s.opencode", argv[KNOWN]);
	cleanup_fd int locked = -1;
	int r = open_all(&w, argv, err);

	if (r < 0)
		return r;
	locked = lock(argv[KNOWN], err);
	if (locked < 0)
		return locked;
	w.known = read_known(argv[KNOWN]);
	open_opencode(&w.opencode, w.home, argv, w.known, scratch);
	r = read_in_child(&w, argv, ret_code, err);
	(void)path_remove_tree(AT_FDCWD, scratch, &(struct err){0});
	return r;
}

int main(int argc, char **argv)
{
	struct err err = {0};
	int code = EXIT_OK, r;

	if (argc <= AGENTS) {
		(void)fprintf(stderr, "ralph: export: it is started by 'ralph export'\n");
		return EXIT_USAGE;
	}
	r = run(argv, &code, &err);
	if (r < 0)
		report(&(struct tr_tally){0}, r, &err);
	return r < 0 ? EXIT_RUNTIME : code;
}
