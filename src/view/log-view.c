#include "view/log-view.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <time.h>
#include <unistd.h>

#include "base/ev.h"
#include "base/fd.h"
#include "base/parse.h"

const char *log_text(const json_t *j, const char *key)
{
	const char *s = json_string_value(json_object_get(j, key));

	return s ? s : "";
}

long long log_number(const json_t *j, const char *key)
{
	return (long long)json_integer_value(json_object_get(j, key));
}

int64_t log_time_ms(const char *text)
{
	struct tm tm = {0};
	const char *end = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	uint64_t ms = 0;

	if (!end)
		return 0;
	if (end[0] == '.' && strlen(end) >= 4)
		for (int i = 1; i <= 3; i++)
			ms = ms * 10 +
			     (uint64_t)(end[i] >= '0' && end[i] <= '9' ? end[i] - '0' : 0);
	return (int64_t)timegm(&tm) * 1000 + (int64_t)ms;
}

void log_time(const json_t *record, char ret[LOG_TIME_SIZE])
{
	time_t s = (time_t)(log_time_ms(log_text(record, "time")) / 1000);
	struct tm tm;

	(void)snprintf(ret, LOG_TIME_SIZE, "-");
	if (s && localtime_r(&s, &tm))
		(void)strftime(ret, LOG_TIME_SIZE, "%Y-%m-%d %H:%M:%S", &tm);
}

static int catch_up(struct events_follow *f, struct err *err)
{
	int r = events_follow_more(f, err);

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

static int wait_for_more(struct events_follow *f, int watch, int signals, struct err *err)
{
	struct pollfd fds[] = {
		{.fd = watch, .events = POLLIN},
		{.fd = signals, .events = POLLIN},
		{.fd = STDOUT_FILENO}, /* POLLERR: the reader is gone */
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
		r = catch_up(f, err);
	}
	return r;
}

static int follow(struct events_follow *f, const char *dir, struct err *err)
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
	/* The read comes after the watch began, so that no event is missed. */
	r = catch_up(f, err);
	return r ? r : wait_for_more(f, watch, signals, err);
}

int log_view(const char *dir, bool on, events_line_fn *fn, void *arg, struct err *err)
{
	cleanup_fd int dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct events_follow f;
	int r;

	if (dirfd < 0)
		return err_sys(err, errno, "cannot open '%s'", dir);
	events_follow_init(&f, dirfd, fn, arg);
	r = on ? follow(&f, dir, err) : catch_up(&f, err);
	events_follow_done(&f);
	return r;
}
