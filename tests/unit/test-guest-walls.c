#include "tests.h"

#include "guest-harness.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"

/* ----- what a command holds ----- */

static void no_descriptor_but_the_three_is_visible(void **state)
{
	assert_string_equal(output("/probe fds"), "0 1 2 ");
}

static void no_capability_is_left_and_the_filter_is_on(void **state)
{
	struct harness_result r;

	harness_run(&shared, "cat /proc/self/status", &r);
	assert_non_null(strstr(r.out, "CapInh:\t0000000000000000\n"));
	assert_non_null(strstr(r.out, "CapPrm:\t0000000000000000\n"));
	assert_non_null(strstr(r.out, "CapEff:\t0000000000000000\n"));
	assert_non_null(strstr(r.out, "CapBnd:\t0000000000000000\n"));
	assert_non_null(strstr(r.out, "CapAmb:\t0000000000000000\n"));
	assert_non_null(strstr(r.out, "NoNewPrivs:\t1\n"));
	assert_non_null(strstr(r.out, "Seccomp:\t2\n"));
	assert_non_null(strstr(r.out, "SigBlk:\t0000000000000000\n"));
	assert_non_null(strstr(r.out, "SigIgn:\t0000000000000000\n"));
}

static void limits_and_oom_score_are_the_commands(void **state)
{
	struct harness_result r;

	harness_run(&shared, "cat /proc/self/limits", &r);
	assert_non_null(strstr(r.out, "Max open files            777                  888 "));
	assert_non_null(strstr(r.out, "Max core file size        1                    1 "));
	assert_string_equal(output("cat /proc/self/oom_score_adj"), "123");
}

static void stdio_are_the_very_files_that_were_given(void **state)
{
	char path[128], text[8] = "";
	int in, out;

	(void)snprintf(path, sizeof(path), "%s/in", shared.workspace);
	in = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(fd_write_all(in, "abcdef", 6), 0);
	assert_int_equal(lseek(in, 2, SEEK_SET), 2);
	(void)snprintf(path, sizeof(path), "%s/out", shared.workspace);
	out = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(
		harness_code(&shared, harness_spawn_line(&shared, (int[]){in, out, out}, "cat")),
		0);
	assert_int_equal(lseek(in, 0, SEEK_CUR), 6); /* the offset is shared */
	assert_int_equal(pread(out, text, sizeof(text), 0), 4);
	assert_string_equal(text, "cdef");
	(void)close(in);
	(void)close(out);
}

/* ----- descriptors give no more than they gave ----- */

