#include "cli/net.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/ev.h"
#include "base/fd.h"
#include "base/json.h"
#include "cli/since.h"
#include "sandbox/store.h"

#define RECORD_MAX (256 * KiB) /* a longer line is none of ours */
#define CHUNK (64 * KiB)

struct log_args {
	bool follow, denied, json;
	const char *since;
};

#define AT(member) offsetof(struct log_args, member)

static const struct opt log_opts[] = {
	{"follow", 'f', OPT_BOOL, AT(follow), NULL, "wait for more until interrupted"},
	{"denied", 0, OPT_BOOL, AT(denied), NULL, "only what was refused"},
	{"since", 0, OPT_STR, AT(since), "TIME",
	 "only later ones: 10m (ago), 2026-01-31, 2026-01-31T12:00[:00][Z]"},
	{"json", 0, OPT_BOOL, AT(json), NULL, "print the records as they are, one a line"},
};

struct reader {
	const char *path;
	int fd;
	off_t at;	 /* how far it was read */
	struct buf part; /* a line whose end has not come yet */
	bool skipping;	 /* the rest of a line that was too long */
	/* what is shown */
	int64_t since_ms;
	bool denied, json, color;
};

static const char *text_of(const json_t *j, const char *key)
{
	const char *s = json_string_value(json_object_get(j, key));

	return s ? s : "";
}

static long long number_of(const json_t *j, const char *key)
{
	return (long long)json_integer_value(json_object_get(j, key));
}

static char *bytes_text(long long n)
{
	static const char units[] = "BKMGT";
	double v = (double)n;
	size_t u = 0;

	while (v >= 1024 && u + 2 < sizeof(units)) {
		v /= 1024;
		u++;
	}
	return u ? xasprintf("%.1f%c", v, units[u]) : xasprintf("%lldB", n);
}

/* Method and path where a request was seen, else the bytes of a connection. */
static char *detail(const json_t *j)
{
	cleanup_free char *up = bytes_text(number_of(j, "up"));
	cleanup_free char *down = bytes_text(number_of(j, "down"));
	long long count = number_of(j, "count");

	if (text_of(j, "method")[0])
		return xasprintf("%s %s", text_of(j, "method"), text_of(j, "path"));
	if (count > 1)
		return xasprintf("%lld times", count);
	if (streq(text_of(j, "phase"), "open"))
		return xstrdup("opened");
	return number_of(j, "up") || number_of(j, "down") ? xasprintf("%s up %s down", up, down)
							  : xstrdup("-");
}

/* Fixed places instead of a table, since a line is shown when it comes. */
static void cell(const char *text, int width, bool color, enum term_style style)
{
	cleanup_free char *safe = term_escape(text);
	int columns = (int)term_columns(safe);

	(void)printf("%s%s%s%*s", term_on(color, style), safe, term_off(color && style),
		     columns < width ? width - columns + 2 : 2, "");
}

enum { W_TIME = 19, W_VERDICT = 7, W_VERB = 7, W_TARGET = 30, W_DETAIL = 22, W_MS = 6 };

static void print_head(bool color)
{
	cell("TIME", W_TIME, color, STYLE_BOLD);
	cell("VERDICT", W_VERDICT, color, STYLE_BOLD);
	cell("VERB", W_VERB, color, STYLE_BOLD);
	cell("TARGET", W_TARGET, color, STYLE_BOLD);
	cell("REQUEST OR BYTES", W_DETAIL, color, STYLE_BOLD);
	cell("    MS", W_MS, color, STYLE_BOLD);
	(void)printf("%sWHY%s\n", term_on(color, STYLE_BOLD), term_off(color));
}

static void print_record(const json_t *j, bool color)
{
	const char *verdict = text_of(j, "verdict"), *host = text_of(j, "host");
	const char *rule = text_of(j, "rule"), *reason = text_of(j, "reason");
	bool denied = streq(verdict, "deny"), allowed = streq(verdict, "allow");
	cleanup_free char *what = detail(j), *target = NULL, *ms = NULL;
	time_t s = (time_t)(number_of(j, "at_ms") / 1000);
	char when[32] = "-";
	struct tm tm;

	if (localtime_r(&s, &tm))
		(void)strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &tm);
	target = number_of(j, "port") ? xasprintf(strchr(host, ':') ? "[%s]:%lld" : "%s:%lld", host,
						  number_of(j, "port"))
				      : xstrdup(host);
	ms = xasprintf("%*lld", W_MS, number_of(j, "ms"));
	cell(when, W_TIME, color, STYLE_DIM);
	cell(verdict, W_VERDICT, color, denied ? STYLE_RED : allowed ? STYLE_GREEN : STYLE_YELLOW);
	cell(text_of(j, "verb"), W_VERB, color, STYLE_NONE);
	cell(target, W_TARGET, color, STYLE_NONE);
	cell(what, W_DETAIL, color, STYLE_NONE);
	cell(ms, W_MS, color, STYLE_NONE);
	term_puts(stdout, rule);
	if (reason[0]) {
		(void)fputs(rule[0] ? ": " : "", stdout);
		term_puts(stdout, reason);
	}
	(void)putchar('\n');
}

static void on_line(const struct reader *rd, const char *line)
{
	cleanup_json json_t *j = NULL;

	/* Most lines are of other types: not worth parsing. */
	if (!strstr(line, "\"net\""))
		return;
	j = json_loads(line, 0, NULL);
	if (!j || !streq(text_of(j, "type"), "net") || number_of(j, "at_ms") < rd->since_ms ||
	    (rd->denied && !streq(text_of(j, "verdict"), "deny")))
		return;
	if (rd->json)
		(void)puts(line);
	else
		print_record(j, rd->color);
}

