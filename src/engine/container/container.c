/*
 * The container engines: docker and podman make a container of an image, ralph-guest is its
 * entrypoint. They differ in a few words; everything else is the same code.
 *
 * DOC: Theory of operation
 *
 * The engine is driven by its own program, with argument vectors. Of a container this uses: the
 * image as a file system, a pid namespace, the cgroup with its limits, and that the engine ends it.
 * Nothing else is left to it: it has no network, no capability and no environment, and of the host
 * only the directories that the spec names, at a place where no command will see them. In there the
 * guest does what it does in the native engine (wire/root-proto.h says what differs), from the same
 * list, in namespaces of its own. So what is protected, hidden, read-only and reachable is the same
 * in all engines, and is nowhere in the container's description: neither is any environment, since
 * commands get theirs from the guest.
 *
 * The line to the guest is a socket in the sandbox's runtime directory that is bound into the
 * container. The guest connects once; then the socket is removed. Who connected is asked of the
 * kernel, which also says which process the guest is. From there on descriptors pass as everywhere.
 *
 * stop() kills the guest, and so all of its pid namespace; the engine removes the container, and is
 * waited for. When the supervisor is killed, the guest sees its line end, and ends: --rm does the
 * rest. What a crash of the engine left is removed by name (clean).
 */
#include "engine/container/container.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "engine/plan.h"
#include "engine/freeze.h"
#include "engine/make-readonly.h"

#define RUN_MS 60000  /* for the engine to start a container */
#define MEET_MS 10000 /* for the guest to connect after that */
#define STOP_MS 10000
#define CALL_MS 20000
#define POLL_MS 20

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

const struct container_dialect container_docker = {
	.program = "docker",
	.run = LIST("--security-opt", "systempaths=unconfined", "--userns", "host"),
	.info = LIST("info", "--format", "{{json .}}"),
	.use = "the docker engine",
	.version = LIST("version", "--format", "{{.Server.Version}}"),
	.remedy = "start the daemon, or set DOCKER_HOST",
};

const struct container_dialect container_podman = {
	.program = "podman",
	.run = LIST("--security-opt", "unmask=ALL", "--read-only-tmpfs=false", "--http-proxy=false",
		    "--no-hosts", "--image-volume=ignore"),
	.raises = true,
	.info = LIST("info", "--format", "json"),
	.use = "the podman engine",
	/* No daemon to ask; any other command would set up its storage in the user's home. */
	.version = LIST("--version"),
	.remedy = "run: podman --version",
};

/* The socket, in a directory that is nobody else's. */
static int listen_at(const char *path, struct err *err)
{
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	cleanup_free char *dir = path_dir(path), *above = path_dir(dir), *top = path_dir(above);
	cleanup_fd int at = -1, fd = -1;
	int r = path_mkdirs(top, 0700, err);

	if (r == 0)
		r = path_private_dir(above, err);
	if (r == 0)
		r = path_private_dir(dir, err);
	if (r < 0)
		return r;
	at = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	/* The path itself may be longer than an address can be. */
	(void)snprintf(sa.sun_path, sizeof(sa.sun_path), "/proc/self/fd/%d/%s", at,
		       path_base(path));
	(void)unlinkat(at, path_base(path), 0); /* left by a crash */
	if (at < 0 || fd < 0 || bind(fd, (const struct sockaddr *)&sa, sizeof(sa)) < 0 ||
	    listen(fd, 1) < 0)
		return err_sys(err, errno, "cannot listen at '%s'", path);
	return take_fd(fd);
}

/* Only the guest may be at the other end, and only as a process that we can see. */
static int check_peer(struct container *c, int fd, struct err *err)
{
	struct ucred peer = {0};
	socklen_t len = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
		return err_sys(err, errno, "cannot ask who the guest is");
	if (peer.uid != geteuid() || peer.pid <= 0)
		return err_set(err, EPERM,
			       "the guest in the container is user %u, process %d, and not one of "
			       "ours; does %s run on this machine?",
			       peer.uid, (int)peer.pid, c->dialect->program);
	c->init_pid = peer.pid;
	c->init_pidfd = (int)syscall(SYS_pidfd_open, peer.pid, 0);
	return c->init_pidfd < 0 ? err_sys(err, errno, "the guest has ended") : 0;
}

static int meet(struct container *c, int listener, int *ret, struct err *err)
{
	struct pollfd p = {.fd = listener, .events = POLLIN};
	cleanup_fd int fd = -1;
	int r;

	if (poll(&p, 1, MEET_MS) != 1)
		return err_set(err, ETIMEDOUT,
			       "the guest did not come up in its container; does image '%s' fit "
			       "this machine?",
			       c->spec->container.image);
	fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (fd < 0)
		return err_sys(err, errno, "cannot accept the guest");
	r = check_peer(c, fd, err);
	if (r == 0)
		*ret = take_fd(fd);
	return r;
}