static int host_file(char path[64], int flags)
{
	int fd;

	memcpy(path, "/tmp/guest-file-XXXXXX", sizeof("/tmp/guest-file-XXXXXX"));
	fd = mkostemp(path, O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(fd_write_all(fd, "precious", 8), 0);
	(void)close(fd);
	fd = open(path, flags | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

/* What the probe says on the third descriptor, a pipe, when it gets these first two; the second
 * is its number 3. */
static void says(int in, int out, const char *line, const char *expected)
{
	cleanup_strv struct strv argv, env;
	int pipe[2];

	strv_init(&argv);
	strv_init(&env);
	strv_push(&argv, "/bin/sh");
	strv_push(&argv, "-c");
	strv_pushf(&argv, "{ %s; } 3>&1 >&2", line);
	assert_int_equal(pipe2(pipe, O_CLOEXEC), 0);
	assert_int_equal(harness_code(&shared, harness_spawn(&shared, (int[]){in, out, pipe[1]}, 0,
							     "/", &argv, &env)),
			 0);
	(void)close(pipe[1]);
	if (!harness_read_until(pipe[0], expected))
		fail_msg("%s did not say %s", line, expected);
	(void)close(pipe[0]);
}

static void need_landlock(void)
{
	if (shared.abi < GUEST_LANDLOCK_FILES)
		skip();
}

static void a_file_for_reading_cannot_be_opened_for_writing(void **state)
{
	char path[64], text[16] = "";
	int fd, null = open("/dev/null", O_RDWR | O_CLOEXEC);

	need_landlock();
	fd = host_file(path, O_RDONLY);
	says(fd, null, "/probe open /proc/self/fd/0 r", "ok\n");
	says(fd, null, "/probe open /proc/self/fd/0 w", "EACCES\n");
	says(fd, null, "/probe open /proc/self/fd/0 rw", "EACCES\n");
	says(fd, null, "/probe open /dev/stdin wt", "EACCES\n");
	says(fd, null, "/probe truncate /proc/self/fd/0", "EACCES\n");
	assert_int_equal(pread(fd, text, sizeof(text), 0), 8);
	assert_string_equal(text, "precious");
	(void)close(fd);
	(void)close(null);
	(void)unlink(path);
}

static void a_file_for_writing_can_be_opened_as_stdout_and_not_be_read(void **state)
{
	char path[64];
	int fd, null = open("/dev/null", O_RDWR | O_CLOEXEC);

	need_landlock();
	fd = host_file(path, O_WRONLY);
	says(null, fd, "/probe open /proc/self/fd/3 r", "EACCES\n");
	says(null, fd, "{ echo -n hello > /dev/stdout; } >&3; echo done", "done\n");
	(void)close(fd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	says(fd, null, "cat", "hello");
	(void)close(fd);
	(void)close(null);
	(void)unlink(path);
}

static void an_append_only_file_is_not_truncated_by_its_name(void **state)
{
	char path[64];
	int fd, null = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct stat st;

	need_landlock();
	fd = host_file(path, O_WRONLY | O_APPEND);
	says(null, fd, "/probe open /proc/self/fd/3 wt", "EACCES\n");
	says(null, fd, "/probe open /proc/self/fd/3 w", "EACCES\n");
	says(null, fd, "/probe truncate /proc/self/fd/3", "EACCES\n");
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_size, 8);
	(void)close(fd);
	(void)close(null);
	(void)unlink(path);
}

static void a_directory_is_refused_in_every_place(void **state)
{
	int dir = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC), null = open("/dev/null", O_RDWR);

	for (int i = 0; i < 3; i++) {
		int fds[3] = {null, null, null};

		fds[i] = dir;
		assert_int_equal(harness_code(&shared, harness_spawn_line(&shared, fds, "true")),
				 -EISDIR);
	}
	(void)close(dir);
	(void)close(null);
	dir = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(
		harness_code(&shared, harness_spawn_line(&shared, (int[]){dir, dir, dir}, "true")),
		-EISDIR);
	(void)close(dir);
}

static void a_read_only_memory_file_is_refused(void **state)
{
	int fd, ro, null = open("/dev/null", O_RDWR | O_CLOEXEC);
	char path[40];

	need_landlock();
	fd = memfd_create("x", MFD_CLOEXEC);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	ro = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(
		harness_code(&shared, harness_spawn_line(&shared, (int[]){ro, null, null}, "true")),
		-EOPNOTSUPP);
	assert_int_equal(
		harness_code(&shared, harness_spawn_line(&shared, (int[]){fd, null, null}, "true")),
		0);
	(void)close(ro);
	(void)close(fd);
	(void)close(null);
}

static void pipes_and_devices_open_again_by_name(void **state)
{
	assert_string_equal(output("/probe open /dev/stdin r"), "ok");	/* /dev/null of the host */
	assert_string_equal(output("/probe open /dev/stdout w"), "ok"); /* a pipe */
	assert_string_equal(output("/probe open /dev/null rw"), "ok");
	assert_string_equal(output("/probe open /dev/shm/x c"), "ok");
}

static void only_the_writable_places_can_be_written(void **state)
{
	assert_string_equal(output("/probe open /ws/new c"), "ok");
	assert_string_equal(output("/probe open /tmp/new c"), "ok");
	need_landlock();
	assert_string_equal(output("/probe open /new c"), "EACCES");
	assert_string_equal(output("/probe open /dev/new c"), "EACCES");
}

/* ----- system calls ----- */

static void dangerous_calls_are_refused(void **state)
{
	static const char *const names[] = {"io_uring_setup",
					    "bpf",
					    "perf_event_open",
					    "userfaultfd",
					    "keyctl",
					    "add_key",
					    "request_key",
					    "mount",
					    "umount2",
					    "move_mount",
					    "open_tree",
					    "fsopen",
					    "fsmount",
					    "pivot_root",
					    "chroot",
					    "setns",
					    "kexec_load",
					    "init_module",
					    "reboot",
					    "swapon",
					    "acct",
					    "kcmp",
					    "open_by_handle_at",
					    "vhangup",
					    "settimeofday",
					    "clock_settime",
					    "syslog"};
	char line[64];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		(void)snprintf(line, sizeof(line), "/probe named %s", names[i]);
		if (!streq(output(line), "EPERM"))
			fail_msg("%s gives %s", names[i], output(line));
	}
	assert_string_equal(output("/probe named clone3"), "ENOSYS");
	assert_string_equal(output("/probe named unknown"), "ENOSYS");
}

static void says_of_socket(const char *call, unsigned long family, unsigned long type,
			   unsigned long protocol, const char *expected)
{
	char line[96];

	(void)snprintf(line, sizeof(line), "/probe %s %lu %lu %lu", call, family, type, protocol);
	if (!streq(output(line), expected))
		fail_msg("%s gives %s", line, output(line));
}

static void sockets_are_of_the_allowed_families_and_types(void **state)
{
	const unsigned long high = 1UL << 32;

	says_of_socket("socket", AF_UNIX, SOCK_STREAM, 0, "ok");
	says_of_socket("socket", AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, "ok");
	says_of_socket("socket", AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0, "ok");
	says_of_socket("socket", AF_INET, SOCK_STREAM, 6, "ok");
	says_of_socket("socket", AF_INET6, SOCK_DGRAM, 17, "ok");
	says_of_socket("socket", AF_NETLINK, SOCK_RAW, 0, "ok");
	says_of_socket("socketpair", AF_UNIX, SOCK_STREAM, 0, "ok");
	for (unsigned long family = 0; family < 64; family++)
		if (family != AF_UNIX && family != AF_INET && family != AF_INET6 &&
		    family != AF_NETLINK) {
			says_of_socket("socket", family, SOCK_STREAM, 0, "EAFNOSUPPORT");
			says_of_socket("socket", family | high, SOCK_DGRAM, 0, "EAFNOSUPPORT");
		}
	says_of_socket("socket", AF_UNIX, SOCK_DGRAM, 0, "EPROTONOSUPPORT");
	says_of_socket("socket", AF_UNIX, SOCK_RAW, 0, "EPROTONOSUPPORT");
	says_of_socket("socketpair", AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, "EPROTONOSUPPORT");
	says_of_socket("socketpair", AF_UNIX, SOCK_DGRAM | high, 0, "EPROTONOSUPPORT");
	says_of_socket("socketpair", AF_UNIX, SOCK_RAW, 0, "EPROTONOSUPPORT");
	says_of_socket("socket", AF_INET, SOCK_RAW, 1, "EPROTONOSUPPORT");
	says_of_socket("socket", AF_INET6, SOCK_RAW | SOCK_CLOEXEC, 58, "EPROTONOSUPPORT");
	says_of_socket("socket", AF_INET, SOCK_STREAM, 132, "EPROTONOSUPPORT");
	says_of_socket("socket", AF_INET, SOCK_DGRAM, 115, "EPROTONOSUPPORT");
	says_of_socket("socket", AF_NETLINK, SOCK_RAW, 6, "EPROTONOSUPPORT");
	says_of_socket("socket", AF_NETLINK, SOCK_DGRAM, 9 | high, "EPROTONOSUPPORT");
	says_of_socket("socket", AF_NETLINK | high, SOCK_RAW, 6, "EAFNOSUPPORT");
}

static void no_namespace_can_be_made(void **state)
{
	static const unsigned flags[] = {CLONE_NEWUSER, CLONE_NEWNS,  CLONE_NEWNET,   CLONE_NEWPID,
					 CLONE_NEWIPC,	CLONE_NEWUTS, CLONE_NEWCGROUP};
	char line[64];

	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		(void)snprintf(line, sizeof(line), "/probe unshare %u", flags[i]);
		assert_string_equal(output(line), "EPERM");
		(void)snprintf(line, sizeof(line), "/probe clone %u", flags[i]);
		assert_string_equal(output(line), "EPERM");
	}
	assert_string_equal(output("/probe unshare 128"), "EPERM");
	assert_string_equal(output("/probe clone 0"), "ok");
}

