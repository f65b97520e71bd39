/*
 * A container of an engine that is on another machine, or in a virtual one, and sees the same
 * files.
 *
 * DOC: Theory of operation
 *
 * Nothing but bytes crosses that border, and only by the engine's own program. So the sandbox's
 * container is what it is everywhere, without any network, and the same guest makes the same root
 * in it; beside it stands a second container, the outpost, with ralph's own program and nothing
 * else, which has the engine's ordinary network and holds what the guest hands out (wire/remote.h).
 * Both share one volume, in which our programs are put and the guest finds the outpost.
 *
 * That the files are the same is tried, not believed: a file is made for a moment in each directory
 * that will be written, and read by a container.
 *
 * All of it has names that follow from the sandbox's, and so is found and removed after a crash.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "engine/cgroup.h"
#include "engine/container/container.h"
#include "engine/container/remote-line.h"
#include "engine/probe-client.h"
#include "wire/remote.h"

#define CALL_MS 60000
#define MEET_MS 30000
#define REMOVE_MS 10000
#define POLL_MS 50
#define OUTPOST_MEMORY "134217728"
#define OUTPOST_PIDS "512" /* a run of `attach` for each command */
#define MARK_BYTES 16
#define MARKS_MAX 64

/* Of both of our own containers: neither needs anything. */
static void push_hard(struct strv *v)
{
	static const char *const words[] = {
		"--cap-drop",
		"ALL",
		"--security-opt",
		"no-new-privileges",
		"--ipc",
		"private",
		"--read-only",
		"--pull",
		"never",
		"--workdir",
		"/",
		"--log-driver",
		"none",
		"--rm",
	};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		strv_push(v, words[i]);
}

static void push_limits(struct strv *v, uint32_t controllers)
{
	if (controllers & CGROUP_MEMORY) {
		strv_push(v, "--memory");
		strv_push(v, OUTPOST_MEMORY);
	}
	if (controllers & CGROUP_PIDS) {
		strv_push(v, "--pids-limit");
		strv_push(v, OUTPOST_PIDS);
	}
}

static void push_label(struct strv *v, const struct sandbox_spec *spec)
{
	strv_push(v, "--label");
	strv_pushf(v, "ralph.sandbox=%s", spec->name);
}

static void plan_outpost(struct container *c, const struct sandbox_spec *spec)
{
	struct strv *v = &c->remote_args;

	strv_push(v, "create");
	strv_push(v, "--name");
	strv_push(v, c->remote_name);
	push_label(v, spec);
	strv_push(v, "--interactive");
	strv_push(v, "--attach");
	strv_push(v, "stdin");
	strv_push(v, "--attach");
	strv_push(v, "stdout");
	strv_push(v, "--network");
	strv_push(v, "bridge");
	if (strchr(spec->container.remote_dial, '.') &&
	    streq(spec->container.remote_listen, "127.0.0.1")) {
		strv_push(v, "--add-host");
		strv_pushf(v, "%s:host-gateway", spec->container.remote_dial);
	}
	push_hard(v);
	push_limits(v, spec->limits.controllers);
	strv_push(v, "--user");
	strv_push(v, "0:0"); /* the volume's owner; it has no power for all that */
	container_mount(v, "volume", c->remote_name, REMOTE_DIR, false);
	strv_push(v, "--entrypoint");
	strv_push(v, REMOTE_OUTPOST);
	strv_push(v, spec->container.image);
	strv_push(v, "serve");
}

static void plan_check(struct container *c, const struct sandbox_spec *spec)
{
	struct strv *v = &c->remote_check;

	strv_push(v, "run");
	strv_push(v, "--name");
	strv_pushf(v, "%s-check", c->remote_name);
	push_label(v, spec);
	strv_push(v, "--network");
	strv_push(v, "none");
	push_hard(v);
	strv_push(v, "--user");
	strv_pushf(v, "%u:%u", spec->container.as_root ? 0 : spec->uid,
		   spec->container.as_root ? 0 : spec->gid);
	container_mount(v, "volume", c->remote_name, REMOTE_DIR, true);
	strv_push(v, "--entrypoint");
	strv_push(v, REMOTE_OUTPOST);
}