/* One of that name may be there already: ours is as good, anything else is not used. */
static int make_volume(struct container *c, struct err *err)
{
	const struct spec_container *s = &c->spec->container;
	char *const args[] = {"volume",	 "inspect", "--format", "{{.Options.device}}",
			      s->volume, NULL};
	cleanup_free char *device = NULL;
	struct err ignored;
	int r;

	(void)container_call(c->program, c->volume.v, CALL_MS, NULL, &ignored);
	r = container_call(c->program, args, CALL_MS, &device, err);
	if (r < 0)
		return r;
	device[strcspn(device, "\n")] = '\0';
	if (!streq(device, s->volume_dir))
		return err_usage(err,
				 "the volume '%s' of %s lies elsewhere ('%s', and not '%s'); look "
				 "what is in it, then: %s volume rm %s",
				 s->volume, c->dialect->program, device, s->volume_dir,
				 c->dialect->program, s->volume);
	return 0;
}

static int run_container(struct container *c, struct err *err)
{
	int r = c->volume.n ? make_volume(c, err) : 0;

	c->started = r == 0;
	return r < 0 ? r : container_call(c->program, c->args.v, RUN_MS, NULL, err);
}

static int start_remote(struct container *c, struct engine_proc *ret, struct err *err)
{
	cleanup_fd int line = -1;
	int r;

	c->started = true;
	r = container_start_remote(c, &line, err);
	if (r == 0)
		r = plan_send_root(line, &c->root, NULL, 0, err);
	if (r < 0)
		return r;
	ret->pidfd = c->remote.pidfd;
	ret->guest = take_fd(line);
	return 0;
}

static int container_start(struct engine *e, struct engine_proc *ret, struct err *err)
{
	struct container *c = container_of(e);
	cleanup_fd int listener = -1, line = -1;
	int r = plan_check_targets(c->spec, err);

	if (r == 0)
		r = container_find(c->dialect, &c->program, err);
	if (r == 0 && c->remote_name)
		return start_remote(c, ret, err);
	if (r < 0)
		return r;
	listener = listen_at(c->spec->container.line, err);
	if (listener < 0)
		return listener;
	r = run_container(c, err);
	if (r == 0)
		r = meet(c, listener, &line, err);
	(void)unlink(c->spec->container.line);
	if (r == 0)
		r = plan_send_root(line, &c->root, NULL, 0, err);
	if (r < 0)
		return r;
	ret->pidfd = c->init_pidfd;
	ret->guest = take_fd(line);
	return 0;
}

static pid_t container_init_pid(struct engine *e)
{
	return container_of(e)->init_pid;
}

static void container_complaint(struct engine *e, char *ret, size_t size)
{
	ret[0] = '\0'; /* what the program had to say was the error of start() */
}

static int container_cover(struct engine *e, const char *from, const char *path,
			   enum spec_mount_kind kind, struct err *err)
{
	if (container_of(e)->remote_name)
		return err_set(err, ENOTSUP,
			       "no mount can be made on the engine's machine from here; ralph stop "
			       "and start it again");
	return mount_again(container_of(e)->init_pid, "", from, path, kind, err);
}

/* Where the pid namespace is not ours to enter, the engine does it. */
static int container_freeze(struct engine *e, struct err *err)
{
	const struct cgroup none = {0}; /* its cgroup is the engine's own */
	struct container *c = container_of(e);
	char *const args[] = {"pause", c->name, NULL};
	int r;

	if (c->remote_name)
		return err_set(err, ENOTSUP, "the sandbox runs on the engine's machine");
	if (freeze_begin(&none, c->init_pid, &c->freeze, err) == 0)
		return 0;
	*err = (struct err){0};
	r = container_call(c->program, args, CALL_MS, NULL, err);
	c->paused = r == 0;
	return r;
}

static void container_thaw(struct engine *e)
{
	struct container *c = container_of(e);
	char *const args[] = {"unpause", c->name, NULL};
	struct err ignored;

	freeze_end(&c->freeze);
	if (c->paused)
		(void)container_call(c->program, args, CALL_MS, NULL, &ignored);
	c->paused = false;
}

static void container_kill(struct engine *e)
{
	struct container *c = container_of(e);

	if (c->init_pidfd >= 0)
		(void)syscall(SYS_pidfd_send_signal, c->init_pidfd, SIGKILL, NULL, 0);
	/* The outpost sees the end of its line, and the guest that of the outpost. */
	if (c->remote.pidfd >= 0)
		child_kill(&c->remote, SIGKILL);
}