static void a_terminal_cannot_be_typed_into_with_any_upper_half(void **state)
{
	static const unsigned long requests[] = {TIOCSTI, TIOCSETD, 0x541c /* TIOCLINUX */};
	char line[64];

	for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
		(void)snprintf(line, sizeof(line), "/probe ioctl %lu", requests[i]);
		assert_string_equal(output(line), "EPERM");
		(void)snprintf(line, sizeof(line), "/probe ioctl %lu",
			       requests[i] | 0xdeadbeefUL << 32);
		assert_string_equal(output(line), "EPERM");
	}
}

static void a_foreign_abi_ends_the_process(void **state)
{
#ifdef __x86_64__
	assert_int_equal(exit_of("/probe foreign x32"), 128 + SIGSYS);
	assert_int_equal(exit_of("/probe foreign i386"), 128 + SIGSYS);
#else
	skip();
#endif
}

static void own_children_can_be_traced_but_not_the_guest(void **state)
{
	assert_string_equal(output("/probe tracechild"), "ok");
	assert_string_equal(output("/probe trace 1"), "EPERM");
	assert_string_equal(output("/probe traceparent"), "EPERM");
	assert_string_equal(output("/probe open /proc/1/fd/3 r"), "EACCES");
	assert_string_equal(output("/probe open /proc/1/mem rw"), "EACCES");
}