static void on_bytes(struct reader *rd, char *p, size_t n)
{
	while (n) {
		char *end = memchr(p, '\n', n);
		size_t len = end ? (size_t)(end - p) : n;

		if (buf_append(&rd->part, p, len) < 0)
			rd->skipping = true;
		if (end && !rd->skipping)
			on_line(rd, buf_str(&rd->part));
		if (end) {
			buf_clear(&rd->part);
			rd->skipping = false;
		}
		len += end != NULL;
		p += len;
		n -= len;
	}
}

static int read_more(struct reader *rd, struct err *err)
{
	cleanup_free char *chunk = xmalloc(CHUNK);
	ssize_t n = 0;

	while (rd->fd >= 0 && (n = read(rd->fd, chunk, CHUNK)) > 0) {
		rd->at += n;
		on_bytes(rd, chunk, (size_t)n);
	}
	return n < 0 ? err_sys(err, errno, "cannot read '%s'", rd->path) : 0;
}

/* A log that was not there yet, was put aside for a new one, or was cut. */
static bool turn_to_new(struct reader *rd)
{
	struct stat at_path, open_one;
	int fd;

	if (stat(rd->path, &at_path) < 0)
		return false;
	if (rd->fd >= 0 && fstat(rd->fd, &open_one) == 0 && open_one.st_ino == at_path.st_ino &&
	    open_one.st_dev == at_path.st_dev && at_path.st_size >= rd->at)
		return false;
	fd = open(rd->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return false;
	closep(&rd->fd);
	rd->fd = fd;
	rd->at = 0;
	buf_clear(&rd->part);
	rd->skipping = false;
	return true;
}

static int catch_up(struct reader *rd, struct err *err)
{
	int r = read_more(rd, err);

	if (r == 0 && turn_to_new(rd))
		r = read_more(rd, err);
	(void)fflush(stdout);
	return r;
}

/* True when the record's directory went away. */
static bool drain_inotify(int fd)
{
	char events[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
	bool gone = false;
	ssize_t n;

	while ((n = read(fd, events, sizeof(events))) > 0) {
		const struct inotify_event *e;

		for (char *p = events; p < events + n; p += sizeof(*e) + e->len) {
			e = (const struct inotify_event *)(const void *)p;
			gone |= (e->mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED)) != 0;
		}
	}
	return gone;
}

static int wait_for_more(struct reader *rd, int watch, int signals, struct err *err)
{
	struct pollfd fds[] = {
		{.fd = watch, .events = POLLIN},
		{.fd = signals, .events = POLLIN},
		{.fd = STDOUT_FILENO}, /* nobody reads any more: POLLERR */
	};
	bool gone = false;
	int r = 0;

	while (r == 0 && !gone && !ferror(stdout)) {
		if (poll(fds, ARRAY_SIZE(fds), -1) < 0 && errno != EINTR)
			return err_sys(err, errno, "cannot wait for the log");
		if (fds[1].revents)
			return 128 + ev_signal_read(signals);
		if (fds[2].revents & POLLERR)
			return 0;
		gone = drain_inotify(watch);
		r = catch_up(rd, err);
	}
	return r;
}

static int follow(struct reader *rd, const char *dir, struct err *err)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
	cleanup_fd int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK), signals = -1;
	int r = ev_signalfd(ends, ARRAY_SIZE(ends), &signals, err);

	if (r < 0)
		return r;
	if (watch < 0 || inotify_add_watch(watch, dir,
					   IN_CREATE | IN_MOVED_TO | IN_MODIFY | IN_DELETE_SELF |
						   IN_MOVE_SELF | IN_ONLYDIR) < 0)
		return err_sys(err, errno, "cannot watch '%s'", dir);
	/* After the watch began, so that nothing falls between. */
	r = catch_up(rd, err);
	return r < 0 ? r : wait_for_more(rd, watch, signals, err);
}

static int show(struct cli *cli, const struct log_args *args, const char *dir)
{
	cleanup_free char *path = xasprintf("%s/events.jsonl", dir);
	struct reader rd = {
		.path = path,
		.fd = -1,
		.denied = args->denied,
		.json = args->json,
		.color = cli_color(cli, STDOUT_FILENO),
	};
	int r = args->since ? since_parse(args->since, &rd.since_ms, &cli->err) : 0;

	if (r < 0)
		return r;
	buf_init(&rd.part, RECORD_MAX);
	if (!args->json)
		print_head(rd.color);
	(void)turn_to_new(&rd);
	r = args->follow ? follow(&rd, dir, &cli->err) : catch_up(&rd, &cli->err);
	buf_done(&rd.part);
	closep(&rd.fd);
	return r;
}

static int cmd_log_run(struct cli *cli, void *args, int argc, char **argv)
{
	cleanup_(places_done) struct places p = {0};
	cleanup_store struct store_entry e = STORE_ENTRY_INIT;
	cleanup_free char *name = NULL, *dir = NULL;
	int r = places_find(&p, &cli->err);

	if (r == 0)
		r = net_record(cli, &p, argc ? argv[0] : NULL, &name);
	if (r == 0)
		r = store_open(&p, name, false, &e, &cli->err);
	if (r < 0)
		return r;
	dir = xasprintf("%s/sandboxes/%s", p.state, name);
	return show(cli, args, dir);
}

const struct command cmd_net_log = {
	.name = "log",
	.operands = "[NAME]",
	.summary = "show what a sandbox reached and what it was refused",
	.flags = CMD_CONFIG,
	OPTIONS(log_opts, struct log_args),
	.max_operands = 1,
	.complete = COMPLETE_SANDBOX,
	.run = cmd_log_run,
};
