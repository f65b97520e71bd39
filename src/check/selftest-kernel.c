#include "check/selftest.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/path.h"
#include "engine/engine.h"
#include "live/live.h"
#include "wire/root-proto.h"

#define MOUNTS_MAX (4 * MiB)
#define FILES_MAX 200
#define SAID_MAX 4096

static const char what_files[] = "files that the host did not let change";

bool selftest_own_kernel(const struct sandbox_spec *spec)
{
	return engine_has(spec->engine, ENGINE_OWN_KERNEL);
}

/* "": it is not there. */
static char *look_of(const char *path)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return xstrdup("");
	return xasprintf("%llu:%llu %o %lld %lld.%09ld", (unsigned long long)st.st_dev,
			 (unsigned long long)st.st_ino, st.st_mode,
			 S_ISDIR(st.st_mode) ? 0LL : (long long)st.st_size,
			 (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
}

static void remember(struct selftest *t, const char *path)
{
	if (t->host_files.n >= (size_t)FILES_MAX * 2)
		return;
	strv_push(&t->host_files, path);
	strv_take(&t->host_files, look_of(path));
}

void selftest_kernel(struct selftest *t, const struct sandbox_spec *spec)
{
	static const char *const system[] = {"/usr", "/usr/bin", "/usr/bin/env", "/etc/passwd"};

	(void)selftest_add(t, "files", what_files, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(system); i++)
		remember(t, system[i]);
	for (size_t i = 0; i < spec->n_mounts; i++)
		if (spec->mounts[i].kind == SPEC_PROTECT || spec->mounts[i].kind == SPEC_HIDE)
			remember(t, spec->mounts[i].target);
}

/* Where the outer half has mounts, and how: the fifth and the sixth word of each line of
 * mountinfo. */
struct seen {
	struct strv at, options;
};

static void unescape(char *s)
{
	char *to = s;

	for (; *s; s++, to++) {
		bool octal = s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] && s[3];

		*to = octal ? (char)((s[1] - '0') * 64 + (s[2] - '0') * 8 + (s[3] - '0')) : *s;
		s += octal ? 3 : 0;
	}
	*to = '\0';
}

static int read_mounts(pid_t pid, struct seen *ret)
{
	cleanup_free char *path = xasprintf("/proc/%d/mountinfo", (int)pid);
	cleanup_buf struct buf b;
	char *rest, *line;
	int r;

	buf_init(&b, MOUNTS_MAX);
	r = path_read(AT_FDCWD, path, &b);
	if (r < 0)
		return r;
	(void)buf_putc(&b, '\0');
	for (rest = b.data; rest && (line = strsep(&rest, "\n"));) {
		cleanup_strv struct strv words = {0};

		strv_split(&words, line, ' ');
		if (words.n < 6)
			continue;
		unescape(words.v[4]);
		strv_push(&ret->at, words.v[4]);
		strv_push(&ret->options, words.v[5]);
	}
	return 0;
}

/* The topmost there; NULL: nothing is mounted at that path. */
static const char *options_at(const struct seen *s, const char *path)
{
	for (size_t i = s->at.n; i-- > 0;)
		if (streq(s->at.v[i], path))
			return s->options.v[i];
	return NULL;
}

static bool of_kernel(const char *path)
{
	return path_under(path, "/proc") || path_under(path, "/dev") || path_under(path, "/sys");
}

static char *in_tree(const char *path)
{
	return xasprintf(GUEST_TREE "%s", streq(path, "/") ? "" : path);
}

static void missing(const struct selftest *t, const struct seen *s, struct buf *said)
{
	for (size_t i = 0; i < t->host_mounts.n; i++) {
		const char *row = t->host_mounts.v[i], *path = row + 2;
		cleanup_free char *at = in_tree(path);
		const char *options = of_kernel(path) ? "rw" : options_at(s, at);
		bool optional = row[0] == 'o' || row[0] == 'u';

		if (of_kernel(path) || (!options && optional))
			continue;
		if (!options)
			(void)buf_printf(said, "'%s' is not mounted; ", path);
		else if (row[0] == 'r' && strncmp(options, "ro", 2) != 0)
			(void)buf_printf(said, "'%s' is writable; ", path);
	}
}

static void unplanned(const struct selftest *t, const struct seen *s, struct buf *said)
{
	for (size_t i = 0; i < s->at.n; i++) {
		const char *path = s->at.v[i] + strlen(GUEST_TREE);
		bool known = !path_under(s->at.v[i], GUEST_TREE);

		for (size_t k = 0; k < t->host_mounts.n && !known; k++)
			known = streq(t->host_mounts.v[k] + 2, *path ? path : "/");
		if (!known)
			(void)buf_printf(said, "'%s' is mounted, and the plan does not know it; ",
					 path);
	}
}

static void judged(struct selftest_row *row, struct buf *said)
{
	row->result = said->len ? SELFTEST_OUT : SELFTEST_HELD;
	row->got = buf_take(said);
}

static void judge_mounts(struct selftest *t, struct selftest_row *row, pid_t init)
{
	cleanup_buf struct buf said;
	struct seen s = {0};
	int r = init > 0 ? read_mounts(init, &s) : -ESRCH;

	buf_init(&said, SAID_MAX);
	if (r == 0) {
		missing(t, &s, &said);
		unplanned(t, &s, &said);
		judged(row, &said);
	} else {
		row->got = xasprintf("cannot read the guest's mounts: %s", strerror(-r));
	}
	strv_done(&s.at);
	strv_done(&s.options);
}

static void judge_files(struct selftest *t, struct selftest_row *row)
{
	cleanup_buf struct buf said;

	buf_init(&said, SAID_MAX);
	for (size_t i = 0; i + 1 < t->host_files.n; i += 2) {
		cleanup_free char *now = look_of(t->host_files.v[i]);

		if (!streq(now, t->host_files.v[i + 1]))
			(void)buf_printf(&said, "'%s' has changed on the host; ",
					 t->host_files.v[i]);
	}
	judged(row, &said);
}

static pid_t init_of(const struct places *p, const struct sandbox_spec *spec)
{
	cleanup_json json_t *live = NULL;
	struct err ignored;

	if (live_inspect(p, spec->name, &live, &ignored) < 0)
		return 0;
	return (pid_t)json_integer_value(json_object_get(live, "init"));
}

void selftest_kernel_judge(struct selftest *t, const struct places *p,
			   const struct sandbox_spec *spec)
{
	for (size_t i = 0; i < t->n; i++) {
		struct selftest_row *row = &t->rows[i];

		if (row->argv.n)
			continue;
		if (streq(row->what, what_files))
			judge_files(t, row);
		else if (streq(row->what, SELFTEST_MOUNTS))
			judge_mounts(t, row, init_of(p, spec));
	}
}