static void only_harmless_personalities_can_be_taken(void **state)
{
	assert_string_equal(output("/probe personality 0"), "ok");
	assert_string_equal(output("/probe personality 4294967295"), "ok");
	assert_string_equal(output("/probe personality 262144"), "ok");	     /* ADDR_NO_RANDOMIZE */
	assert_string_equal(output("/probe personality 4194304"), "ENOSYS"); /* READ_IMPLIES_EXEC */
}

/* ----- network ----- */

static void listen_at(struct guest_listener *l, const char *addr, uint16_t port, bool udp)
{
	*l = (struct guest_listener){.family = strchr(addr, ':') ? AF_INET6 : AF_INET,
				     .udp = udp,
				     .port = port,
				     .backlog = 16};
	assert_int_equal(inet_pton(l->family, addr, l->addr), 1);
}

/* A connection made inside arrives on the listener outside, for the address that was dialled. */
static void connects(struct harness *b, size_t listener, const char *to, uint16_t port)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), pipe[2], conn;
	struct pollfd p = {.fd = b->listeners[listener], .events = POLLIN};
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);
	char line[96], text[INET6_ADDRSTRLEN];
	uint32_t id;

	(void)snprintf(line, sizeof(line), "/probe connect %s %u", to, port);
	assert_int_equal(pipe2(pipe, O_CLOEXEC), 0);
	id = harness_spawn_line(b, (int[]){null, pipe[1], null}, line);
	assert_int_equal(poll(&p, 1, 30000), 1);
	conn = accept4(p.fd, NULL, NULL, SOCK_CLOEXEC);
	assert_true(conn >= 0);
	assert_int_equal(getsockname(conn, (struct sockaddr *)&ss, &len), 0);
	(void)inet_ntop(ss.ss_family,
			ss.ss_family == AF_INET ? (void *)&((struct sockaddr_in *)&ss)->sin_addr
						: (void *)&((struct sockaddr_in6 *)&ss)->sin6_addr,
			text, sizeof(text));
	assert_string_equal(text, to);
	assert_int_equal(fd_write_all(conn, "from outside", 12), 0);
	(void)close(conn);
	assert_true(harness_read_until(pipe[0], "from outside\n"));
	assert_int_equal(harness_code(b, id), 0);
	(void)close(pipe[0]);
	(void)close(pipe[1]);
	(void)close(null);
}

static void listeners_made_inside_are_served_outside(void **state)
{
	struct guest_listener l[40];
	struct guest_setup s = harness_setup();
	char text[8] = "";
	struct harness_result r;
	struct harness b;

	listen_at(&l[0], "127.0.0.1", 3128, false);
	listen_at(&l[1], "0.0.0.0", 443, false);
	listen_at(&l[2], "::", 443, false);
	listen_at(&l[3], "127.0.0.53", 53, true);
	for (uint16_t i = 4; i < ARRAY_SIZE(l); i++) /* more than one frame holds */
		listen_at(&l[i], "198.18.7.7", (uint16_t)(8000 + i), false);
	s.listeners = l;
	s.n_listeners = ARRAY_SIZE(l);
	harness_open(&b, &s);
	connects(&b, 0, "127.0.0.1", 3128);
	connects(&b, 1, "198.19.1.2", 443);
	connects(&b, 2, "fd00:7261:6c70::9", 443);
	connects(&b, 39, "198.18.7.7", 8039);
	harness_run(&b, "/probe udp 127.0.0.53 53", &r);
	assert_string_equal(r.out, "ok\n");
	assert_int_equal(recv(b.listeners[3], text, sizeof(text), 0), 5);
	assert_string_equal(text, "hello");
	harness_run(&b, "/probe bind 80", &r);
	assert_string_equal(r.out, "EACCES\n");
	harness_run(&b, "/probe connect 192.0.2.1 80", &r);
	assert_string_equal(r.out, "errno 101\n"); /* unreachable: there is no route */
	harness_close(&b);
}

