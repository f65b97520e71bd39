#include "tests.h"

#include "guest-harness.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/proc.h"

#define WAIT_MS 30000

struct guest_setup harness_setup(void)
{
	static struct guest_rule rules[] = {{GUEST_RO, "/"},	 {GUEST_RW, "/tmp"},
					    {GUEST_RW, "/ws"},	 {GUEST_RW, "/proc"},
					    {GUEST_DEV, "/dev"}, {GUEST_RW, "/dev/shm"}};
	static struct guest_rlimit rlimits[] = {{RLIMIT_NOFILE, 777, 888}};

	return (struct guest_setup){
		.hostname = "testbox",
		.routes = true,
		.landlock = GUEST_LANDLOCK_IF_AVAILABLE,
		.oom_score_adj = 123,
		.rules = rules,
		.n_rules = ARRAY_SIZE(rules),
		.rlimits = rlimits,
		.n_rlimits = ARRAY_SIZE(rlimits),
	};
}

static void bwrap_args(struct strv *a, const struct harness *b, const char *drop_cap)
{
	static const char *const caps[] = {"CAP_SYS_ADMIN", "CAP_NET_ADMIN", "CAP_NET_BIND_SERVICE",
					   "CAP_SETPCAP"};
	const char *fixed =
		"bwrap --unshare-user --uid 1000 --gid 1000 --disable-userns --unshare-pid "
		"--unshare-ipc --unshare-uts --unshare-cgroup-try --as-pid-1 --die-with-parent "
		"--ro-bind /usr /usr --symlink usr/bin /bin --symlink usr/lib /lib "
		"--symlink usr/lib64 /lib64 --symlink usr/sbin /sbin --proc /proc --dev /dev "
		"--tmpfs /tmp --cap-drop ALL";

	strv_split(a, fixed, ' ');
	for (size_t i = 0; i < ARRAY_SIZE(caps); i++) {
		if (drop_cap && streq(drop_cap, caps[i]))
			continue;
		strv_push(a, "--cap-add");
		strv_push(a, caps[i]);
	}
	strv_push(a, "--bind");
	strv_push(a, b->workspace);
	strv_push(a, "/ws");
	strv_push(a, "--ro-bind");
	strv_push(a, GUEST_PROBE);
	strv_push(a, "/probe");
	strv_push(a, "--ro-bind");
	strv_push(a, getenv("GUEST") ? getenv("GUEST") : GUEST_BINARY);
	strv_push(a, "/guest");
	strv_push(a, "/guest");
}

void harness_start(struct harness *b, const char *drop_cap)
{
	cleanup_strv struct strv argv;
	char *env[] = {"PATH=/usr/bin:/bin", NULL};
	struct run run = RUN_INIT;
	struct child child;
	struct err err = {0};
	int pair[2];

	*b = (struct harness){.sock = -1, .next_id = 1, .workspace = "/tmp/guest-harness-XXXXXX"};
	assert_non_null(mkdtemp(b->workspace));
	assert_int_equal(wire_pair(pair, &err), 0);
	strv_init(&argv);
	bwrap_args(&argv, b, drop_cap);
	strv_pushf(&argv, "%d", pair[1]);
	run.argv = argv.v;
	run.env = env;
	run.flags = RUN_SEARCH_PATH | RUN_DIE_WITH_US;
	run_keep(&run, pair[1]);
	if (run_start(&run, &child, &err) < 0)
		fail_msg("%s", err.msg);
	(void)close(pair[1]);
	(void)close(child.pidfd);
	b->bwrap = child.pid;
	b->sock = pair[0];
}

void harness_send_setup(struct harness *b, const struct guest_setup *s)
{
	cleanup_buf struct buf body;

	buf_init(&body, WIRE_BODY_MAX);
	guest_setup_put(&body, s);
	assert_int_equal(wire_send(b->sock, WIRE_SETUP, 0, &body, NULL, 0), 0);
}

/* The next frame, whatever it is; listeners go into the box. */
static struct harness_frame next_frame(struct harness *b)
{
	struct pollfd p = {.fd = b->sock, .events = POLLIN};
	cleanup_wire_msg struct wire_msg m;
	struct harness_frame f = {.fd = -1};
	struct wire_reader r;
	int got;

	if (poll(&p, 1, WAIT_MS) != 1)
		fail_msg("the guest says nothing");
	wire_msg_init(&m);
	got = wire_recv(b->sock, &m);
	if (got == 0)
		return (struct harness_frame){.type = WIRE_NONE, .fd = -1};
	assert_int_equal(got, 1);
	f.type = m.type;
	f.id = m.id;
	wire_read(&r, &m);
	f.value = wire_get_u32(&r);
	if (m.type == WIRE_ERROR)
		(void)snprintf(f.text, sizeof(f.text), "%s", wire_get_str(&r));
	assert_int_equal(wire_read_end(&r), 0);
	for (size_t i = 0; m.type == WIRE_UP && i < m.n_fds; i++)
		b->listeners[b->n_listeners++] = wire_take_fd(&m, i);
	if (m.type == WIRE_SPAWNED)
		f.fd = wire_take_fd(&m, 0);
	return f;
}

void harness_open(struct harness *b, const struct guest_setup *s)
{
	harness_start(b, NULL);
	harness_send_setup(b, s);
	for (size_t i = 0; i < guest_up_frames(s->n_listeners); i++) {
		struct harness_frame f = next_frame(b);

		if (f.type != WIRE_UP)
			fail_msg("not up: %s", f.text);
		b->abi = f.value;
	}
	assert_int_equal(b->n_listeners, s->n_listeners);
}

