/* Many, slow and endless peers: memory stays bounded and others are served. */
#include "live.h"

#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>

#define IDLE 9000 /* descriptors of this process: two per connection would not fit */

static const struct live_rule rules[] = {
	{.pattern = "allowed.test"},
	{.pattern = "allowed.test:9000"},
	{.pattern = "inspected.test", .methods = "GET POST", .paths = "/"},
};

static const struct live_options options = {.rules = rules, .n_rules = ARRAY_SIZE(rules)};

static int up(void **state)
{
	live_start(&options);
	return 0;
}

static int down(void **state)
{
	live_stop();
	return 0;
}

static long resident_of(pid_t pid)
{
	cleanup_free char *path = xasprintf("/proc/%d/status", (int)pid);
	FILE *f = fopen(path, "re");
	char line[256];
	long kib = -1;

	while (f && fgets(line, sizeof(line), f))
		if (strncmp(line, "RssAnon:", 8) == 0)
			kib = strtol(line + 8, NULL, 10);
	if (f)
		(void)fclose(f);
	assert_true(kib > 0);
	return kib;
}

/* Resident memory of edge and gateway in KiB, without the pages of their programs' files. */
static long resident(void)
{
	return resident_of(live_edge()) + resident_of(live_gateway());
}

/* The sanitizer keeps freed memory for a while, and more of it. */
static void at_most(long kib, long max)
{
#if !defined(__SANITIZE_ADDRESS__)
	assert_in_range(kib < 0 ? 0 : kib, 0, max);
#endif
}

static void is_served(void)
{
	cleanup_free char *a =
		ask("GET http://allowed.test/hello HTTP/1.1\r\nHost: allowed.test\r\n"
		    "Connection: close\r\n\r\n");

	if (!strstr(a, "\r\n\r\nhi"))
		fail_msg("not served: '%s'", a);
}

static void thousands_of_idle_connections_leave_others_served(void **state)
{
	static int fds[IDLE];
	long before, after;

	is_served();
	before = resident();
	for (int i = 0; i < IDLE; i++) {
		fds[i] = client_proxy();
		put(fds[i], "G");
	}
	is_served();
	/* Those of another listener may still wait for their turn. */
	while (live_health().connections < IDLE)
		;
	after = resident();
	print_message("%d idle connections: %ld KiB more\n", IDLE, after - before);
	at_most(after - before, IDLE * 3L);
	for (int i = 0; i < IDLE; i++)
		(void)close(fds[i]);
	while (live_health().connections > 1)
		;
	is_served();
}

static void slow_readers_cost_one_buffer_each(void **state)
{
	enum { N = 20 };
	long before, after;
	int fds[N];
	SSL *tls[N];

	is_served();
	for (int i = 0; i < N; i++) {
		fds[i] = client_proxy();
		put(fds[i], "GET http://allowed.test/big HTTP/1.1\r\nHost: allowed.test\r\n\r\n");
		tls[i] = tls_over(tunnel_to("inspected.test:443"), "inspected.test", TRUST_SANDBOX);
		assert_non_null(tls[i]);
	}
	before = resident();
	for (int i = 0; i < N; i++)
		tls_put(tls[i], "GET /big HTTP/1.1\r\nHost: inspected.test\r\n\r\n");
	/* Whoever waits is filled to the brim after a few rounds of others. */
	for (int i = 0; i < 200; i++)
		is_served();
	after = resident();
	print_message("%d slow readers: %ld KiB more\n", 2 * N, after - before);
	at_most(after - before, N * 256L);
	for (int i = 0; i < N; i++) {
		(void)close(fds[i]);
		tls_close(tls[i]);
	}
	is_served();
}

static void a_slow_tunnel_keeps_its_bytes_in_the_kernel(void **state)
{
	enum { N = 20 };
	static char block[1 << 16];
	long before, after;
	int fds[N];

	is_served();
	before = resident();
	for (int i = 0; i < N; i++) {
		fds[i] = tunnel_to("allowed.test:9000");
		(void)fd_set_nonblock(fds[i], true);
	}
	/* What is echoed is never read, until nothing goes any more. */
	for (int round = 0; round < 200; round++) {
		for (int i = 0; i < N; i++)
			(void)send(fds[i], block, sizeof(block), MSG_NOSIGNAL);
		is_served();
	}
	after = resident();
	print_message("%d slow tunnels: %ld KiB more\n", N, after - before);
	at_most(after - before, N * 256L);
	for (int i = 0; i < N; i++)
		(void)close(fds[i]);
}

static void a_head_without_end_is_cut_off(void **state)
{
	static char line[1024];
	int fd = client_proxy();
	char answer[64] = "";
	long before;

	is_served();
	before = resident();
	memset(line, 'a', sizeof(line));
	memcpy(line, "x: ", 3);
	memcpy(line + sizeof(line) - 2, "\r\n", 2);
	put(fd, "GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n");
	for (int i = 0; i < 200; i++)
		put_bytes(fd, line, sizeof(line));
	assert_true(recv(fd, answer, sizeof(answer) - 1, 0) > 0);
	assert_memory_equal(answer, "HTTP/1.1 431 ", 13);
	at_most(resident() - before, 512);
	(void)close(fd);
	is_served();
}

static void a_body_without_end_flows_through(void **state)
{
	static char chunk[16 * 1024 + 8];
	int fd = client_proxy();
	long before;

	is_served();
	before = resident();
	memset(chunk, 'x', sizeof(chunk));
	memcpy(chunk, "4000\r\n", 6);
	memcpy(chunk + 6 + 16384, "\r\n", 2);
	put(fd, "POST http://allowed.test/body HTTP/1.1\r\nHost: allowed.test\r\n"
		"Transfer-Encoding: chunked\r\n\r\n");
	for (int i = 0; i < 60; i++)
		put_bytes(fd, chunk, sizeof(chunk));
	is_served();
	at_most(resident() - before, 512);
	(void)close(fd);
}

static void memory_does_not_grow_with_requests(void **state)
{
	long before, after;

	for (int i = 0; i < 100; i++)
		is_served();
	before = resident();
	for (int i = 0; i < 2000; i++)
		is_served();
	after = resident();
	print_message("2000 requests: %ld KiB more; %ld KiB in all\n", after - before, after);
	at_most(after - before, 512);
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, up, down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(thousands_of_idle_connections_leave_others_served),
		T(slow_readers_cost_one_buffer_each),
		T(a_slow_tunnel_keeps_its_bytes_in_the_kernel),
		T(a_head_without_end_is_cut_off),
		T(a_body_without_end_flows_through),
		T(memory_does_not_grow_with_requests),
	};
	struct rlimit l;

	(void)getrlimit(RLIMIT_NOFILE, &l);
	l.rlim_cur = l.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &l);
	live_world();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