static void an_abstract_socket_of_the_host_is_out_of_reach(void **state)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	cleanup_fd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char line[160];
	int n = snprintf(un.sun_path + 1, sizeof(un.sun_path) - 1, "guest-test-%d", getpid());
	socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);

	assert_int_equal(bind(fd, (struct sockaddr *)&un, len), 0);
	assert_int_equal(listen(fd, 1), 0);
	(void)snprintf(line, sizeof(line), "/probe abstract %s", un.sun_path + 1);
	assert_string_equal(output(line), "ECONNREFUSED");
}

/* ----- fail closed ----- */

static void fails_with(const char *drop_cap, const struct guest_setup *s, const char *text)
{
	struct harness_frame f;
	struct harness b;

	harness_start(&b, drop_cap);
	if (s)
		harness_send_setup(&b, s);
	else
		assert_int_equal(wire_send(b.sock, WIRE_SPAWN, 0, NULL, NULL, 0), 0);
	f = harness_wait(&b, 0);
	assert_int_equal(f.type, WIRE_ERROR);
	if (!strstr(f.text, text))
		fail_msg("'%s' is not in '%s'", text, f.text);
	assert_int_equal(harness_wait(&b, 0).type, WIRE_NONE); /* and it is gone */
	harness_close(&b);
}

static void without_its_privileges_the_guest_does_not_come_up(void **state)
{
	struct guest_setup s = harness_setup();

	fails_with("CAP_SYS_ADMIN", &s, "network namespace");
	fails_with("CAP_SETPCAP", &s, "bounding set");
}

static void a_set_up_that_cannot_be_had_stops_the_guest(void **state)
{
	struct guest_listener l[2];
	struct guest_rule rule = {GUEST_RW, "/not/there"};
	struct guest_setup s = harness_setup();

	fails_with(NULL, NULL, "set-up first");
	listen_at(&l[0], "127.0.0.1", 3128, false);
	l[1] = l[0];
	s.listeners = l;
	s.n_listeners = 2;
	fails_with(NULL, &s, "cannot listen on 127.0.0.1 port 3128 (tcp)");
	s.n_listeners = 0;
	if (shared.abi) {
		s.rules = &rule;
		s.n_rules = 1;
		fails_with(NULL, &s, "'/not/there'");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_descriptor_but_the_three_is_visible),
		cmocka_unit_test(no_capability_is_left_and_the_filter_is_on),
		cmocka_unit_test(limits_and_oom_score_are_the_commands),
		cmocka_unit_test(stdio_are_the_very_files_that_were_given),
		cmocka_unit_test(a_file_for_reading_cannot_be_opened_for_writing),
		cmocka_unit_test(a_file_for_writing_can_be_opened_as_stdout_and_not_be_read),
		cmocka_unit_test(an_append_only_file_is_not_truncated_by_its_name),
		cmocka_unit_test(a_directory_is_refused_in_every_place),
		cmocka_unit_test(a_read_only_memory_file_is_refused),
		cmocka_unit_test(pipes_and_devices_open_again_by_name),
		cmocka_unit_test(only_the_writable_places_can_be_written),
		cmocka_unit_test(dangerous_calls_are_refused),
		cmocka_unit_test(sockets_are_of_the_allowed_families_and_types),
		cmocka_unit_test(no_namespace_can_be_made),
		cmocka_unit_test(a_terminal_cannot_be_typed_into_with_any_upper_half),
		cmocka_unit_test(a_foreign_abi_ends_the_process),
		cmocka_unit_test(own_children_can_be_traced_but_not_the_guest),
		cmocka_unit_test(only_harmless_personalities_can_be_taken),
		cmocka_unit_test(listeners_made_inside_are_served_outside),
		cmocka_unit_test(an_abstract_socket_of_the_host_is_out_of_reach),
		cmocka_unit_test(without_its_privileges_the_guest_does_not_come_up),
		cmocka_unit_test(a_set_up_that_cannot_be_had_stops_the_guest),
	};

	if (!harness_available())
		return 77;
	return cmocka_run_group_tests(tests, harness_open_shared, harness_close_shared);
}