/* The name is free again when the engine no longer knows it. */
static bool is_gone(const char *program, const char *name)
{
	char *const args[] = {
		"container", "inspect", "--format", "{{.Id}}", (char *)(uintptr_t)name, NULL};
	struct err ignored;

	return container_call(program, args, CALL_MS, NULL, &ignored) < 0;
}

int container_remove(const char *program, const char *name, struct err *err)
{
	char *const args[] = {"rm", "--force", "--volumes", (char *)(uintptr_t)name, NULL};
	uint64_t end = now_ms() + STOP_MS;

	do {
		/* It may be about to remove it by itself. */
		if (container_call(program, args, CALL_MS, NULL, err) == 0 ||
		    is_gone(program, name)) {
			*err = (struct err){0};
			return 0;
		}
		(void)poll(NULL, 0, POLL_MS);
	} while (now_ms() < end);
	return err_wrap(err, -ETIMEDOUT, "the container '%s' cannot be removed", name);
}

static int container_stop(struct engine *e, struct err *err)
{
	struct container *c = container_of(e);
	struct pollfd p = {.fd = c->init_pidfd, .events = POLLIN};
	int r;

	if (!c->started)
		return 0;
	container_kill(e);
	if (c->init_pidfd >= 0)
		(void)poll(&p, 1, STOP_MS);
	child_done(&c->remote);
	r = container_remove(c->program, c->name, err);
	if (r == 0 && c->remote_name)
		r = container_remove_remote(c->program, c->remote_name, err);
	if (r == 0)
		c->started = false;
	return r;
}

static void init(struct engine *e, const struct container_dialect *d)
{
	struct container *c = container_of(e);

	c->dialect = d;
	c->init_pidfd = -1;
	c->remote = (struct child){-1, -1};
	strv_init(&c->volume);
	strv_init(&c->args);
	strv_init(&c->sources);
}

static void container_done(struct engine *e)
{
	struct container *c = container_of(e);

	strv_done(&c->volume);
	strv_done(&c->args);
	strv_done(&c->sources);
	strv_done(&c->remote_volume);
	strv_done(&c->remote_args);
	strv_done(&c->remote_check);
	child_done(&c->remote);
	free(c->remote_name);
	guest_root_done(&c->root);
	closep(&c->init_pidfd);
	free(c->name);
	free(c->program);
}

static void clean(const struct container_dialect *d, const struct sandbox_spec *spec)
{
	cleanup_free char *name = plan_own_name(spec), *program = NULL;
	cleanup_free char *remote_name = xasprintf("%s-far", name);
	struct err ignored = {0};

	(void)unlink(spec->container.line);
	if (container_find(d, &program, &ignored) < 0)
		return;
	(void)container_remove(program, name, &ignored);
	if (container_is_remote(spec))
		(void)container_remove_remote(program, remote_name, &ignored);
}

#define ENGINE(word)                                                                               \
	static void word##_init(struct engine *e)                                                  \
	{                                                                                          \
		init(e, &container_##word);                                                        \
	}                                                                                          \
	static int word##_probe(struct err *err)                                                   \
	{                                                                                          \
		return container_probe(&container_##word, err);                                    \
	}                                                                                          \
	static int word##_doctor(struct doctor_rows *ret, bool *ret_usable, struct err *err)       \
	{                                                                                          \
		return container_doctor(&container_##word, ret, ret_usable);                       \
	}                                                                                          \
	static int word##_ask(struct sandbox_spec *spec, struct err *err)                          \
	{                                                                                          \
		return container_ask(&container_##word, spec, err);                                \
	}                                                                                          \
	static void word##_clean(const struct sandbox_spec *spec)                                  \
	{                                                                                          \
		clean(&container_##word, spec);                                                    \
	}                                                                                          \
	const struct engine_ops engine_##word = {                                                  \
		.name = #word,                                                                     \
		.wall = "your kernel",                                                             \
		.holds = "as native, with the files of an image in place of your system's",        \
		.costs = "an image, and a third of a second at the start",                         \
		.caps = ENGINE_GUEST_CAPS | ENGINE_IMAGE,                                          \
		.instance_size = sizeof(struct container),                                         \
		.images = #word,                                                                   \
		.doctor = word##_doctor,                                                           \
		.probe = word##_probe,                                                             \
		.ask = word##_ask,                                                                 \
		.init = word##_init,                                                               \
		.plan = container_plan,                                                            \
		.dump = container_dump,                                                            \
		.start = container_start,                                                          \
		.init_pid = container_init_pid,                                                    \
		.complaint = container_complaint,                                                  \
		.kill = container_kill,                                                            \
		.cover = container_cover,                                                          \
		.freeze = container_freeze,                                                        \
		.thaw = container_thaw,                                                            \
		.stop = container_stop,                                                            \
		.done = container_done,                                                            \
		.clean = word##_clean,                                                             \
	}

ENGINE(docker);
ENGINE(podman);
