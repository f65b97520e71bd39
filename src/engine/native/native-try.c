#include "engine/probe-host.h"

#include <stdio.h>
#include <unistd.h>

#include "base/path.h"
#include "engine/launch.h"
#include "engine/native/native.h"
#include "engine/plan.h"
#include "wire/guest-proto.h"

#define UP_MS 5000 /* a guest with nothing but a /proc is up in a few milliseconds */

static int send_setup(int line)
{
	static struct guest_rule rules[] = {{GUEST_RO, "/"}};
	const struct guest_setup setup = {
		.hostname = "",
		.landlock = GUEST_LANDLOCK_IF_AVAILABLE,
		.rules = rules,
		.n_rules = ARRAY_SIZE(rules),
	};
	cleanup_buf struct buf b;

	buf_init(&b, WIRE_BODY_MAX);
	guest_setup_put(&b, &setup);
	return wire_send(line, WIRE_SETUP, 0, &b, NULL, 0);
}

static int bring_up(const struct engine_launch *l, const struct guest_root *root, int timeout_ms,
		    struct err *err)
{
	struct err ignored;
	uint32_t abi;

	/* A guest that has failed already does not read; its answer says why. */
	(void)plan_send_root(l->guest, root, NULL, 0, &ignored);
	(void)send_setup(l->guest);
	return launch_answer(l->guest, WIRE_UP, timeout_ms, &abi, err);
}

/* A sandbox with nothing in it but a guest. */
static int try_root(struct guest_root *root, const char *guest, int timeout_ms,
		    struct host_native *ret, struct err *err)
{
	cleanup_launch struct engine_launch l;
	struct err said = {0};
	int r;

	*ret = (struct host_native){0};
	root->hostname = "ralph";
	root->uid = geteuid();
	root->gid = getegid();
	launch_init(&l);
	r = launch_open(&l, guest, err);
	if (r < 0)
		return r;
	r = launch_run(&l, LAUNCH_PLAIN, &said);
	ret->born = r == 0;
	if (r == 0)
		r = bring_up(&l, root, timeout_ms, &said);
	launch_kill(&l);
	ret->usable = r == 0;
	ret->failed = -r;
	(void)snprintf(ret->said, sizeof(ret->said), "%.*s", (int)sizeof(ret->said) - 1, said.msg);
	return 0;
}

int host_native_try(struct host_native *ret, struct err *err)
{
	cleanup_free char *dir = launch_programs();
	cleanup_free char *guest = path_join(dir, "guest");
	struct guest_mount proc = {.kind = GUEST_PROC, .source = "", .target = "/proc"};
	struct guest_root root = {.mounts = &proc, .n_mounts = 1};

	return try_root(&root, guest, UP_MS, ret, err);
}

int host_inside_try(enum guest_inside inside, const char *program, int timeout_ms, struct err *err)
{
	cleanup_free char *dir = launch_programs();
	cleanup_free char *guest = path_join(dir, "guest");
	struct guest_mount mounts[] = {
		{.kind = GUEST_BIND_RO, .source = guest, .target = "/run/ralph/guest"},
		{.kind = GUEST_PROC, .source = "", .target = "/proc"},
		{.kind = GUEST_DEVICES, .source = "", .target = "/dev"},
	};
	struct guest_root root = {
		.inside = inside,
		.program = program,
		.mounts = mounts,
		.n_mounts = ARRAY_SIZE(mounts),
	};
	struct host_native n;
	int r = try_root(&root, guest, timeout_ms, &n, err);

	return r < 0 || n.usable ? r : err_set(err, n.failed, "%s", n.said);
}

int host_native_usable(struct err *err)
{
	struct host_native n;
	struct host_facts f;
	int r = host_native_try(&n, err);

	if (r < 0 || n.usable)
		return r;
	host_facts(&f);
	r = err_set(err, n.failed, "the native engine cannot run here: %s; %s", n.said,
		    host_native_remedy(&f, n.born, n.failed));
	err->exit_code = EXIT_RALPH;
	return r;
}