void container_plan_remote(struct container *c, const struct sandbox_spec *spec)
{
	c->remote_name = xasprintf("%s-far", c->name);
	strv_push(&c->remote_volume, "volume");
	strv_push(&c->remote_volume, "create");
	push_label(&c->remote_volume, spec);
	strv_push(&c->remote_volume, c->remote_name);
	plan_outpost(c, spec);
	plan_check(c, spec);
}

/* ---- are these our files? ---- */

struct mark {
	char *dir, *path;
	char text[2 * MARK_BYTES + 1];
};

struct marks {
	struct mark v[MARKS_MAX];
	size_t n;
};

static void marks_done(struct marks *m)
{
	for (size_t i = 0; i < m->n; i++) {
		(void)unlink(m->v[i].path);
		free(m->v[i].path);
		free(m->v[i].dir);
	}
}

/* A directory that cannot be written by us is none that the sandbox could change. */
static int mark(struct marks *m, const char *dir, struct err *err)
{
	struct mark *k = &m->v[m->n];
	unsigned char raw[MARK_BYTES];
	cleanup_fd int fd = -1;
	struct stat st;

	if (m->n == MARKS_MAX || stat(dir, &st) < 0 || !S_ISDIR(st.st_mode))
		return 0;
	if (getrandom(raw, sizeof(raw), 0) != sizeof(raw))
		return err_sys(err, errno, "cannot get random bytes");
	for (size_t i = 0; i < sizeof(raw); i++)
		(void)snprintf(k->text + 2 * i, 3, "%02x", raw[i]);
	k->dir = xstrdup(dir);
	k->path = xasprintf("%s/.ralph-%s", dir, k->text);
	m->n++;
	fd = open(k->path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0 && (errno == EACCES || errno == EROFS)) {
		free(k->path);
		free(k->dir);
		m->n--;
		return 0;
	}
	if (fd < 0 || fchmod(fd, 0644) < 0 || fd_write_all(fd, k->text, strlen(k->text)) < 0)
		return err_sys(err, errno, "cannot write in '%s'", dir);
	return 0;
}

static int make_marks(const struct sandbox_spec *spec, struct marks *m, struct err *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < spec->n_mounts; i++)
		if (spec->mounts[i].kind == SPEC_BIND_RW && !spec->mounts[i].of_tree &&
		    container_binds(spec, i))
			r = mark(m, spec->mounts[i].source, err);
	if (r == 0 && spec->container.volume_dir)
		r = mark(m, spec->container.volume_dir, err);
	return r;
}

static int check_files(const struct container *c, struct err *err)
{
	cleanup_(marks_done) struct marks m = {0};
	cleanup_strv struct strv args = {0};
	struct err why = {0};
	int r = make_marks(c->spec, &m, err);

	if (r < 0 || m.n == 0)
		return r;
	strv_extend(&args, &c->remote_check);
	for (size_t i = 0; i < m.n; i++) {
		cleanup_free char *target = xasprintf(GUEST_CONTAINER_HOST "%s", m.v[i].dir);

		container_mount(&args, "bind", m.v[i].dir, target, true);
	}
	strv_push(&args, c->spec->container.image);
	strv_push(&args, "check");
	for (size_t i = 0; i < m.n; i++) {
		strv_pushf(&args, GUEST_CONTAINER_HOST "%s", m.v[i].path);
		strv_push(&args, m.v[i].text);
	}
	if (container_call(c->program, args.v, CALL_MS, NULL, &why) == 0)
		return 0;
	(void)err_set(err, EXDEV,
		      "%s runs its containers on another machine, where '%s' and the like are not "
		      "the files that are here (%s). Share these directories with it at the same "
		      "paths, or use an engine of this machine",
		      c->dialect->program, c->spec->workspace, why.msg);
	err->exit_code = EXIT_RALPH;
	return -EXDEV;
}

