#include "supervisor/supervisor.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/parse.h"
#include "base/fd.h"

#define REAP_MS 1000 /* for a gateway whose line has ended to end itself */
#define VMSTAT_MAX (64 * KiB)

uint64_t gateway_end_oom_kills(const struct gateway_link *g)
{
	cleanup_buf struct buf b;
	uint64_t n = 0;
	char *at;

	buf_init(&b, VMSTAT_MAX);
	if (g->vmstat < 0 || lseek(g->vmstat, 0, SEEK_SET) < 0 || fd_read_all(g->vmstat, &b) < 0)
		return 0;
	at = strstr(buf_str(&b), "\noom_kill ");
	if (!at)
		return 0;
	at += strlen("\noom_kill ");
	at[strcspn(at, "\n")] = '\0';
	return parse_uint(at, 0, UINT64_MAX, &n) < 0 ? 0 : n;
}

/* How bad an end is: the other one's end follows from it. */
enum badness { NOT_STARTED, ORDERLY, FAILED, KILLED, STUCK };

static enum badness reap(struct supervisor *s, struct child *child, int *ret_code)
{
	struct pollfd p = {.fd = child->pidfd, .events = POLLIN};
	bool late;

	if (child->pid <= 0)
		return NOT_STARTED;
	late = poll(&p, 1, REAP_MS) <= 0;
	*ret_code = sup_reap(s, child);
	if (late)
		return STUCK;
	return *ret_code > 128 ? KILLED : *ret_code ? FAILED : ORDERLY;
}

void gateway_end_reap(struct supervisor *s)
{
	struct gateway_link *g = &s->gateway;
	int code = 0, other = 0;
	enum badness bad = reap(s, &g->edge.child, &code);
	enum badness worse = reap(s, &g->gateway.child, &other);

	if (worse > bad) {
		bad = worse;
		code = other;
	}
	if (bad == STUCK)
		(void)snprintf(g->why, GATEWAY_WHY_MAX, "it broke off and did not end");
	else if (code == 128 + SIGKILL && gateway_end_oom_kills(g) > g->oom_kills)
		(void)snprintf(g->why, GATEWAY_WHY_MAX,
			       "killed by SIGKILL while the machine was out of memory");
	else if (bad == KILLED)
		(void)snprintf(g->why, GATEWAY_WHY_MAX, "killed by SIG%s",
			       sigabbrev_np(code - 128));
	else if (bad != NOT_STARTED)
		(void)snprintf(g->why, GATEWAY_WHY_MAX, "exited with %d", code);
}
