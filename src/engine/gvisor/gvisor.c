/*
 * gVisor: the sandbox's commands run on a kernel in user space, inside a sandbox of the native engine.
 *
 * DOC: Theory of operation
 *
 * All is as in the native engine but for what the guest starts: it gives the tree that it has built to
 * runsc, in the namespaces and the network of the sandbox, and an inner guest is pid 1 there (see
 * guest/kernel/outer.h). Mounts are the host kernel's, so what is read-only or pinned stays so whatever
 * happens in gVisor. Limits bound the program with all that runs in it.
 */
#include "engine/gvisor/gvisor.h"

#include "engine/make-readonly.h"
#include "engine/plan.h"

static int gvisor_plan(struct engine *e, const struct sandbox_spec *spec, struct err *err)
{
	struct native *n = native_of(e);

	if (!spec->kernel.program)
		return err_set(err, EINVAL, "the spec of engine gvisor names no runsc");
	n->root.inside = GUEST_INSIDE_GVISOR;
	n->root.program = spec->kernel.program;
	return native_plan(e, spec, err);
}

static void gvisor_dump(const struct engine *e, FILE *out)
{
	const struct native *n = (const struct native *)e;

	native_dump(e, out);
	(void)fputs("\ninside: gVisor, run by ", out);
	plan_put_word(n->root.program, out);
	(void)fputs("\n  it gets this root as a tree without /proc and /dev, and the sandbox's "
		    "network\n",
		    out);
}

static int gvisor_cover(struct engine *e, const char *from, const char *path,
			enum spec_mount_kind kind, struct err *err)
{
	return mount_again(native_init_pid(e), GUEST_TREE, from, path, kind, err);
}

const struct engine_ops engine_gvisor = {
	.name = "gvisor",
	.wall = "gVisor's kernel, in user space",
	.holds = "the same, and most bugs of your kernel",
	.costs = "a third of a second at the start; work on many files takes 5 to 50 times as long",
	.caps = ENGINE_GUEST_CAPS | ENGINE_OWN_KERNEL,
	.instance_size = sizeof(struct native),
	.probe = gvisor_probe,
	.doctor = gvisor_doctor,
	.ask = gvisor_ask,
	.init = native_init,
	.plan = gvisor_plan,
	.dump = gvisor_dump,
	.start = native_start,
	.adopt = native_adopt,
	.init_pid = native_init_pid,
	.complaint = native_complaint,
	.kill = native_kill,
	.cover = gvisor_cover,
	.freeze = native_freeze,
	.thaw = native_thaw,
	.stop = native_stop,
	.done = native_done,
	.clean = native_clean,
};