/* ---- start and end ---- */

static int copy_in(const struct container *c, const char *source, const char *target,
		   struct err *err)
{
	cleanup_free char *to = xasprintf("%s:%s", c->remote_name, target);
	char *const args[] = {(char *)"cp", (char *)(uintptr_t)source, to, NULL};

	return container_call(c->program, args, CALL_MS, NULL, err);
}

/* A supervisor that was killed while it started may have left one: nobody else has this name. */
static int create_outpost(const struct container *c, struct err *err)
{
	int r = container_call(c->program, c->remote_args.v, CALL_MS, NULL, err);
	struct err ignored;

	if (r == 0 || container_remove(c->program, c->remote_name, &ignored) < 0 ||
	    container_remove(c->program, c->name, &ignored) < 0)
		return r;
	return container_call(c->program, c->remote_args.v, CALL_MS, NULL, err);
}

static int make_outpost(const struct container *c, struct err *err)
{
	cleanup_free char *dir = path_dir(c->guest), *outpost = path_join(dir, "outpost");
	int r = container_call(c->program, c->remote_volume.v, CALL_MS, NULL, err);

	if (r == 0)
		r = create_outpost(c, err);
	if (r == 0)
		r = copy_in(c, c->guest, REMOTE_GUEST, err);
	if (r == 0)
		r = copy_in(c, outpost, REMOTE_OUTPOST, err);
	return r;
}

static int await(int line, enum remote_step step, const char *what, struct err *err)
{
	struct pollfd p = {.fd = line, .events = POLLIN};
	cleanup_wire_msg struct wire_msg m;
	struct wire_reader rd;
	uint32_t value;

	wire_msg_init(&m);
	if (poll(&p, 1, MEET_MS) != 1)
		return err_set(err, ETIMEDOUT, "%s did not come up in its container", what);
	if (wire_recv(line, &m) <= 0)
		return err_set(err, EIO, "%s ended in its container", what);
	wire_read(&rd, &m);
	value = wire_get_u32(&rd);
	if (m.type == WIRE_ERROR)
		return err_set(err, EIO, "%s", wire_get_str(&rd));
	if (m.type != WIRE_REMOTE_STEP || value != step)
		return err_set(err, EPROTO, "%s speaks nonsense", what);
	return 0;
}

int container_start_remote(struct container *c, int *ret, struct err *err)
{
	cleanup_strv struct strv env = {0};
	const struct remote_words words = {
		.program = c->program, .outpost = c->remote_name, .client_env = &env};
	cleanup_fd int line = -1;
	int r = make_outpost(c, err);

	host_client_env(&env);
	if (r == 0)
		r = check_files(c, err);
	if (r == 0)
		r = remote_start(&words, &line, &c->remote, err);
	if (r == 0)
		r = await(line, REMOTE_WAITS, "the outpost", err);
	if (r == 0)
		r = container_call(c->program, c->args.v, CALL_MS, NULL, err);
	if (r == 0)
		r = await(line, REMOTE_MET, "the guest", err);
	if (r == 0)
		*ret = take_fd(line);
	return r;
}

int container_remove_remote(const char *program, const char *name, struct err *err)
{
	cleanup_free char *check = xasprintf("%s-check", name);
	char *const volume[] = {(char *)"volume", (char *)"rm", (char *)"--force",
				(char *)(uintptr_t)name, NULL};
	uint64_t end = now_ms() + REMOVE_MS;
	int r = container_remove(program, check, err);

	if (r == 0)
		r = container_remove(program, name, err);
	/* A container that is gone by name may still be about to let go of it. */
	while (r == 0 && container_call(program, volume, CALL_MS, NULL, err) < 0) {
		if (now_ms() >= end)
			return err_wrap(err, -ETIMEDOUT, "the volume '%s' cannot be removed", name);
		(void)poll(NULL, 0, POLL_MS);
	}
	if (r == 0)
		*err = (struct err){0};
	return r;
}
