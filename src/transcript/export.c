#include "transcript/export.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/parse.h"
#include "base/path.h"
#include "transcript/find.h"

#define SLUG_MAX 60
#define COPY_SIZE (256 * KiB)
#define NAMES_MAX (16 * KiB) /* of the names: some 160 iterations */
#define TAKEN_MAX 1000	     /* conversations of one second with one name */

struct one {
	const struct tr_job *job;
	const char *path; /* below the home */
	struct stat st;
	struct tr tr;
	struct tr_out body;
	int body_fd;
	char *hash;
};

/* Makes a file name from the title, without its secrets; it can never leave the directory. */
static void slug(const struct tr_job *job, const char *said, char ret[SLUG_MAX + 1])
{
	struct tr_filter f;
	cleanup_free char *clean = NULL;
	const char *title;
	size_t n = 0;

	tr_filter_init(&f, job->known_values);
	title = clean = tr_filter_string(&f, said);
	tr_filter_done(&f);
	for (; *title && n < SLUG_MAX; title++) {
		unsigned char c = (unsigned char)*title;

		if (c < 0x80 && isalnum(c))
			ret[n++] = (char)tolower(c);
		else if (n && ret[n - 1] != '-')
			ret[n++] = '-';
	}
	while (n && ret[n - 1] == '-')
		n--;
	ret[n] = '\0';
	if (n == 0)
		(void)snprintf(ret, SLUG_MAX + 1, "conversation");
}

/* The last lines of the names, as they are now. */
static char *last_names(int fd)
{
	char text[NAMES_MAX + 1], *first = text;
	struct stat st;
	ssize_t n = -1;
	off_t at = 0;

	if (fd > 0 && fstat(fd, &st) == 0) {
		at = st.st_size > (off_t)NAMES_MAX ? st.st_size - (off_t)NAMES_MAX : 0;
		n = pread(fd, text, NAMES_MAX, at);
	}
	text[n > 0 ? n : 0] = '\0';
	if (at > 0) /* in the middle of a line */
		first = strchrnul(text, '\n');
	return xstrdup(first);
}

/* Returns the name that held when the conversation was last changed; NULL: none did. The line of
 * that time was there before the conversation was. */
static char *name_of(const struct one *o)
{
	cleanup_free char *names = last_names(o->job->names);
	const uint64_t at =
		(uint64_t)o->st.st_mtim.tv_sec * 1000000000 + (uint64_t)o->st.st_mtim.tv_nsec;
	const char *line = names, *name = NULL;

	while (*line) {
		size_t digits = strspn(line, "0123456789"), n = strcspn(line, "\n");
		uint64_t from;

		if (line[digits] == ' ' && parse_digits(line, digits, &from) == 0 && from <= at)
			name = line + digits + 1;
		line += n + (line[n] == '\n');
	}
	return name ? xstrndup(name, strcspn(name, "\n")) : NULL;
}

/* Writes "2026-11-15T18-14-42Z", from the conversation's own time if that is valid. */
static void time_name(const struct one *o, char ret[32])
{
	const char *s = o->tr.head.start;
	struct tm tm;

	if (s && strlen(s) >= 19 && strspn(s, "0123456789-T:") >= 19) {
		(void)snprintf(ret, 32, "%.10sT%.2s-%.2s-%.2sZ", s, s + 11, s + 14, s + 17);
		return;
	}
	if (!gmtime_r(&o->st.st_mtime, &tm))
		memset(&tm, 0, sizeof(tm));
	(void)strftime(ret, 32, "%Y-%m-%dT%H-%M-%SZ", &tm);
}

static int make_dirs(int out, const char *path)
{
	for (const char *p = strchr(path, '/'); p; p = strchr(p + 1, '/')) {
		cleanup_free char *dir = xstrndup(path, (size_t)(p - path));
		cleanup_fd int fd = -1;
		const char *base = strrchr(dir, '/');
		cleanup_free char *parent =
			base ? xstrndup(dir, (size_t)(base - dir)) : xstrdup(".");

		fd = path_open_beneath(out, parent, O_PATH | O_DIRECTORY, 0);
		if (fd < 0)
			return fd;
		if (mkdirat(fd, base ? base + 1 : dir, 0755) < 0 && errno != EEXIST)
			return -errno;
	}
	return 0;
}

static int copy_all(int from, int to)
{
	cleanup_free char *b = xmalloc(COPY_SIZE);
	ssize_t n;

	if (lseek(from, 0, SEEK_SET) < 0)
		return -errno;
	while ((n = read(from, b, COPY_SIZE)) > 0) {
		int r = fd_write_all(to, b, (size_t)n);

		if (r < 0)
			return r;
	}
	return n < 0 ? -errno : 0;
}

