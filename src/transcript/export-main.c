/*
 * libexec/ralph/export: the conversations of one sandbox's home, for `ralph export`.
 *
 *	export HOME OUT KNOWN FORMAT SINCE-MS THINKING RESULT-MAX AGENT...
 *
 * KNOWN is the file that remembers what was exported. Values that are secrets come on stdin, a line
 * each; what was done goes to stdout as JSON. An executable of its own because it reads what an
 * agent wrote, and because hashing needs OpenSSL.
 */
#include "transcript/export.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/parse.h"
#include "base/path.h"
#include "transcript/opencode-dir.h"

#define KNOWN_MAX (64 * MiB)
#define VALUES_MAX (1 * MiB)
#define LOCK_MS (30 * 60 * 1000)
#define SHORTEST_VALUE 8 /* anything shorter is a word of the language */

enum { HOME = 1, OUT, KNOWN, FORMAT, SINCE, THINKING, RESULT_MAX, AGENTS };

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

static void read_values(struct strv *ret)
{
	cleanup_strv struct strv all = {0};
	cleanup_buf struct buf b;

	buf_init(&b, VALUES_MAX);
	if (fd_read_all(STDIN_FILENO, &b) < 0)
		return;
	strv_split(&all, buf_str(&b), '\n');
	for (size_t i = 0; i < all.n; i++)
		if (strlen(all.v[i]) >= SHORTEST_VALUE)
			strv_push(ret, all.v[i]);
}

/* What cannot be read counts as nothing: everything is exported once more. */
static json_t *read_known(const char *path)
{
	json_t *known = NULL;
	cleanup_buf struct buf b;
	struct err ignored;

	buf_init(&b, KNOWN_MAX);
	if (path_read(AT_FDCWD, path, &b) == 0 &&
	    json_parse(buf_str(&b), b.len, &known, &ignored) == 0 && json_is_object(known))
		return known;
	json_decref(known);
	return json_object();
}

static int write_known(const char *path, const json_t *known, struct err *err)
{
	cleanup_free char *text = json_dumps(known, JSON_COMPACT);
	int r = text ? path_write_atomic(AT_FDCWD, path, text, strlen(text), 0600, 0) : -ENOMEM;

	return r < 0 ? err_sys(err, -r, "cannot write '%s'", path) : 0;
}

static int open_dir(const char *path, struct err *err)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? err_sys(err, errno, "cannot open '%s'", path) : fd;
}

/* One at a time for each sandbox: both would remember only what they did themselves. */
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

static int export_agent(struct tr_job *job, struct tr_tally *t, struct err *err)
{
	return tr_reader_find(job->agent) ? tr_export(job, t, err) : 0;
}

/* opencode's database is made into files first, which lie where nobody else comes. */
static int export_opencode(struct tr_job *job, char **argv, struct tr_tally *t, struct err *err)
{
	cleanup_free char *libexec = path_dir(argv[0]), *program = path_join(libexec, "opencode");
	cleanup_free char *scratch = xasprintf("%s.opencode", argv[KNOWN]);
	/* Where all of it went is where it need not go again. */
	cleanup_free char *key =
		job->since_ms ? NULL : xasprintf("opencode.db %s %s", argv[FORMAT], argv[OUT]);
	struct tr_job there = *job;
	bool partly = false;
	cleanup_fd int dir =
		opencode_dir(job->home, program, scratch, job->known, key, &partly, err);
	int r = dir == -ENOENT ? 0 : dir;

	if (dir >= 0) {
		there.home = dir;
		r = tr_export(&there, t, partly ? &(struct err){0} : err);
		r = partly ? -EIO : r;
	}
	t->failed += partly;
	(void)path_remove_tree(AT_FDCWD, scratch, &(struct err){0});
	return r;
}

static int run(char **argv, struct tr_tally *t, struct err *err)
{
	cleanup_fd int home = open_dir(argv[HOME], err), out = open_dir(argv[OUT], err);
	cleanup_fd int locked = lock(argv[KNOWN], err);
	cleanup_json json_t *known = read_known(argv[KNOWN]);
	cleanup_strv struct strv values = {0};
	uint64_t since = 0, max = 0;
	struct tr_job job = {
		.home = home,
		.out = out,
		.format = tr_format_find(argv[FORMAT]),
		.style = {.thinking = streq(argv[THINKING], "1")},
		.values = &values,
		.known = known,
		.hash = &sha256,
	};
	int first = 0, r;

	if (home < 0 || out < 0 || locked < 0)
		return home < 0 ? home : out < 0 ? out : locked;
	if (!job.format || parse_uint(argv[SINCE], 0, UINT64_MAX, &since) < 0 ||
	    parse_uint(argv[RESULT_MAX], 0, TR_RESULT_MAX_LIMIT, &max) < 0)
		return err_set(err, EINVAL, "these are not the arguments of export");
	job.since_ms = since;
	job.style.result_max = (size_t)max;
	read_values(&values);
	for (char **agent = argv + AGENTS; *agent; agent++) {
		job.agent = *agent;
		r = streq(job.agent, "opencode")
			    ? export_opencode(&job, argv, t, first ? &(struct err){0} : err)
			    : export_agent(&job, t, first ? &(struct err){0} : err);
		first = first ? first : r;
	}
	r = write_known(argv[KNOWN], known, first ? &(struct err){0} : err);
	return first ? first : r;
}

int main(int argc, char **argv)
{
	struct tr_tally t = {0};
	struct err err = {0};
	int r;

	if (argc <= AGENTS) {
		(void)fprintf(stderr, "ralph: export: it is started by 'ralph export'\n");
		return EXIT_USAGE;
	}
	r = run(argv, &t, &err);
	if (r < 0)
		(void)fprintf(stderr, "ralph: export: %s\n", err.msg);
	(void)printf("{\"written\":%llu,\"unchanged\":%llu,\"empty\":%llu,\"failed\":%llu,"
		     "\"skipped_records\":%llu,\"secrets_removed\":%llu,\"bytes\":%llu}\n",
		     (unsigned long long)t.written, (unsigned long long)t.unchanged,
		     (unsigned long long)t.empty, (unsigned long long)t.failed,
		     (unsigned long long)t.skipped_records, (unsigned long long)t.scrubbed,
		     (unsigned long long)t.bytes);
	return r < 0 ? EXIT_RUNTIME : EXIT_OK;
}