void harness_close(struct harness *b)
{
	struct err err = {0};
	int status;

	closep(&b->sock);
	for (size_t i = 0; i < b->n_listeners; i++)
		closep(&b->listeners[i]);
	for (size_t i = 0; i < b->n_pending; i++)
		closep(&b->pending[i].fd);
	assert_int_equal(waitpid(b->bwrap, &status, 0), b->bwrap);
	assert_int_equal(path_remove_tree(AT_FDCWD, b->workspace, &err), 0);
}

uint32_t harness_spawn(struct harness *b, const int fds[3], uint32_t flags, const char *cwd,
		       const struct strv *argv, const struct strv *env)
{
	cleanup_buf struct buf body;
	uint32_t id = b->next_id++;

	buf_init(&body, WIRE_BODY_MAX);
	wire_put_u32(&body, flags);
	wire_put_u32(&body, 33);
	wire_put_u32(&body, 77);
	wire_put_str(&body, cwd);
	wire_put_strv(&body, argv);
	wire_put_strv(&body, env);
	assert_int_equal(wire_send(b->sock, WIRE_SPAWN, id, &body, fds, fds ? 3 : 0), 0);
	return id;
}

uint32_t harness_spawn_line(struct harness *b, const int fds[3], const char *line)
{
	cleanup_strv struct strv argv, env;

	strv_init(&argv);
	strv_init(&env);
	strv_split(&argv, line, ' ');
	strv_push(&env, "PATH=/usr/bin:/bin");
	return harness_spawn(b, fds, fds ? 0 : WIRE_EXEC_TTY, "/ws", &argv, &env);
}

void harness_kill(struct harness *b, uint32_t id, uint32_t sig)
{
	cleanup_buf struct buf body;

	buf_init(&body, 64);
	wire_put_u32(&body, sig);
	assert_int_equal(wire_send(b->sock, WIRE_KILL, id, &body, NULL, 0), 0);
}

struct harness_frame harness_wait(struct harness *b, uint32_t id)
{
	struct harness_frame f;

	for (size_t i = 0; i < b->n_pending; i++)
		if (b->pending[i].id == id) {
			f = b->pending[i];
			b->n_pending--;
			memmove(&b->pending[i], &b->pending[i + 1], (b->n_pending - i) * sizeof(f));
			return f;
		}
	for (;;) {
		f = next_frame(b);
		if (f.id == id)
			return f;
		if (f.type == WIRE_NONE)
			fail_msg("the guest is gone");
		if (f.id == 0)
			fail_msg("the guest ends: %s", f.text);
		assert_true(b->n_pending < HARNESS_PENDING_MAX);
		b->pending[b->n_pending++] = f;
	}
}

int harness_code(struct harness *b, uint32_t id)
{
	struct harness_frame f = harness_wait(b, id);

	if (f.type == WIRE_ERROR)
		return -(int)f.value;
	if (f.type == WIRE_SPAWNED) {
		closep(&f.fd);
		f = harness_wait(b, id);
	}
	assert_int_equal(f.type, WIRE_ENDED);
	return (int)f.value;
}

void harness_run(struct harness *b, const char *line, struct harness_result *ret)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), pipe[2];
	cleanup_buf struct buf out;
	struct harness_frame f;
	uint32_t id;

	*ret = (struct harness_result){0};
	assert_int_equal(pipe2(pipe, O_CLOEXEC), 0);
	id = harness_spawn_line(b, (int[]){null, pipe[1], pipe[1]}, line);
	(void)close(pipe[1]);
	(void)close(null);
	buf_init(&out, sizeof(ret->out) - 1);
	assert_int_equal(fd_read_all(pipe[0], &out), 0);
	(void)close(pipe[0]);
	(void)snprintf(ret->out, sizeof(ret->out), "%s", buf_str(&out));
	f = harness_wait(b, id);
	if (f.type == WIRE_ERROR) {
		ret->code = -(int)f.value;
		(void)snprintf(ret->error, sizeof(ret->error), "%s", f.text);
		return;
	}
	assert_int_equal(f.type, WIRE_SPAWNED);
	f = harness_wait(b, id);
	assert_int_equal(f.type, WIRE_ENDED);
	ret->code = (int)f.value;
}

bool harness_read_until(int fd, const char *text)
{
	char all[4096];
	size_t n = 0;

	while (n < sizeof(all) - 1) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		ssize_t r;

		if (poll(&p, 1, WAIT_MS) != 1)
			fail_msg("no '%s' came", text);
		r = read(fd, all + n, sizeof(all) - 1 - n);
		if (r <= 0)
			return false;
		n += (size_t)r;
		all[n] = '\0';
		if (strstr(all, text))
			return true;
	}
	return false;
}

struct harness shared;

const char *output(const char *line)
{
	static struct harness_result r;

	harness_run(&shared, line, &r);
	if (r.code < 0)
		fail_msg("%s: %s", line, r.error);
	r.out[strcspn(r.out, "\n")] = '\0';
	return r.out;
}

int exit_of(const char *line)
{
	struct harness_result r;

	harness_run(&shared, line, &r);
	return r.code;
}

int harness_open_shared(void **state)
{
	struct guest_setup s = harness_setup();

	harness_open(&shared, &s);
	return 0;
}

int harness_close_shared(void **state)
{
	harness_close(&shared);
	return 0;
}

bool harness_available(void)
{
	char *argv[] = {
		"/usr/bin/bwrap", "--unshare-user", "--ro-bind", "/", "/", "/bin/true", NULL};
	cleanup_free char *out = NULL;
	struct err err = {0};
	const char *require = getenv("RALPH_TEST_REQUIRE");
	int code = -1;

	if (require && strstr(require, "bwrap"))
		return true;
	return run_capture(argv, NULL, 20000, 4096, &out, &code, &err) == 0 && code == 0;
}