/* Returns the name of a subagent's conversation, next to the one at `beside`. */
static char *subagent_name(const struct tr_job *job, const char *beside, const char *path)
{
	size_t n = strlen(beside) - strlen(job->format->name) - 1;
	cleanup_free char *stem = xstrndup(beside, n), *name = xstrdup(path_base(path));
	char id[SLUG_MAX + 1];

	name[strlen(name) - strlen(".jsonl")] = '\0';
	slug(job, name, id);
	return xasprintf("%s-%s.%s", stem, id, job->format->name);
}

static void find_links(const struct one *o, const char *name, struct strv *ret)
{
	cleanup_strv struct strv below = {0};

	tr_find_subagents(o->job->home, o->job->agent, o->path, &below);
	for (size_t i = 0; i < below.n; i++)
		strv_take(ret, subagent_name(o->job, name, below.v[i]));
}

/* Writes head, body and foot to a new file, and renames it. */
static int put_together(struct one *o, int dir, const char *name)
{
	const struct tr_job *job = o->job;
	cleanup_strv struct strv links = {0};
	const struct tr_source source = {.agent = job->agent,
					 .file = o->path,
					 .hash = o->hash,
					 .scrubbed = o->body.filter.removed,
					 .links = &links};
	cleanup_free char *temporary = xasprintf(".%s.new", name);
	cleanup_fd int fd = -1;
	struct tr_out out;
	int r;

	find_links(o, name, &links);
	(void)unlinkat(dir, temporary, 0);
	fd = openat(dir, temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return -errno;
	tr_out_init(&out, fd, job->known_values);
	job->format->head(&out, &o->tr.head, &source);
	r = tr_out_done(&out);
	if (r == 0)
		r = copy_all(o->body_fd, fd);
	if (r == 0 && job->format->foot) {
		tr_out_init(&out, fd, NULL);
		job->format->foot(&out, &source);
		r = tr_out_done(&out);
	}
	if (r == 0 && renameat(dir, temporary, dir, name) < 0)
		r = -errno;
	if (r < 0)
		(void)unlinkat(dir, temporary, 0);
	return r;
}

static int place(struct one *o, const char *path)
{
	cleanup_free char *parent = path_dir(path);
	cleanup_fd int dir = -1;
	int r = make_dirs(o->job->out, path);

	if (r < 0)
		return r;
	dir = path_open_beneath(o->job->out, parent, O_RDONLY | O_DIRECTORY, 0);
	return dir < 0 ? dir : put_together(o, dir, path_base(path));
}

static bool is_taken(int out, const char *path)
{
	cleanup_fd int fd = path_open_beneath(out, path, O_PATH, 0);

	return fd >= 0;
}

/* Returns the path of the export: the previous one, or a new name. */
static char *choose(const struct one *o, const char *before)
{
	const char *title = o->tr.head.title ? o->tr.head.title : "";
	char name[SLUG_MAX + 1], when[32];
	cleanup_free char *stem = NULL;

	if (before)
		return xstrdup(before);
	slug(o->job, title, name);
	time_name(o, when);
	stem = name_of(o);
	if (!stem)
		stem = xasprintf("%s/%s", when, name);
	for (int i = 1; i < TAKEN_MAX; i++) {
		char *path = i == 1 ? xasprintf(TR_DIR "/%s.%s", stem, o->job->format->name)
				    : xasprintf(TR_DIR "/%s-%d.%s", stem, i, o->job->format->name);

		if (!is_taken(o->job->out, path))
			return path;
		free(path);
	}
	return NULL;
}

/* Opens an unnamed file, or on a file system without O_TMPFILE one that is unlinked at once. */
static int temporary_file(int out)
{
	static const char name[] = ".ralph-export.new";
	cleanup_fd int dir = path_open_beneath(out, TR_DIR, O_RDONLY | O_DIRECTORY, 0);
	int fd = dir < 0 ? -1 : openat(dir, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (dir < 0)
		return dir;
	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR))
		return fd < 0 ? -errno : fd;
	(void)unlinkat(dir, name, 0);
	fd = openat(dir, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	(void)unlinkat(dir, name, 0);
	return fd;
}

static int read_one(struct one *o, int fd, struct err *err)
{
	const struct tr_job *job = o->job;
	void *hash = job->hash ? job->hash->begin() : NULL;
	int r;

	o->body_fd = temporary_file(job->out);
	if (o->body_fd < 0)
		return err_sys(err, -o->body_fd, "cannot make a temporary file");
	tr_out_init(&o->body, o->body_fd, job->known_values);
	o->tr.writer = job->format->begin(&o->body, &job->style);
	o->tr.bytes = job->hash ? job->hash->bytes : NULL;
	o->tr.bytes_arg = hash;
	r = tr_read(&o->tr, tr_reader_find(job->agent), fd, err);
	job->format->end(o->tr.writer);
	o->hash = job->hash ? job->hash->end(hash) : NULL;
	if (r == 0) {
		r = tr_out_done(&o->body);
		return r < 0 ? err_sys(err, -r, "cannot write") : 0;
	}
	(void)tr_out_done(&o->body);
	return r;
}

static void one_done(struct one *o)
{
	tr_done(&o->tr);
	closep(&o->body_fd);
	free(o->hash);
}

static json_t *seen(const struct stat *st, const char *path)
{
	return json_pack("{sI sI sI ss}", "size", (json_int_t)st->st_size, "sec",
			 (json_int_t)st->st_mtim.tv_sec, "nsec", (json_int_t)st->st_mtim.tv_nsec,
			 "path", path);
}

static bool is_unchanged(const struct tr_job *job, const json_t *known, const struct stat *st)
{
	const char *path = json_string_value(json_object_get(known, "path"));

	return path &&
	       json_integer_value(json_object_get(known, "size")) == (json_int_t)st->st_size &&
	       json_integer_value(json_object_get(known, "sec")) == st->st_mtim.tv_sec &&
	       json_integer_value(json_object_get(known, "nsec")) == st->st_mtim.tv_nsec &&
	       is_taken(job->out, path);
}

/* Exports one conversation; *ret_path is the path of the export, NULL: none. */
static int export_one(const struct tr_job *job, const char *path, const char *to,
		      struct tr_tally *tally, char **ret_path, struct err *err)
{
	cleanup_fd int fd = path_open_beneath(job->home, path, O_RDONLY | O_NONBLOCK, 0);
	cleanup_free char *key = xasprintf("%s/%s", job->format->name, path), *out = NULL;
	json_t *known = json_object_get(job->known, key);
	cleanup_(one_done) struct one o = {.job = job, .path = path, .body_fd = -1};
	int r;

	*ret_path = NULL;
	if (fd < 0 || fstat(fd, &o.st) < 0 || !S_ISREG(o.st.st_mode))
		return 0; /* removed meanwhile, or not a regular file */
	if (job->since_ms > (uint64_t)o.st.st_mtim.tv_sec * 1000)
		return 0;
	if (is_unchanged(job, known, &o.st)) {
		tally->unchanged++;
		*ret_path = xstrdup(json_string_value(json_object_get(known, "path")));
		return 0;
	}
	r = read_one(&o, fd, err);
	if (r < 0)
		return err_wrap(err, r, "%s", path);
	tally->skipped_records += o.tr.head.skipped;
	tally->scrubbed += o.body.filter.removed;
	tally->bytes += (uint64_t)o.st.st_size;
	if (o.body.written == 0) {
		tally->empty++;
		return 0;
	}
	out = to ? xstrdup(to) : choose(&o, json_string_value(json_object_get(known, "path")));
	r = out ? place(&o, out) : -EEXIST;
	if (r < 0)
		return err_sys(err, -r, "cannot write '%s'", out ? out : path);
	(void)json_object_set_new(job->known, key, seen(&o.st, out));
	tally->written++;
	*ret_path = take_ptr(out);
	return 0;
}

/* Exports the conversations of subagents, next to their parent: NAME-agent-ID. */
static int export_subagents(const struct tr_job *job, const char *path, const char *beside,
			    struct tr_tally *tally, struct err *err)
{
	cleanup_strv struct strv below = {0};
	int first = 0;

	tr_find_subagents(job->home, job->agent, path, &below);
	for (size_t i = 0; i < below.n; i++) {
		cleanup_free char *to = subagent_name(job, beside, below.v[i]), *done = NULL;
		int r = export_one(job, below.v[i], to, tally, &done, err);

		tally->failed += r < 0;
		first = first ? first : r;
	}
	return first;
}

int tr_export(const struct tr_job *job, struct tr_tally *tally, struct err *err)
{
	cleanup_strv struct strv found = {0};
	int first = 0;

	tr_find(job->home, job->agent, &found);
	for (size_t i = 0; i < found.n; i++) {
		cleanup_free char *path = NULL;
		struct err one = {0};
		int r = export_one(job, found.v[i], NULL, tally, &path, &one);

		tally->failed += r < 0;
		if (r == 0 && path)
			r = export_subagents(job, found.v[i], path, tally, &one);
		if (r < 0 && first == 0) {
			first = r;
			*err = one;
		}
	}
	return first;
}
