#include "live/prestart.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/parse.h"
#include "base/proc.h"
#include "wire/wire.h"

/* Whom it is for says what is in it: a connection, or the parts of a launch. */
#define CONN_ENV "RALPH_PRESTART"
#define LAUNCH_ENV "RALPH_LAUNCH"
#define LAUNCH_FIELDS 4 /* guest, complaint, pid; IN_CGROUP or NO_CGROUP */
#define LAUNCH_FDS 2
#define NO_CGROUP SUPERVISOR_FD /* the least number that take_numbers() takes */
#define IN_CGROUP (SUPERVISOR_FD + 1)

void prestart_supervisor_env(struct strv *env)
{
	static const char *const names[] = {
		"PATH", "HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME", "XDG_CONFIG_HOME",
		"DBUS_SESSION_BUS_ADDRESS", NETWORK_ENV, "RALPH_LIBEXEC",
		/* Container engines find their daemon, settings and storage by these. */
		"DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "CONTAINER_HOST",
		"CONTAINERS_CONF", "CONTAINERS_STORAGE_CONF", "XDG_DATA_HOME",
		"XDG_CACHE_HOME", /* the machines of engine vm */
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *v = getenv(names[i]);

		if (v)
			strv_pushf(env, "%s=%s", names[i], v);
	}
}

static void push_launch(const struct engine_launch *l, struct strv *env)
{
	const int fds[] = {l->guest, l->complaint};

	if (l->pid <= 0)
		return;
	strv_pushf(env, LAUNCH_ENV "=%d,%d,%d,%d", l->guest, l->complaint, (int)l->pid,
		   l->in_cgroup ? IN_CGROUP : NO_CGROUP);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		(void)fd_set_cloexec(fds[i], false);
}

static void become_supervisor(const char *program, char *name, const struct engine_launch *l)
{
	char *argv[] = {(char *)(uintptr_t)program, name, NULL};
	struct strv env;

	strv_init(&env);
	prestart_supervisor_env(&env);
	push_launch(l, &env);
	(void)execve(program, argv, env.v);
}

static void wait_for_name(const char *program, int conn, const struct engine_launch *l)
{
	cleanup_wire_msg struct wire_msg m;
	struct wire_reader r;
	const char *name;

	wire_msg_init(&m);
	if (wire_recv(conn, &m) <= 0 || m.type != WIRE_NAME)
		return;
	wire_read(&r, &m);
	name = wire_get_str(&r);
	if (wire_read_end(&r) == 0 && dup2(conn, SUPERVISOR_FD) >= 0)
		become_supervisor(program, (char *)(uintptr_t)name, l);
}

/* In the fork. A launch that fails is tried again by the supervisor, which can say why. */
static void go_ahead(const struct places *p, int conn)
{
	cleanup_free char *program = places_program(p, "supervisor");
	cleanup_free char *guest = places_program(p, "guest");
	cleanup_launch struct engine_launch l;
	struct run run = RUN_INIT;
	struct err ignored;

	launch_init(&l);
	run.dir = "/";
	run.flags = RUN_NEW_SESSION;
	if (run_become(&run) < 0)
		return;
	(void)launch_ahead(&l, guest, &ignored);
	wait_for_name(program, conn, &l);
	launch_drop(&l); /* nobody wants it */
}

void prestart_fork(const struct places *p)
{
	cleanup_fd int ours = -1, theirs = -1;
	struct err ignored;
	char number[16];
	int pair[2];
	pid_t pid;

	if (wire_pair(pair, &ignored) < 0)
		return;
	ours = pair[0];
	theirs = pair[1];
	pid = fork();
	if (pid == 0) {
		closep(&ours);
		go_ahead(p, theirs);
		_exit(0);
	}
	(void)snprintf(number, sizeof(number), "%d", ours);
	if (pid < 0 || setenv(CONN_ENV, number, 1) < 0)
		return;
	(void)fd_set_cloexec(take_fd(ours), false); /* the connection crosses the exec */
}

/* Numbers from the environment, which is then rid of them; 0, or -errno. */
static int take_numbers(const char *name, uint64_t *ret, size_t n)
{
	cleanup_strv struct strv part = {0};
	const char *text = getenv(name);

	if (!text)
		return -ENOENT;
	strv_split(&part, text, ',');
	(void)unsetenv(name);
	if (part.n != n)
		return -EINVAL;
	for (size_t i = 0; i < n; i++)
		if (parse_uint(part.v[i], SUPERVISOR_FD, INT32_MAX, &ret[i]) < 0)
			return -EINVAL;
	return 0;
}

/*
 * Tells whether this very process made the socket pair, before it became the command line. A
 * program that can only set a variable cannot have the spec and the user's environment sent
 * elsewhere.
 */
static bool is_own_pair(int fd)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) == 0 && cred.pid == getpid();
}

int prestart_take(void)
{
	uint64_t fd;

	if (take_numbers(CONN_ENV, &fd, 1) < 0 || !is_own_pair((int)fd) ||
	    fd_set_cloexec((int)fd, true) < 0)
		return -1;
	return (int)fd;
}

void prestart_take_launch(struct engine_launch *l)
{
	uint64_t v[LAUNCH_FIELDS];

	launch_init(l);
	if (take_numbers(LAUNCH_ENV, v, LAUNCH_FIELDS) < 0)
		return;
	l->guest = (int)v[0];
	l->complaint = (int)v[1];
	l->pid = (pid_t)v[2];
	l->in_cgroup = v[3] == IN_CGROUP;
	for (size_t i = 0; i < LAUNCH_FDS; i++)
		(void)fd_set_cloexec((int)v[i], true);
}
